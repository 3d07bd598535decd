"""An assignment's settings, each declared once: the form, the verbs' options and the audit follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked, changes, outside_limits, store, stored
from server.audit.service import note
from server.courses.models import Assignment, Counts, HintStep, SpeedBy
from server.courses.titles import title_line, title_mistake
from server.exercises.stored import similar_percent
from server.fields import Range
from server.grades.points import LONGEST_TIERS, TierError, read_tiers, wrong_tiers
from server.standings.board_query import wrong_columns
from server.standings.service import freeze
from server.submissions.models import Submission
from server.teams.queries import has_submitted_teams, teams_in

MOST_POINTS = 100_000
MOST_IN_TEAM = 3
SHARES = (50, 60, 70, 80, 90)
"""Shares in % from which two submissions can count as similar."""

_NAMED = 5
_WEEK = 7 * 86_400
_DEADLINES = frozenset({"due_at", "closes_at", "opens_at"})
_COUNTS = (("best", "The best"), ("last", "The last"), ("chosen", "The student’s choice"))
_HINTS = (("question", "A question"), ("finding", "What is wrong and where"), ("edit", "The edit, too"))
_SPEEDS = (
    ("", "None: speed earns no points"), ("gflops", "GFLOPS"), ("gbps", "GB/s"), ("cublas", "% of cuBLAS"),
    ("rung", "Rung of the ladder"),
)  # fmt: skip
_SIMILAR = (
    ("", "Proposed for the exercise"), ("0", "Not compared"), *((str(share), f"From {share} %") for share in SHARES),
)  # fmt: skip
_TEAMS = (("1", "No teams"), ("2", "Up to 2"), ("3", "Up to 3"))
_SORTS = (
    ("", "Rank"), ("time", "Median time, shortest first"), ("-time", "Median time, longest first"),
    ("share", "Share of cuBLAS, highest first"), ("-share", "Share of cuBLAS, lowest first"),
    ("occupancy", "Occupancy, highest first"), ("-occupancy", "Occupancy, lowest first"),
    ("date", "Date, latest first"), ("-date", "Date, earliest first"), ("bound", "Speed of light, best first"),
    ("-bound", "Speed of light, worst first"), ("launch", "Tile, largest first"), ("-launch", "Tile, smallest first"),
)  # fmt: skip


def _names(text: str) -> str:
    return " ".join(text.replace(",", " ").split())


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSettings:
    """The changeable parts of an assignment; see server.courses.models.Assignment."""

    title: Annotated[str, Asked(
        "Title", needed=True, clean=title_line, help="The assignment's title for students.",
    )] = ""
    opens_at: Annotated[datetime | None, Asked(
        "Opens", "Empty: now.", group="Dates",
        option="--opens", help="Students see the assignment from this time.",
    )] = None
    due_at: Annotated[datetime | None, Asked(
        "Due", "Empty: never late.",
        option="--due", help="Deadline: later submissions are late.",
    )] = None
    closes_at: Annotated[datetime | None, Asked(
        "Closes", "Late submissions are accepted until then. Empty: until the course ends.",
        option="--closes", help="No submissions after this time.",
    )] = None
    points: Annotated[float, Range(0, MOST_POINTS), Asked(
        "Points", "With 0, no due time and no GPU: practice, outside the gradebook.", needed=True, group="Grading",
        help="Points if accepted and on time.  [default for a new one: 10]",
    )] = 10.0
    late_percent_per_day: Annotated[float, Range(0, 100), Asked(
        "Late penalty per day (%)", "Taken from the points for each started day.", needed=True,
        option="--late-percent", help="Late penalty per day, in % of the points.",
    )] = 0.0
    late_percent_most: Annotated[float, Range(0, 100), Asked(
        "Highest late penalty (%)", "Empty: 100.",
        option="--late-most", help="Highest late penalty, in % of the points.",
    )] = 100.0
    counts: Annotated[Counts, Asked(
        "Which submission counts", choices=_COUNTS, row=True,
        help="Which submission counts.",
    )] = Counts.BEST
    goals_percent: Annotated[float, Range(0, 100), Asked(
        "Share with a missed goal (%)", "Points of an accepted kernel that misses a goal of the exercise. Empty: 100.",
        help="Points of an accepted kernel that misses a goal of the exercise, in %.",
    )] = 100.0
    speed_by: Annotated[SpeedBy | None, Asked(
        "Tiers for speed", choices=_SPEEDS, row=True,
        help="What the tiers compare.",
    )] = None
    speed_tiers: Annotated[str, Asked(
        "Tiers", "Speed and share of the points in %, such as 0:60 2000:80 5000:100. "
        "Only ranked measurements on the assignment’s GPU reach a tier above 0.",
        metavar="TIERS", help='Percentages by speed, such as "0:60 2000:80 5000:100".',
    )] = ""
    team_size: Annotated[int, Range(1, MOST_IN_TEAM), Asked(
        "Team size", "Students form teams of up to this size. What one submits counts for all.", choices=_TEAMS,
        group="Limits for each student", metavar="NUMBER", help="How many students may submit together, 1 to 3.",
    )] = 1
    attempts: Annotated[int | None, Range(1, 10_000), Asked(
        "Attempts", "Empty: no limit.",
        metavar="NUMBER", none="any", help="Attempts per student.",
    )] = None
    min_interval_seconds: Annotated[int, Range(0, _WEEK), Asked(
        "Minimum seconds between submissions", needed=True,
        option="--interval", help="Minimum seconds between a student's submissions.",
    )] = 0
    checks_per_hour: Annotated[int, Range(0, 10_000), Asked(
        "Checks per hour", "Checks use no attempt.", needed=True,
        option="--checks", help="Checks per student and hour.",
    )] = 30
    board_frozen_at: Annotated[datetime | None, Asked(
        "Leaderboard frozen from", "Students see the leaderboard as of then; staff see it live. Empty: always live.",
        group="What students see",
        option="--freeze", help="Freeze leaderboards for students at this time.",
    )] = None
    listed: Annotated[bool, Asked(
        "Listed for students", "Students see it once it opens. Staff always see it.",
        option="--listed/--unlisted", help="Show it to students once it opens, or hide it.",
    )] = True
    grades_held: Annotated[bool, Asked(
        "Hold grades back", "Students see their verdicts, but no points until you clear this.",
        option="--hold-grades/--release-grades", help="Hide points from students, or show them.",
    )] = False
    first_hint: Annotated[HintStep, Asked(
        "First hint", "What a result says about a mistake. Students press a button to see the next hint.",
        choices=_HINTS, help="What a result says about a mistake before its student asks for more.",
    )] = HintStep.EDIT
    similar_percent: Annotated[int | None, Asked(
        "Similar submissions", "Which pairs course staff see. Identical files are reported unless nothing is compared.",
        choices=_SIMILAR, none="proposed", metavar="PERCENT",
        help="Share from which submissions are similar, in %; 0 to compare none.",
    )] = None
    blind: Annotated[bool, Asked(
        "Grade blind", "Staff grade by the rubric without names. Other staff pages still show them.",
        option="--blind/--named", help="Hide names while grading by the rubric, or show them.",
    )] = False
    board_columns: Annotated[str, Asked(
        "Leaderboard columns",
        "In this order, from: speed time share occupancy date bound launch. Empty: the usual columns.",
        row=True, clean=_names,
        option="--columns", metavar="NAMES", none="usual", help='Leaderboard columns, such as "speed,time,date".',
    )] = ""
    board_sort: Annotated[str, Asked(
        "Leaderboard sorted by", "Until the reader sorts it. Ranks stay the same.", choices=_SORTS,
        option="--sort", metavar="COLUMN", none="rank",
        help="Column that first sorts the leaderboard; -COLUMN reverses.",
    )] = ""
# fmt: on


def setting_of(assignment: Assignment) -> AssignmentSettings:
    """The current settings."""
    return stored(AssignmentSettings, assignment)


def put_settings(session: Session, assignment: Assignment, setting: AssignmentSettings) -> None:
    """Store the settings, and freeze the leaderboards if that moment changed."""
    frozen_before = assignment.board_frozen_at
    store(replace(_proposed(session, assignment, setting), board_frozen_at=frozen_before), assignment)
    session.flush()
    if setting.board_frozen_at != frozen_before:
        freeze(session, assignment, setting.board_frozen_at)
    session.flush()


def _proposed(session: Session, assignment: Assignment, setting: AssignmentSettings) -> AssignmentSettings:
    if setting.similar_percent is not None:
        return setting
    return replace(setting, similar_percent=similar_percent(session, assignment.exercise))


def wrong_settings(setting: AssignmentSettings) -> dict[str, str]:
    """Mistakes by field, for any assignment."""
    found: dict[str, str] = {}
    if wrong := title_mistake(setting.title):
        found["title"] = wrong
    found |= wrong_columns(setting.board_columns, setting.board_sort) | _tiers(setting) | _order(setting)
    if setting.similar_percent not in {None, 0, *SHARES}:
        shares = ", ".join(str(share) for share in SHARES)
        found["similar_percent"] = f"Similar submissions must be one of 0, {shares}, or empty."
    return found | dict(outside_limits(setting))


def wrong_team_size(session: Session, assignment: Assignment, setting: AssignmentSettings) -> dict[str, str]:
    """Why an assignment with these settings can't have teams of this size, by field."""
    if setting.team_size == 1 and assignment.team_size == 1:
        return {}
    counts = setting.points or setting.due_at or assignment.device_class or assignment.rubric
    if setting.team_size > 1 and not counts:
        return {"team_size": "Practice has no teams. Give the assignment points or a due time first."}
    if setting.team_size == 1 and has_submitted_teams(session, assignment):
        return {"team_size": "Teams have submitted, and their submissions stay theirs. Choose a size of 2 or 3."}
    if larger := [each.name for each in teams_in(session, assignment) if len(each.members) > setting.team_size]:
        named = f"{', '.join(larger[:_NAMED])}{' and others' if larger[_NAMED:] else ''}"
        return {"team_size": f"These teams are larger: {named}. Move their students first, or choose a larger size."}
    return {}


