"""The points by a rubric, as the page of the submission that counts shows them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.assignments.settings import MOST_POINTS
from server.audit.service import note
from server.courses.models import Assignment
from server.courses.service import CourseError, hold_course
from server.grades.criteria import LONGEST_TEXT, LONGEST_TITLE, MOST_CRITERIA, Criterion, criteria_of, most_of, stored
from server.grades.grade import Grade, rubric_grades_of
from server.grades.losses import students_grades
from server.grades.points import rubric_points
from server.submissions.models import RubricGrade, Submission
from server.text import storable, typed_number


@dataclass(frozen=True, slots=True)
class SheetLine:
    """A criterion with what course staff gave. points: None if it isn't graded yet."""

    criterion: Criterion
    points: float | None
    words: str


@dataclass(frozen=True, slots=True)
class RubricSheet:
    """A student's rubric.

    kernel: the points for the kernel alone; kernel_most: the most for it
    graded_at: None if it isn't graded yet
    read: the public ID of an earlier submission that the points were given for; "" for this one
    """

    lines: tuple[SheetLine, ...]
    grade: Grade
    kernel: float
    kernel_most: float
    graded_at: datetime | None
    read: str


def sheet_of(session: Session, submission: Submission, grade: Grade, *, as_staff: bool) -> RubricSheet | None:
    """The rubric on a submission's page; None if another submission counts, or if the grade is held.

    grade: of the submission's owner
    """
    found = grade.counted
    if not grade.rubric_most or found is None or found.entry.submission_id != submission.id:
        return None
    if grade.held and not as_staff:
        return None
    assignment = submission.assignment
    given = rubric_grades_of(session, [assignment], submission.person_id).get(assignment.id)
    read = None if given is None else session.get_one(Submission, given.submission_id)
    return RubricSheet(
        lines_of(assignment, given),
        grade,
        found.points,
        assignment.points,
        None if given is None else given.graded_at,
        "" if read is None or read.id == submission.id else read.public_id,
    )


def lines_of(assignment: Assignment, given: RubricGrade | None) -> tuple[SheetLine, ...]:
    """The criteria of an assignment, with what a student was given."""
    points, words = ({}, {}) if given is None else (given.points, given.words)
    return tuple(
        SheetLine(each, _counted(each, points), words.get(each.key, "")) for each in criteria_of(assignment.rubric)
    )


def _counted(criterion: Criterion, points: Mapping[str, float]) -> float | None:
    return min(points[criterion.key], criterion.most) if criterion.key in points else None


LONGEST_WORDS = 1_000


@dataclass(frozen=True, slots=True)
class Given:
    """What staff give by a rubric: points and words by the criteria's keys. Without any, the grading is removed."""

    points: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


def wrong_criteria(criteria: Sequence[Criterion]) -> dict[str, str]:
    """Mistakes by field: its name, an underscore, and the place of the criterion."""
    found: dict[str, str] = {}
    for place, each in enumerate(criteria):
        if not each.title or len(each.title) > LONGEST_TITLE or not each.title.isprintable():
            found[f"title_{place}"] = f"The title must be one line of 1 to {LONGEST_TITLE} characters."
        if not 0 < each.most <= MOST_POINTS:
            found[f"most_{place}"] = f"A criterion’s points must be above 0 and at most {MOST_POINTS:,.0f}."
        if len(each.text) > LONGEST_TEXT or not each.text.isprintable():
            found[f"text_{place}"] = f"The description must be one line of at most {LONGEST_TEXT} characters."
    if len(criteria) > MOST_CRITERIA:
        found[f"title_{MOST_CRITERIA}"] = f"The limit is {MOST_CRITERIA} criteria."
    return found


def change_rubric(
    session: Session,
    assignment: Assignment,
    actor: Person | None,
    criteria: Sequence[Criterion],
    now: datetime | None = None,
) -> bool:
    """Replace an assignment's criteria; False if they are the present ones. Raises CourseError.

    criteria: one without a key is new; points for a criterion that is left out no longer count
    """
    wrong = wrong_criteria(criteria)
    if wrong:
        raise CourseError(next(iter(wrong.values())), wrong)
    hold_course(session, assignment.course_id)
    session.refresh(assignment)
    was = assignment.rubric
    keyed = [each if each.key else replace(each, key=secrets.token_hex(4)) for each in criteria]
    if criteria_of(was) == tuple(keyed):
        return False
    assignment.rubric = stored(keyed)
    session.flush()
    note(
        session, actor, "grades.rubric_changed", f"assignment {assignment.name}", now=now,
        course_id=assignment.course_id, criteria=[len(criteria_of(was)), len(keyed)],
        points=[most_of(was), most_of(assignment.rubric)],
    )  # fmt: skip
    return True


def wrong_points(assignment: Assignment, given: Given) -> dict[str, str]:
    """Mistakes by field: its name, an underscore, and the criterion's key."""
    found: dict[str, str] = {}
    for each in criteria_of(assignment.rubric):
        if not 0 <= given.points.get(each.key, 0.0) <= each.most:
            found[f"points_{each.key}"] = f"Points for “{each.title}” must be between 0 and {typed_number(each.most)}."
        if len(given.words.get(each.key, "")) > LONGEST_WORDS:
            found[f"words_{each.key}"] = f"This text is too long. The limit is {LONGEST_WORDS:,} characters."
    return found


def give_points(
    session: Session, submission: Submission, actor: Person | None, given: Given, now: datetime | None = None
) -> bool:
    """Grade a student by the rubric, on the submission that counts; False if nothing changes. Raises CourseError.

    The audit leaves the words out.
    """
    assignment, person = submission.assignment, submission.person_id
    hold_course(session, assignment.course_id)
    session.refresh(assignment)
    why = why_not(session, submission)
    if why:
        raise CourseError(why)
    wrong = wrong_points(assignment, given)
    if wrong:
        raise CourseError(next(iter(wrong.values())), wrong)
    found = rubric_grades_of(session, [assignment], person).get(assignment.id)
    keys = {each.key for each in criteria_of(assignment.rubric)}
    points = {key: value for key, value in given.points.items() if key in keys}
    words = {key: storable(text).strip() for key, text in given.words.items() if key in keys and text.strip()}
    was = ({}, {}, submission.id) if found is None else (found.points, found.words, found.submission_id)
    if (points, words, submission.id) == was:
        return False
    if not points and not words:
        session.delete(found)
    else:
        if found is None:
            found = RubricGrade(assignment_id=assignment.id, person_id=person)
        found.points, found.words, found.submission_id = points, words, submission.id
        found.graded_by, found.graded_at = None if actor is None else actor.id, now or datetime.now(UTC)
        session.add(found)
    session.flush()
    note(
        session, actor, "grades.rubric_given", f"submission {submission.public_id}", now=now,
        course_id=assignment.course_id, person=person,
        points=[rubric_points(assignment.rubric, each) for each in (was[0], points)],
    )  # fmt: skip
    return True


def why_not(session: Session, submission: Submission) -> str:
    """Why this submission can't be graded by a rubric; "" if it can."""
    assignment = submission.assignment
    if not assignment.rubric:
        return "This assignment has no rubric."
    grade = students_grades(session, assignment, submission.person_id).get(submission.person_id)
    if grade is None or grade.counted is None or grade.counted.entry.submission_id != submission.id:
        return "This submission doesn’t count for a student’s grade. Grade the submission that counts."
    return ""
