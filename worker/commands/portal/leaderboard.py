"""`tilelab leaderboard`: who is how fast, or where nothing is measured, who has a right kernel."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from kernels.rendering.text_safety import safe
from worker.client.portal import board_path
from worker.commands.portal.connection import EXITS, chosen, portal
from worker.commands.root import Exit, leave


@click.command(epilog=EXITS)
@click.argument("assignment", metavar="[COURSE/ASSIGNMENT]", required=False)
@click.option(
    "--class",
    "device_class",
    help="A device class, such as h200, or cpu for what is checked only; the assignment's own without it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def leaderboard(assignment: str | None, device_class: str | None, as_json: bool) -> None:
    """Show the board of an assignment; without its name, of the only one that is open.

    \b
    Examples:
      tilelab leaderboard
      tilelab leaderboard demo/tiled --class h200
      tilelab leaderboard demo/tiled --json
    """  # noqa: D301 - click reads the escape
    from worker.commands.portal.board_text import CPU, board_text
    from worker.commands.terminal import style_of

    with portal() as asked:
        name, kind = assignment, device_class
        if name is None or "/" not in name or kind is None:
            found = chosen(asked.assignments(), name)
            name, kind = found.id, kind or found.device_class or CPU
        if as_json:
            click.echo(json.dumps(asked.plain(board_path(name, kind)), ensure_ascii=True))
        else:
            page = f"{asked.url}/courses/{name}/board/{kind}"
            found_board = asked.board(name, kind)
            click.echo(board_text(found_board, style_of(sys.stdout), safe(page)))
            if not found_board.lines and device_class is not None:
                _tell_own([one.device_class or CPU for one in asked.assignments() if one.id == name], kind)
    leave(Exit.ACCEPTED)


def _tell_own(own: Sequence[str], kind: str) -> None:
    """Which board has lines mostly: that of another class is empty, also where there is no such class."""
    if own and own[0] != kind:
        click.echo(f"The assignment's own board is that of the class {safe(own[0])}.")
