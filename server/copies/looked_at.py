"""Cases of similar submissions that course staff looked at and found fine, stored as pairs with the first one.

A pair is of two submissions, so a new submission of either student shows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked
from server.audit.service import note
from server.copies.similar import Case, Similar, Work, other_assignments, people
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
    """Take marked cases out. A case goes once marked pairs have all its submissions, and connect all its people."""
    kept, looked = [], dict[Pair, Looked]()
    for case in found.cases:
        by_id = {work.submission_id: work for work in case.works}
        pairs = {
            pair: Looked(by_id[pair[0]], by_id[pair[1]], mark)
            for pair, mark in marks.items()
            if pair[0] in by_id and pair[1] in by_id
        }
        if {number for pair in pairs for number in pair} == by_id.keys() and _connect_all(case, pairs.values()):
            looked |= pairs
        else:
            kept.append(case)
    return replace(found, cases=tuple(kept)), list(looked.values())


def _connect_all(case: Case, pairs: Iterable[Looked]) -> bool:
    group = {person: {person} for person in people(case.works)}
    for pair in pairs:
        left, right = group[pair.left.party], group[pair.right.party]
        if left is not right:
            left |= right
            group.update(dict.fromkeys(right, left))
    return all(len(each) == len(group) for each in group.values())


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
    for left, right in _pairs_to_mark(_works(session, on, actor)):
        lower, higher = _pair(left, right)
        found = mark_of(session, left, right)
        if found is None:
            found = LookedAtPair(left_id=lower, right_id=higher)
            session.add(found)
        found.note, found.looked_at = given.note, datetime.now(UTC)
        found.looked_by = None if actor is None else actor.id
        session.flush()
        _note(session, on, actor, "submission.pair_looked_at", left, right)


def _pairs_to_mark(works: Sequence[Work]) -> Iterator[tuple[Work, Work]]:
    """Each submission with the first one of another student."""
    first = works[0]
    other = next(work for work in works if work.party != first.party)
    for work in works[1:]:
        yield (first, work) if work.party != first.party else (other, work)


def _take_back(session: Session, on: Target, actor: Person | None, _: Nothing) -> None:
    by_id = {work.submission_id: work for work in _works(session, on, actor)}
    query = select(LookedAtPair).where(LookedAtPair.left_id.in_(by_id), LookedAtPair.right_id.in_(by_id))
    marked = session.scalars(query.order_by(LookedAtPair.left_id, LookedAtPair.right_id)).all()
    if not marked:
        raise CourseError("This pair isn’t marked.")
    for each in marked:
        session.delete(each)
        session.flush()
        _note(session, on, actor, "submission.pair_taken_back", by_id[each.left_id], by_id[each.right_id])


def _works(session: Session, on: Target, actor: Person | None) -> Sequence[Work]:
    """The works of the case, all of assignments that the actor may compare."""
    works: Sequence[Work] = on.item
    if len(people(works)) < 2:
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
    for course_id in courses_of(session, on, left, right):
        note(session, actor, action, f"submission {left.public_id}", course_id=course_id, other=right.public_id)


def courses_of(session: Session, on: Target, *works: Work) -> list[int]:
    """The courses whose audit has an act on these works."""
    away = {work.assignment_id for work in works}
    return sorted({on.course.id, *(session.get_one(Assignment, number).course_id for number in away)})
