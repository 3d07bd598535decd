"""`tilelab admin copies`: identical and similar submissions of an assignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.wording import percent, plural
from server.audit.service import note
from server.commands.database import in_session
from server.commands.names import assignment_named
from server.copies.looked_at import fold, marks_of
from server.copies.similar import (
    MOST_STUDENTS,
    Case,
    Kind,
    Similar,
    Work,
    other_assignments,
    shared_files,
    similar,
    works_of,
)
from server.exercises.stored import given_code
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse


@click.command()
@click.argument("course")
@click.argument("assignment")
@click.option("--across", is_flag=True, help="Compare with other courses and terms, too.")
@answering()
@in_session
def copies(session: Session, course: str, assignment: str, across: bool) -> Answer:
    """List identical files, identical code and similar code in ASSIGNMENT of COURSE, as cases of several students.

    Similarity isn't proof: all students solve the same exercise. Read the sources, and ask the students.

    \b
    Example:
      tilelab admin copies cs483 tiled
      tilelab admin copies cs483 tiled --across --json
    """
    one = assignment_named(session, f"{course}/{assignment}")
    if not one.similar_percent:
        raise WrongUse(
            f"{one.name} isn't compared. `tilelab admin assignment change {course} {assignment} --similar-percent 50` "
            "changes that."
        )
    compared = [one, *(other_assignments(session, one, None) if across else [])]
    marks = marks_of(session, *compared)
    works, files = works_of(session, *compared), shared_files(session, *compared)
    given = given_code(session, one.exercise)
    all_found = similar(works.works, files, given, percent=one.similar_percent, own=one.id, marked=len(marks))
    found, looked = fold(all_found, marks)
    subject = f"assignment {course}/{assignment}"
    note(session, None, "submission.compared", subject, course_id=one.course_id, students=found.students)
    data = _data(found) | {
        "left_out": works.left_out,
        "looked_at": [{"left": _work(each.left), "right": _work(each.right)} for each in looked],
    }
    lines = [*_lines(found), *([f"Looked at, fine: {plural(len(looked), 'pair')}."] if looked else [])]
    if works.left_out:
        lines.append(f"Left out, because at most {MOST_STUDENTS:,} are compared: {plural(works.left_out, 'student')}.")
    return Answer(data, "\n".join(lines))


def _data(found: Similar) -> dict[str, Any]:
    return {
        "students": found.students,
        "cases": [
            {
                "same": case.kind.value, "many": case.usual, "shares": [round(share, 4) for share in case.shares],
                "rare_names": case.names, "rare_comments": case.comments,
                "submissions": [_work(one) for one in case.works],
            }
            for case in found.cases
        ],
        "more_pairs": found.more,
    }  # fmt: skip


def _work(work: Work) -> dict[str, str]:
    return {"course": work.course, "email": work.email, "submission": work.public_id}


def _lines(found: Similar) -> Iterator[str]:
    yield f"{found.students} students compared. Similarity isn't proof."
    if not found.cases:
        yield "No cases."
    for case in found.cases:
        yield ""
        yield f"{_same(case)}: {len(case.works)} students{' (many)' if case.usual else ''}"
        rows = [[safe(one.email), one.course, one.public_id] for one in case.works]
        yield from table([["student", "course", "submission"], *rows], "<<<", indent=2)
    if found.too_few:
        yield "Similar code isn't listed: too few students."
    if found.more:
        yield f"{plural(found.more, 'less similar pair')} left out."


def _same(case: Case) -> str:
    if case.kind is not Kind.SIMILAR:
        return f"Identical {case.kind.value}"
    least, most = (percent(share) for share in case.shares)
    return f"Similar code, {least}" if least == most else f"Similar code, {least} to {most}"
