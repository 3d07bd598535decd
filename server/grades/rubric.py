"""The points by a rubric, as the page of the submission that counts shows them."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.assignments.settings import MOST_POINTS
from server.audit.service import note
from server.courses.models import Assignment
from server.courses.service import CourseError, hold_active_course, hold_course
from server.grades.criteria import (
    LONGEST_TEXT,
    LONGEST_TITLE,
    MOST_CRITERIA,
    MOST_ITEMS,
    Criterion,
    Given,
    Item,
    criteria_of,
    most_of,
    stored,
)
from server.grades.grade import Grade, given_in, rubric_grades_of
from server.grades.losses import students_grades
from server.grades.points import rubric_points
from server.submissions.models import LONGEST_REASON, RubricGrade, Submission
from server.teams.credit import people_of
from server.text import printable, read_number, storable, typed_number

Keyed = TypeVar("Keyed", Criterion, Item)


@dataclass(frozen=True, slots=True)
class SheetLine:
    """A criterion with what course staff gave. points: None if it isn't graded yet."""

    criterion: Criterion
    points: float | None
    words: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class RubricSheet:
    """A student's rubric.

    kernel: the points for the kernel alone; kernel_most: the most for it
    graded_at: None if it isn't graded yet
    read: the public ID of an earlier submission that the points were given for; "" for this one
    code: see `code_of`
    """

    lines: tuple[SheetLine, ...]
    grade: Grade
    kernel: float
    kernel_most: float
    given: Given
    graded_at: datetime | None
    read: str
    code: str


def sheet_of(
    session: Session, submission: Submission, whose: int, grade: Grade, *, as_staff: bool
) -> RubricSheet | None:
    """The rubric on a submission's page; None if another submission counts, or if the grade is held.

    whose: its author, or a member of its team; grade: of this person
    """
    found = grade.counted
    if not grade.rubric_most or found is None or found.entry.submission_id != submission.id:
        return None
    if grade.held and not as_staff:
        return None
    assignment = submission.assignment
    row = rubric_grades_of(session, [assignment], whose).get(assignment.id)
    given = given_in(row)
    read = None if row is None else session.get_one(Submission, row.submission_id)
    return RubricSheet(
        sheet_lines(assignment, given),
        grade,
        found.points,
        assignment.points,
        given or Given(),
        None if row is None else row.graded_at,
        "" if read is None or read.id == submission.id else read.public_id,
        code_of(assignment, whose),
    )


def sheet_lines(assignment: Assignment, given: Given | None) -> tuple[SheetLine, ...]:
    """The criteria with what course staff gave. given: None if it isn't graded yet."""
    return tuple(_line(each, given) for each in criteria_of(assignment.rubric))


def _line(criterion: Criterion, given: Given | None) -> SheetLine:
    if given is None:
        return SheetLine(criterion, None, "", ())
    words = given.words.get(criterion.key, "")
    return SheetLine(criterion, criterion.points(given), words, criterion.chosen(given))


LONGEST_WORDS = 1_000


def item_lines(items: Iterable[Item]) -> str:
    """Items as the page shows them, one a line: the points, then the text."""
    return "\n".join(f"{'+' if each.points > 0 else ''}{typed_number(each.points)} {each.text}" for each in items)


def read_items(text: str, was: Sequence[Item]) -> tuple[Item, ...]:
    """Read items, one a line. Raises ValueError.

    was: the present items; a line keeps its item's students if its text stays. So does the only changed line if the
        number of lines and its points stay
    """
    typed = [_typed_item(line) for line in text.splitlines() if line.strip()]
    known = {each.text: each for each in was}
    if len(typed) == len(was):
        changed = [(new, old) for new, old in zip(typed, was, strict=True) if new != (old.points, old.text)]
        if len(changed) == 1 and changed[0][0][0] == changed[0][1].points:
            known = {changed[0][0][1]: changed[0][1]} | known
    return tuple(Item(known[words].key if words in known else "", points, words) for points, words in typed)


def _typed_item(line: str) -> tuple[float, str]:
    points, _, text = printable(line).replace("\N{MINUS SIGN}", "-").partition(" ")
    try:
        return read_number(points.removeprefix("+")) + 0.0, text.strip()
    except ValueError:
        raise ValueError(f"“{line.strip()[:40]}” doesn’t begin with points, such as “-1 No bounds check”.") from None


def code_of(assignment: Assignment, person: int) -> str:
    """A student's name while grading blind: the same for as long as the assignment exists, and different elsewhere."""
    named = f"{assignment.id} {assignment.created_at.isoformat()} {person}"
    return base64.b32encode(hashlib.sha256(named.encode()).digest()).decode()[:6]


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
        if wrong := _wrong_items(each.items):
            found[f"items_{place}"] = wrong
    if len(criteria) > MOST_CRITERIA:
        found[f"title_{MOST_CRITERIA}"] = f"The limit is {MOST_CRITERIA} criteria."
    return found


