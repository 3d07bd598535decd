"""Whether the queue keeps up before a deadline, in one line."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from kernels.rendering.page import numbers
from kernels.wording import plural
from server.class_progress.states import Bar, State, students_in
from server.courses.models import Assignment
from server.fleet.service import at_once, known_slots
from server.grading.queue import usual_seconds
from server.submissions.models import Submission
from worker.contract.messages import CPU_QUEUE, gpu_queue

_HOUR = timedelta(hours=1)
_USUAL_ATTEMPTS = 5.0
"""Expected of each student before anyone has begun."""


def forecast(session: Session, bar: Bar, now: datetime) -> str:
    """The queue's work until the deadline; "" without a deadline ahead.

    Students who aren't finished need as many attempts as others made so far. Half of these come in the last hour.
    """
    due_at = bar.assignment.due_at
    if due_at is None or due_at <= now:
        return ""
    waiting = bar.students - bar.counts.get(State.ACCEPTED, 0) - bar.counts.get(State.LATE, 0)
    if not waiting:
        return "All students are finished. No more attempts are expected."
    attempts = math.ceil(waiting * _attempts_each(session, bar))
    expected = f"About {plural(attempts, 'more attempt')} until the deadline"
    known, _ = known_slots(session, now)
    hours = []
    for queue in _queues(bar.assignment):
        usual = usual_seconds(session, queue)
        if not known.get(queue):
            return f"{expected}, but no worker takes work from the queue {queue}."
        if usual is None:
            return f"{expected}. No forecast of the queue yet: nothing was graded before."
        hours.append(attempts / 2 * usual / at_once(queue, known[queue]))
    longest = max(hours)
    if longest <= _HOUR.total_seconds():
        return f"{expected}. If half come in the last hour, the workers keep up ({_span(longest)} of work)."
    late = longest - _HOUR.total_seconds()
    return f"{expected}. If half come in the last hour, verdicts come up to {_span(late)} after the deadline."


def _attempts_each(session: Session, bar: Bar) -> float:
    """Submissions and checks of an average student who has begun."""
    begun = bar.students - bar.counts.get(State.NOT_STARTED, 0)
    if not begun:
        return _USUAL_ATTEMPTS
    query = (
        select(func.count())
        .select_from(Submission)
        .where(
            Submission.assignment_id == bar.assignment.id,
            Submission.person_id.in_(students_in(bar.assignment.course_id)),
        )
    )
    return max(1.0, (session.scalar(query) or 0) / begun)


def _queues(assignment: Assignment) -> list[str]:
    return [CPU_QUEUE, *([gpu_queue(assignment.device_class)] if assignment.device_class else [])]


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f}{numbers.SPACE}s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f}{numbers.SPACE}min"
    return f"{seconds / 3_600:.1f}{numbers.SPACE}h"
