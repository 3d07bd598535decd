"""Lengths are looked at before any work on a text: sorting many marks takes time with the square of their number."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress

import pytest

from server.accounts.limits import by_email
from server.accounts.service import AccountError, hash_password, normal_email, normal_name
from server.roster.csv_file import one_line
from server.roster.service import is_called
from server.text import composed

MARKS = "a" + "\u0301\u0316" * 200_000  # some hours of work
PLACES: dict[str, Callable[[str], object]] = {
    "email": normal_email,
    "name": normal_name,
    "password": hash_password,
    "limit": by_email,
    "roster": one_line,
    "search": lambda text: is_called(text, "Ada", "ada@example.edu"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_text_costs_no_more_the_longer_it_is(place):
    begun = time.thread_time()
    with suppress(AccountError):
        PLACES[place](MARKS)
    assert time.thread_time() - begun < 0.5


def test_what_is_too_long_stays_too_long_and_the_rest_is_joined():
    four = unicodedata.normalize("NFD", "\u1f82")
    assert len(four) == 4
    assert composed(four * 10, 10) == "\u1f82" * 10
    assert len(composed(four * 11, 10)) > 10
