"""What cannot be read, is too large or makes no sense gets an answer that says so: never a fault of ours."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st

from server.fields import Range, Text
from server.http.arrival import REQUEST_BYTES
from server.http.json_body import read_body
from server.http.problems import Refused
from server.submissions.new_submission import read_key, read_new_submission
from tests.server.databases import ON_SQLITE
from tests.server.submissions.test_api import grade
from tests.server.web.conftest import Portal

FIELDS = [
    ({"assignment": None}, 422), ({"assignment": 7}, 422), ({"assignment": "tiled"}, 422),
    ({"assignment": "gpu/tiled/more"}, 422), ({"assignment": "gpu\x00/tiled"}, 422), ({"assignment": "GPU/tiled"}, 422),
    ({"source": None}, 422), ({"source": ["a"]}, 422), ({"source": ""}, 422), ({"source": "\ud800"}, 422),
    ({"source": "x" * 65_537}, 413), ({"source": "\N{PILE OF POO}" * 20_000}, 413),
    ({"mode": "win"}, 422), ({"mode": []}, 422), ({"mode": None}, 422), ({"mode": {}}, 422),
    ({"device_class": 1}, 422), ({"device_class": "H 200"}, 422), ({"device_class": "\x00"}, 422),
    ({"mode": "check", "device_class": "h200"}, 422),
    ({"admin": True}, 422),
]  # fmt: skip
BODIES = [
    (b"", 400), (b"{", 400), (b"[]", 400), (b"null", 400), (b'"text"', 400), (b"\xff\xfe{}", 400), (b"{}", 422),
    (b"[" * 100_000, 400), (b'{"a":' * 40_000, 400), (b'{"source": NaN}', 400), (b"1" * 5_000, 400),
    (b'{"\\ud800": 1}', 422), (b"\x00", 400),
]  # fmt: skip


def is_problem(answer: Any, status: int) -> None:
    assert answer.status_code == status, answer.get_data(as_text=True)
    assert answer.content_type == "application/problem+json"
    body = answer.get_json(force=True)
    assert set(body) == {"type", "title", "status", "code", "detail"}
    assert body["status"] == status
    assert len(body["detail"]) > 20, "what to do next"


@pytest.mark.parametrize("body", [b"1" * 5_000, b'{"source": -' + b"9" * 5_000 + b"}", b"[" + b"7" * 4_300 + b"]"])
def test_a_huge_number_is_told_in_words_of_ours(portal: Portal, body: bytes) -> None:
    answer = portal.post("ada", data=body)
    is_problem(answer, 400)
    detail = answer.get_json(force=True)["detail"]
    assert "digits; the limit is 20" in detail
    assert "set_int" not in detail


def test_an_assignment_that_is_not_there_is_told_with_what_to_do(portal: Portal) -> None:
    answer = portal.post("ada", {"assignment": "gpu/none"})
    is_problem(answer, 404)
    body = answer.get_json(force=True)
    assert body["code"] == "no_such_assignment"
    assert body["detail"].count("such") == 2
    assert "demo/tiled" in body["detail"]


@ON_SQLITE
def test_bodies_that_cannot_be_used_are_refused_with_a_reason(portal: Portal):
    for body, status in FIELDS:
        is_problem(portal.post("ada", body), status)
    for data, status in BODIES:
        is_problem(portal.post("ada", data=data), status)
    for key in ("", "a b", "x" * 201, "schlüssel"):
        is_problem(portal.post("ada", key=key), 400)
    is_problem(portal.post("ada", data=b" " * (REQUEST_BYTES + 1)), 413)
    headers = {"Authorization": f"Bearer {portal.token('ada')}"}
    is_problem(portal.client.post("/api/v1/submissions", data="source=x", headers=headers), 415)
    is_problem(in_pieces(portal, headers, {"source": ""}, spaces=0), 422)
    is_problem(in_pieces(portal, headers, {"source": "x"}, spaces=REQUEST_BYTES), 413)
    is_problem(portal.client.delete("/api/v1/submissions"), 405)
    is_problem(portal.client.get("/api/v1/none"), 404)


def in_pieces(portal: Portal, headers: dict[str, str], body: object, *, spaces: int) -> Any:
    """A request whose length nobody knows before its end, as gunicorn hands it on."""
    return portal.client.post(
        "/api/v1/submissions",
        input_stream=io.BytesIO(json.dumps(body).encode() + b" " * spaces),
        environ_overrides={"wsgi.input_terminated": True},
        headers={**headers, "Transfer-Encoding": "chunked"},
        content_type="application/json",
    )


def test_odd_text_in_a_source_is_kept_as_it_came(portal: Portal):
    for number, source in enumerate(("\x00", "a\x00b", "\r\n\t", "\u202e\u0000\ufeff", "\U0010ffff", "é" * 32_768)):
        if number:
            grade(portal.course)  # so that few are under way
        assert portal.post("ada", {"source": source}).status_code == 202


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
ASKED = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("assignment", "source", "mode", "device_class", "more"), JSON)
)


@trying(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ASKED.map(lambda asked: json.dumps(asked).encode()) | st.binary(max_size=200), st.text(max_size=8) | st.none())
def test_no_body_is_too_odd_to_be_read_or_refused(body: bytes, key: str | None):
    with contextlib.suppress(Refused):
        read_new_submission(body)
    with contextlib.suppress(Refused):
        read_key(key)


@dataclass
class Limited:
    name: Annotated[str, Text("[a-z]+")] | None = None
    number: Annotated[int, Range(0, 9)] | None = None


@pytest.mark.parametrize("asked", [{"name": "A"}, {"number": 10}, {"number": 2.5}, {"number": 1e300}, {"more": 1}])
def test_a_field_that_may_be_null_keeps_its_limits(asked: dict[str, object]):
    with pytest.raises(Refused, match=next(iter(asked))):
        read_body(Limited, json.dumps(asked).encode())


def test_a_whole_number_may_be_written_with_a_fraction():
    assert read_body(Limited, b'{"name": null, "number": 2.0}') == Limited(None, 2)
