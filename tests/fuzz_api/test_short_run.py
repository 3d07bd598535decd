"""A little of `make fuzz-api`, and what its client cannot send."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

import pytest

from tests.fuzz_api.running import Target, fuzz, target


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    with target(tmp_path_factory.mktemp("portal")) as portal:
        yield portal


@pytest.mark.long("it takes half a minute; the short suite fuzzes forms and sources, and compares answers with schemas")
def test_the_api_keeps_to_its_description(there: Target, tmp_path):
    run = fuzz(there, seed=1, examples=4, folder=tmp_path)

    assert run.passed, run.text
    assert run.cases > 80, run.text


@pytest.mark.one_in(3, "one of three")
@pytest.mark.parametrize(
    ("address", "headers", "status", "code"),
    [
        ("/api/v1/submissions?state=" + "x" * 9000, {}, 414, "address_too_long"),
        ("/api/v1/submissions", {"Cookie": "x" * 9000}, 431, "headers_too_large"),
        ("/api/v1/submissions", {"Transfer-Encoding": "unheard-of"}, 400, "bad_request"),
    ],
    ids=["line", "headers", "coding"],
)
def test_what_cannot_be_read_is_answered_as_the_description_says(there: Target, address, headers, status, code):
    place = urlsplit(there.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    try:
        connection.request("GET", address, headers=headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
    finally:
        connection.close()

    assert (answer.status, told["status"], told["code"]) == (status, status, code)
    assert answer.getheader("Content-Type") == "application/problem+json"
    assert told["detail"]
