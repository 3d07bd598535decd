"""`tilelab admin copies`: identical and similar submissions of an assignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from server.copies.similar import Group, Similar, Work, given_code, shared_files, similar, works_of
from worker.commands.answer import Answer, answering


@click.command()
@click.argument("course")
@click.argument("assignment")
@answering()
@in_session
def copies(session: Session, course: str, assignment: str) -> Answer:
    """List identical files, identical code and similar pairs in ASSIGNMENT of COURSE.

    Similarity isn't proof: all students solve the same exercise. Read both sources, and ask the students.

    \b
    Example:
      tilelab admin copies cs483 tiled
      tilelab admin copies cs483 tiled --json
    """
    one = assignment_named(session, f"{course}/{assignment}")
    marks = marks_of(session, one)
    given = (works_of(session, one), shared_files(session, one), given_code(session, one))
    found, looked = fold(similar(*given, marked=len(marks)), marks)
    subject = f"assignment {course}/{assignment}"
    note(session, None, "submission.compared", subject, course_id=one.course_id, students=found.students)
    data = _data(found) | {"looked_at": [{"left": _work(each.left), "right": _work(each.right)} for each in looked]}
    lines = [*_lines(found), *([f"Looked at, fine: {plural(len(looked), 'pair')}."] if looked else [])]
    return Answer(data, "\n".join(lines))


def _data(found: Similar) -> dict[str, Any]:
    return {
        "students": found.students,
        "identical_files": [_group(group) for group in found.files],
        "identical_code": [_group(group) for group in found.codes],
        "pairs": [
            {
                "left": _work(one.left), "right": _work(one.right), "share": round(one.share, 4),
                "rare_names": one.names, "rare_comments": one.comments,
            }
            for one in found.pairs
        ],
        "more_pairs": found.more,
    }  # fmt: skip


def _group(group: Group) -> dict[str, Any]:
    return {"many": group.usual, "submissions": [_work(one) for one in group.works]}


def _work(work: Work) -> dict[str, str]:
    return {"email": work.email, "submission": work.public_id}


def _lines(found: Similar) -> Iterator[str]:
    yield f"{found.students} students compared. Similarity isn't proof."
    yield from _groups("Identical files", found.files)
    yield from _groups("Identical code", found.codes)
    yield ""
    if not found.pairs:
        yield "Similar pairs: too few students" if found.too_few else "Similar pairs: none"
        return
    head = ["similar", "student", "student", "submission", "submission"]
    rows = [
        [
            percent(one.share), safe(one.left.email), safe(one.right.email), one.left.public_id,
            one.right.public_id,
        ]
        for one in found.pairs
    ]  # fmt: skip
    yield from table([head, *rows], "><<<<", indent=0)
    if found.more:
        yield f"{found.more} more pairs are left out."


def _groups(title: str, groups: Sequence[Group]) -> Iterator[str]:
    yield ""
    yield f"{title}: {'none' if not groups else ''}".rstrip()
    for group in groups:
        emails = ", ".join(safe(one.email) for one in group.works)
        yield f"  {len(group.works)} students{' (many)' if group.usual else ''}: {emails}"
