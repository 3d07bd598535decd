"""A student's grade for an assignment: what counts, late days, and what course staff decided about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, select
from sqlalchemy.orm import Session

from server.courses.models import Accommodation, Assignment, Correction, Extension
from server.grades.criteria import Given, most_of
from server.grades.points import Worth, rubric_points, with_rubric
from server.submissions.allowance import accommodations_of, costs, extensions_of
from server.submissions.counted_submission import Counted, Deadlines, Entry, counted, due_for, late_days
from server.submissions.entries import own_entries, ranked_entries
from server.submissions.models import RubricGrade, Submission
from server.submissions.refusals import SpendsLateDays
from server.teams.deadlines import shared_deadlines


@dataclass(frozen=True, slots=True)
class LateDays:
    """A student's late days at a moment.

    given: by the course; spent: in all its assignments
    here: how many of these cover this assignment
    late: how many days late a submission is now; 0 if that costs no points
    """

    given: int
    spent: int
    here: int
    late: int

    @property
    def left(self) -> int:
        return max(0, self.given - self.spent)

    @property
    def needed(self) -> int:
        """How many late days a submission spends now, once the student confirms."""
        return min(self.left, max(0, self.late - self.here))

    def covered(self, confirmed: int | None) -> int:
        """How many days of a submission are covered.

        confirmed: how many late days it may spend; 0 for the late penalty, None if the student wasn't asked

        raise (SpendsLateDays): it would spend more than the student confirmed
        """
        if self.needed and (confirmed is None or 0 < confirmed < self.needed):
            raise SpendsLateDays(self.needed, self.left)
        return min(self.late, self.here + (self.needed if confirmed else 0))


def late_days_of(session: Session, assignment: Assignment, person: int, now: datetime) -> LateDays:
    """A student's late days at one assignment."""
    return late_days_at(session, [assignment], person, now)[assignment.id]


def late_days_at(
    session: Session, assignments: Sequence[Assignment], person: int, now: datetime
) -> Mapping[int, LateDays]:
    """A student's late days at several assignments, by ID. Needs no more queries than one assignment.

    Submissions that use no attempt spend nothing. A later deadline gives late days back. An earlier submission has the
    deadline that its points have; only a new one has the deadline of the present team.
    """
    query = (
        select(Assignment, Submission.created_at, Submission.late_days, Submission.team_due_at)
        .join(Submission, Submission.assignment_id == Assignment.id)
        .where(
            Assignment.course_id.in_({one.course_id for one in assignments}),
            Submission.person_id == person,
            Submission.late_days > 0,
            costs(),
        )
    )
    covered = session.execute(query).all()
    known = {one.id: one for one in [*assignments, *(row[0] for row in covered)]}
    extensions = extensions_of(session, known, person)
    accommodations = accommodations_of(session, {one.course_id for one in assignments}, person)
    shared = shared_deadlines(session, known.values(), person)

    def own(one: Assignment) -> Deadlines:
        return due_for(one, extensions.get(one.id), accommodations.get(one.course_id))

    def late(one: Assignment, moment: datetime, deadlines: Deadlines) -> int:
        return late_days(moment, deadlines) if one.late_percent_per_day else 0

    spent: dict[int, dict[int, int]] = defaultdict(dict)
    for one, created_at, days, team_due_at in covered:
        there, due = spent[one.course_id], own(one).or_later(team_due_at)
        there[one.id] = max(there.get(one.id, 0), min(days, late(one, created_at, due)))
    return {
        one.id: LateDays(
            one.course.late_days,
            sum(spent[one.course_id].values()),
            spent[one.course_id].get(one.id, 0),
            late(one, now, shared.get(one.id) or own(one)),
        )
        for one in assignments
    }


class Decisions(NamedTuple):
    """What course staff decided about one person in an assignment."""

    extension: Extension | None = None
    correction: Correction | None = None
    accommodation: Accommodation | None = None

    def deadlines(self, assignment: Assignment) -> Deadlines:
        return due_for(assignment, self.extension, self.accommodation)


