"""`make races`: judges N generated kernels by the CPU device and by the oracle, and says where the two differ."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.races.comparison import Comparison
from tests.races.families import FAMILIES, Family
from tests.races.kept import KEPT, keep

# Kernels in one compilation.
_BATCH = 40
_PROGRESS_SECONDS = 20.0


@dataclass(slots=True)
class Tally:
    """What became of the kernels so far."""

    kernels: int = 0
    racy: int = 0
    pairs: int = 0
    unsettled: int = 0
    unsupported: Counter[str] = field(default_factory=Counter)
    differing: list[Comparison] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def add(self, comparison: Comparison) -> None:
        self.kernels += 1
        if comparison.unsupported:
            self.unsupported[comparison.unsupported] += 1
            return
        if comparison.unsettled:
            self.unsettled += 1
            return
        self.racy += bool(comparison.expected)
        self.pairs += len(comparison.expected)
        if comparison.differs:
            self.differing.append(comparison)

    @property
    def compared(self) -> int:
        return self.kernels - self.unsupported.total() - self.unsettled

    def line(self) -> str:
        seconds = time.monotonic() - self.began
        return (
            f"{self.kernels:,} kernels in {seconds:,.0f} s: {self.compared:,} compared, {self.racy:,} of them racy, "
            f"{self.pairs:,} pairs of lines; {len(self.differing):,} differ"
        )

    def table(self) -> str:
        rows = [f"  not compared  {count:6,}  {reason}" for reason, count in self.unsupported.most_common()]
        if self.unsettled:
            rows.append(
                f"  not compared  {self.unsettled:6,}  the pairs depend on an order of atomics that is not known"
            )
        missed = sum(bool(each.missed) for each in self.differing)
        accused = sum(bool(each.accused) for each in self.differing)
        rows.append(f"  pairs that only the oracle finds: in {missed:,} kernels; only the device: in {accused:,}")
        if self.differing:
            rows.append("  seeds that differ: " + " ".join(str(each.seed) for each in self.differing[:200]))
        return "\n".join(rows)


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    seeds = range(options.seed, options.seed + options.kernels)
    batches = [seeds[at : at + _BATCH] for at in range(0, len(seeds), _BATCH)]
    tally = Tally()
    shown = tally.began
    for comparison in _compared(batches, FAMILIES[options.family], options.processes):
        tally.add(comparison)
        if comparison.differs:
            print(described(comparison), flush=True)
        if time.monotonic() - shown > _PROGRESS_SECONDS:
            shown = time.monotonic()
            print(tally.line(), flush=True)
    print(tally.table())
    print(tally.line())
    if options.keep and tally.differing:
        keep(options.family, (each.seed for each in tally.differing))
        print(f"The seeds are now in {KEPT}.")
    return 1 if tally.differing else 0


def described(comparison: Comparison) -> str:
    """What the two judges say differently, in a line."""
    if comparison.crash:
        return f"seed {comparison.seed}: the device ends in {comparison.crash}"
    words = [f"seed {comparison.seed}:"]
    for pair in comparison.missed:
        race = comparison.expected[pair]
        threads = " and ".join(f"thread {number} of block {block}" for block, number in race.threads)
        words.append(f"lines {pair[0]} and {pair[1]} race ({threads}), which the device does not report;")
    words += [f"the device reports lines {a} and {b}, which do not race;" for a, b in comparison.accused]
    words += [
        f"lines {a} and {b} set different values in no fixed order, which only {who} reports;"
        for who, pairs in (
            ("the oracle", comparison.expected_open.keys() - comparison.found_open),
            ("the device", comparison.found_open - comparison.expected_open.keys()),
        )
        for a, b in sorted(pairs)
    ]
    words += [f"the device reports {each};" for each in sorted(comparison.other)]
    return " ".join(words).rstrip(";")


def _compared(batches: Sequence[Sequence[int]], compare: Family, processes: int) -> Iterator[Comparison]:
    if processes == 1:
        for batch in batches:
            yield from compare(batch)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for comparisons in pool.imap(compare, batches):
            yield from comparisons


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.races", description=__doc__)
    parser.add_argument("kernels", type=int, nargs="?", default=20_000, help="how many (20000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first kernel (0); the next has the next")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count(), help="how many at once")
    parser.add_argument("--family", choices=FAMILIES, default="races", help="what the kernels have (races)")
    parser.add_argument("--keep", action="store_true", help=f"add seeds that differ to {KEPT.name}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
