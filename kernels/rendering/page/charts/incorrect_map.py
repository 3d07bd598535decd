"""A picture of an incorrect matrix: darker cells have more incorrect elements."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from kernels.exercise.input_words import case_words
from kernels.facts import IncorrectMap
from kernels.rendering.page.charts import svg
from kernels.report import Report
from kernels.report.model import first_error
from kernels.verdict import Verdict
from kernels.wording import part_of

_WIDTH, _LEFT, _TOP, _BOTTOM = 420, 64, 26, 26
_SIDE, _LARGEST = 320, 22
_LINE = 16
_DARKEST = 8


@dataclass(frozen=True, slots=True)
class IncorrectView:
    """The map of an incorrect output. sentence: in which case, and how many elements."""

    title: str
    sentence: str
    drawing: Markup


def incorrect_view(report: Report) -> IncorrectView | None:
    """The map of an incorrect result; None without one."""
    leading = first_error(report.findings, report.verdict)
    found = None if leading is None else leading.facts.incorrect
    check = next((check for check in report.checks if found is not None and check.case == found.case), None)
    if report.verdict is not Verdict.WRONG_ANSWER or found is None or check is None or not found.drawable:
        return None
    share = f"{part_of(check.incorrect, check.elements, 'element')} of `{found.name}`"
    where = _where(found)
    return IncorrectView(
        f"The incorrect elements of {found.name}",
        f"{share} {'is' if check.incorrect == 1 else 'are'} incorrect with {case_words(check.case)}. {where}",
        _drawing(found, report.tile, where),
    )


def _drawing(found: IncorrectMap, tile: int, where: str) -> Markup:
    """The map, with lines between tiles if they fall between cells."""
    rows, columns = len(found.cells), len(found.cells[0])
    side = min(_LARGEST, _SIDE // max(rows, columns))
    across, down = side * columns, side * rows
    body = "".join(
        f'<rect class="h{min(_DARKEST, int(digit))}" x="{_LEFT + side * x}" y="{_TOP + side * y}"'
        f' width="{side}" height="{side}"/>'
        for y, row in enumerate(found.cells)
        for x, digit in enumerate(row)
    )
    body += f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{across}" height="{down}"/>'
    high, wide = found.cell
    tiles = _between(rows, high, tile), _between(columns, wide, tile)
    for y in tiles[0]:
        body += svg.line("grid", (_LEFT, _TOP + side * y), (_LEFT + across, _TOP + side * y))
    for x in tiles[1]:
        body += svg.line("grid", (_LEFT + side * x, _TOP), (_LEFT + side * x, _TOP + down))
    noun = "element" if found.rows == 1 else "column"
    body += svg.text(_LEFT, _TOP - 8, f"{noun} 0")
    body += svg.text(_LEFT + max(across, 180), _TOP - 8, f"{noun} {found.columns - 1:,}", anchor="end")
    if rows > 1:
        body += svg.text(_LEFT - 7, _TOP + 12, "row 0", anchor="end")
        body += svg.text(_LEFT - 7, _TOP + max(down, 24) - 2, f"row {found.rows - 1:,}", anchor="end")
    legend = _legend(found, tile if any(tiles) else 0)
    height = round(_TOP + max(down, 24) + _BOTTOM) + _LINE * (len(legend) - 1)
    for number, line in enumerate(reversed(legend)):
        body += svg.text(_LEFT, height - 8 - _LINE * number, line)
    return svg.figure(
        "incorrect-map", f"Incorrect elements of {found.name}", where, body, _WIDTH, height, "chart plot"
    )  # fmt: skip


def _between(cells: int, each: int, tile: int) -> range:
    """Where tiles end, in cells."""
    return range(tile // each, cells, tile // each) if tile > each and tile % each == 0 else range(0)


def _legend(found: IncorrectMap, tile: int) -> tuple[str, ...]:
    """Two lines, because one is too long for the width."""
    high, wide = found.cell
    lines = (f"Lines: tiles of {tile}.",) if tile else ()
    if (high, wide) == (1, 1):
        return ("Dark: incorrect.", *lines)
    return (f"A cell is {high:,} × {wide:,} elements. Darker: more incorrect.", *lines)


def _where(found: IncorrectMap) -> str:
    """The rows and columns around all incorrect elements."""
    high, wide = found.cell
    rows = [number for number, row in enumerate(found.cells) if row.strip("0")]
    columns = [number for number in range(len(found.cells[0])) if any(row[number] != "0" for row in found.cells)]
    within = [
        _range("row", rows, high, found.rows),
        _range("element" if found.rows == 1 else "column", columns, wide, found.columns),
    ]
    return f"They are in {' and '.join(filter(None, within))}." if any(within) else ""


def _range(noun: str, cells: list[int], each: int, size: int) -> str:
    """`rows 16 to 31`; "" if that is all of them."""
    first, last = cells[0] * each, min(size, (cells[-1] + 1) * each) - 1
    if first == 0 and last == size - 1:
        return ""
    return f"{noun} {first:,}" if first == last else f"{noun}s {first:,} to {last:,}"