@dataclass(frozen=True, slots=True)
class Grade:
    """A student's grade for an assignment.

    counted: the submission that counts; None for none
    score: the points that course staff gave instead of the computed ones; None for no change
    excused: whether the assignment doesn't count for the student
    held: whether the student doesn't see the points yet
    extended: whether the student has an extension or an accommodation
    rubric: the points by the rubric; None for none yet; rubric_most: the rubric's most points, 0 without a rubric
    closes_at: when the assignment closes for the student; None for never
    """

    counted: Counted | None = None
    score: float | None = None
    excused: bool = False
    held: bool = False
    extended: bool = False
    rubric: float | None = None
    rubric_most: float = 0.0
    closes_at: datetime | None = None

    def worth_of(self, found: Counted) -> Worth:
        """The points of a submission if it counts, with those by the rubric."""
        return with_rubric(Worth(found.points, found.why), self.rubric, self.rubric_most)

    @property
    def computed(self) -> float | None:
        """The points of the submission that counts, with those by the rubric; None if nothing counts."""
        return None if self.counted is None else self.worth_of(self.counted).points

    @property
    def computed_why(self) -> tuple[str, ...]:
        """Why the computed points aren't the full ones."""
        return () if self.counted is None else self.worth_of(self.counted).why

    @property
    def points(self) -> float | None:
        """The points that count; None if nothing counts, or if the student is excused."""
        if self.excused:
            return None
        return self.computed if self.score is None else self.score

    @property
    def why(self) -> tuple[str, ...]:
        """Why the points aren't the full ones."""
        if self.excused:
            return ("excused",)
        if self.score is not None:
            return ("set by course staff",)
        return self.computed_why

    @property
    def excuse_released(self) -> bool:
        """Whether the student is excused, and may know it."""
        return self.excused and not self.held

    @property
    def late_days(self) -> int:
        """The late days that the points depend on."""
        return self.counted.late_days if self.counted is not None and self.score is None else 0


def grade_from(
    assignment: Assignment, decided: Decisions, entries: Iterable[Entry], rubric: RubricGrade | None = None
) -> Grade:
    """Compute one person's grade from the person's submissions. rubric: what course staff gave by the rubric."""
    correction, deadlines = decided.correction, decided.deadlines(assignment)
    grade = Grade(
        counted(assignment, deadlines, entries),
        held=assignment.grades_held,
        extended=decided.extension is not None or decided.accommodation is not None,
        rubric=rubric_points(assignment.rubric, given_in(rubric)),
        rubric_most=most_of(assignment.rubric),
        closes_at=deadlines.closes_at,
    )
    if correction is None:
        return grade
    held = correction.held or grade.held
    return replace(grade, score=correction.score, excused=correction.excused, held=held)


def given_in(row: RubricGrade | None) -> Given | None:
    """What a row stores; None without a row."""
    return (
        None if row is None else Given(row.points, row.words, frozenset(row.items), row.adjustment, row.reason)
    )  # fmt: skip


def grades(
    session: Session, assignments: Sequence[Assignment], people: Select[int], staged: int | None = None
) -> Mapping[int, Mapping[int, Grade]]:
    """The grades of these people, by assignment and person. People without a grade are left out.

    staged: the ID of a staged regrade, for the grades once it is applied
    """
    extended: dict[int, dict[int, Extension]] = defaultdict(dict)
    corrected: dict[int, dict[int, Correction]] = defaultdict(dict)
    numbers = [one.id for one in assignments]
    granted = Extension.assignment_id.in_(numbers), Extension.person_id.in_(people)
    for extension in session.scalars(select(Extension).where(*granted)):
        extended[extension.assignment_id][extension.person_id] = extension
    decided = Correction.assignment_id.in_(numbers), Correction.person_id.in_(people)
    for correction in session.scalars(select(Correction).where(*decided)):
        corrected[correction.assignment_id][correction.person_id] = correction
    by_rubric: dict[int, dict[int, RubricGrade]] = defaultdict(dict)
    for each in _rubric_grades(session, assignments, RubricGrade.person_id.in_(people)):
        by_rubric[each.assignment_id][each.person_id] = each
    more_time: dict[int, dict[int, Accommodation]] = defaultdict(dict)
    courses = Accommodation.course_id.in_({one.course_id for one in assignments}), Accommodation.person_id.in_(people)
    for given in session.scalars(select(Accommodation).where(*courses)):
        more_time[given.course_id][given.person_id] = given
    return {
        one.id: _column(
            session,
            one,
            people,
            _Decided(extended[one.id], corrected[one.id], more_time[one.course_id], by_rubric[one.id]),
            staged,
        )
        for one in assignments
    }


