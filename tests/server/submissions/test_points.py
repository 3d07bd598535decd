"""The arithmetic of points: late penalties, late days, tiers for speed, goals, and what staff decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kernels.verdict import Verdict
from server.courses.models import Assignment, Correction, Counts, Exercise, Extension, SpeedBy
from server.grades.criteria import Criterion, Given, stored
from server.grades.grade import Decisions, Grade, grade_from
from server.grades.points import Achieved, TierError, read_tiers, rubric_points, tiers_of, worth, wrong_tiers
from server.submissions.counted_submission import Entry
from server.submissions.models import Mode, RubricGrade

DUE = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
TIERS = "0:60 2000:80 5000:100"


def assignment(**more: Any) -> Assignment:
    given = {
        "points": 10.0, "late_percent_per_day": 10.0, "late_percent_most": 100.0, "goals_percent": 100.0,
        "speed_tiers": "", "counts": Counts.BEST, "due_at": DUE, "device_class": "h200", "grades_held": False,
    }  # fmt: skip
    return Assignment(**(given | more))


def grade(
    given: Assignment, *entries: Entry, extension: Extension | None = None, correction: Correction | None = None
) -> Grade:
    return grade_from(given, Decisions(extension, correction), entries)


def entry(after: timedelta = -DAY, number: int = 1, **more: Any) -> Entry:
    given: dict[str, Any] = {"verdict": Verdict.ACCEPTED, "mode": Mode.RANK, "created_at": DUE + after}
    return Entry(submission_id=number, public_id=f"s{number}", **(given | more))


def earned(given: Assignment, **achieved: Any) -> tuple[Any, tuple[str, ...]]:
    found = worth(given, Achieved(accepted=True, **achieved))
    return pytest.approx(found.points), found.why


@pytest.mark.parametrize(
    ("after", "points"), [(timedelta(0), 10), (SECOND, 9), (DAY, 9), (DAY + SECOND, 8), (9 * DAY, 5)]
)
def test_the_late_policy_costs_a_step_a_day_up_to_the_highest_penalty(after, points):
    assert grade(assignment(late_percent_most=50.0), entry(after)).points == points


def test_the_reason_names_the_rule_the_days_and_the_limit():
    stepped = assignment(late_percent_most=15.0)
    assert earned(stepped, late_days=1) == (9.0, ("1 day late, 10 % a day",))
    assert earned(stepped, late_days=2) == (8.5, ("2 days late, 10 % a day, at most 15 %",))
    assert earned(assignment(), late_days=2) == (8.0, ("2 days late, 10 % a day",))
    assert earned(assignment(late_percent_per_day=0.0), late_days=2) == (10.0, ("2 days late, no penalty",))
    assert grade(assignment(), entry(verdict=Verdict.DATA_RACE)).why == ("not accepted",)


def test_an_extension_moves_the_first_late_second():
    more = Extension(due_at=DUE + 3 * DAY)
    assert grade(assignment(), entry(3 * DAY), extension=more).points == 10
    assert grade(assignment(), entry(3 * DAY + SECOND), extension=more).points == 9


@pytest.mark.parametrize("month", [3, 10])
def test_a_late_day_has_24_hours_when_clocks_change(month):
    zone = ZoneInfo("Europe/Vienna")
    saturday = {3: 28, 10: 24}[month]
    due = datetime(2026, month, saturday, 23, 59, tzinfo=zone).astimezone(UTC)
    given = assignment(due_at=due)
    assert grade(given, entry(created_at=due + DAY)).points == 9
    assert grade(given, entry(created_at=due + DAY + SECOND)).points == 8


@pytest.mark.parametrize(
    ("late", "covered", "points", "why"),
    [
        (1, 1, 10, ("1 late day spent",)),
        (2, 2, 10, ("2 late days spent",)),
        (3, 2, 9, ("2 late days spent", "1 day late, 10 % a day")),
        (2, 0, 8, ("2 days late, 10 % a day",)),
    ],
)
def test_late_days_pay_for_days_and_the_rest_costs_points(late, covered, points, why):
    assert earned(assignment(), late_days=late, covered=covered) == (points, why)


def test_a_later_deadline_gives_covered_days_back():
    late = entry(2 * DAY, late_days=2)
    assert grade(assignment(), late).why == ("2 late days spent",)
    assert grade(assignment(), late, extension=Extension(due_at=DUE + DAY)).why == ("1 late day spent",)
    assert grade(assignment(), late, extension=Extension(due_at=DUE + 2 * DAY)).why == ()


@pytest.mark.parametrize(
    ("speed", "points", "why"),
    [
        (None, 6, ("60 % without a measured speed",)),
        (1999.9, 6, ("60 % below 2,000 GFLOPS",)),
        (2000.0, 8, ("80 % below 5,000 GFLOPS",)),
        (5000.0, 10, ()),
    ],
)
def test_a_tier_begins_exactly_at_its_speed(speed, points, why):
    assert earned(assignment(speed_by=SpeedBy.GFLOPS, speed_tiers=TIERS), speed=speed) == (points, why)


def test_a_tier_is_named_by_every_digit_of_its_speed():
    given = assignment(speed_by=SpeedBy.GFLOPS, speed_tiers="0:50 1234567.5:100")
    assert "1,234,567.5 GFLOPS" in earned(given, speed=1e6)[1][0]


def test_only_a_ranked_measurement_on_the_assignments_device_reaches_a_tier():
    given = assignment(speed_by=SpeedBy.GFLOPS, speed_tiers=TIERS)
    assert grade(given, entry(gflops=9000.0, score=9000.0)).points == 10
    assert grade(given, entry(gflops=9000.0, score=None)).points == 6
    share = assignment(speed_by=SpeedBy.CUBLAS, speed_tiers="0:50 90:100")
    assert grade(share, entry(gflops=1.0, score=1.0, cublas_share=0.9)).points == 10
    assert grade(share, entry(gflops=1.0, score=1.0, cublas_share=0.899)).why == ("50 % below 90 % of cuBLAS",)


def test_a_rung_of_the_ladder_is_reached_as_on_the_ladder():
    from kernels.exercise import find_exercise

    shipped = find_exercise("tiled", ())
    assert shipped.folder is not None
    text = (shipped.folder / "exercise.toml").read_text("utf-8")
    given = assignment(
        speed_by=SpeedBy.RUNG, speed_tiers="0:50 2:100", exercise=Exercise(name="tiled", definition=text)
    )
    least = tiers_of(given)[1].least
    assert earned(given, speed=least) == (10, ())
    assert earned(given, speed=least * 0.999) == (5, ("50 % below rung 2",))
    assert wrong_tiers(given, SpeedBy.RUNG, "0:50 2:100") == ""
    assert "rung 77" in wrong_tiers(given, SpeedBy.RUNG, "0:50 77:100")
    given.device_class = ""
    assert "No GPU" in wrong_tiers(given, SpeedBy.GFLOPS, TIERS)


@pytest.mark.parametrize(
    ("missed", "points"), [(None, 10), (0, 10), (1, 4), (3, 4)]
)  # None: nothing was counted, as in results of earlier versions
def test_a_missed_goal_leaves_the_share_that_the_instructor_set(missed, points):
    given = assignment(goals_percent=40.0)
    assert grade(given, entry(goals_missed=missed)).points == pytest.approx(points)
    if missed:
        assert grade(given, entry(goals_missed=missed)).why == ("40 % with a missed goal",)


def test_speed_goals_and_lateness_multiply_and_each_is_named():
    given = assignment(speed_by=SpeedBy.GFLOPS, speed_tiers=TIERS, goals_percent=50.0)
    points, why = earned(given, speed=2500.0, goals_missed=1, late_days=1)
    assert points == 10 * 0.8 * 0.5 * 0.9
    assert len(why) == 3


def test_the_best_is_the_one_with_the_most_points_by_all_rules():
    given = assignment(goals_percent=50.0)
    fast = entry(number=1, score=9.0, gflops=9.0, goals_missed=1)
    tidy = entry(number=2, score=1.0, gflops=1.0, goals_missed=0)
    best = grade(given, fast, tidy).counted
    assert best is not None
    assert best.entry is tidy


def test_what_staff_decided_stays_whatever_the_rules_say():
    rules = assignment(speed_by=SpeedBy.GFLOPS, speed_tiers=TIERS, goals_percent=0.0)
    late = entry(5 * DAY, goals_missed=1)
    set_by_hand = grade(rules, late, correction=Correction(score=8.5, excused=False, held=False))
    assert (set_by_hand.points, set_by_hand.why) == (8.5, Grade(score=8.5).why)
    excused = grade(rules, late, correction=Correction(score=None, excused=True, held=False))
    assert (excused.points, excused.why) == (None, ("excused",))
    held = grade(assignment(), entry(SECOND), correction=Correction(score=None, excused=False, held=True))
    assert (held.points, held.held) == (9, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "60",
        "0:60 2000",
        "0:x",
        "1:60",
        "0:60 0:80",
        "0:60 2000:50",
        "0:60 2000:101",
        "0:-1",
        "0:60 inf:100",
        " ".join(f"{step}:{step}" for step in range(11)),
    ],
)
def test_tiers_that_mean_nothing_are_refused(text):
    with pytest.raises(TierError):
        read_tiers(text)


def test_a_rubric_adds_points_that_lateness_does_not_lower():
    rubric = stored([Criterion("aa", "Readable", 4.0), Criterion("bb", "Report", 2.0)])
    given = assignment(rubric=rubric)
    late = entry(SECOND)
    assert given.most_points == 16.0
    ungraded = grade_from(given, Decisions(), [late])
    assert (ungraded.points, ungraded.why[-1]) == (9.0, "rubric not graded yet")
    marks = RubricGrade(points={"aa": 4.0, "gone": 7.0}, words={}, items=[], adjustment=0.0, reason="")
    graded = grade_from(given, Decisions(), [late], marks)
    assert (graded.points, graded.why) == (13.0, ("1 day late, 10 % a day", "rubric 4 of 6"))
    assert grade_from(given, Decisions(), [], marks).points is None
    failed = grade_from(given, Decisions(), [entry(verdict=Verdict.DATA_RACE)], marks)
    assert (failed.points, failed.why) == (4.0, ("not accepted", "rubric 4 of 6"))
    corrected = grade_from(given, Decisions(None, Correction(score=7.0, excused=False, held=False)), [late], marks)
    assert (corrected.points, corrected.computed) == (7.0, 13.0)


def test_a_criterion_never_counts_more_than_its_most_points():
    lowered = stored([Criterion("aa", "Readable", 3.0)])
    assert rubric_points(lowered, Given({"aa": 4.0})) == 3.0
    assert rubric_points(lowered, Given({"gone": 4.0})) is None
