"""`tilelab leaderboard`: who is how fast, or where nothing is measured, who has a right kernel."""

from __future__ import annotations

import sys

import click

from kernels.rendering.text_safety import safe
from worker.client.portal import Portal, board_path
from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, chosen, in_portal


@click.command(epilog=EXITS)
@click.argument("assignment", metavar="[COURSE/ASSIGNMENT]", required=False)
@click.option(
    "--class",
    "device_class",
    help="A device class, such as h200, or cpu for what is checked only; the assignment's own without it.",
)
@in_portal
@answering("Print one JSON object.")
def leaderboard(asked: Portal, assignment: str | None, device_class: str | None) -> Answer:
    """Show the board of an assignment; without its name, of the only one that is open.

    \b
    Examples:
      tilelab leaderboard
      tilelab leaderboard demo/tiled --class h200
      tilelab leaderboard demo/tiled --json
    """  # noqa: D301 - click reads the escape
    from worker.commands.portal.board_text import CPU

    name, kind = assignment, device_class
    if name is None or "/" not in name or kind is None:
        found = chosen(asked.assignments(), name)
        name, kind = found.id, kind or found.device_class or CPU
    return Answer(
        lambda: asked.plain(board_path(name, kind)),
        lambda: _text(asked, name, kind, own_asked=device_class is None),
    )


def _text(asked: Portal, name: str, kind: str, *, own_asked: bool) -> str:
    """The board; of an empty one that isn't the assignment's own, also which one is."""
    from worker.commands.portal.board_text import CPU, board_text
    from worker.commands.terminal import style_of

    found = asked.board(name, kind)
    text = board_text(found, style_of(sys.stdout), safe(f"{asked.url}/courses/{name}/board/{kind}"))
    if found.lines or own_asked:
        return text
    own = [one.device_class or CPU for one in asked.assignments() if one.id == name]
    if not own or own[0] == kind:
        return text
    return f"{text}\nThe assignment's own board is that of the class {safe(own[0])}."
