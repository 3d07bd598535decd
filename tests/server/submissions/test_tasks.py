"""What is shown first of what somebody has to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from kernels.exercise.model import Metric
from kernels.verdict import Verdict
from server.assignments.tasks import (
    CourseProgress,
    Task,
    course_progress,
    due_next,
    in_order,
    next_step,
    own_activity,
    practice_levels,
)
from server.grades.grade import Grade
from server.submissions.counted_submission import Counted, Deadlines, Entry
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
        metric=Metric.GFLOPS, opens_at=None, listed=True, deadlines=deadlines, usual=deadlines, graded_by=deadlines,
        extra_attempts=0, grade=Grade(counted), entries=(),
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
        replace(task("practice", None), practice=True),
        replace(task("excused", -DAY), grade=Grade(excused=True)),
        replace(task("excuse-not-released", None), grade=Grade(excused=True, held=True)),
    ]
    assert [one.slug for one in due_next(tasks, NOW)] == [
        "wrong", "untouched", "any-time", "excuse-not-released", "late-and-wrong", "long-late", "right",
    ]  # fmt: skip


def test_practice_is_by_level_and_does_not_count():
    names = ("stencil", "own", "tiled", "histogram")
    practice = [replace(task(name, None), practice=True, exercise=name) for name in names]
    counted = task("naive", DAY)
    levels = [[one.task.slug for one in level.tasks] for level in practice_levels([counted, *practice])]
    assert levels == [["tiled", "stencil"], ["histogram"], ["own"]]
    assert course_progress([counted, *practice]) == course_progress([counted])


def test_each_task_has_one_next_step():
    def words(one: Task) -> str:
        return next_step(one, NOW).words

    assert words(task("untouched", DAY)) == "Start"
    assert words(task("wrong", DAY, Verdict.DATA_RACE)) == "Fix it"
    assert words(task("right", DAY, Verdict.ACCEPTED)) == "Make it faster"
    assert words(task("right-without-a-gpu", DAY, Verdict.ACCEPTED, device_class="")) == "See result"
    assert words(task("right-and-over", -DAY, Verdict.ACCEPTED)) == "See result"
    assert words(task("late", -DAY)) == "Start"
    assert words(task("closed", -DAY, closes=-DAY / 2)) == "Read handout"
    entry = Entry(submission_id=1, public_id="s1", created_at=NOW, mode=Mode.CHECK)
    assert next_step(replace(task("sent", DAY), entries=(entry,)), NOW).address == "/submissions/s1"
    checked = replace(entry, verdict=Verdict.ACCEPTED)
    assert words(replace(task("checked", DAY), entries=(checked,))) == "Submit it"
    assert words(replace(task("fault", DAY), entries=(replace(entry, cancelled=True),))) == "Continue"
    excused = task("excused", DAY, Verdict.DATA_RACE)
    assert words(replace(excused, grade=replace(excused.grade, excused=True))) == "See result"
    assert words(replace(excused, grade=replace(excused.grade, excused=True, held=True))) == "Fix it"
    assert words(replace(task("excused-without-work", DAY), grade=Grade(excused=True))) == "Read handout"


def test_activity_counts_by_the_days_of_a_time_zone():
    late, old = NOW.replace(hour=23, minute=30) - DAY, NOW - 100 * DAY
    times = [old, late, late]
    by_day = own_activity(times, NOW, ZoneInfo("Europe/Berlin"))
    assert by_day is not None
    assert (by_day.total, by_day.active, by_day.days[-1].count) == (2, 1, 2), "it was past midnight in Berlin"
    assert by_day.days[0].day.weekday() == 0
    assert len(by_day.days) == 7 * 11 + 1, "until today, a Monday"
    in_utc = own_activity(times, NOW, ZoneInfo("UTC"))
    assert in_utc is not None
    assert in_utc.days[-2].count == 2
    assert own_activity([], NOW, ZoneInfo("UTC")) is None


def test_progress_leaves_out_what_is_excused_or_not_released():
    entry = Entry(submission_id=1, public_id="s1", created_at=NOW, mode=Mode.RANK, verdict=Verdict.ACCEPTED)
    counted = Counted(entry, 8.0, 0)
    tasks = [
        replace(task("right", DAY), points=10.0, grade=Grade(counted)),
        replace(task("held", DAY), points=10.0, grade=Grade(counted, held=True)),
        replace(task("excused", DAY), points=10.0, grade=Grade(excused=True)),
        replace(task("excuse-not-released", DAY), points=10.0, grade=Grade(excused=True, held=True)),
        replace(task("given", DAY), points=5.0, grade=Grade(score=2.0)),
        replace(task("untouched", DAY), points=0.0),
    ]
    assert course_progress(tasks) == CourseProgress(done=2, of=5, points=10.0, most=15.0, held=2)


def test_tasks_without_a_place_follow_by_deadline():
    tasks = [task("d", None), task("c", None), task("a", DAY), replace(task("z", None), position=0)]
    assert [one.slug for one in in_order(tasks)] == ["z", "a", "d", "c"]
