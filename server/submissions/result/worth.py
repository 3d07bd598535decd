"""What one submission is worth to its student, in a few words for the top of its result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from kernels.wording import rounded_points
from server.assignments.tasks import Task, task_of, tasks_for
from server.courses.models import Assignment, Counts
from server.courses.service import is_staff, role_in
from server.grades.grade import Grade, late_days_of
from server.grades.points import reachable
from server.grades.rubric import RubricSheet, sheet_of
from server.submissions.allowance import allowance
from server.submissions.counted_submission import Counted, Deadlines, Entry, late_days, valued
from server.submissions.models import Mode, Submission
from server.teams.credit import is_for


@dataclass(frozen=True, slots=True)
class Worth:
    """A submission and the grade of its assignment.

    deadlines, graded_by: as in `Task`
    now: for a check, which would count from now on
    as_staff: whether the reader sees points that aren't released yet
    attempts_left: None if unlimited
    covered: how many days a submission would be late now that spent late days pay
    """

    assignment: Assignment
    deadlines: Deadlines
    graded_by: Deadlines
    grade: Grade
    entry: Entry
    now: datetime
    as_staff: bool = False
    attempts_left: int | None = None
    covered: int = 0

    @property
    def counts(self) -> bool:
        counted = self.grade.counted
        return counted is not None and counted.entry.submission_id == self.entry.submission_id

    @property
    def best_now(self) -> float:
        """The most points of a new submission that spends no more late days."""
        return reachable(self.assignment, late_days(self.now, self.deadlines) - self.covered)

    @property
    def again(self) -> Again | None:
        """The chance to earn more than this submission does; None if it doesn't count or can't be improved."""
        # A decision that isn't released must not show.
        decided = (self.grade.excused or self.grade.score is not None) and (self.as_staff or not self.grade.held)
        gain = self.best_now - valued(self.assignment, self.graded_by, self.entry).points
        perfect = self.entry.accepted and round(gain, 6) <= 0
        over = self.deadlines.closed(self.now) or self.attempts_left == 0
        if decided or over or perfect or not self.counts:
            return None
        due_at = self.deadlines.due_at
        until = due_at if due_at is not None and self.now <= due_at else self.deadlines.closes_at
        return Again(until, self.attempts_left)


@dataclass(frozen=True, slots=True)
class Again:
    """A student's chance to submit again.

    until: None for no deadline; attempts_left: None if unlimited
    """

    until: datetime | None
    attempts_left: int | None


@dataclass(frozen=True, slots=True)
class Earned:
    """What the page of a submission says about its points.

    text: of `worth_text`; again: None if there is nothing to improve, or no chance
    attempts_left: None if unlimited
    rubric: None if the page doesn't show one to the reader
    """

    text: str = ""
    again: Again | None = None
    attempts_left: int | None = None
    rubric: RubricSheet | None = None


def worth_of(session: Session, submission: Submission, reader: int, now: datetime, *, as_staff: bool) -> str:
    """What a submission is worth, in the words of its page for this reader; "" before its verdict."""
    if submission.judged_job_id is None:
        return ""
    whose = reader if is_for(session, submission, reader) else submission.person_id
    task = task_of(session, submission.assignment, whose, [submission.id])
    return earned(session, submission, whose, now, as_staff=as_staff, task=task).text


def earned(
    session: Session, submission: Submission, whose: int, now: datetime, *, as_staff: bool, task: Task
) -> Earned:
    """Read what a submission is worth; nothing before its verdict.

    whose: its author, or a member of its team; `task` is this person's
    """
    if submission.judged_job_id is None:
        return Earned()
    assignment = submission.assignment
    own = next((entry for entry in task.entries if entry.submission_id == submission.id), None)
    if own is None:
        return Earned()
    left = _attempts_left(session, submission, whose, now)
    covered = 0
    if task.overdue(now):
        days = late_days_of(session, assignment, whose, now)
        covered = min(days.here, days.late)
    worth = Worth(assignment, task.deadlines, task.graded_by, task.grade, own, now, as_staff, left, covered)
    sheet = sheet_of(session, submission, whose, task.grade, as_staff=as_staff)
    return Earned(worth_text(worth), worth.again, left, sheet)


def _attempts_left(session: Session, submission: Submission, whose: int, now: datetime) -> int | None:
    """None if unlimited, as for course staff. In an archived course none are left."""
    assignment = submission.assignment
    if assignment.course.archived_at is not None:
        return 0
    if assignment.attempts is None or is_staff(role_in(session, whose, assignment.course_id)):
        return None
    return allowance(session, assignment, whose, now).left


def worth_text(worth: Worth) -> str:
    """`10/10 points, this submission counts`; "" without a verdict about the kernel."""
    entry, grade, most = worth.entry, worth.grade, worth.assignment.most_points

    def out_of(points: float) -> str:
        return f"{rounded_points(points)}/{rounded_points(most)}"

    if not entry.judged:
        return ""
    if entry.mode is Mode.CHECK:
        kernel = worth.assignment.points
        over = worth.deadlines.closed(worth.now) or worth.attempts_left == 0
        if not entry.accepted or not kernel or over:
            return "Check, doesn’t count"
        upto = "up to " if worth.assignment.speed_tiers or worth.assignment.goals_percent < 100 else ""
        earns = f"{rounded_points(worth.best_now)}/{rounded_points(kernel)}"
        return f"Worth {upto}{earns}{' plus the rubric' if grade.rubric_most else ''} if you submit it"
    if grade.held and most and not worth.as_staff:
        return "Points not released yet"
    if grade.excused and (worth.as_staff or not grade.held):
        return "Excused, doesn’t count"
    points = points_of(worth)
    if points is None:
        return _standing(worth, out_of).capitalize()
    if grade.score is not None:
        return f"{out_of(points)} points, set by course staff"
    why = grade.worth_of(valued(worth.assignment, worth.graded_by, entry)).why
    reasons = f" ({'; '.join(why)})" if why and (entry.accepted or grade.rubric_most) else ""
    if worth.again is not None:
        return f"{out_of(points)} points so far{reasons}"
    return f"{out_of(points)} points{reasons}, {_standing(worth, out_of)}"


def points_of(worth: Worth) -> float | None:
    """The points of a submission, as its page shows them to the reader.

    None for a check, without a verdict, and for an assignment without points. Also None if the student is excused, or
    if the points aren't released.
    """
    entry, grade = worth.entry, worth.grade
    counts = entry.judged and entry.mode is Mode.RANK and worth.assignment.most_points
    if not counts or grade.excused or (grade.held and not worth.as_staff):
        return None
    if grade.score is not None:
        return grade.score
    return grade.worth_of(valued(worth.assignment, worth.graded_by, entry)).points


def points_by_submission(
    session: Session, assignments: Iterable[Assignment], person_id: int, submissions: Collection[int], now: datetime
) -> Mapping[int, float | None]:
    """The points of a person's submissions to these assignments, as the person sees them, by the submission's ID."""
    graded = [each for each in assignments if each.most_points]
    found: dict[int, float | None] = {}
    for assignment, task in zip(graded, tasks_for(session, graded, person_id, submissions), strict=True):
        as_staff = is_staff(role_in(session, person_id, assignment.course_id))
        for entry in task.entries:
            worth = Worth(assignment, task.deadlines, task.graded_by, task.grade, entry, now, as_staff)
            found[entry.submission_id] = points_of(worth)
    return found


def _standing(worth: Worth, out_of: Callable[[float], str]) -> str:
    """Whether this submission counts, and what counts instead."""
    counted = worth.grade.counted
    if counted is None:
        return "doesn’t count"
    if worth.counts:
        missed = worth.entry.goals_missed
        if worth.entry.accepted and missed and worth.assignment.points and worth.assignment.goals_percent == 100:
            return f"the missed {'goal costs' if missed == 1 else 'goals cost'} no points"
        return "this submission counts"
    whose = "the" if worth.as_staff else "your"
    instead = f"{whose} {_which(worth, counted)} submission counts"
    if not worth.assignment.most_points:
        return f"{instead}, not this one"
    points = out_of(worth.grade.worth_of(counted).points)
    equal = points == out_of(points_of(worth) or 0.0)
    return f"{instead}, with the same points" if equal else f"{instead}: {points}"


def _which(worth: Worth, counted: Counted) -> str:
    """Why the other submission counts, in a word."""
    if worth.assignment.counts is Counts.LAST:
        return "last"
    chosen = worth.assignment.counts is Counts.CHOSEN and counted.entry.chosen_at is not None
    return "chosen" if chosen else "best"
