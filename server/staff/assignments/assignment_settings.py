"""An assignment's settings: check and compare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from server.courses.models import Assignment, Counts, SpeedBy
from server.courses.titles import title_mistake
from server.standings.columns import wrong_columns
from server.submissions.rules.tiers import LONGEST_TIERS, TierError, read_tiers

MOST_POINTS = 100_000.0
MOST_ATTEMPTS = 10_000
LONGEST_INTERVAL = 7 * 86_400
MOST_CHECKS = 10_000
MOMENTS = ("opens_at", "due_at", "closes_at", "board_frozen_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSettings:
    """The changeable parts of an assignment; see server.courses.models.Assignment."""

    title: str = ""
    points: float = 10.0
    opens_at: datetime | None = None
    due_at: datetime | None = None
    closes_at: datetime | None = None
    late_percent_per_day: float = 0.0
    late_percent_most: float = 100.0
    goals_percent: float = 100.0
    speed_by: SpeedBy | None = None
    speed_tiers: str = ""
    attempts: int | None = None
    min_interval_seconds: int = 0
    checks_per_hour: int = 30
    counts: Counts = Counts.BEST
    board_frozen_at: datetime | None = None
    listed: bool = True
    grades_held: bool = False
    board_columns: str = ""
    board_sort: str = ""


FIELDS = tuple(field.name for field in fields(AssignmentSettings))


def setting_of(assignment: Assignment) -> AssignmentSettings:
    """The current settings."""
    return AssignmentSettings(**{name: getattr(assignment, name) for name in FIELDS})


def mistakes(setting: AssignmentSettings) -> dict[str, str]:
    """Invalid settings: a text for each field."""
    found: dict[str, str] = {}
    if wrong := title_mistake(setting.title):
        found["title"] = wrong
    if not 0 <= setting.points <= MOST_POINTS:
        found["points"] = f"Points must be between 0 and {MOST_POINTS:,.0f}."
    if not 0 <= setting.late_percent_per_day <= 100:
        found["late_percent_per_day"] = "The late penalty must be between 0 and 100 %."
    if not 0 <= setting.late_percent_most <= 100:
        found["late_percent_most"] = "The highest penalty must be between 0 and 100 %."
    if not 0 <= setting.goals_percent <= 100:
        found["goals_percent"] = "This share must be between 0 and 100 %."
    if setting.attempts is not None and not 1 <= setting.attempts <= MOST_ATTEMPTS:
        found["attempts"] = f"Attempts must be between 1 and {MOST_ATTEMPTS:,}, or unlimited."
    if not 0 <= setting.min_interval_seconds <= LONGEST_INTERVAL:
        found["min_interval_seconds"] = f"This must be between 0 and {LONGEST_INTERVAL:,} seconds (a week)."
    if not 0 <= setting.checks_per_hour <= MOST_CHECKS:
        found["checks_per_hour"] = f"Checks must be between 0 and {MOST_CHECKS:,} per hour."
    return found | wrong_columns(setting.board_columns, setting.board_sort) | _tiers(setting) | _order(setting)


def differences(was: AssignmentSettings, now: AssignmentSettings) -> Mapping[str, list[Any]]:
    """Changed settings, old and new, as JSON values."""
    pairs = ((name, getattr(was, name), getattr(now, name)) for name in FIELDS)
    return {name: [_plain(old), _plain(new)] for name, old, new in pairs if old != new}


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


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
