"""The phases on the page: a table of the threads' work, the loads of each block, and pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup

from kernels.evidence import PhaseTable, StageTable
from kernels.phases.views import (
    axes,
    block_header,
    block_places,
    block_rows,
    course_place,
    fetched_operands,
    thread_rows,
)
from kernels.rendering.page.charts.phases import picture
from kernels.rendering.page.charts.stages import stage_picture
from kernels.rendering.page.summary import launch_text
from kernels.rendering.text_safety import safe
from kernels.wording import lines_named, sizes_text

_MOST_DRAWN = 100_000
_WIDE = 560
_STAGES = (
    "The pictures show the shared memory of its first block when each phase begins in this run. A GPU may have copied "
    "more or less by then, as far as the kernel's barriers allow."
)
_WIDTH = re.compile(r'<svg [^<>]*?\bwidth="(\d+)"')
_MOST_PHASES, _MOST_THREADS, _MOST_BLOCKS = 8, 32, 16


@dataclass(frozen=True, slots=True)
class Picture:
    """One phase of one block, drawn. wide: already too large to enlarge."""

    identity: str
    title: str
    drawing: Markup
    wide: bool


@dataclass(frozen=True, slots=True)
class ThreadTable:
    """The work of a block's threads: a row for each, with a group of columns for each phase."""

    block: str
    threads: str
    phases: tuple[int, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class LoadTable:
    """The loads of one operand by block."""

    operand: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PhasesView:
    """The values of the section."""

    sizes: str
    launch: str
    tile: int
    pictures: tuple[Picture, ...]
    undrawn: int
    threads: ThreadTable | None
    loads: tuple[LoadTable, ...]
    note: str


def phases_view(table: PhaseTable, prefix: str = "") -> PhasesView:
    """The values of the section, with as many pictures as a page can hold.

    prefix: of all IDs, if the page may have other phases
    """
    pictures, wanted = _pictures(table, prefix)
    places = block_places(table)
    few = len(places) <= _MOST_BLOCKS
    return PhasesView(
        sizes=sizes_text(table.sizes),
        launch=launch_text(table.launch),
        tile=table.tile,
        pictures=pictures,
        undrawn=wanted - len(pictures),
        threads=_threads(table, places[0]) if places else None,
        loads=tuple(_loads(table, name) for name in fetched_operands(table)) if few else (),
        note=table.note,
    )


def stages_view(table: StageTable, prefix: str = "") -> PhasesView:
    """The values of the section for a pipeline: a picture of each phase."""
    pictures = []
    for phase in table.phases:
        lines = f", read in {lines_named(phase.lines)}" if phase.lines else ""
        drawn = Markup(safe(stage_picture(table, phase, prefix)))  # noqa: S704 - made of escaped parts
        pictures.append(Picture(f"{prefix}phase-{phase.number}", f"Phase {phase.number}{lines}", drawn, wide=True))
    note = " ".join(filter(None, (_STAGES, table.note)))
    sizes, launch = sizes_text(table.sizes), launch_text(table.launch)
    return PhasesView(sizes, launch, table.tile, tuple(pictures), 0, None, (), note)


def _pictures(table: PhaseTable, prefix: str) -> tuple[tuple[Picture, ...], int]:
    """Pictures by block and phase, and the number that would be possible."""
    pictures: list[Picture] = []
    wanted, room = 0, _MOST_DRAWN
    for place in block_places(table):
        for phase in table.phases:
            if room <= 0:
                wanted += any(entry.block == place for entry in phase.blocks)
                continue
            drawing = picture(table, phase.number, place, prefix)
            if not drawing:
                continue
            wanted += 1
            room -= len(drawing)
            block = course_place(place, table.launch.grid)
            identity = f"{prefix}picture-{block.replace(',', '-')}-{phase.number}"
            title = f"Block {block}, phase {phase.number}"
            wide = max(map(int, _WIDTH.findall(drawing))) > _WIDE
            drawn = Markup(safe(drawing))  # noqa: S704 - made of escaped parts
            pictures.append(Picture(identity, title, drawn, wide))
    return tuple(pictures), wanted


def _threads(table: PhaseTable, block: tuple[int, int, int]) -> ThreadTable:
    phases = tuple(phase.number for phase in table.phases[:_MOST_PHASES])
    columns = (*(f"loads of {name}" for name in fetched_operands(table)), "adds up")
    rows = thread_rows(table, block)
    return ThreadTable(
        block=course_place(block, table.launch.grid),
        threads=axes(table.launch.block, "t"),
        phases=phases,
        columns=columns,
        rows=tuple(row[: 1 + len(columns) * len(phases)] for row in rows[:_MOST_THREADS]),
        left_out=max(0, len(rows) - _MOST_THREADS),
    )


def _loads(table: PhaseTable, operand: str) -> LoadTable:
    return LoadTable(operand, block_header(table), block_rows(table, operand)[: 2 * _MOST_PHASES])
