"""What a result says about points."""

from __future__ import annotations

from typing import Any

import pytest

from kernels.verdict import Verdict
from server.courses.models import Counts, SpeedBy
from server.grades.grade import Grade
from server.submissions.counted_submission import Deadlines, Entry, counted
from server.submissions.models import Mode
from server.submissions.result.worth import Again, Worth, worth_text
from tests.server.submissions.test_counted_submission import DAY, DUE, NO_DEADLINE, SECOND, assignment, entry

RIGHT, WRONG = entry(1), entry(2, Verdict.DATA_RACE)


def text(of: Entry, *entries: Entry, deadlines: Deadlines = NO_DEADLINE, **more: Any) -> str:
    return worth_text(worth(of, *entries, deadlines=deadlines, **more))


def worth(of: Entry, *entries: Entry, deadlines: Deadlines = NO_DEADLINE, **more: Any) -> Worth:
    own = {key: more.pop(key) for key in ("score", "excused", "held") if key in more}
    seen = {key: more.pop(key) for key in ("as_staff", "attempts_left", "covered") if key in more}
    given = assignment(**more)
    grade = Grade(counted(given, deadlines, entries or (of,)), **own)
    return Worth(given, deadlines, deadlines, grade, of, max(DUE, of.created_at), **seen)


def test_what_counts_and_what_stays():
    assert text(RIGHT) == "10/10 points, this submission counts"
    assert text(WRONG) == "0/10 points so far"
    assert text(WRONG, RIGHT, WRONG) == "0/10 points, your best submission counts: 10/10"
    assert " your " not in text(WRONG, RIGHT, WRONG, as_staff=True)
    assert text(WRONG, WRONG, entry(3, Verdict.DATA_RACE)).endswith(" counts, with the same points")
    assert text(entry(3), RIGHT, entry(3)).endswith(" counts, with the same points")
    assert text(WRONG, RIGHT, WRONG, points=0.0).endswith(", not this one")
    assert text(RIGHT, RIGHT, WRONG, counts=Counts.LAST) == "10/10 points, your last submission counts: 0/10"
    chosen = entry(1, chosen_at=DUE)
    assert (
        text(entry(3), chosen, entry(3), counts=Counts.CHOSEN)
        == "10/10 points, your chosen submission counts, with the same points"
    )


@pytest.mark.parametrize(
    ("more", "final"),
    [
        ({"deadlines": Deadlines(DUE - DAY, DUE - SECOND)}, True),
        ({"attempts_left": 0}, True),
        ({"attempts_left": 1}, False),
    ],
)
def test_points_are_final_if_nothing_can_follow(more, final):
    assert (worth(WRONG, **more).again is None) is final
    assert (" so far" not in text(WRONG, **more)) is final


@pytest.mark.parametrize(
    ("deadlines", "until"),
    [
        (NO_DEADLINE, None),
        (Deadlines(DUE, DUE + DAY), DUE),
        (Deadlines(DUE - DAY, DUE + DAY), DUE + DAY),
        (Deadlines(DUE - DAY, None), None),
    ],
)
def test_the_next_deadline_is_named(deadlines, until):
    assert worth(WRONG, deadlines=deadlines, attempts_left=2).again == Again(until, 2)
    assert worth(WRONG, RIGHT, WRONG, deadlines=deadlines).again is None
    assert worth(RIGHT, deadlines=deadlines).again is None


def test_a_missed_goal_says_whether_it_costs_points():
    missed = entry(1, goals_missed=1)
    assert text(missed) == "10/10 points, the missed goal costs no points"
    assert text(missed, goals_percent=50.0).startswith("5/10 points so far (50 %")
    assert text(missed, points=0.0) == "This submission counts"


TIERS: dict[str, Any] = {"speed_by": SpeedBy.GFLOPS, "speed_tiers": "0:60 2000:80", "device_class": "h200"}


@pytest.mark.parametrize(
    ("speed", "deadlines", "points", "more"),
    [
        (None, NO_DEADLINE, "6/10", True),
        (1000.0, NO_DEADLINE, "6/10", True),
        (2000.0, NO_DEADLINE, "8/10", False),
        # A late penalty may take as much as the faster tier gives, or more.
        (1000.0, Deadlines(DUE - DAY - SECOND, None), "4.8/10", False),
        (1000.0, Deadlines(DUE - 3 * DAY, None), "3.6/10", False),
    ],
)
def test_a_faster_tier_can_still_be_reached(speed, deadlines, points, more):
    of = entry(1, created_at=DUE - DAY, score=speed, gflops=speed)
    assert text(of, deadlines=deadlines, **TIERS).startswith(f"{points} points")
    assert (worth(of, deadlines=deadlines, **TIERS).again is not None) is more
    assert text(entry(1, mode=Mode.CHECK), **TIERS).startswith("Worth up to 8/10")


def test_late_days_that_are_spent_lower_what_a_new_submission_loses():
    check, late = entry(1, mode=Mode.CHECK), Deadlines(DUE - DAY, None)
    assert [text(check, deadlines=late, covered=days)[:11] for days in (0, 1)] == ["Worth 8/10 ", "Worth 10/10"]
    slow = entry(1, created_at=DUE, score=1000.0, gflops=1000.0, late_days=1)
    assert worth(slow, deadlines=late, covered=1, **TIERS).again == Again(None, None)


def test_late_days_are_named():
    late = entry(1, created_at=DUE + SECOND)
    assert text(late, deadlines=Deadlines(DUE, None)) == "8/10 points (1 day late, 20 % a day), this submission counts"


def test_a_check_says_what_it_would_earn_now():
    assert text(entry(1, mode=Mode.CHECK)) == "Worth 10/10 if you submit it"
    assert text(entry(1, mode=Mode.CHECK), deadlines=Deadlines(DUE - DAY, None)) == "Worth 8/10 if you submit it"
    for of, more in (
        (entry(2, Verdict.DATA_RACE, mode=Mode.CHECK), {}),
        (entry(1, mode=Mode.CHECK), {"deadlines": Deadlines(DUE - DAY, DUE - SECOND)}),
        (entry(1, mode=Mode.CHECK), {"attempts_left": 0}),
    ):
        assert text(of, **more) == "Check, doesn’t count"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"held": True}, "Points not released yet"),
        ({"held": True, "as_staff": True}, text(RIGHT)),
        ({"excused": True}, "Excused, doesn’t count"),
        ({"points": 0.0}, "This submission counts"),
    ],
)
def test_decisions_of_course_staff(more, expected):
    assert text(RIGHT, **more) == expected


def test_points_by_course_staff_go_first():
    assert text(RIGHT, score=7.0).startswith("7/10 points, ")


def test_what_a_check_may_earn_with_tiers_is_a_limit():
    check = entry(1, mode=Mode.CHECK)
    assert text(check, goals_percent=50.0).startswith("Worth up to ")


def test_no_verdict_says_nothing():
    assert text(entry(1, None)) == ""
    assert text(entry(1, Verdict.SYSTEM_ERROR)) == ""


@pytest.mark.parametrize("decision", [{}, {"score": 3.0}, {"excused": True}])
def test_a_decision_that_is_held_shows_nowhere(decision):
    for points in (10.0, 0.0):
        assert text(WRONG, held=True, points=points, **decision) == text(WRONG, held=True, points=points)
    assert worth(WRONG, held=True, attempts_left=2, **decision).again == Again(None, 2)
    assert (worth(WRONG, held=True, attempts_left=2, as_staff=True, **decision).again is None) is bool(decision)
