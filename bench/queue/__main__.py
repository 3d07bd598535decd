"""`make bench-queue`: the cost and the fairness of the queue, each figure compared with one from the same run.

python -m bench.queue [SECTION ...] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from pathlib import Path

SECTIONS = {
    "overhead": "The queue's own cost",
    "flat": "Cost by the length of the queue",
    "fairness": "One student's burst and the others",
    "experiment": "A large experiment and submissions",
    "gpu": "A backlog through the queue and without it",
}
"""All except `gpu` run by default. `gpu` needs a machine with a GPU, or --stand-in."""


def main() -> int:
    """Measure, then print."""
    parser = argparse.ArgumentParser(prog="python -m bench.queue", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="smaller numbers, to try it out")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument(
        "--stand-in", action="store_true", help="gpu: with the CPU device in the GPU's place, to try it out"
    )
    asked = parser.parse_args()
    sections = asked.sections or [name for name in SECTIONS if name != "gpu"]
    if unknown := set(sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    figures = {}
    for name in sections:
        more = {"stand_in": asked.stand_in} if name == "gpu" else {}
        with tempfile.TemporaryDirectory(prefix="tilelab-bench-") as folder:
            made, text = importlib.import_module(f"bench.queue.{name}").run(Path(folder), quick=asked.quick, **more)
        figures[name] = made
        print(f"{SECTIONS[name]}\n\n{text}\n", flush=True)
        if asked.json is not None:
            asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