def _wrong_items(items: Sequence[Item]) -> str:
    if len(items) > MOST_ITEMS:
        return f"A criterion has at most {MOST_ITEMS} items."
    if len({each.text for each in items}) < len(items):
        return "Two items of a criterion have the same text."
    if any(not 0 < len(each.text) <= LONGEST_TITLE for each in items):
        return f"An item’s text must have 1 to {LONGEST_TITLE} characters."
    if any(not abs(each.points) <= MOST_POINTS for each in items):
        return f"An item’s points must be between -{MOST_POINTS:,.0f} and {MOST_POINTS:,.0f}."
    return ""


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
    keyed = [replace(_keyed(each), items=tuple(map(_keyed, each.items))) for each in criteria]
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


def _keyed(one: Keyed) -> Keyed:
    return one if one.key else replace(one, key=secrets.token_hex(4))


def wrong_points(assignment: Assignment, given: Given) -> dict[str, str]:
    """Mistakes by field: its name, an underscore, and the criterion's key."""
    found: dict[str, str] = {}
    for each in criteria_of(assignment.rubric):
        if not 0 <= given.points.get(each.key, 0.0) <= each.most:
            found[f"points_{each.key}"] = f"Points for “{each.title}” must be between 0 and {typed_number(each.most)}."
        if len(given.words.get(each.key, "")) > LONGEST_WORDS:
            found[f"words_{each.key}"] = f"This text is too long. The limit is {LONGEST_WORDS:,} characters."
        if each.one and len(given.items & {item.key for item in each.items}) > 1:
            found[f"item_{each.key}"] = f"Choose at most one item of “{each.title}”."
    if not abs(given.adjustment) <= MOST_POINTS:
        found["adjustment"] = f"The adjustment must be between -{MOST_POINTS:,.0f} and {MOST_POINTS:,.0f}."
    if given.adjustment and not given.reason.strip():
        found["reason"] = "Enter a reason for the adjustment. The student sees it."
    if len(given.reason) > LONGEST_REASON:
        found["reason"] = f"The reason is too long. The limit is {LONGEST_REASON} characters."
    return found


def give_points(
    session: Session, submission: Submission, actor: Person | None, given: Given | None, now: datetime | None = None
) -> bool:
    """Grade by the rubric, on the submission that counts; False if nothing changes. Raises CourseError.

    All members of a team for whom it counts get the same. The audit leaves the words out.

    given: None to remove the grading
    """
    assignment = submission.assignment
    hold_active_course(session, assignment.course_id)
    session.refresh(assignment)
    why = why_not(session, submission)
    if why:
        raise CourseError(why)
    wrong = wrong_points(assignment, given or Given())
    if wrong:
        raise CourseError(next(iter(wrong.values())), wrong)
    moment = now or datetime.now(UTC)
    changed = [_give(session, submission, each, actor, given, moment) for each in _counts_for(session, submission)]
    return any(changed)


def _give(
    session: Session, submission: Submission, person: int, actor: Person | None, given: Given | None, now: datetime
) -> bool:
    assignment = submission.assignment
    found = rubric_grades_of(session, [assignment], person).get(assignment.id)
    was = given_in(found)
    kept = None if given is None else _kept(criteria_of(assignment.rubric), given)
    if kept == was and (found is None or found.submission_id == submission.id):
        return False
    if kept is None:
        session.delete(found)
    else:
        if found is None:
            found = RubricGrade(assignment_id=assignment.id, person_id=person)
        found.points, found.words, found.items = dict(kept.points), dict(kept.words), sorted(kept.items)
        found.adjustment, found.reason, found.submission_id = kept.adjustment, kept.reason, submission.id
        found.graded_by, found.graded_at = None if actor is None else actor.id, now
        session.add(found)
    session.flush()
    note(
        session, actor, "grades.rubric_given", f"submission {submission.public_id}", now=now,
        course_id=assignment.course_id, person=person,
        points=[rubric_points(assignment.rubric, each) for each in (was, kept)],
    )  # fmt: skip
    return True


def _kept(criteria: Sequence[Criterion], given: Given) -> Given | None:
    """What to store; None if nothing is left and the rubric has only points to type."""
    keys = {each.key for each in criteria if not each.items}
    items = {item.key for each in criteria for item in each.items}
    kept = Given(
        {key: value for key, value in given.points.items() if key in keys},
        {each.key: text for each in criteria if (text := storable(given.words.get(each.key, "")).strip())},
        given.items & items,
        given.adjustment,
        storable(given.reason).strip() if given.adjustment else "",
    )
    return None if kept == Given() and not items else kept


def why_not(session: Session, submission: Submission) -> str:
    """Why this submission can't be graded by a rubric; "" if it can."""
    assignment = submission.assignment
    if not assignment.rubric:
        return "This assignment has no rubric."
    if not _counts_for(session, submission):
        return "This submission doesn’t count for a student’s grade. Grade the submission that counts."
    return ""


def _counts_for(session: Session, submission: Submission) -> list[int]:
    """The students for whose grade this submission counts: one, or members of its team."""
    people = people_of(session, submission)
    grades = students_grades(session, submission.assignment, people[0] if len(people) == 1 else None)
    counted = {person: grades[person].counted for person in people if person in grades}
    return [person for person, found in counted.items() if found and found.entry.submission_id == submission.id]
