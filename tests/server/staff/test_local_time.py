"""Moments as staff type them, on the clock of a course."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from server.courses.local_time import MomentError, read_moment, typed

VIENNA = ZoneInfo("Europe/Vienna")


def test_times_are_read_on_the_course_s_clock() -> None:
    assert read_moment("", VIENNA) is None
    assert read_moment("2026-01-01T12:00", VIENNA) == datetime(2026, 1, 1, 11, 0, tzinfo=UTC)
    twice = read_moment("2026-10-25T02:30", VIENNA)
    assert twice == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    earlier = datetime(2026, 10, 25, 0, 30, 17, tzinfo=UTC)
    assert typed(earlier, VIENNA) == "2026-10-25T02:30"
    assert read_moment("2026-10-25T02:30", VIENNA, was=earlier) == earlier
    with pytest.raises(MomentError, match="03:30"):
        read_moment("2026-03-29T02:30", VIENNA)
    with pytest.raises(MomentError):
        read_moment("2026-13-01T00:00", VIENNA)
