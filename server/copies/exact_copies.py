"""Files that several students submitted, noted with the submission so that the overview needs no search."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.orm import Session, aliased

from server.accounts.models import Person
from server.courses.models import Assignment, Membership, Role
from server.exercises.stored import material_of
from server.grading.models import NO_SOURCE
from server.submissions.models import ExactCopy, LookedAtPair, Submission
from server.teams.credit import parties


def note_copy(session: Session, assignment: Assignment, submission: Submission) -> None:
    """Note that another student submitted this file before. One look-up in an index if none did."""
    same = Submission.assignment_id == assignment.id, Submission.source_digest == submission.source_digest
    student = and_(
        Membership.person_id == Submission.person_id,
        Membership.course_id == assignment.course_id,
        Membership.role == Role.STUDENT,
    )
    first = session.execute(
        select(Submission.id, Submission.person_id)
        .join(Membership, student)
        .where(*same, Submission.id < submission.id)
        .order_by(Submission.id)
        .limit(1)
    ).one_or_none()
    if first is None or first.person_id == submission.person_id:
        return
    teams = parties(session, [assignment])
    if submission.person_id in teams and teams.get(first.person_id) == teams[submission.person_id]:
        return
    mine = exists().where(*same, Submission.person_id == submission.person_id, Submission.id < submission.id)
    if session.scalar(select(mine)) or submission.source_digest == _starter(session, assignment):
        return
    session.add(ExactCopy(submission_id=submission.id, of_id=first.id, assignment_id=assignment.id))


def count_copies(session: Session, assignments: Iterable[int]) -> Mapping[int, int]:
    """How many groups of students with the same file course staff haven't looked at, by assignment.

    The first submission is looked up again: its owner may have been erased or become course staff since.
    """
    copy, first = aliased(Submission), aliased(Submission)
    same = first.assignment_id == copy.assignment_id, first.source_digest == copy.source_digest
    earliest = select(func.min(first.id)).where(*same, _by_student(first)).correlate(copy).scalar_subquery()
    looked = and_(LookedAtPair.left_id == earliest, LookedAtPair.right_id == copy.id)
    query = (
        select(ExactCopy.assignment_id, func.count(copy.source_digest.distinct()))
        .join(copy, copy.id == ExactCopy.submission_id)
        .join(Assignment, Assignment.id == ExactCopy.assignment_id)
        .where(ExactCopy.assignment_id.in_(assignments), Assignment.similar_percent > 0)
        .where(_by_student(copy), copy.source_digest != NO_SOURCE)
        .where(earliest < copy.id, ~exists().where(looked))
        .group_by(ExactCopy.assignment_id)
    )
    return dict(session.execute(query).all())


def _by_student(submission: type[Submission]) -> ColumnElement[bool]:
    return exists().where(
        Membership.person_id == submission.person_id,
        Membership.course_id == Assignment.course_id,
        Membership.role == Role.STUDENT,
        Assignment.id == submission.assignment_id,
        Person.id == submission.person_id,
        Person.erased_at.is_(None),
    )


def _starter(session: Session, assignment: Assignment) -> str:
    material = material_of(session, assignment.exercise)
    starter = None if material is None else material.starter
    return "" if starter is None else hashlib.sha256(starter.encode()).hexdigest()
