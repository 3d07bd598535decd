"""The key that signs our requests: how it is replaced, on the page, by the API and by the command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from server.lti.keys import KEPT, PUBLISHED, our_key, public_keys
from server.lti.models import LtiPlatform
from tests.server.commands.admin import done, refused, told
from tests.server.databases import ON_SQLITE
from tests.server.lti.platform import Platform
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

pytestmark = ON_SQLITE
MINUTE = timedelta(minutes=1)


def keys(portal: Portal, after: timedelta = timedelta()) -> tuple[str, set[str]]:
    """Which key signs then, and which are public."""
    with portal.course.sessions.begin() as session:
        then = datetime.now(UTC) + after
        return our_key(session, then).kid or "", {each["kid"] for each in public_keys(session, then)["keys"]}


def operator(portal: Portal) -> BrowserClient:
    return client_of(portal, "ina", None, admin=True)


def test_a_new_key_is_published_before_it_signs_and_the_old_one_stays(portal: Portal):
    old, _ = keys(portal)
    browser = operator(portal)
    assert browser.post_form("/lti/platforms/key").status_code == 303
    assert browser.post_form("/lti/platforms/key").status_code == 409
    signs, public = keys(portal)
    (new,) = public - {old}
    assert signs == old
    assert keys(portal, PUBLISHED - MINUTE) == (old, {old, new})
    assert keys(portal, PUBLISHED + MINUTE) == (new, {old, new})
    assert keys(portal, PUBLISHED + KEPT - MINUTE) == (new, {old, new})
    assert keys(portal, PUBLISHED + KEPT + MINUTE) == (new, {new})
    assert portal.course.actions("lti") == ["lti.key_replaced"]


def test_a_stolen_key_signs_nothing_any_more(portal: Portal):
    old, _ = keys(portal)
    for _ in range(2):
        assert operator(portal).post_form("/lti/platforms/key", at_once="yes").status_code == 303
    new, public = keys(portal)
    assert public == {new}
    assert new != old


def test_api_and_command_do_what_the_page_does(
    portal: Portal, connected: Platform, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    operator(portal)
    typed = {
        name: " ".join(each) if isinstance(each, list) else each for name, each in connected.settings().items()
    } | {"client_id": "other", "deployments": "1 2"}
    bearer = {"Authorization": f"Bearer {portal.token('ina')}"}

    def posted(path: str, body: object = None) -> tuple[int, str]:
        answer = portal.client.post(f"/api/v1{path}", json=body, headers=bearer)
        return answer.status_code, answer.get_json().get("code", "")

    assert posted("/lti/platforms", typed) == (201, "")
    assert posted("/lti/platforms", typed) == (422, "invalid")
    assert posted("/lti/platforms/2", {"title": "Canvas"}) == (200, "")
    assert posted("/lti/platforms/3", {"title": "Canvas"}) == (404, "no_such_platform")
    assert posted("/courses/gpu/platforms/1", {"sends_grades": False}) == (200, "")
    assert posted("/lti/key", {"at_once": True}) == (200, "")
    listed = portal.client.get("/api/v1/lti/platforms", headers=bearer).get_json()
    assert [each["settings"]["title"] for each in listed["platforms"]] == ["Canvas", "Moodle"]
    (course,) = portal.client.get("/api/v1/courses/gpu/platforms", headers=bearer).get_json()["connections"]
    assert not course["sends_grades"]

    monkeypatch.setenv("DATABASE_URL", database_url)
    done("lti", "change", "2", "--title", "Brightspace")
    done("lti", "connection", "gpu", "1", "--sends-grades")
    assert [each["title"] for each in told("lti", "list")["platforms"]] == ["Brightspace", "Moodle"]
    assert told("lti", "connections", "gpu")["connections"][0]["sends_grades"]
    done("lti", "replace-key")
    refused("lti", "replace-key")
    done("lti", "remove", "2")
    done("lti", "disconnect", "gpu", "1")
    assert portal.course.rows(select(LtiPlatform.title)) == ["Moodle"]
    assert portal.course.actions("lti") == [
        "lti.registered", "lti.registered", "lti.changed", "lti.key_replaced",
        "lti.registered", "lti.changed", "lti.key_replaced", "lti.removed", "lti.disconnected",
    ]  # fmt: skip
