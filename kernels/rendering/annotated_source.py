"""The source with its counts in the margin, and a table of all accesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.evidence import AccessEvidence, LineEvidence
from kernels.rendering.table import short, table
from kernels.rendering.text_safety import cut, safe
from kernels.rendering.text_style import DIM, RED, Style
from kernels.wording import percent

_AROUND = 2
_MOST_LINES = 160
_MOST_ACCESSES = 40
_HEAD = ("requests", "sect/req", "used", "requests", "n-way", "products", "split")
_GROUPS = ("global", "", "", "shared", "", "tensor", "warps")


def annotated(source: Sequence[str], lines: Sequence[LineEvidence], style: Style) -> list[str]:
    """The lines from the first to the last with counts, each with its counts."""
    by_number = {line.line: line for line in lines if 1 <= line.line <= len(source)}
    if not by_number:
        return []
    shown = _shown(by_number, len(source))
    cells = {number: _cells(by_number.get(number)) for number in shown}
    used = [i for i in range(len(_HEAD)) if any(row[i] for row in cells.values())]
    rows = [[row[i] for i in used] for row in (_GROUPS, _HEAD, *cells.values())]
    margin = table(rows, ">" * len(used), gap=1, indent=0)
    columns = max(map(len, margin))
    digits = len(str(shown[-1]))
    bar = "│" if style.unicode else "|"
    room = max(20, style.width - columns - digits - 6)
    out = [f"  {style.paint(text.ljust(columns), DIM)}".rstrip() for text in margin[:2]]
    previous = shown[0]
    for number, text in zip(shown, margin[2:], strict=True):
        if number > previous + 1:
            out.append(f"  {'':{columns}} {'...':>{digits}}")
        previous = number
        code = RED if _bad(by_number.get(number)) else ""
        line = cut(safe(source[number - 1]), room)
        gutter = style.paint(f"{number:>{digits}} {bar}", DIM)
        out.append(f"  {style.paint(text.ljust(columns), code)} {gutter} {line}".rstrip())
    if any(_predicated(line) for line in by_number.values()):
        out.append("  * in the PTX; the assembler disables threads instead, so no warp splits here on a GPU")
    return out


def _shown(lines: Mapping[int, LineEvidence], last: int) -> list[int]:
    """The lines from the first with counts to the last. A long file keeps only its busiest lines and neighbours."""
    first, end = min(lines), max(lines)
    if end - first < _MOST_LINES:
        return list(range(max(1, first - 1), min(last, end + 1) + 1))
    busiest = sorted(lines, key=lambda number: -lines[number].warp_instructions)[: _MOST_LINES // (2 * _AROUND + 1)]
    near = {number + step for number in busiest for step in range(-_AROUND, _AROUND + 1)}
    return sorted(number for number in near if 1 <= number <= last)


def _cells(line: LineEvidence | None) -> tuple[str, ...]:
    if line is None:
        return ("",) * len(_HEAD)
    moved, banked, branches = line.together("global"), line.together("shared"), line.branches
    cells = [""] * len(_HEAD)
    if moved is not None:
        cells[:3] = short(moved.requests), f"{moved.sectors_per_request:.2f}", percent(moved.efficiency)
    if banked is not None and not banked.verb.bulk:
        cells[3:5] = short(banked.requests), f"{line.worst_ways:.3g}"
    if line.tensor_instructions:
        cells[5] = short(line.tensor_instructions)
    if branches is not None and branches.warps:
        cells[6] = f"{short(branches.divergent)}{'*' if _predicated(line) else ''}"
    return tuple(cells)


def _predicated(line: LineEvidence) -> bool:
    return line.branches is not None and line.branches.predicated and line.branches.divergent > 0


def _bad(line: LineEvidence | None) -> bool:
    if line is None:
        return False
    return any(a.sectors > 1.5 * a.ideal_sectors + 2 * a.requests or a.ways > 1.5 for a in line.accesses if a.requests)


def access_table(lines: Sequence[LineEvidence], style: Style) -> list[str]:
    """One line for each access, in the order of the source."""
    found = [(line.line, access) for line in lines for access in line.accesses if access.requests]
    if not found:
        return []
    head = ("line", "access", "bytes", "requests", "sect/req", "ideal", "used", "n-way")
    rows = [head, *(_access(number, access, style) for number, access in found[:_MOST_ACCESSES])]
    out = [cut(line, style.width) for line in table(rows, "><>>>>>>")]
    out[0] = style.paint(out[0], DIM)
    left = len(found) - _MOST_ACCESSES
    for text in dict.fromkeys(f"line {n}: {safe(access.note)}" for n, access in found if access.note):
        out += style.wrap(text, "  ", "    ")
    return [*out, *([f"  ... and {left:,} more; --json has them all"] if left > 0 else [])]


def _access(number: int, access: AccessEvidence, style: Style) -> tuple[str, ...]:
    what = f"{access.space} {access.verb}" + (f" {safe(access.name)}" if access.name else "")
    moved = access.space != "shared" and access.sectors > 0
    return (
        str(number),
        cut(what, 32),
        str(access.width),
        f"{access.requests:,}",
        f"{access.sectors_per_request:.2f}" if moved else "",
        f"{access.ideal_per_request:.2f}" if moved else "",
        percent(access.efficiency) if moved else "",
        f"{access.ways:.3g}" if access.space == "shared" and not access.verb.bulk else "",
    )
