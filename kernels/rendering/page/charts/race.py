"""A picture of a race: two threads, the element that both use, and the barriers around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.rendering.page.charts import svg

_WIDTH, _BAND = 330, 150
_BOX, _SIDE = 96, 110
_LETTERS = 13
"""So many fit into a box."""
_CELL, _FINEST = 22.0, 4
"""The largest cell, and the smallest that its lines don't cover."""
_LEFT, _RIGHT, _MIDDLE = 0, _WIDTH - _BOX, (_WIDTH - _SIDE) / 2


@dataclass(frozen=True, slots=True)
class Access:
    """A thread's access.

    mark: "A" or "B"
    thread: its index, as in `1,0`; verb: `reads`, `writes` or another access
    block: the block's index, if the other thread is of another block
    noun: the access, if its verb is too long for the picture
    """

    mark: str
    thread: str
    verb: str
    line: int | None
    block: str = ""
    noun: str = ""

    def sentence(self, element: str) -> str:
        """`Thread (1,0) reads Mds[0][0] at line 20`."""
        block = f" of block ({self.block})" if self.block else ""
        line = f" at line {self.line}" if self.line else ""
        return f"Thread ({self.thread}){block} {self.verb} {element}{line}"


@dataclass(frozen=True, slots=True)
class Band:
    """A phase with its accesses."""

    accesses: tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """An array, and the place of one element in it. space: its memory, such as "shared memory"; "" if unknown."""

    element: str
    name: str
    rows: int
    columns: int
    row: int
    column: int
    space: str = ""

    @property
    def label(self) -> str:
        """The title of the picture: `Mds[0][0] in shared memory`."""
        return f"{self.element} in {self.space}" if self.space else self.element


def race_picture(identity: str, text: str, shared: Shared, bands: Sequence[Band]) -> Markup:
    """The phases one below the other, a barrier between two."""
    body = ""
    for number, band in enumerate(bands):
        top = number * (_BAND + 26)
        if number:
            body += f'<rect class="added" y="{top - 22}" width="{_WIDTH}" height="18" rx="3"/>'
            body += svg.text(_WIDTH / 2, top - 9, "__syncthreads()", kind="on", anchor="middle")
        body += f'<g transform="translate(0 {top})">{_band(shared, band, alone=len(bands) > 1)}</g>'
    height = len(bands) * (_BAND + 26) - 26
    return svg.figure(identity, "Phases of the race", text, body, _WIDTH, height, kind="chart race-picture")


def _band(shared: Shared, band: Band, *, alone: bool) -> str:
    """A phase: the threads on both sides, the array in between."""
    racing = len(band.accesses) > 1
    x, y, wide, high = _cell(shared)
    body = f'<rect class="phase" width="{_WIDTH}" height="{_BAND}" rx="6"/>' + _array(shared)
    lit = "racing" if racing else band.accesses[0].mark.lower()
    body += f'<rect class="{lit}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"/>'
    for access in band.accesses:
        body += _thread(access, (x + wide / 2, y + high / 2))
    return body


def _thread(access: Access, cell: tuple[float, float]) -> str:
    left, kind = access.mark == "A", access.mark.lower()
    x = _LEFT + 8 if left else _RIGHT - 8
    edge = (x + _BOX if left else x, 76.0)
    words = [f"thread ({access.thread})", access.verb if len(access.verb) <= _LETTERS else access.noun]
    if access.block:
        words.insert(0, f"block ({access.block})")
    if access.line is not None:
        words.append(f"line {access.line}")
    top = 82 - 9 * len(words)
    body = svg.line(f"way {kind}-way", edge, cell)
    body += f'<rect class="{kind}" x="{x}" y="{top - 9}" width="{_BOX}" height="{18 * len(words) + 8}" rx="5"/>'
    for number, text in enumerate(words):
        body += svg.text(x + _BOX / 2, top + 9 + 18 * number, text, kind="on", anchor="middle")
    return body


def _cell(shared: Shared) -> tuple[float, float, float, float]:
    """Place and size of the element, never smaller than can be seen."""
    wide, high, left, top = _grid(shared)
    x, y = left + shared.column * wide, top + shared.row * high
    return x - max(0.0, (9 - wide) / 2), y - max(0.0, (9 - high) / 2), max(9.0, wide), max(9.0, high)


def _grid(shared: Shared) -> tuple[float, float, float, float]:
    side = min(_CELL, _SIDE / shared.columns, (_SIDE - 6) / shared.rows)
    wide, high = (_CELL if shared.columns == 1 else side), (_CELL if shared.rows == 1 else side)
    return wide, high, (_WIDTH - wide * shared.columns) / 2, 26 + (_SIDE - 6 - high * shared.rows) / 2


def _array(shared: Shared) -> str:
    wide, high, left, top = _grid(shared)
    across, down = wide * shared.columns, high * shared.rows
    rows = "".join(f"M{left:.1f} {top + row * high:.1f}h{across:.1f}" for row in _drawn(shared.rows, high))
    columns = "".join(f"M{left + at * wide:.1f} {top:.1f}v{down:.1f}" for at in _drawn(shared.columns, wide))
    return (
        svg.text(_WIDTH / 2, 18, shared.label, kind="strong", anchor="middle")
        + f'<path class="cells" d="{rows}{columns}"/>'
    )


def _drawn(count: int, side: float) -> Sequence[int]:
    """The lines between cells, or only the outer ones if all together would be a grey area."""
    return range(count + 1) if side >= _FINEST else (0, count)
