"""Cases of similar submissions that course staff looked at and found fine, stored as pairs with the first one.

A pair is of two submissions, so a new submission of either student shows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked
from server.audit.service import note
from server.copies.similar import Similar, Work, other_assignments
from server.courses.models import Assignment
from server.courses.service import CourseError
from server.fields import Text
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


def marks_of(session: Session, *assignments: Assignment) -> Mapping[Pair, LookedAtPair]:
    """The pairs with a submission to one of these assignments that course staff looked at."""
    query = (
        select(LookedAtPair)
        .join(Submission, Submission.id == LookedAtPair.left_id)
        .where(Submission.assignment_id.in_([one.id for one in assignments]))
        .options(joinedload(LookedAtPair.staff))
    )
    return {(mark.left_id, mark.right_id): mark for mark in session.scalars(query)}


def mark_of(session: Session, left: Work, right: Work) -> LookedAtPair | None:
    """The mark of this pair; None if course staff haven't marked it."""
    return session.get(LookedAtPair, _pair(left, right))


def fold(found: Similar, marks: Mapping[Pair, LookedAtPair]) -> tuple[Similar, list[Looked]]:
    """Take marked cases out. A case goes once all pairs with its first student are marked."""
    kept, looked = [], []
    for case in found.cases:
        first, *others = case.works
        pairs = [Looked(first, each, marks[_pair(first, each)]) for each in others if _pair(first, each) in marks]
        if len(pairs) == len(others):
            looked += pairs
        else:
            kept.append(case)
    return replace(found, cases=tuple(kept)), looked


def _stored(text: str) -> str:
    return storable(text).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Similar submissions that are fine. The audit leaves the note out."""

    note: Annotated[
        str,
        Text(longest=LONGEST_NOTE),
        Asked("Note", clean=_stored, help="Note, for course staff only; not in the audit."),
    ] = ""


def _mark(session: Session, on: Target, actor: Person | None, given: Mark) -> None:
    first, *others = _works(session, on, actor)
    for each in others:
        lower, higher = _pair(first, each)
        found = mark_of(session, first, each)
        if found is None:
            found = LookedAtPair(left_id=lower, right_id=higher)
            session.add(found)
        found.note, found.looked_at = given.note, datetime.now(UTC)
        found.looked_by = None if actor is None else actor.id
        session.flush()
        _note(session, on, actor, "submission.pair_looked_at", first, each)


def _take_back(session: Session, on: Target, actor: Person | None, _: Nothing) -> None:
    first, *others = _works(session, on, actor)
    marked = [each for each in others if mark_of(session, first, each) is not None]
    if not marked:
        raise CourseError("This pair isn’t marked.")
    for each in marked:
        session.delete(mark_of(session, first, each))
        session.flush()
        _note(session, on, actor, "submission.pair_taken_back", first, each)


def _works(session: Session, on: Target, actor: Person | None) -> Sequence[Work]:
    """The works of the case, all of assignments that the actor may compare."""
    works: Sequence[Work] = on.item
    if len({work.person_id for work in works}) < len(works):
        raise CourseError("These are two submissions of the same student. Choose two students.")
    away = {work.assignment_id for work in works} - {on.assignment.id}
    if away and not away <= {one.id for one in other_assignments(session, on.assignment, actor)}:
        raise CourseError("You aren’t course staff in the courses of all these submissions.")
    return works


MARK = Act(asks=Mark, do=_mark, assistants=True)
TAKE_BACK = Act(asks=Nothing, do=_take_back, assistants=True)
"""Acts on a case; the target's item is its works, the first one first."""


def _pair(left: Work, right: Work) -> Pair:
    first, second = sorted((left.submission_id, right.submission_id))
    return first, second


def _note(session: Session, on: Target, actor: Person | None, action: str, left: Work, right: Work) -> None:
    note(session, actor, action, f"submission {left.public_id}", course_id=on.course.id, other=right.public_id)
