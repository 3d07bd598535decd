"""A race between two threads, in steps: one access, both, and in one block also both with a barrier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from kernels.expression import Expression, ExpressionError
from kernels.rendering.page.charts.race import Access, Band, Shared, race_picture
from kernels.report.model import Report, first_error
from kernels.report.race_accesses import race_accesses
from kernels.report.source_facts import code_of, is_shared
from kernels.verdict import Verdict
from kernels.wording import lines_named

_INDEX = re.compile(r"\[(\d+)\]")
_DEFINED = re.compile(r"#define\s+(\w+)\s+(\d+)\s*$")
_BARRIER = re.compile(r"\b__syncthreads\w*\s*\(|\bthis_thread_block\(\)\.sync\(|\bblock\.sync\(")
_MOST_CELLS = 4_096


@dataclass(frozen=True, slots=True)
class RaceStep:
    """One picture with its sentence."""

    title: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class RaceView:
    """The steps.

    title: names the element
    barriers: the kernel's barriers in one sentence, or why none helps
    """

    title: str
    barriers: str
    steps: tuple[RaceStep, ...]


def race_view(report: Report, lines: Sequence[str]) -> RaceView | None:
    """The steps of the leading race; None without two threads and a known element.

    lines: of the graded source
    """
    race = first_error(report.findings, Verdict.DATA_RACE)
    if report.verdict is not Verdict.DATA_RACE or race is None or race.example is None:
        return None
    found = race_accesses(race)
    element = race.example.element or ""
    if found is None or not _INDEX.search(element):
        return None
    first, second = (
        Access(mark, each.thread, each.verb, each.line, each.block)
        for mark, each in zip("AB", found, strict=True)
    )
    shared = replace(_shared(element, lines, report.tile), space=_space(element, first, lines))
    together = "in the same phase. No barrier says which comes first."
    if first.block:
        together = "too. Blocks run in any order, so either may come first."
    steps = [
        (f"{first.sentence(element)}.", [Band((first,))]),
        (f"{second.sentence(element)} {together}", [Band((first, second))]),
    ]
    if not first.block and first.line != second.line and "`__syncthreads()`" in race.message:
        text = "A barrier between the two makes two phases. Now the order is fixed."
        steps.append((text, [Band((first,)), Band((second,))]))
    return RaceView(
        f"The race on {f'{shared.space} {element}'.lstrip()}, step by step",
        "A barrier orders the threads of one block. These two threads belong to two blocks."
        if first.block
        else _barriers(lines),
        tuple(
            RaceStep(f"{number}. {text}", race_picture(f"race-{number}", text, shared, bands))
            for number, (text, bands) in enumerate(steps, 1)
        ),
    )


def _barriers(lines: Sequence[str]) -> str:
    found = [number for number in range(1, len(lines) + 1) if _BARRIER.search(code_of(number, lines))]
    if not found:
        return "A phase ends at a barrier. This kernel has none, so all of it is one phase."
    return f"A phase lasts from one barrier to the next. This kernel’s barriers: {lines_named(found)}."


def _space(element: str, access: Access, lines: Sequence[str]) -> str:
    """The memory of the element; "" if the source doesn't show it."""
    if access.block:
        return "global memory"
    return "shared memory" if is_shared(element.partition("[")[0], lines) else ""


def _shared(element: str, lines: Sequence[str], tile: int) -> Shared:
    """The array with its extents, from its declaration; without one, up to the element."""
    name, indices = element.partition("[")[0], [int(index) for index in _INDEX.findall(element)]
    row, column = indices[-2] if indices[1:] else 0, indices[-1]
    rows, columns = _extents(name, lines, tile) or (row + 1, column + 1)
    if rows == 1 and columns > 32:  # one row for each warp's words
        rows, columns, row, column = -(-columns // 32), 32, column // 32, column % 32
    if row >= rows or column >= columns or rows * columns > _MOST_CELLS:
        rows, columns = row + 1, column + 1
    return Shared(element, name, rows, columns, row, column)


def _extents(name: str, lines: Sequence[str], tile: int) -> tuple[int, int] | None:
    declared = re.compile(rf"\b{re.escape(name)}\s*((?:\[[^\]]+\])+)")
    macros = {
        found[1]: int(found[2]) for line in lines if (found := _DEFINED.search(line.partition("//")[0]))
    }
    known = {"TILE_WIDTH": tile, "BLOCK_SIZE": tile, **macros}
    for number in range(1, len(lines) + 1):
        code = code_of(number, lines)
        if "__shared__" in code and (found := declared.search(code)):
            try:
                sizes = [
                    Expression.parse(each).evaluate(known) for each in re.findall(r"\[([^\]]+)\]", found[1])
                ]
            except ExpressionError:
                return None
            return (sizes[-2] if sizes[1:] else 1, sizes[-1]) if min(sizes) > 0 else None
    return None
