from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import click

from kernels.rendering.measured_numbers import UNITS
from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe
from kernels.rendering.text_style import BOLD, DIM, Style
from kernels.wording import percent
from worker.client.portal import Portal, board_path
from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, chosen, in_portal, local
from worker.commands.portal.text import figures
from worker.contract.answers import Board, Line


@click.command(epilog=EXITS)
@click.argument("assignment", metavar="[COURSE/ASSIGNMENT]", required=False)
@click.option("--class", "device_class", help="Device class, such as h200, or cpu.  [default: the assignment's]")
@in_portal
@answering("Print one JSON object.")
def leaderboard(asked: Portal, assignment: str | None, device_class: str | None) -> Answer:
    """Show an assignment's leaderboard, by default for the only open assignment.

    \b
    Examples:
      tilelab leaderboard
      tilelab leaderboard demo/tiled --class h200
      tilelab leaderboard demo/tiled --json
    """
    name, kind = assignment, device_class
    if name is None or "/" not in name or kind is None:
        found = chosen(asked.assignments(), name)
        name, kind = found.id, kind or found.device_class or CPU
    return Answer(
        lambda: asked.plain(board_path(name, kind)), lambda: _text(asked, name, kind, own_asked=device_class is None)
    )


def _text(portal: Portal, name: str, kind: str, *, own_asked: bool) -> str:
    """The leaderboard. If it is empty and of another class, also name the assignment's own class."""
    from worker.commands.terminal import style_of

    board = portal.board(name, kind)
    text = board_text(board, style_of(sys.stdout), safe(f"{portal.url}/courses/{name}/board/{kind}"))
    if board.lines or own_asked:
        return text
    own = [one.device_class or CPU for one in portal.assignments() if one.id == name]
    if not own or own[0] == kind:
        return text
    return f"{text}\nThis assignment is ranked on {safe(own[0])}."


CPU = "cpu"
"""The portal's name for leaderboards without a GPU."""

_LONGEST_NAME = 40


def board_text(board: Board, style: Style, page: str) -> str:
    """A leaderboard with your own line marked. page: address of the full leaderboard."""
    checked = board.device_class == CPU
    unit = UNITS.get(board.metric, "ms" if board.metric == "time" else safe(board.metric))
    title = f"{safe(board.assignment)} on {safe(board.device_class)}"
    if not board.lines:
        return f"{title}: {'no accepted kernels' if checked else 'no results'} yet."
    date = "accepted since" if checked else "submitted"
    shown = [name for name in board.columns or _USUAL[checked] if name in _CELLS]
    lead = ("name",) if checked else ("rank", "name")
    head = [*lead, *(part for name in shown for part in _HEADS[name]), ""]
    align = "<" * len(lead) + "".join("<" if name in {"date", "launch"} else ">" * len(_HEADS[name]) for name in shown)
    rows = [_row(line, shown, checked=checked) for line in board.lines]
    own, seen = board.own, any(line.you for line in board.lines)
    if own is not None and not seen:
        rows += [("...", *[""] * (len(head) - 1)), _row(own, shown, checked=checked)]
    first, *rest = table([[cell.format(unit=unit, date=date) for cell in head], *rows], f"{align}<", indent=0)
    parts = [style.paint(title, BOLD), *([_NOT_MEASURED] if checked else []), style.paint(first, DIM), *rest]
    if board.more:
        parts.append(f"Full leaderboard: {page}")
    return "\n".join(parts)


_NOT_MEASURED = "Not measured. Modelled numbers are upper bounds, not speeds, and give no rank."
_USUAL = {False: ("speed", "share", "occupancy"), True: ("date", "bound", "occupancy")}
_HEADS: Mapping[str, tuple[str, ...]] = {
    "speed": ("{unit}", "95 % interval"),
    "time": ("ms",),
    "share": ("of cuBLAS",),
    "occupancy": ("occupancy, modelled",),
    "date": ("{date}",),
    "bound": ("at most {unit}, modelled",),
    "launch": ("tile, grid, block",),
}
_CELLS: Mapping[str, Callable[[Line], tuple[str, ...]]] = {
    "speed": lambda line: (_number(line.value), _interval(line)),
    "time": lambda line: (_number(line.ms),),
    "share": lambda line: (_share(line.cublas_share),),
    "occupancy": lambda line: (_share(line.occupancy),),
    "date": lambda line: (local(line.reached_at),),
    "bound": lambda line: (_number(line.modelled_bound),),
    "launch": lambda line: (cut(safe(line.launch), _LONGEST_NAME) or "-",),
}


def _row(line: Line, shown: Sequence[str], *, checked: bool) -> Sequence[str]:
    rank = line.shared_rank or line.rank
    place = "-" if rank is None else f"{rank:,}" if line.listed else f"({rank:,})"
    ranks = () if checked else (f"{place} tied" if line.tied else place,)
    return *ranks, _name(line), *(cell for name in shown for cell in _CELLS[name](line)), _mark(line)


def _interval(line: Line) -> str:
    low, high = line.interval or (None, None)
    return "" if low is None or high is None else f"{figures(low)} to {figures(high)}"


def _name(line: Line) -> str:
    return cut(safe(line.name), _LONGEST_NAME) if line.name else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else figures(value)


def _share(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _mark(line: Line) -> str:
    hidden = "" if line.listed else "not listed"
    return ", ".join(("<- you", *([hidden] if hidden else []))) if line.you else hidden
