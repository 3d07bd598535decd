"""How many disguised copies the comparison of submissions finds, and how many independent pairs it reports.

python -m bench.copies [--authors 300] [--copies 30]

Prints two tables for each of three corpora. In two, authors.py writes the kernels, freely or from the starter. The
third has correct tiled kernels of the tests. Each corpus gets disguised copies of some of its kernels.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.copies.authors import kernel
from bench.copies.corpus import Outcome, outcome
from bench.copies.disguises import DISGUISES
from bench.table import table
from kernels.exercise import find_exercise
from kernels.source.similarity.comparison import LEAST_SHARE

_MAIN = "renamed, reordered, reformatted, comments"
_SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_TESTS = Path("tests")


def main() -> None:
    """Measure each corpus, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.copies", description=__doc__)
    parser.add_argument("--authors", type=int, default=300)
    parser.add_argument("--copies", type=int, default=30)
    options = parser.parse_args()
    starter = (find_exercise("tiled").root / "starter.cu").read_text()
    corpora: Mapping[str, Sequence[str]] = {
        "written freely": [kernel(seed) for seed in range(options.authors)],
        "from the starter": [kernel(seed, starter=True) for seed in range(options.authors)],
        "kernels of the tests": _of_the_tests(),
    }
    for name, sources in corpora.items():
        begun = time.process_time()
        found = {kind: outcome(sources, starter, kind, options.copies) for kind in DISGUISES}
        seconds = (time.process_time() - begun) / len(found)
        print(f"\n{name}: {len(sources)} kernels, {options.copies} copies, {seconds:.2f} s for each comparison\n")
        alone = outcome(sources, starter, _MAIN, 0)
        print(f"without copies: {alone.false(LEAST_SHARE):,} of {len(alone.independent):,} pairs reported\n")
        by_share = [(f"{share:.1f}", *_row(found[_MAIN], share)) for share in _SHARES]
        print(table((f"share, {_MAIN}", *_HEAD), by_share), end="\n\n")
        by_disguise = [(kind, *_row(one, LEAST_SHARE)) for kind, one in found.items()]
        print(table((f"disguise, share {LEAST_SHARE}", *_HEAD), by_disguise))


_HEAD = ("recall", "independent pairs", "reported", "of them")


def _row(found: Outcome, share: float) -> tuple[str, ...]:
    false = found.false(share)
    return (
        f"{found.recall(share):.0%}",
        f"{len(found.independent):,}",
        f"{false:,}",
        f"{false / len(found.independent):.3%}",
    )


def _of_the_tests() -> list[str]:
    """The correct kernels of the exercise `tiled` in the corpus and in tests/public."""
    return [
        (_TESTS / folder / "right" / f"{entry['name']}.cu").read_text()
        for folder, file in (("corpus", "right.toml"), ("public", "kernels.toml"))
        for entry in tomllib.loads((_TESTS / folder / file).read_text())["kernel"]
        if entry["exercise"] == "tiled" and entry.get("kind", "right") == "right"
    ]


if __name__ == "__main__":
    main()
