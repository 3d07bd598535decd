"""Pairs of similar submissions that course staff looked at and found fine.

A pair is of two submissions, so a new submission of either student shows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.audit.service import note
from server.copies.similar import Group, Similar, Work
from server.courses.models import Assignment
from server.courses.service import CourseError
from server.submissions.models import LookedAtPair, Submission
from server.text import storable

LONGEST_NOTE = 500

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Looked:
    """A pair that is folded away."""

    left: Work
    right: Work
    mark: LookedAtPair


def marks_of(session: Session, assignment: Assignment) -> Mapping[Pair, LookedAtPair]:
    """The pairs of an assignment that course staff looked at."""
    query = (
        select(LookedAtPair)
        .join(Submission, Submission.id == LookedAtPair.left_id)
        .where(Submission.assignment_id == assignment.id)
        .options(joinedload(LookedAtPair.staff))
    )
    return {(mark.left_id, mark.right_id): mark for mark in session.scalars(query)}


def mark_of(session: Session, left: Work, right: Work) -> LookedAtPair | None:
    """The mark of this pair; None if course staff haven't marked it."""
    return session.get(LookedAtPair, _pair(left, right))


def fold(found: Similar, marks: Mapping[Pair, LookedAtPair]) -> tuple[Similar, list[Looked]]:
    """Take marked pairs out. A group goes once all pairs with its first student are marked."""
    looked: list[Looked] = []

    def left_over(groups: Sequence[Group]) -> tuple[Group, ...]:
        kept = []
        for group in groups:
            first, *others = group.works
            pairs = [Looked(first, each, marks[_pair(first, each)]) for each in others if _pair(first, each) in marks]
            if len(pairs) == len(others):
                looked.extend(pairs)
            else:
                kept.append(group)
        return tuple(kept)

    files, codes = left_over(found.files), left_over(found.codes)
    pairs = []
    for pair in found.pairs:
        mark = marks.get(_pair(pair.left, pair.right))
        if mark is None:
            pairs.append(pair)
        else:
            looked.append(Looked(pair.left, pair.right, mark))
    return replace(found, files=files, codes=codes, pairs=tuple(pairs)), looked


def mark_fine(
    session: Session, assignment: Assignment, works: tuple[Work, Work], actor: Person | None, text: str = ""
) -> None:
    """Mark a pair as looked at and fine, or replace its note; raises CourseError. The audit leaves the note out."""
    left, right = works
    if left.person_id == right.person_id:
        raise CourseError("These are two submissions of the same student. Choose two students.")
    written = storable(text).strip()
    if len(written) > LONGEST_NOTE:
        raise CourseError(f"The note is too long. The limit is {LONGEST_NOTE} characters.", ["note"])
    mark = mark_of(session, left, right)
    if mark is None:
        lower, higher = _pair(left, right)
        mark = LookedAtPair(left_id=lower, right_id=higher)
        session.add(mark)
    mark.note, mark.looked_at = written, datetime.now(UTC)
    mark.looked_by = None if actor is None else actor.id
    session.flush()
    _note(session, assignment, works, actor, "submission.pair_looked_at")


def take_back(session: Session, assignment: Assignment, works: tuple[Work, Work], actor: Person | None) -> None:
    """Show a marked pair again; raises CourseError."""
    mark = mark_of(session, *works)
    if mark is None:
        raise CourseError("This pair isn’t marked.")
    session.delete(mark)
    session.flush()
    _note(session, assignment, works, actor, "submission.pair_taken_back")


def _pair(left: Work, right: Work) -> Pair:
    first, second = sorted((left.submission_id, right.submission_id))
    return first, second


def _note(
    session: Session, assignment: Assignment, works: tuple[Work, Work], actor: Person | None, action: str
) -> None:
    left, right = works
    subject, other = f"submission {left.public_id}", right.public_id
    note(session, actor, action, subject, course_id=assignment.course_id, other=other)