@dataclass(frozen=True, slots=True)
class _Decided:
    """What course staff decided about an assignment's grades, by person."""

    extended: Mapping[int, Extension]
    corrected: Mapping[int, Correction]
    more_time: Mapping[int, Accommodation]
    by_rubric: Mapping[int, RubricGrade]

    def grade(self, assignment: Assignment, person: int, entries: Iterable[Entry]) -> Grade:
        decided = Decisions(self.extended.get(person), self.corrected.get(person), self.more_time.get(person))
        return grade_from(assignment, decided, entries, self.by_rubric.get(person))


def _column(
    session: Session, assignment: Assignment, people: Select[int], decided: _Decided, staged: int | None
) -> Mapping[int, Grade]:
    found = {
        person: decided.grade(assignment, person, entries)
        for person, entries in ranked_entries(session, assignment, people, staged)
    }
    for person in (decided.extended.keys() | decided.corrected.keys() | decided.more_time.keys()) - found.keys():
        found[person] = decided.grade(assignment, person, ())
    return found


def own_grades(session: Session, assignments: Sequence[Assignment], person: int) -> Mapping[int, Grade]:
    """One person's grades, by the assignments' IDs. Works for staff too."""
    numbers = [one.id for one in assignments]
    decided = decisions_of(session, numbers, person)
    by_rubric = rubric_grades_of(session, assignments, person)
    entries = own_entries(session, assignments, person)
    return {
        one.id: grade_from(one, decided[one.id], entries.get(one.id, ()), by_rubric.get(one.id)) for one in assignments
    }


def decisions_of(session: Session, assignments: Iterable[int], person: int) -> Mapping[int, Decisions]:
    """What is decided about one person, by the assignments' IDs."""
    found = session.execute(_DECISIONS, {"assignments": list(assignments), "person": person})
    return {number: Decisions(extension, correction, given) for number, extension, correction, given in found}


_DECISIONS = (
    select(Assignment.id, Extension, Correction, Accommodation)
    .select_from(Assignment)
    .outerjoin(Extension, and_(Extension.assignment_id == Assignment.id, Extension.person_id == bindparam("person")))
    .outerjoin(Correction, and_(Correction.assignment_id == Assignment.id, Correction.person_id == bindparam("person")))
    .outerjoin(
        Accommodation,
        and_(Accommodation.course_id == Assignment.course_id, Accommodation.person_id == bindparam("person")),
    )
    .where(Assignment.id.in_(bindparam("assignments", expanding=True)))
)


def rubric_grades_of(session: Session, assignments: Sequence[Assignment], person: int) -> Mapping[int, RubricGrade]:
    """What course staff gave one person by rubrics, by the assignments' IDs."""
    if not any(one.rubric for one in assignments):
        return {}
    found = _rubric_grades(session, assignments, RubricGrade.person_id == person)
    return {each.assignment_id: each for each in found}


def _rubric_grades(
    session: Session, assignments: Sequence[Assignment], whose: ColumnElement[bool]
) -> Sequence[RubricGrade]:
    """Without a statement if no assignment has a rubric."""
    numbers = [one.id for one in assignments if one.rubric]
    query = select(RubricGrade).where(RubricGrade.assignment_id.in_(numbers), whose)
    return session.scalars(query).all() if numbers else ()
