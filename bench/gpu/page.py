"""The page: what the sections kept, one under the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bench.gpu.section import Data, Section

NAME = "gpu-measurements.md"

_HEAD = """\
# What Tilelab measures on a GPU, and how well

`make bench-gpu` makes all figures of this page and writes it; `python -m bench.gpu SECTION` makes one section anew. The
figures behind the tables are kept beside it, as JSON, in `build/bench-gpu`.
"""


def write_page(results: Path, pages: Path, sections: Mapping[str, Section]) -> Path:
    """Put together what is there; a section that was never run is left out."""
    parts = [_HEAD]
    for name, section in sections.items():
        kept = (
            json.loads(file.read_text(encoding="utf-8")) for file in sorted(results.glob(f"{name}*.json"))
        )
        parts += [_part(section, each) for each in kept]
    page = pages / NAME
    page.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return page


def _part(section: Section, kept: Data) -> str:
    gpus = kept["gpus"]
    title = section.title if gpus == 1 else f"{section.title}, with {gpus} GPUs"
    made_on = kept["made_on"] if gpus == 1 else kept["made_on"].replace("one ", f"{gpus} of ", 1)
    lines = [f"## {title}", "", *kept["text"], ""]
    if not kept["done"]:
        lines += [f"**Stopped after {kept['seconds']:.0f} s, before its end.**", ""]
    lines += [f"{made_on} {kept['seconds']:.0f} s in all.", ""]
    return "\n".join(lines)