def _tiers(setting: AssignmentSettings) -> dict[str, str]:
    if len(setting.speed_tiers) > LONGEST_TIERS:
        return {"speed_tiers": f"The tiers are too long. The limit is {LONGEST_TIERS} characters."}
    if setting.speed_by is None:
        return {"speed_by": "Choose what the tiers compare, or remove the tiers."} if setting.speed_tiers else {}
    try:
        read_tiers(setting.speed_tiers)
    except TierError as error:
        return {"speed_tiers": str(error)}
    return {}


def _order(setting: AssignmentSettings) -> dict[str, str]:
    opens, due, closes = setting.opens_at, setting.due_at, setting.closes_at
    found: dict[str, str] = {}
    if opens is not None and due is not None and opens >= due:
        found["due_at"] = "The due time must be after the opening."
    if due is not None and closes is not None and due > closes:
        found["closes_at"] = "The closing time can’t be before the due time."
    if due is None and opens is not None and closes is not None and opens >= closes:
        found["closes_at"] = "The closing time must be after the opening."
    return found


def _wrong(session: Session, on: Target, setting: AssignmentSettings) -> dict[str, str]:
    found = wrong_settings(setting) | wrong_team_size(session, on.assignment, setting)
    if not found and (wrong := wrong_tiers(on.assignment, setting.speed_by, setting.speed_tiers)):
        return {"speed_tiers": wrong}
    return found


def _change(session: Session, on: Target, actor: Person | None, setting: AssignmentSettings) -> Mapping[str, list[Any]]:
    """Change the settings; returns old and new values of the changed ones.

    The audit marks a deadline that moves after the opening, with the number of students who had submitted.
    """
    now, assignment = datetime.now(UTC), on.assignment
    was, setting = setting_of(assignment), _proposed(session, assignment, setting)
    changed = changes(was, setting)
    if not changed:
        return changed
    detail: dict[str, Any] = dict(changed)
    moved = (was.opens_at is None or was.opens_at <= now) and bool(_DEADLINES & changed.keys())
    if moved:
        query = select(func.count(Submission.person_id.distinct()))
        detail["students_at_work"] = session.scalar(query.where(Submission.assignment_id == assignment.id))
    put_settings(session, assignment, setting)
    action = "assignment.deadline_moved" if moved else "assignment.changed"
    note(session, actor, action, on.subject, now=now, course_id=on.course.id, **detail)
    return changed


SETTINGS = Act(
    asks=AssignmentSettings,
    do=_change,
    present=lambda _session, on: setting_of(on.assignment),
    wrong=_wrong,
    lowers=True,
)
