"""Fields of requests are read by the annotations of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
class Body:
    name: Annotated[str, Text("[a-z]+", longest=5)]
    texts: Mapping[str, str]
    more: tuple[str, ...] = ()
    loud: bool = False


@pytest.mark.parametrize(("query", "found"), [("any=1000000000", 10**9), ("any=0000000007", 7), ("", 0)])
def test_a_number_goes_as_far_as_its_range(query, found):
    with Flask("test").test_request_context(f"/?{query}"):
        assert read_query(Numbers).any == found


@pytest.mark.parametrize("query", ["any=1000000001", "any=-1", "any=1e3", "few=0", "few=11", "any=\u0661"])
def test_a_number_outside_its_range_is_refused(query):
    with Flask("test").test_request_context(f"/?{query}"), pytest.raises(Refused):
        read_query(Numbers)


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
    ],
)
def test_a_body_that_does_not_fit_names_its_field(body, field):
    with pytest.raises(Refused) as refused:
        read_body(Body, body)
    assert field in refused.value.detail
