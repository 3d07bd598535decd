"""Whether every point of the experiments that come with Tilelab counts what the course's formulas say.

python -m bench.templates

Takes some minutes on the CPU device. The tests run two points of each at small sizes, the short suite of three only.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from kernels.experiment.templates import template_files
from tests.worker.experiment.test_templates import CASES, differing, run


def main() -> None:
    """Run all templates and print a line for each, then their sum."""
    total: Counter[str] = Counter()
    for name in template_files():
        with tempfile.TemporaryDirectory() as folder:
            points = run(name, Path(folder), "--arch", CASES[name].arch)
        counts = Counter(point["verdict"] for point in points)
        found = [differing(name, point) for point in points if point["verdict"] == "accepted"]
        counts["with a formula"] = sum(each is not None for each in found)
        counts["equal to it"] = found.count({})
        total += counts
        print(f"{name}: {_said(counts)}", flush=True)
    print(f"all: {_said(total)}")


def _said(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in counts.items())


if __name__ == "__main__":
    main()
