"""A board as text for people: who is how fast, or where nothing is measured, who has a right kernel."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.rendering.measured_numbers import UNITS
from kernels.rendering.table import percent, table
from kernels.rendering.text_safety import cut, safe
from kernels.rendering.text_style import Style
from worker.client.answers import Board, BoardLine
from worker.commands.portal.connection import moment
from worker.commands.portal.text import figures

CPU = "cpu"
"""What the portal calls the board of what is checked only."""

_BOLD, _DIM = "1", "2"
_LONGEST_NAME = 40


def board_text(found: Board, style: Style, page: str) -> str:
    """A board, with one's own line marked wherever it is; page: where the rest of it is."""
    checked = found.device_class == CPU
    unit = UNITS.get(found.metric, "ms" if found.metric == "time" else safe(found.metric))
    title = f"{safe(found.assignment)} on {safe(found.device_class)}"
    if not found.lines:
        return f"{title}: nobody {'has a right kernel' if checked else 'was measured'} yet."
    head, align = (_CHECKED_HEAD, "<<>><") if checked else (_RANKED_HEAD, "<<>>>><")
    row = _checked if checked else _ranked
    rows = [row(line) for line in found.lines]
    own, seen = found.own, any(line.you for line in found.lines)
    if own is not None and not seen:
        rows += [("...", *[""] * (len(align) - 1)), row(own)]
    first, *rest = table([[cell.format(unit=unit) for cell in head], *rows], align, indent=0)
    parts = [
        style.paint(title, _BOLD),
        *([_NOT_MEASURED] if checked else []),
        style.paint(first, _DIM),
        *rest,
    ]
    if found.more:
        parts.append(f"There are more; its page has them all: {page}")
    return "\n".join(parts)


_NOT_MEASURED = "Nothing is measured here. What is modelled is a bound, not a speed, and ranks nobody."
_RANKED_HEAD = ("rank", "who", "{unit}", "95 % interval", "of cuBLAS", "occupancy, modelled", "")
_CHECKED_HEAD = ("who", "right since", "at most {unit}, modelled", "occupancy, modelled", "")


def _ranked(line: BoardLine) -> Sequence[str]:
    rank = line.shared_rank or line.rank
    low, high = line.interval or (None, None)
    return (
        "-" if rank is None else f"{rank:,}{' tied' if line.tied else ''}",
        _name(line),
        _number(line.value),
        "" if low is None or high is None else f"{figures(low)} to {figures(high)}",
        _share(line.cublas_share),
        _share(line.occupancy),
        _you(line),
    )


def _checked(line: BoardLine) -> Sequence[str]:
    return (
        _name(line), moment(line.reached_at), _number(line.modelled_bound), _share(line.occupancy), _you(line),
    )  # fmt: skip


def _name(line: BoardLine) -> str:
    return cut(safe(line.name), _LONGEST_NAME) if line.name else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else figures(value)


def _share(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _you(line: BoardLine) -> str:
    return "<- you" if line.you else ""
