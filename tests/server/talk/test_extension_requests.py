"""Extension requests: who asks, who answers, and what an answer does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from server.audit.models import AuditEvent
from server.courses.models import Assignment, Extension, Role
from server.talk.models import ExtensionRequest
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

HOME = "/courses/gpu/tiled/"
PAGE = f"{HOME}extension"
STAFF = "/staff/gpu/extension-requests"


def typed(days: float) -> str:
    return f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT%H:%M}"


@pytest.fixture
def ada(portal: Portal) -> BrowserClient:
    due(portal, -1, 1)
    return client_of(portal, "ada")


def due(portal: Portal, due: float, closes: float) -> None:
    with portal.course.sessions.begin() as session:
        found = session.get_one(Assignment, portal.course.assignment)
        now = datetime.now(UTC)
        found.due_at, found.closes_at = now + timedelta(days=due), now + timedelta(days=closes)


def granted(portal: Portal) -> list[bool | None]:
    return portal.course.rows(select(ExtensionRequest.granted).order_by(ExtensionRequest.id))


def test_a_request_is_withdrawn_refused_and_granted(portal: Portal, ada: BrowserClient) -> None:
    ina, tom = client_of(portal, "ina", Role.INSTRUCTOR), client_of(portal, "tom", Role.ASSISTANT)
    assert f'href="{PAGE}"' in ada.page(HOME)
    assert ada.post_form(PAGE, wanted=typed(3), reason="I am <b>ill</b>.").status_code == 303
    assert ada.post_form(PAGE, wanted=typed(3), reason="Again.").status_code == 422
    assert 'data-extension-request="open"' in ada.page(HOME)
    assert ada.post_form(f"{PAGE}/withdraw").status_code == 303
    assert ada.post_form(f"{PAGE}/withdraw").status_code == 303
    assert granted(portal) == []
    ada.post_form(PAGE, wanted=typed(3), reason="I am <b>ill</b>.")
    assert 'data-needs="extensions"' in ina.page("/staff/gpu/")
    assert f"{STAFF}/2" in tom.page("/staff/gpu/assignments/tiled")
    assert "&lt;b&gt;ill" in tom.page(f"{STAFF}/2")
    assert tom.post_form(f"{STAFF}/2", way="grant").status_code == 403
    for fields in (
        {"way": "refuse"},
        {"way": "grant", "until": typed(-2)},
        {"way": "x"},
        {"way": "grant", "until": "x"},
    ):
        assert ina.post_form(f"{STAFF}/2", **fields).status_code == 422
    assert ina.post_form(f"{STAFF}/2", way="refuse", answer="Use late days.").status_code == 303
    assert "refused</a>: Use late days." in ada.page(HOME)
    ada.post_form(PAGE, wanted=typed(3), reason="Really.")
    until = typed(2)
    assert ina.post_form(f"{STAFF}/3", way="grant", until=until).status_code == 303
    assert ina.post_form(f"{STAFF}/3", way="grant").status_code == 422
    assert granted(portal) == [False, True]
    with portal.course.sessions.begin() as session:
        assert f"{session.scalars(select(Extension.due_at)).one():%Y-%m-%dT%H:%M}" == until
        deeds = list(session.scalars(select(AuditEvent.action).where(AuditEvent.action.startswith("extension."))))
    assert deeds == ["extension.refused", "extension.granted"]
    assert 'data-extension-request="granted"' in ada.page(HOME)
    assert 'data-needs="extensions"' not in ina.page("/staff/gpu/")


def test_what_cannot_be_asked_is_not_stored(portal: Portal, ada: BrowserClient) -> None:
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert ina.post_form(PAGE, wanted=typed(3), reason="Mine").status_code == 422
    for wanted, reason in (
        (typed(-2), "ill"), (typed(-0.5), "ill"), (typed(500), "ill"), ("", "ill"), ("x", "ill"), (typed(3), " "),
        (typed(3), "x" * 2_001),
    ):  # fmt: skip
        assert ada.post_form(PAGE, wanted=wanted, reason=reason).status_code == 422
    due(portal, -9, -8)
    assert ada.post_form(PAGE, wanted=typed(3), reason="ill").status_code == 422
    assert granted(portal) == []
    due(portal, -9, -6)
    assert ada.post_form(PAGE, wanted=typed(3), reason="ill").status_code == 303
