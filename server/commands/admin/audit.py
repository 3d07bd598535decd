"""`tilelab admin audit`: changes in a course or on the server, with person and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from zoneinfo import ZoneInfo

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.audit.models import AREAS
from server.commands.course_times import clock_text, zone_of
from server.commands.database import in_session
from server.commands.names import course_named, person_named
from server.courses.audit_log import Entry, read_entries
from server.courses.local_time import zone_named
from worker.commands.answer import Answer, answering


@click.command()
@click.argument("course", required=False)
@click.option("--area", type=click.Choice(AREAS), help="Only this kind of change (the action's first word).")
@click.option("--by", "email", help="Only changes by the person with this email.")
@click.option("--subject", default="", help="Only changes to this, such as `job 17` or a part of it.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000))
@click.option(
    "--before", default=0, type=click.IntRange(0, 2**63 - 1), help="Only entries before this number, for the next page."
)
@answering()
@in_session
def audit(
    session: Session, course: str | None, area: str | None, email: str | None, subject: str, limit: int, before: int
) -> Answer:
    """Show changes in COURSE, newest first. Without COURSE, show changes to the server.

    Times are in the course's time zone, or in UTC without COURSE.

    \b
    Example:
      tilelab admin audit --area worker
      tilelab admin audit cs483 --area assignment --by ada@university.edu
    """
    of = None if course is None else course_named(session, course)
    zone = zone_named("UTC") if of is None else zone_of(of)
    found = read_entries(
        session, None if of is None else of.id, area=area or "", subject=subject, before=before, limit=limit,
        actor=None if email is None else person_named(session, email).id,
    )  # fmt: skip
    lines = _lines(found.rows, zone) if found.rows else ["No matching entries."]
    if found.before:
        lines.append(f"For the next page, use --before {found.before}")
    data = {"deeds": [_plain(entry) for entry in found.rows], "next": found.before or None}
    return Answer(data, "\n".join(lines))


def _plain(entry: Entry) -> dict[str, object]:
    shown = {name: value for name, value in asdict(entry).items() if name != "students"}
    return shown | {"at": entry.at.isoformat(timespec="seconds"), "submission": entry.submission or None}


def _lines(found: Sequence[Entry], zone: ZoneInfo) -> list[str]:
    head = ["number", f"time ({zone.key})", "by", "action", "subject", "details"]
    rows = [
        [
            str(entry.number), clock_text(entry.at, zone), safe(entry.by or "command line"), entry.action,
            safe(entry.subject), safe("; ".join(entry.details)),
        ]
        for entry in found
    ]  # fmt: skip
    return table([head, *rows], "><<<<<", indent=0)
