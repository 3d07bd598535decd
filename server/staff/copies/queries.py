"""The sources to compare: one submission of each student, and files that several students submitted."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, bindparam, func, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.courses.exercises import material_of
from server.courses.models import Assignment, Membership, Role
from server.grading.models import Source
from server.submissions.grades.grade import grades
from server.submissions.models import Submission

MOST_GROUPS = 50
"""Identical files that a page lists."""

_CODE = re.compile(r"^```(?:cuda|cpp|c)\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Work:
    """A student's submission."""

    submission_id: int
    public_id: str
    person_id: int
    name: str
    email: str
    created_at: datetime
    digest: str
    source: str


def works_of(session: Session, assignment: Assignment) -> list[Work]:
    """The submission of each student that counts, otherwise the last one or check; by name, without erased people.

    Includes dropped students, because others may have their code.
    """
    students = _students(assignment)
    counted = {
        person: grade.counted.entry.submission_id
        for person, grade in grades(session, [assignment], students)[assignment.id].items()
        if grade.counted is not None
    }
    last = (
        select(Submission.person_id, func.max(Submission.id))
        .where(Submission.assignment_id == assignment.id, Submission.person_id.in_(students))
        .group_by(Submission.person_id)
    )
    chosen = [counted.get(person, number) for person, number in session.execute(last)]
    return sorted(_works(session, chosen), key=lambda one: (one.name.casefold(), one.email))


def work_of(session: Session, assignment: Assignment, public_id: str) -> Work | None:
    """One submission of a student to this assignment."""
    number = session.scalar(
        select(Submission.id).where(
            Submission.public_id == public_id,
            Submission.assignment_id == assignment.id,
            Submission.person_id.in_(_students(assignment)),
        )
    )
    return next(iter(_works(session, [] if number is None else [number])), None)


def shared_files(session: Session, assignment: Assignment) -> list[list[Work]]:
    """Files that several students submitted or checked, also earlier. Each group has one submission of each student."""
    starter = given_code(session, assignment)[:1]
    ours = {hashlib.sha256(text.encode()).hexdigest() for text in starter}
    mine = Submission.assignment_id == assignment.id, Submission.person_id.in_(_students(assignment))
    several = (
        select(Submission.source_digest)
        .where(*mine, Submission.source_digest.not_in(ours))
        .group_by(Submission.source_digest)
        .having(func.count(Submission.person_id.distinct()) > 1)
        .order_by(func.max(Submission.id).desc())
        .limit(MOST_GROUPS)
    )
    digests = session.scalars(several).all()
    first = (
        select(func.min(Submission.id))
        .where(*mine, Submission.source_digest.in_(digests))
        .group_by(Submission.source_digest, Submission.person_id)
    )
    groups: dict[str, list[Work]] = defaultdict(list)
    for work in sorted(_works(session, session.scalars(first)), key=lambda one: (one.created_at, one.submission_id)):
        groups[work.digest].append(work)
    return sorted(groups.values(), key=len)


def given_code(session: Session, assignment: Assignment) -> list[str]:
    """The code that all students got: the starter first, if there is one, and the code in the handout."""
    material = material_of(session, assignment.exercise)
    if material is None:
        return []
    return [*filter(None, [material.starter]), *_CODE.findall(material.handout.replace("\r\n", "\n"))]


def _students(assignment: Assignment) -> Select[int]:
    return (
        select(Membership.person_id)
        .join(Person, Person.id == Membership.person_id)
        .where(
            Membership.course_id == assignment.course_id, Membership.role == Role.STUDENT, Person.erased_at.is_(None)
        )
    )


def _works(session: Session, submissions: Iterable[int]) -> list[Work]:
    # Inlined: a course may have more students than a statement may have parameters.
    numbers = bindparam(None, list(submissions), Submission.id.type, expanding=True, literal_execute=True)
    query = (
        select(
            Submission.id, Submission.public_id, Person.id, Person.name, Person.email, Submission.created_at,
            Source.digest, Source.content,
        )
        .join(Person, Person.id == Submission.person_id)
        .join(Source, Source.digest == Submission.source_digest)
        .where(Submission.id.in_(numbers))
    )  # fmt: skip
    return [Work(*row[:-1], row[-1].decode("utf-8", "replace")) for row in session.execute(query)]


def people(works: Sequence[Work]) -> frozenset[int]:
    """The IDs of the students."""
    return frozenset(one.person_id for one in works)
