"""Pictures of a pipeline's stages: the tiles of the operands, and the stages that hold them, in one phase."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from kernels.evidence import Stage, StagePhase, StageTable
from kernels.phases.views import Held, held_in
from kernels.rendering.page.charts.phases import Look, caption, drawing, explained, shaded_box

_LONGEST, _THINNEST = 150, 14
"""Pixels of the longest side of the operands, and of the shortest side of one."""

_GAP, _TOP, _LABEL, _ROW = 24, 20, 64, 26
_CELL = 132
_LOOKS = {
    "current": (Look("current", 0.34), "used in this phase"),
    "ahead": (Look("ahead", 0.12), "copied ahead in this run, for a later phase"),
    "over": (Look("over", 0.0, "dashes"), "left over from an earlier phase"),
}
_EMPTY = Look()


def stage_picture(table: StageTable, phase: StagePhase, prefix: str = "") -> str:
    """One phase as HTML: an SVG of the operands, one of the stages, and the legend. prefix: of its IDs."""
    held = held_in(table, phase)
    identity = f"{prefix}stages-{phase.number}"
    words = (
        f'<title id="{identity}">Phase {phase.number}</title><desc id="{identity}-text">{escape(_words(held))}</desc>'
    )
    label = f'role="img" aria-labelledby="{identity} {identity}-text"'
    legend = [look for state, look in _LOOKS.items() if any(each.state == state for each in held)]
    drawn = _operands(table, held, label, words) + _stages(table.stages, held)
    return f'<div class="phase-picture"><div>{drawn}</div>{explained(legend)}</div>'


def _words(held: Iterable[Held]) -> str:
    return " ".join(f"Stage {each.stage.number}: {each.tile}, {_LOOKS[each.state][1]}." for each in held)


def _operands(table: StageTable, held: Sequence[Held], label: str, words: str) -> str:
    """The operands side by side, with the tiles that are in shared memory."""
    scale = _LONGEST / max(max(extent) for extent in table.matrices.values())
    parts, x, height = [], 0, 0
    for name, (rows, columns) in table.matrices.items():
        across, down = max(_THINNEST, round(columns * scale)), max(_THINNEST, round(rows * scale))
        parts.append(
            f'<g transform="translate({x + 1} {_TOP})"><text x="0" y="-7" font-weight="bold">{escape(name)}</text>'
        )
        for each in sorted((each for each in held if each.stage.operand == name), key=lambda one: one.state != "over"):
            (top, bottom), (left, right) = each.fill.rows, each.fill.columns
            x0, x1 = (round(place * across / columns) for place in (left, right + 1))
            y0, y1 = (round(place * down / rows) for place in (top, bottom + 1))
            parts.append(shaded_box(_LOOKS[each.state][0], x0, y0, x1 - x0, y1 - y0))
        parts.append(f'<rect width="{across}" height="{down}" fill="none" stroke="currentColor"/></g>')
        x, height = x + max(across, 24) + _GAP, max(height, down)
    return drawing(words + "".join(parts), x - _GAP + 3, height + _TOP + 2, label)


def _stages(stages: Sequence[Stage], held: Sequence[Held]) -> str:
    """A row for each stage number, and a column for each operand."""
    names = list(dict.fromkeys(stage.operand for stage in stages))
    rows = 1 + max(stage.number for stage in stages)
    parts = [
        caption(_LABEL + at * _CELL + _CELL // 2, _TOP - 7, f"stages of {name}", faint=True)
        for at, name in enumerate(names)
    ]
    parts += [f'<text x="0" y="{_TOP + row * _ROW + 17}">stage {row}</text>' for row in range(rows)]
    for stage in stages:
        x, y = _LABEL + names.index(stage.operand) * _CELL, _TOP + stage.number * _ROW
        tile = next((each for each in held if each.stage == stage), None)
        parts.append(shaded_box(_LOOKS[tile.state][0] if tile else _EMPTY, x, y, _CELL, _ROW))
        parts.append(caption(x + _CELL // 2, y + 17, tile.tile if tile else "empty", faint=tile is None))
    return drawing("".join(parts), _LABEL + len(names) * _CELL + 2, _TOP + rows * _ROW + 2, 'aria-hidden="true"')
