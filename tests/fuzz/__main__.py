"""`make fuzz`: tries mutated sources and PTX texts, says how many, and keeps what failed."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.cases import Case, Failure, bound_memory, outcome_of
from tests.fuzz.found import FOLDER, save, smaller
from tests.fuzz.making import Shares, make_case
from tests.fuzz.seeds import ptx_seeds, source_seeds

_PROGRESS_SECONDS = 20.0


@dataclass(slots=True)
class _Tally:
    """What became of the cases so far."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def time(self, layer: str, name: str, seconds: float) -> None:
        """Keep the slowest case of each layer."""
        self.slowest[layer] = max(self.slowest.get(layer, (0.0, "")), (seconds, name))

    def line(self) -> str:
        seconds = time.monotonic() - self.began
        count = self.outcomes.total()
        return f"{count:,} cases in {seconds:,.0f} s, {count / max(seconds, 1e-9):.0f} a second; {self._failed()}"

    def _failed(self) -> str:
        if not self.failures:
            return "no failure"
        return f"{self.failures.total()} failures of {len(self.failures)} kinds"

    def table(self) -> str:
        rows = [f"  {layer:7} {word:20} {count:8,}" for (layer, word), count in sorted(self.outcomes.items())]
        rows += [f"  slowest {layer:6} {slow:.1f} s ({name})" for layer, (slow, name) in self.slowest.items()]
        rows += [f"  failed  {key} ({count})" for key, count in self.failures.most_common()]
        return "\n".join(rows)


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    warnings.simplefilter("error")
    bound_memory()
    sources, texts = source_seeds(), ptx_seeds(options.kernels)
    print(f"seed {options.seed}: {len(sources)} sources, {len(texts)} compiled kernels", flush=True)
    shares = Shares(options.ptx, options.check, options.grade)
    numbers: Iterable[int] = range(options.first, options.first + options.cases)
    tally = _Tally()
    end = tally.began + options.seconds if options.seconds else None
    shown = tally.began
    for number in numbers:
        case = make_case(options.seed, number, sources, texts, shares)
        _try(case, f"{options.seed}:{number}", tally, options.keep)
        now = time.monotonic()
        if now - shown > _PROGRESS_SECONDS:
            shown = now
            print(tally.line(), flush=True)
        if end is not None and now > end:
            break
    print(tally.table())
    print(tally.line())
    return 1 if tally.failures else 0


def _try(case: Case, name: str, tally: _Tally, folder: Path) -> None:
    began = time.monotonic()
    outcome = outcome_of(case)
    tally.time(case.layer.value, name, time.monotonic() - began)
    if not isinstance(outcome, Failure):
        tally.outcomes[case.layer.value, outcome] += 1
        return
    tally.outcomes[case.layer.value, "FAILED"] += 1
    tally.failures[outcome.key] += 1
    if tally.failures[outcome.key] == 1:
        path = save(smaller(case, outcome), outcome, folder)
        print(f"case {name} failed, kept as {path}:\n{outcome.detail}", flush=True)


def _options(arguments: list[str]) -> argparse.Namespace:
    usual = Shares()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("cases", type=int, nargs="?", default=100_000, help="how many (100000)")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="any word; the same word gives the same cases")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, help="stop after that time, whatever is left")
    parser.add_argument("--kernels", type=int, default=100, help="how many compiled kernels to start from (100)")
    parser.add_argument("--ptx", type=int, default=usual.ptx, help="of a hundred cases, how many are PTX texts")
    parser.add_argument("--check", type=int, default=usual.check, help="one PTX text in so many is judged")
    parser.add_argument("--grade", type=int, default=usual.grade, help="one source in so many is graded in the sandbox")
    parser.add_argument("--keep", type=Path, default=FOLDER, help="folder for what failed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
