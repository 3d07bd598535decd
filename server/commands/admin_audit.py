"""`tilelab admin audit`: who did what in a course, or to the server as a whole, and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from kernels.table import table
from kernels.text_safety import safe
from server.audit.reading import Deed, deeds
from server.commands.asking import course_named, person_named
from server.commands.database import database_in_use
from worker.commands.root import Exit, leave


@click.command()
@click.argument("course", required=False)
@click.option(
    "--area", default="", help="Only of this kind: the first word of what was done, such as member."
)
@click.option("--by", "email", help="Only what the person with this address did.")
@click.option("--subject", default="", help="Only what was done to this, such as `job 17` or a part of it.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000))
@click.option(
    "--before", default=0, type=click.IntRange(0, 2**63 - 1), help="Only before this number: the next page."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(
    course: str | None, area: str, email: str | None, subject: str, limit: int, before: int, as_json: bool
) -> None:
    """Show what was done in COURSE, the latest first; without it, what concerns no single course.

    \b
    Example:
      tilelab admin audit --area worker
      tilelab admin audit cs483 --area assignment --by ada@university.edu
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        number = None if course is None else course_named(session, course).id
        found = deeds(
            session, number, area=area, subject=subject, before=before, limit=limit,
            actor=None if email is None else person_named(session, email).id,
        )  # fmt: skip
    if as_json:
        lines = [asdict(deed) | {"at": deed.at.isoformat(timespec="seconds")} for deed in found.rows]
        click.echo(json.dumps({"deeds": lines, "next": found.before or None}))
    elif found.rows:
        click.echo("\n".join(_lines(found.rows)))
        if found.before:
            click.echo(f"... and more: --before {found.before}")
    else:
        click.echo("Nothing of that kind was done.")
    leave(Exit.ACCEPTED)


def _lines(found: Sequence[Deed]) -> list[str]:
    head = ["number", "at (UTC)", "by", "what", "to what", "in which way"]
    rows = [
        [
            str(deed.number), f"{deed.at:%Y-%m-%d %H:%M:%S}", safe(deed.by or "command line"), deed.action,
            safe(deed.subject), safe("; ".join(deed.detail)),
        ]
        for deed in found
    ]  # fmt: skip
    return table([head, *rows], "><<<<<", indent=0)
