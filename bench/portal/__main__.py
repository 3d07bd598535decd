"""`make bench-portal`: the portal's limits, each figure compared with one from the same run.

python -m bench.portal [SECTION ...] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from pathlib import Path

SECTIONS = {
    "submits": "Submissions and result pages a second",
    "costs": "The cost of one submission and of a student's pages",
    "pages": "Pages by number of submissions",
    "desk": "Staff pages of a large course",
    "staged": "A staged regrade by number of submissions",
    "streams": "Open streams of events",
    "crowds": "Pages during attacks by other clients",
    "servers": "The portal with other web servers",
    "restarts": "Live pages while the server and the broker are killed",
    "weight": "The first view of each page",
}


def main() -> int:
    """Measure, then print."""
    parser = argparse.ArgumentParser(prog="python -m bench.portal", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="smaller numbers, to try it out")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    asked = parser.parse_args()
    if unknown := set(asked.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    figures = {}
    for name in asked.sections or SECTIONS:
        with tempfile.TemporaryDirectory(prefix="tilelab-bench-") as folder:
            section = importlib.import_module(f"bench.portal.{name}")
            figures[name], text = section.run(Path(folder), quick=asked.quick)
        print(f"{SECTIONS[name]}\n\n{text}\n", flush=True)
        if asked.json is not None:
            asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
