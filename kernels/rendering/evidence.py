"""The evidence of an accepted kernel in short, for the end of its report."""

from __future__ import annotations

import textwrap

from kernels.analysis.subject import sizes_text
from kernels.evidence import Totals
from kernels.rendering.checklist import checklist_text
from kernels.rendering.table import percent, short
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import Style
from kernels.report import Report

_BOLD, _DIM = "1", "2"


def evidence_text(report: Report, style: Style) -> list[str]:
    """Three numbers and the checklist, or why there are none; nothing where nobody looked."""
    evidence = report.evidence
    if evidence.extent is None:
        return [line for note in evidence.notes for line in textwrap.wrap(safe(note), style.width)]
    head = style.paint("What it does", _BOLD) + style.paint(
        f" (counted at {sizes_text(evidence.extent.sizes)})", _DIM
    )
    numbers = ", ".join(figures(evidence.totals))
    if report.occupancy is not None:
        numbers += f"; occupancy {percent(report.occupancy.share)}"
    out = [head, *textwrap.wrap(f"{numbers}.", style.width, initial_indent="  ", subsequent_indent="  ")]
    out += checklist_text(evidence.checklist, style, advice=False)
    unmet = [goal for goal in evidence.goals if not goal.met]
    for goal in unmet:
        out += textwrap.wrap(
            f"Not met: {safe(goal.text)}.", style.width, initial_indent="  ", subsequent_indent="  "
        )
    return out


def figures(totals: Totals) -> list[str]:
    """The three numbers that say most of a kernel."""
    requests = totals.global_load_requests
    each = totals.global_load_sectors / requests if requests else 0.0
    conflicts = totals.shared_load_conflicts + totals.shared_store_conflicts
    return [
        f"{short(requests)} global load requests of {each:.2f} sectors",
        f"{totals.compute_to_memory:.2f} flops per global access",
        f"{short(conflicts)} passes lost to bank conflicts",
    ]
