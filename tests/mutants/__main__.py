"""Put one-line faults into a copy of the tree, one at a time, and say which of them the short suite does not notice.

`python -m tests.mutants` tries all of them, `python -m tests.mutants --only queue:` those with this text in `AREA: NAME
PATH`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from kernels.rendering.table import table
from kernels.wording import percent
from tests.mutants.kept import Mutant, mutants
from tests.mutants.tree import Tree

NOTICED, EXPLAINED, ESCAPED = OUTCOMES = ("noticed", "explained", "ESCAPED")


def main(arguments: list[str]) -> int:
    """Print what notices each mutant, and the counts by area; returns 1 if one escapes."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants with this text in `AREA: NAME PATH`")
    parser.add_argument("-j", type=int, default=2, help="mutants tried at a time, each in its own copy")
    options = parser.parse_args(arguments)
    chosen = [each for each in mutants() if options.only in f"{each.area}: {each.name} {each.path}"]
    if not chosen:
        parser.error("no mutant has this text in `AREA: NAME PATH`")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees = [Tree(Path(folder, str(number))) for number in range(options.j)]
        tests = sorted({each.test for each in chosen if each.test})
        if tests and (failing := trees[0].failure(tests, seconds=3600)):
            print(f"A test fails without any mutant; repair it first: {failing}")
            return 1
        counts: Counter[tuple[str, str]] = Counter()
        for mutant, (outcome, detail) in zip(chosen, _outcomes(trees, chosen), strict=True):
            counts[mutant.area, outcome] += 1
            print(f"{outcome:9}  {mutant.area}: {mutant.name}: {detail}", flush=True)
    print(_table(counts))
    return 1 if any(outcome == ESCAPED for _, outcome in counts) else 0


def _outcomes(trees: list[Tree], chosen: list[Mutant]) -> Iterator[tuple[str, str]]:
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def tried(mutant: Mutant) -> tuple[str, str]:
        tree = free.get()
        try:
            with tree.changed(mutant.path, mutant.applied()):
                return _outcome(tree, mutant)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        yield from pool.map(tried, chosen)


def _outcome(tree: Tree, mutant: Mutant) -> tuple[str, str]:
    """What noticed the mutant, with the failing test or the explanation."""
    if mutant.test and (failing := tree.failure([mutant.test])):
        return NOTICED, failing
    return (EXPLAINED, mutant.why) if mutant.why else (ESCAPED, mutant.path)


def _table(counts: Counter[tuple[str, str]]) -> str:
    areas = dict.fromkeys(area for area, _ in counts)
    numbers = [[counts[area, outcome] for outcome in OUTCOMES] for area in areas]
    numbers.append([sum(column) for column in zip(*numbers, strict=True)])
    rows = [
        [area, str(sum(row)), *map(str, row), percent(row[0] / sum(row))]
        for area, row in zip([*areas, "all"], numbers, strict=True)
    ]
    titles = ["area", "drawn", *OUTCOMES, "share noticed"]
    return "\n".join(["", *table([titles, *rows], "<" + ">" * (len(titles) - 1), indent=0)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
