"""How far a student is in a course, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from server.courses.access import Reader
from server.submissions.assignment.tasks import Task, tasks_in


@dataclass(frozen=True, slots=True)
class Step:
    """The words of the link to a student's next step at an assignment, and its address."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class CourseProgress:
    """A student's progress in a course, without the assignments that they are excused from.

    done, of: how many assignments are accepted, of how many
    points, most: of the assignments with points that are released
    held: how many assignments have points that aren't released yet
    """

    done: int
    of: int
    points: float
    most: float
    held: int


@dataclass(frozen=True, slots=True)
class CourseBar:
    """A student's place in a course, as the pages of one assignment show it.

    task: the page's own; before, after: its neighbours in the course's order, None at the ends
    """

    now: datetime
    task: Task
    before: Task | None
    after: Task | None
    progress: CourseProgress


def course_bar(session: Session, reader: Reader) -> CourseBar | None:
    """The bar for a student's page of an assignment; None for course staff, who have no progress."""
    if reader.course.is_staff:
        return None
    tasks = tasks_in(session, reader.course.course_id, reader.course.role, reader.viewer.id, reader.now)
    here = next((place for place, task in enumerate(tasks) if task.slug == reader.slug), None)
    if here is None:
        return None
    return CourseBar(
        now=reader.now,
        task=tasks[here],
        before=tasks[here - 1] if here else None,
        after=tasks[here + 1] if here + 1 < len(tasks) else None,
        progress=course_progress(tasks),
    )


def course_progress(tasks: Sequence[Task]) -> CourseProgress:
    """Sum up a student's tasks in one course."""
    found = [task for task in tasks if not task.grade.excuse_released]
    valued = [task for task in found if task.points]
    released = [task for task in valued if not task.grade.held]
    return CourseProgress(
        done=sum(task.done for task in found),
        of=len(found),
        points=sum(task.grade.points or 0.0 for task in released),
        most=sum(task.points for task in released),
        held=len(valued) - len(released),
    )


def next_step(task: Task, now: datetime) -> Step:
    """The most useful link for a student at this assignment."""
    pending = next((entry for entry in task.entries if entry.under_way), None)
    if pending is not None:
        return Step("See progress", f"/submissions/{pending.public_id}")
    if task.grade.excuse_released and task.counted is None:
        return Step("Read handout", task.address)
    over = task.grade.excuse_released or task.closed(now) or task.at_its_best or (task.done and task.overdue(now))
    if over and task.counted is not None:
        return Step("See result", f"/submissions/{task.counted.entry.public_id}")
    if task.closed(now):
        return Step("Read handout", task.address)
    if task.done:
        return Step("Make it faster", task.address)
    if task.counted is not None:
        return Step("Fix it", task.address)
    if task.checked is not None:
        return Step("Submit it" if task.checked.accepted else "Fix it", task.address)
    return Step("Continue" if task.entries else "Start", task.address)
