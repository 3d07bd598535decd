"""What one submission is worth to its student, in a few words for the top of its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from server.courses.models import Assignment, Counts
from server.submissions.assignment.tasks import task_of
from server.submissions.counted_submission import Deadlines, Entry, late_days, valued
from server.submissions.grades.grade import Grade
from server.submissions.grades.rubric import RubricSheet, sheet_of
from server.submissions.models import Mode, Submission
from server.submissions.rules.points import points_for
from server.text import rounded_points


@dataclass(frozen=True, slots=True)
class Worth:
    """A submission and the grade of its assignment.

    now: for a check, which would count from now on
    as_staff: whether the reader sees points that aren't released yet
    """

    assignment: Assignment
    deadlines: Deadlines
    grade: Grade
    entry: Entry
    now: datetime
    as_staff: bool = False


def worth_of(session: Session, submission: Submission, now: datetime, *, as_staff: bool) -> str:
    """What a submission is worth, in the words of its page; "" before its verdict."""
    return worth_and_rubric(session, submission, now, as_staff=as_staff)[0]


def worth_and_rubric(
    session: Session, submission: Submission, now: datetime, *, as_staff: bool
) -> tuple[str, RubricSheet | None]:
    """The same, with the rubric's points; None if the submission's page doesn't show them to the reader."""
    if submission.judged_job_id is None:
        return "", None
    assignment = submission.assignment
    task = task_of(session, assignment, submission.person_id)
    own = next((one for one in task.entries if one.submission_id == submission.id), None)
    if own is None:
        return "", None
    text = worth_text(Worth(assignment, task.deadlines, task.grade, own, now, as_staff))
    return text, sheet_of(session, submission, task.grade, as_staff=as_staff)


def worth_text(worth: Worth) -> str:
    """`10/10 points, this submission counts`; "" without a verdict about the kernel."""
    entry, grade, most = worth.entry, worth.grade, worth.assignment.most_points

    def out_of(points: float) -> str:
        return f"{rounded_points(points)}/{rounded_points(most)}"

    if not entry.judged:
        return ""
    if entry.mode is Mode.CHECK:
        kernel = worth.assignment.points
        if not entry.accepted or not kernel or worth.deadlines.closed(worth.now):
            return "Check, doesn’t count"
        upto = "up to " if worth.assignment.speed_tiers or worth.assignment.goals_percent < 100 else ""
        days = late_days(worth.now, worth.deadlines)
        earns = (
            f"{rounded_points(points_for(worth.assignment, days, accepted=True))}/{rounded_points(kernel)}"
        )
        return f"Worth {upto}{earns}{' plus the rubric' if grade.rubric_most else ''} if you submit it"
    if grade.excused:
        return "Excused, doesn’t count"
    if grade.held and most and not worth.as_staff:
        return "Points not released yet"
    if grade.score is not None and most:
        return f"{out_of(grade.score)} points, set by course staff"
    standing = _standing(worth, out_of)
    if not most:
        return standing.capitalize()
    own = grade.worth_of(valued(worth.assignment, worth.deadlines, entry))
    why = f" ({'; '.join(own.why)})" if own.why and (entry.accepted or grade.rubric_most) else ""
    return f"{out_of(own.points)} points{why}, {standing}"


def _standing(worth: Worth, out_of: Callable[[float], str]) -> str:
    """Whether this submission counts, and what counts instead."""
    counted = worth.grade.counted
    if counted is None:
        return "doesn’t count"
    if counted.entry.submission_id == worth.entry.submission_id:
        return "this submission counts"
    stays = (
        f" stays {out_of(worth.grade.worth_of(counted).points)}"
        if worth.assignment.most_points
        else " counts"
    )
    if worth.assignment.counts is Counts.LAST:
        return f"your last submission{stays}"
    chosen = worth.assignment.counts is Counts.CHOSEN and counted.entry.chosen_at is not None
    return f"your {'chosen submission' if chosen else 'best'}{stays}"
