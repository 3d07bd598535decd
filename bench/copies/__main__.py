"""How many disguised copies the comparison of submissions finds, and how many independent pairs it reports.

python -m bench.copies [--authors 300] [--copies 30]
python -m bench.copies --exercises

Prints two tables for each of three corpora. In two, authors.py writes the kernels, freely or from the starter. The
third has correct tiled kernels of the tests. Each corpus gets disguised copies of some of its kernels.

--exercises compares the correct kernels of the tests by exercise, and shows what is proposed for each.
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
from kernels.exercise import Exercise, find_exercise, list_exercises
from kernels.source.similarity.comparison import LEAST_SHARE, LEAST_STUDENTS
from kernels.source.similarity.openness import code_in, open_statements, proposed_percent

_MAIN = "renamed, reordered, reformatted, comments"
_SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_TESTS = Path("tests")


def main() -> None:
    """Measure each corpus, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.copies", description=__doc__)
    parser.add_argument("--authors", type=int, default=300)
    parser.add_argument("--copies", type=int, default=30)
    parser.add_argument("--exercises", action="store_true")
    options = parser.parse_args()
    if options.exercises:
        print(table(_EXERCISE_HEAD, [_of_exercise(exercise) for exercise in list_exercises()]))
        return
    starter = (find_exercise("tiled").root / "starter.cu").read_text()
    corpora: Mapping[str, Sequence[str]] = {
        "written freely": [kernel(seed) for seed in range(options.authors)],
        "from the starter": [kernel(seed, starter=True) for seed in range(options.authors)],
        "kernels of the tests": _of_the_tests("tiled"),
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


_EXERCISE_SHARES = (0.5, 0.6, 0.7, 0.8, 0.9)
_EXERCISE_HEAD = (
    "exercise", "open statements", "proposed", "kernels", "independent pairs",
    *(f"reported, found at {share:.0%}" for share in _EXERCISE_SHARES),
)  # fmt: skip
_EXERCISE_COPIES = 15


def _of_exercise(exercise: Exercise) -> tuple[str, ...]:
    """A row of the table by exercise. Pairs need enough kernels."""
    starter, handout = exercise.starter.read_text(), exercise.handout.read_text()
    given, solution = [starter, *code_in(handout)], exercise.solution.read_text()
    percent = proposed_percent(solution, given)
    about = exercise.name, str(open_statements(solution, given)), f"{percent} %" if percent else "none"
    sources = _of_the_tests(exercise.name)
    if len(sources) < LEAST_STUDENTS:
        return (*about, str(len(sources)), *["-"] * (1 + len(_EXERCISE_SHARES)))
    alone = outcome(sources, "\n".join(given), _MAIN, 0)
    copied = outcome(sources, "\n".join(given), _MAIN, _EXERCISE_COPIES)
    cells = (f"{alone.false(share):,}, {copied.recall(share):.0%}" for share in _EXERCISE_SHARES)
    return (*about, str(len(sources)), f"{len(alone.independent):,}", *cells)


def _of_the_tests(exercise: str) -> list[str]:
    """The correct kernels of an exercise in the corpus and in tests/public."""
    return [
        (_TESTS / folder / "right" / f"{entry['name']}.cu").read_text()
        for folder, file in (("corpus", "right.toml"), ("public", "kernels.toml"))
        for entry in tomllib.loads((_TESTS / folder / file).read_text())["kernel"]
        if entry["exercise"] == exercise and entry.get("kind", "right") == "right"
    ]


if __name__ == "__main__":
    main()
