"""An analysis as text: first what to look at, then every number behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernels.analysis.model import Analysis
from kernels.counters import COUNTERS, Counter, Kind, Totals, by_ptx
from kernels.evidence import Evidence, Extent, Light, TheoryRow
from kernels.occupancy import resource_title
from kernels.rendering.annotated_source import access_table, annotated
from kernels.rendering.checklist import checklist_text
from kernels.rendering.notes import run_text, uses_text, warnings_text
from kernels.rendering.phases import render_phases, render_stages
from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe, safe_lines
from kernels.rendering.text_style import BOLD, DIM, GREEN, RED, Style
from kernels.verdict import Finding, errors_of
from kernels.wording import percent, plural, sizes_text

FIRST_LOOK = "What to look at first"
_MOST_FINDINGS = 5
_AGREES = "agrees"
_SHOWN_UNITS = frozenset({"GFLOPS", "bytes"})  # other units are in the titles


def render_analysis(analysis: Analysis, source: str, file: str, style: Style) -> str:
    """The whole analysis of `source`, a text that the student calls `file`."""
    evidence, lines = analysis.evidence, safe_lines(source.rstrip())
    body = []
    for number, advice in enumerate(evidence.advice, 1):
        body += style.wrap(f"{number}. {safe(advice.text)}", "  ", "     ")
    parts = [
        _head(analysis, file, style),
        style.wrap(safe(analysis.message)),
        _incorrect(analysis, style),
        _findings(analysis.findings, style),
        [line for note in evidence.notes for line in style.wrap(safe(note))],
        _titled(FIRST_LOOK, "", body, style),
        _titled("Line by line", "counted", annotated(lines, evidence.lines, style), style),
        _titled("Each access", "counted", access_table(evidence.lines, style), style),
        _titled("Totals", "counted", totals_text(evidence.totals), style) if evidence.extent else [],
        _titled("The course's formulas and the counts", "", theory_text(evidence.theory, style), style),
        _use(analysis, style),
        *(_light(light, style) for light in evidence.light),
        _titled("Checklist", "gains are modelled", checklist_text(evidence.checklist, style), style),
        _titled("Goals of the exercise", "counted", _goals(evidence, style), style),
        safe_lines(render_phases(evidence.phases, width=style.width).rstrip()) if evidence.phases else [],
        safe_lines(render_stages(evidence.stages, width=style.width)) if evidence.stages else [],
        warnings_text(analysis.warnings, style),
        run_text(analysis.seconds, analysis.isolation, style),
    ]
    return style.joined(parts)


def _titled(title: str, basis: str, body: list[str], style: Style) -> list[str]:
    if not body:
        return []
    return [style.paint(title, BOLD) + (style.paint(f" ({basis})", DIM) if basis else ""), *body]


def _head(analysis: Analysis, file: str, style: Style) -> list[str]:
    name = safe("standard input" if file == "-" else file)
    where = f"exercise {analysis.exercise}, tile {analysis.tile}, {analysis.arch}, CPU device"
    out = [style.paint(cut(name, style.width), BOLD), style.paint(cut(where, style.width), DIM)]
    extent = analysis.evidence.extent
    return out + (style.wrap(extent_text(extent)) if extent is not None else [])


def extent_text(extent: Extent) -> str:
    """The counted launch, and how many of its blocks ran."""
    launch = extent.launch
    block = " x ".join(map(str, launch.block[: 2 if launch.block[2] == 1 else 3]))
    text = f"Counted at {sizes_text(extent.sizes)}: {plural(launch.blocks, 'block')} of {block} threads"
    if extent.blocks_run == launch.blocks:
        text += ". All blocks ran" if extent.exact else ""
    else:
        kind = "exact" if extent.exact else "estimated"
        text += f". {extent.blocks_run:,} of them ran; the totals are {kind} for all"
    return f"{text}. {extent.note}".rstrip() if extent.note else f"{text}."


def _incorrect(analysis: Analysis, style: Style) -> list[str]:
    """A warning that the counts are of an incorrect kernel, and what they cover."""
    if analysis.evidence.extent is None or not errors_of(analysis.findings):
        return []
    text = "This kernel is incorrect; see below. "
    if analysis.evidence.theory or analysis.evidence.checklist:
        text += "The counts describe this one run, including its errors."
    else:
        text += "It stopped early, so the counts cover only part of it."
    return [style.paint(line, RED) for line in style.wrap(text)]


def _findings(findings: Sequence[Finding], style: Style) -> list[str]:
    out = []
    for finding in findings[:_MOST_FINDINGS]:
        out.append(style.paint(finding.headline, RED))
        out += style.wrap(safe(finding.message), "  ")
    left = len(findings) - _MOST_FINDINGS
    return [*out, *([f"... and {plural(left, 'more finding')}; --json shows all."] if left > 0 else [])]


_NUMBER: Mapping[Kind, Callable[[float], str]] = {
    Kind.COUNT: "{:,}".format,
    Kind.RATIO: "{:.2f}".format,
    Kind.SHARE: percent,
    Kind.LANES: lambda share: f"{32 * share:.1f}",
}
_ALWAYS = frozenset({"global loads", "global stores"})


def totals_text(totals: Totals) -> list[str]:
    """The totals of the whole launch."""
    rows: dict[str, list[Counter]] = {}
    for counter in COUNTERS.values():
        rows.setdefault(counter.row, []).append(counter)
    rows.pop("", None)
    shown = [_sums(row, found, totals) for row, found in rows.items() if row in _ALWAYS or found[0].of(totals)]
    return [*table(shown, "<><><<"), *_by_ptx(rows, totals)]


def _sums(row: str, counters: Sequence[Counter], totals: Totals) -> tuple[str, ...]:
    """One line of the totals. Without a count, averages are left out."""
    lead = counters[0]
    cells = [row, _number(lead, totals), lead.text or lead.unit, "", "", ""]
    for counter in counters[1:]:
        if counter.kind is Kind.COUNT or lead.of(totals):
            cells[2 + counter.column] = f"{_number(counter, totals)} {counter.text or counter.unit}"
    return tuple(cells)


def _number(counter: Counter, totals: Totals) -> str:
    return _NUMBER[counter.kind](counter.of(totals) or 0)


def _by_ptx(rows: Mapping[str, Sequence[Counter]], totals: Totals) -> list[str]:
    """The PTX's counts, as far as the assembler changed them."""
    changed = []
    for row, (lead, *others) in rows.items():
        requests = by_ptx(lead, totals)
        if requests is None or requests == lead.of(totals):
            continue
        last = ((each, by_ptx(each, totals)) for each in others if each.column == 3)
        conflicts = [f"{number:,} {each.unit} {each.text}" for each, number in last if number is not None]
        changed.append((row, f"{requests:,}", lead.unit, *(conflicts or [""])))
    if not changed:
        return []
    return ["  In the PTX, before the assembler merged neighbouring accesses:", *table(changed, "<><<", indent=4)]


