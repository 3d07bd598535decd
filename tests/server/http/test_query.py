"""Fields of requests are read by the annotations of their classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import pytest
from flask import Flask

from server.fields import Range, Text
from server.http.json_body import read_body
from server.http.problems import Refused
from server.http.query import read_query


@dataclass(frozen=True)
class Numbers:
    any: int = 0
    few: Annotated[int, Range(1, 10)] = 1


@dataclass(frozen=True)
class Times:
    since: datetime | None = None
    until: Annotated[datetime | None, Text()] = None


@dataclass(frozen=True)
class Body:
    name: Annotated[str, Text("[a-z]+", longest=5)]
    texts: Mapping[str, str]
    more: tuple[str, ...] = ()
    loud: bool = False
    few: Annotated[int | None, Range(1, 10)] = None


@pytest.mark.parametrize(("query", "found"), [("any=1000000000", 10**9), ("any=0000000007", 7), ("", 0)])
def test_a_number_goes_as_far_as_its_range(query, found):
    with Flask("test").test_request_context(f"/?{query}"):
        assert read_query(Numbers).any == found


@pytest.mark.parametrize("query", ["any=1000000001", "any=-1", "any=1e3", "few=0", "few=11", "any=\u0661"])
def test_a_number_outside_its_range_is_refused(query):
    with Flask("test").test_request_context(f"/?{query}"), pytest.raises(Refused):
        read_query(Numbers)


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", "20260301T120000Z"])
def test_a_time_is_read_in_utc(text):
    with Flask("test").test_request_context("/", query_string={"since": text, "until": text}):
        assert read_query(Times) == Times(NOON, NOON)
    assert read_body(Times, json.dumps({"since": text, "until": None}).encode()) == Times(NOON)


@pytest.mark.parametrize("text", ["2026-03-01T12:00:00", "0001-01-01T00:00:00+23:59", "noon", ""])
def test_a_time_without_its_zone_is_refused(text):
    with Flask("test").test_request_context("/", query_string={"until": text}), pytest.raises(Refused) as in_query:
        read_query(Times)
    with pytest.raises(Refused) as in_body:
        read_body(Times, json.dumps({"until": text}).encode())
    assert "`until`" in in_query.value.detail
    assert "`until`" in in_body.value.detail


def test_a_body_is_read_with_its_defaults():
    assert read_body(Body, b'{"name": "ada", "texts": {"a": "b"}, "more": ["c"]}') == Body("ada", {"a": "b"}, ("c",))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"texts": {}}', "`name`"),
        (b'{"name": 7, "texts": {}}', "`name`"),
        (b'{"name": "Ada", "texts": {}}', "`name`"),
        (b'{"name": "adaada", "texts": {}}', "`name`"),
        (b'{"name": "ada", "texts": {"a": 1}}', "`texts.a`"),
        (b'{"name": "ada", "texts": [], "loud": 1}', "`texts`"),
        (b'{"name": "ada", "texts": {}, "loud": 1}', "`loud`"),
        (b'{"name": "ada", "texts": {}, "other": 1}', "`other`"),
        (b'{"name": "ada", "texts": {}, "few": 11}', "`few`"),
    ],
)
def test_a_body_that_does_not_fit_names_its_field(body, field):
    with pytest.raises(Refused) as refused:
        read_body(Body, body)
    assert field in refused.value.detail
