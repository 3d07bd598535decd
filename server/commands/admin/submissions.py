"""`tilelab admin submissions`: a course's submissions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.commands.course_times import clock_text, zone_of
from server.commands.names import assignment_named, on_course
from server.commands.options import criteria_from, filter_options
from server.courses.models import Course
from server.submissions.course_submissions import CourseSubmission, listing
from server.submissions.models import Submission
from worker.commands.answer import Answer
from worker.commands.root import WrongUse


@click.command()
@on_course(
    filter_options(),
    click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000)),
    click.option("--after", default="", metavar="ID", help="Only submissions older than this one, for the next page."),
)
def submissions(session: Session, course: Course, limit: int, after: str, **given: Any) -> Answer:
    """List the submissions of COURSE, newest first. Times are in the course's time zone.

    \b
    Example:
      tilelab admin submissions cs483 --verdict system_error
      tilelab admin submissions cs483 --assignment tiled --student ada@university.edu --json
    """
    if given["assignment"]:
        assignment_named(session, f"{course.slug}/{given['assignment']}")
    if after and session.scalar(select(Submission.id).where(Submission.public_id == after)) is None:
        raise WrongUse(f"--after: no submission {after}.")
    part = listing(session, course.id, criteria_from(course, given), after, limit)
    zone = zone_of(course)
    data = [asdict(row) | {"created_at": row.created_at.isoformat(timespec="seconds")} for row in part.rows]
    lines = _lines(part.rows, zone) if part.rows else ["No matching submissions."]
    if part.after:
        lines.append(f"For the next page, use --after {part.after}")
    return Answer({"submissions": data, "next": part.after or None}, "\n".join(lines))


def _lines(rows: Sequence[CourseSubmission], zone: ZoneInfo) -> list[str]:
    head = ["id", f"submitted ({zone.key})", "assignment", "student", "mode", "state", "verdict", "GFLOPS"]
    cells = [
        [
            row.public_id, f"{clock_text(row.created_at, zone)}{' late' if row.late else ''}", row.assignment,
            safe(row.email), row.mode.value, row.state.value, row.verdict or "",
            "" if row.gflops is None else f"{row.gflops:,.1f}{', not ranked' if row.not_ranked else ''}",
        ]
        for row in rows
    ]  # fmt: skip
    return table([head, *cells], "<<<<<<<>", indent=0)
