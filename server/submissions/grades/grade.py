"""A student's grade for an assignment: what counts, and what course staff decided about it.

All pages, commands and exports take a student's points from here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from server.courses.models import Assignment, Correction, Extension
from server.submissions.counted_submission import Counted, Entry, counted, due_for
from server.submissions.entries import own_entries, ranked_entries


@dataclass(frozen=True, slots=True)
class Grade:
    """A student's grade for an assignment.

    counted: the submission that counts; None for none
    score: the points that course staff gave instead of the computed ones; None for no change
    excused: whether the assignment doesn't count for the student
    held: whether the student doesn't see the points yet
    extended: whether the student has an extension
    """

    counted: Counted | None = None
    score: float | None = None
    excused: bool = False
    held: bool = False
    extended: bool = False

    @property
    def computed(self) -> float | None:
        """The points of the submission that counts; None if nothing counts."""
        return None if self.counted is None else self.counted.points

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
        return () if self.counted is None else self.counted.why

    @property
    def late_days(self) -> int:
        """The late days that the points depend on."""
        return self.counted.late_days if self.counted is not None and self.score is None else 0


def grade_from(
    assignment: Assignment,
    extension: Extension | None,
    correction: Correction | None,
    entries: Iterable[Entry],
) -> Grade:
    """Compute one person's grade from the person's submissions."""
    found = counted(assignment, due_for(assignment, extension), entries)
    extended = extension is not None
    if correction is None:
        return Grade(found, held=assignment.grades_held, extended=extended)
    held = correction.held or assignment.grades_held
    return Grade(found, correction.score, correction.excused, held, extended)


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
    return {
        one.id: _column(session, one, people, extended[one.id], corrected[one.id], staged)
        for one in assignments
    }


def _column(
    session: Session,
    assignment: Assignment,
    people: Select[int],
    extended: Mapping[int, Extension],
    corrected: Mapping[int, Correction],
    staged: int | None,
) -> Mapping[int, Grade]:
    found = {
        person: grade_from(assignment, extended.get(person), corrected.get(person), entries)
        for person, entries in ranked_entries(session, assignment, people, staged)
    }
    for person in (extended.keys() | corrected.keys()) - found.keys():
        found[person] = grade_from(assignment, extended.get(person), corrected.get(person), ())
    return found


def own_grades(session: Session, assignments: Sequence[Assignment], person: int) -> Mapping[int, Grade]:
    """One person's grades, by the assignments' IDs. Works for staff too."""
    numbers = [one.id for one in assignments]
    granted = select(Extension).where(Extension.assignment_id.in_(numbers), Extension.person_id == person)
    extensions = {one.assignment_id: one for one in session.scalars(granted)}
    corrections = corrections_of(session, numbers, person)
    entries = own_entries(session, assignments, person)
    return {
        one.id: grade_from(one, extensions.get(one.id), corrections.get(one.id), entries.get(one.id, ()))
        for one in assignments
    }


def corrections_of(session: Session, assignments: Iterable[int], person: int) -> Mapping[int, Correction]:
    """One person's corrections, by the assignments' IDs."""
    query = select(Correction).where(
        Correction.assignment_id.in_(assignments), Correction.person_id == person
    )
    return {found.assignment_id: found for found in session.scalars(query)}