def theory_text(rows: Sequence[TheoryRow], style: Style) -> list[str]:
    """Formulas and counts side by side, with the reasons for differences."""
    if not rows:
        return []
    cells = [("", "formula", "expected", "counted", "")]
    cells += [
        (row.title + (f", {row.unit}" if row.unit in _SHOWN_UNITS else ""), safe(row.formula),
         _value(row.expected), "" if row.counted is None else _value(row.counted), departure_text(row))
        for row in rows
    ]  # fmt: skip
    out = [cut(line, style.width) for line in table(cells, "<<>><")]
    out[0] = style.paint(out[0], DIM)
    reasons = [(row.title if row.line is None else f"line {row.line}", row.note) for row in rows if row.note]
    for about, note in dict.fromkeys(reasons):
        out += style.wrap(f"{about}: {safe(note)}.", "  ", "    ")
    return out


def departure_text(row: TheoryRow) -> str:
    """The difference between the count and the formula."""
    if row.counted is None:
        return ""
    if not row.departs:
        return _AGREES
    if abs(row.departs) >= 1:
        return f"{row.departs + 1:.3g} times"
    return f"{100 * row.departs:+.1f} %"


def _value(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 or number == int(number) else f"{number:,.2f}"


def _use(analysis: Analysis, style: Style) -> list[str]:
    body, use, occupancy = [], analysis.resources, analysis.occupancy
    if use is not None:
        body += style.wrap(uses_text(use, analysis.launch.shared if analysis.launch is not None else 0), "  ")
    if occupancy is not None:
        blocks, warps = plural(occupancy.blocks_per_sm, "block"), plural(occupancy.warps_per_sm, "warp")
        text = (
            f"{percent(occupancy.share)} at compute capability {occupancy.cc}: {blocks} and {warps} of "
            f"{occupancy.max_warps} on a multiprocessor (SM) at once"
        )
        limit = f". Limited by {resource_title(occupancy.limit)}" if occupancy.limit else ""
        body += style.wrap(f"{text}{limit}.", "  ")
    return _titled("Occupancy", "from the compiled kernel and the device's limits", body, style)


def _light(light: Light, style: Style) -> list[str]:
    longest = max((item.milliseconds for item in light.resources), default=0.0) or 1.0
    mark = "█" if style.unicode else "#"
    rows = [
        (item.title, f"{item.milliseconds:.4f} ms", mark * round(20 * item.milliseconds / longest),
         "<- bottleneck" if item.resource == light.limit else "")
        for item in light.resources
    ]  # fmt: skip
    body = [cut(line, style.width) for line in table(rows, "<><<")]
    speed = f", so it reaches at most {light.gflops:,.0f} GFLOPS" if light.gflops else ""
    body += style.wrap(
        f"At {sizes_text(light.sizes)}, the kernel takes at least {light.milliseconds:.4f} ms{speed}.", "  "
    )
    return _titled(f"Speed of light on {light.device}", f"{light.basis}, not measured", body, style)


def _goals(evidence: Evidence, style: Style) -> list[str]:
    out = []
    for goal in evidence.goals:
        mark = style.paint("met", GREEN) if goal.met else style.paint("not met", RED)
        text = f"{mark}: {safe(goal.text)}: {_value(goal.counted)} (at most {_value(goal.at_most)})"
        out += style.wrap(text, "  ", "    ")
    return out
