"""How often something may be done."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from server.accounts.limits import Limit, TooOften, by_address, by_both, by_email, count, count_all, take_back
from server.accounts.models import RateCount
from server.database.engine import Sessions
from tests.server.databases import ON_BOTH

pytestmark = ON_BOTH

NOW = datetime(2026, 3, 2, 9, 4, tzinfo=UTC)
GUESS = Limit("guess", 3, timedelta(minutes=10))
MORE = Limit("more", 5, timedelta(hours=1))


def tries(made: Sessions, limit: Limit = GUESS, subject: str = "ada", now: datetime = NOW) -> int:
    """How many are let through, of ten."""
    through = 0
    for _ in range(10):
        try:
            count(made, limit, subject, now)
        except TooOften:
            continue
        through += 1
    return through


def test_so_many_are_let_through_in_each_stretch(made: Sessions) -> None:
    assert tries(made) == 3
    with pytest.raises(TooOften) as refused:
        count(made, GUESS, "ada", NOW)
    assert 0 < refused.value.seconds <= 600
    later = NOW + timedelta(seconds=refused.value.seconds)
    assert tries(made, now=later) == 3


def test_each_subject_and_each_action_counts_by_itself(made: Sessions) -> None:
    assert tries(made) == 3
    assert tries(made, subject="bob") == 3
    assert tries(made, MORE) == 5


def test_what_was_no_failure_is_taken_back(made: Sessions) -> None:
    for _ in range(10):
        count_all(made, [(GUESS, "ada"), (MORE, "ada")], NOW)
        take_back(made, [(GUESS, "ada"), (MORE, "ada")], NOW)
    assert tries(made) == 3
    take_back(made, [(GUESS, "nobody")], NOW)


def test_what_is_refused_uses_up_nothing_of_the_limits_behind(made: Sessions) -> None:
    tries(made)
    for _ in range(10):
        with pytest.raises(TooOften) as refused:
            count_all(made, [(GUESS, "ada"), (MORE, "ada")], NOW)
        assert refused.value.limit is GUESS
    assert tries(made, MORE) == 5
    with pytest.raises(TooOften) as refused:
        count_all(made, [(GUESS, "bob"), (MORE, "ada")], NOW)
    assert refused.value.limit is MORE


def test_of_many_at_once_no_more_get_through(made: Sessions) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: tries(made), range(4))) == 3


def test_what_was_counted_long_ago_is_forgotten_of_everybody(made: Sessions) -> None:
    for subject in range(20):
        count(made, GUESS, f"person {subject}", NOW)
    count(made, GUESS, "ada", NOW + timedelta(hours=1))
    with made.begin() as session:
        assert session.scalar(select(func.count()).select_from(RateCount)) == 1


def test_subjects_name_nobody() -> None:
    for subject in (by_address("192.0.2.7"), by_email("ada@example.edu"), by_both("ada@b.edu", "192.0.2.7")):
        assert "ada@" not in subject
        assert "192." not in subject
    assert by_email(" ADA@example.edu") == by_email("ada@example.edu")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True), ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
     ("::ffff:192.0.2.7", "192.0.2.7", True), ("192.0.2.7", "192.0.2.8", False), ("", "", True), ("unix:", "x", False)],
)  # fmt: skip
def test_whose_addresses_are_one(one: str, other: str, same: bool) -> None:
    assert (by_address(one) == by_address(other)) is same
