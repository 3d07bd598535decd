"""Which submission counts, and what it is worth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kernels.verdict import Verdict
from server.courses.models import Accommodation, Assignment, Counts, Course, Extension
from server.grades.points import points_for
from server.submissions.counted_submission import Deadlines, Entry, attempts_for, best, counted, due_for, late_days
from server.submissions.models import Mode

DUE = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
NO_DEADLINE = Deadlines(None, None)


def assignment(**more: Any) -> Assignment:
    given = {
        "points": 10.0,
        "late_percent_per_day": 20.0,
        "late_percent_most": 100.0,
        "goals_percent": 100.0,
        "speed_tiers": "",
        "counts": Counts.BEST,
        "due_at": DUE,
        "attempts": None,
    }
    return Assignment(**(given | more))


def entry(number: int, verdict: Verdict | None = Verdict.ACCEPTED, **more: Any) -> Entry:
    """Handed in a minute after the one before."""
    given: dict[str, Any] = {
        "submission_id": number, "public_id": f"s{number}", "verdict": verdict, "mode": Mode.RANK,
        "created_at": DUE - DAY + timedelta(minutes=number),
    }  # fmt: skip
    return Entry(**(given | more))


@pytest.mark.parametrize(
    ("after", "days"), [(-DAY, 0), (0 * SECOND, 0), (SECOND, 1), (DAY, 1), (DAY + SECOND, 2), (10 * DAY, 10)]
)
def test_each_day_begun_after_the_deadline_is_late(after, days):
    assert late_days(DUE + after, Deadlines(DUE, None)) == days
    assert late_days(DUE + after, NO_DEADLINE) == 0


@pytest.mark.parametrize(("days", "points"), [(0, 10), (1, 8), (4, 2), (5, 0), (9, 0)])
def test_late_days_cost_their_part_and_never_more_than_all(days, points):
    assert points_for(assignment(), days, accepted=True) == pytest.approx(points)
    assert points_for(assignment(), days, accepted=False) == 0


def test_an_extension_stands_in_for_what_it_names():
    closing = assignment(closes_at=DUE + DAY)
    assert due_for(closing, None, None) == Deadlines(DUE, DUE + DAY)
    assert due_for(closing, Extension(due_at=DUE + DAY / 2), None) == Deadlines(DUE + DAY / 2, DUE + DAY)
    assert due_for(closing, Extension(closes_at=DUE + 9 * DAY), None) == Deadlines(DUE, DUE + 9 * DAY)
    assert due_for(closing, Extension(extra_attempts=1), None) == Deadlines(DUE, DUE + DAY)


@pytest.mark.parametrize(
    ("everybodys", "own"),
    [
        ((DUE, DUE + DAY), (DUE - DAY, DUE - DAY / 2)),
        ((DUE, None), (DUE - DAY, DUE)),
        ((None, None), (DUE, DUE)),
        ((None, DUE), (DUE - DAY, DUE - DAY)),
    ],
)
def test_an_extension_takes_nothing_away_where_everybody_has_longer_by_now(everybodys, own):
    found = due_for(
        assignment(due_at=everybodys[0], closes_at=everybodys[1]), Extension(due_at=own[0], closes_at=own[1]), None
    )
    assert found == Deadlines(*everybodys)


@pytest.mark.parametrize(
    ("days", "percent", "extension", "due", "closes"),
    [
        (2, 0, None, DUE + 2 * DAY, DUE + 3 * DAY),
        (0, 50, None, DUE + 5 * DAY, DUE + 6 * DAY),
        (1, 33, None, DUE + 4 * DAY + timedelta(hours=7, minutes=12), DUE + 5 * DAY + timedelta(hours=7, minutes=12)),
        (1, 0, DUE + 4 * DAY, DUE + 4 * DAY, DUE + 4 * DAY),
        (5, 0, DUE + 4 * DAY, DUE + 5 * DAY, DUE + 6 * DAY),
    ],
)
def test_an_accommodation_adds_to_the_common_times_and_the_later_of_both_applies(days, percent, extension, due, closes):
    given = Accommodation(extra_days=days, extra_percent=percent)
    course = Course(time_zone="UTC")
    opened = assignment(course=course, opens_at=DUE - 10 * DAY, closes_at=DUE + DAY)
    assert due_for(opened, extension and Extension(due_at=extension), given) == Deadlines(due, closes)
    assert due_for(assignment(course=course, due_at=None), None, given) == Deadlines(None, None)
    unopened = assignment(course=course, created_at=DUE - 10 * DAY, closes_at=DUE + DAY)
    assert due_for(unopened, None, given) == due_for(opened, None, given)


def test_nobody_is_shut_out_before_their_own_day():
    closing = assignment(closes_at=DUE + DAY)
    mine = due_for(closing, Extension(due_at=DUE + 3 * DAY), None)
    assert mine == Deadlines(DUE + 3 * DAY, DUE + 3 * DAY)
    assert not mine.closed(DUE + 3 * DAY)
    assert mine.closed(DUE + 3 * DAY + SECOND)
    assert not NO_DEADLINE.closed(DUE)


def test_extra_attempts_are_added_to_what_everybody_has():
    assert attempts_for(assignment(), Extension(extra_attempts=2)) is None
    assert attempts_for(assignment(attempts=3), None) == 3
    assert attempts_for(assignment(attempts=3), Extension(extra_attempts=2)) == 5


def counts(entries: list[Entry], **more: Any) -> tuple[str, float, int] | None:
    found = counted(assignment(**more), Deadlines(DUE, None), entries)
    return None if found is None else (found.entry.public_id, found.points, found.late_days)


def test_nothing_counts_before_there_is_a_verdict_of_the_ranking():
    assert counts([]) is None
    assert counts([entry(1, None)]) is None
    assert counts([entry(1, Verdict.SYSTEM_ERROR)]) is None
    assert counts([entry(1, mode=Mode.CHECK)]) is None


def test_the_best_has_the_most_points_then_the_best_score_and_is_the_first_such():
    slow, fast, as_fast = entry(1, score=5.0), entry(2, score=9.0), entry(3, score=9.0)
    late = entry(4, score=99.0, created_at=DUE + SECOND)
    assert counts([late, as_fast, fast, slow]) == ("s2", 10, 0)
    assert counts([late, as_fast, fast, slow], late_percent_per_day=0.0) == ("s4", 10, 1)
    assert counts([entry(1), entry(2, score=-3.0)]) == ("s2", 10, 0), "one that was measured"
    assert counts([entry(1, score=1.0), entry(2, Verdict.WRONG_ANSWER)]) == ("s1", 10, 0)


def test_a_right_kernel_stands_before_a_wrong_one_whatever_it_is_worth():
    late = entry(1, created_at=DUE + 9 * DAY)
    assert counts([late, entry(2, Verdict.WRONG_ANSWER)]) == ("s1", 0, 9)


def test_of_wrong_ones_the_last_says_how_far_somebody_is():
    assert counts([entry(1, Verdict.WRONG_ANSWER), entry(2, Verdict.DATA_RACE)]) == ("s2", 0, 0)


def test_the_last_counts_where_the_course_says_so():
    last = {"counts": Counts.LAST}
    assert counts([entry(1), entry(2, Verdict.WRONG_ANSWER)], **last) == ("s2", 0, 0)
    assert counts([entry(1), entry(2, None), entry(3, Verdict.SYSTEM_ERROR)], **last) == ("s1", 10, 0)
    assert counts([entry(1), entry(2, mode=Mode.CHECK)], **last) == ("s1", 10, 0)


def test_the_one_chosen_last_counts_where_the_course_says_so_and_until_then_the_best():
    chosen = {"counts": Counts.CHOSEN}
    first, second = entry(1, score=1.0, chosen_at=DUE), entry(2, score=2.0, chosen_at=DUE - DAY)
    assert counts([first, second, entry(3, score=9.0)], **chosen) == ("s1", 10, 0)
    assert counts([entry(1, score=1.0), entry(2, score=2.0)], **chosen) == ("s2", 10, 0)
    assert counts([entry(1, score=1.0), entry(2, None, chosen_at=DUE)], **chosen) == ("s1", 10, 0)
    assert counts([first, second]) == ("s2", 10, 0), "where the best counts, choosing changes nothing"


@pytest.mark.parametrize("rule", Counts)
def test_the_best_is_known_whichever_counts(rule):
    entries = [entry(1, score=9.0), entry(2, score=1.0, chosen_at=DUE), entry(3, Verdict.WRONG_ANSWER)]
    found = best(assignment(counts=rule), Deadlines(DUE, None), entries)
    assert found is not None
    assert (found.entry.public_id, found.points) == ("s1", 10)
    assert best(assignment(), Deadlines(DUE, None), [entry(1, mode=Mode.CHECK), entry(2, None)]) is None
