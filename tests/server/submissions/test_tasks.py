"""What is shown first of what somebody has to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kernels.exercise.model import Metric
from kernels.verdict import Verdict
from server.submissions.assignment.tasks import Task, due_next
from server.submissions.counted_submission import Counted, Deadlines, Entry
from server.submissions.grades.grade import Grade
from server.submissions.models import Mode

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def task(
    slug: str,
    due: timedelta | None,
    verdict: Verdict | None = None,
    closes: timedelta | None = None,
    device_class: str = "h200",
) -> Task:
    """due, closes: from now on; verdict: of what counts."""
    deadlines = Deadlines(None if due is None else NOW + due, None if closes is None else NOW + closes)
    counted = None
    if verdict is not None:
        entry = Entry(submission_id=1, public_id="s1", created_at=NOW, mode=Mode.RANK, verdict=verdict)
        counted = Counted(entry, 0.0, 0)
    return Task(
        course="gpu", course_title="GPU", time_zone="UTC", slug=slug, title=slug, points=1.0, device_class=device_class,
        metric=Metric.GFLOPS, opens_at=None, listed=True, deadlines=deadlines, usual=deadlines, extra_attempts=0,
        grade=Grade(counted), best=counted, entries=(),
    )  # fmt: skip


def test_what_is_ahead_comes_before_what_is_late_and_what_is_over_does_not_come():
    tasks = [
        task("long-late", -9 * DAY),
        task("past-and-right", -8 * DAY, Verdict.ACCEPTED),
        task("late-and-wrong", -DAY, Verdict.WRONG_ANSWER, closes=DAY),
        task("closed", -DAY, closes=-DAY / 2),
        task("right", DAY, Verdict.ACCEPTED),
        task("right-where-nothing-is-faster", DAY, Verdict.ACCEPTED, device_class=""),
        task("wrong", 2 * DAY, Verdict.DATA_RACE, device_class=""),
        task("untouched", 3 * DAY),
        task("any-time", None),
    ]
    assert [one.slug for one in due_next(tasks, NOW)] == [
        "wrong", "untouched", "any-time", "late-and-wrong", "long-late", "right",
    ]  # fmt: skip
