"""A little of `make rights`, and that it finds what it looks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from server.accounts import service
from server.courses import access
from server.courses.models import Course, Role
from server.courses.service import enrol, find_course
from server.enrolment import email_confirmation, links
from server.identity_providers import Provider
from server.lti import contexts
from server.lti import views as lti_views
from server.roster import invitations
from server.roster import plan as roster_plan
from server.roster import service as roster_service
from server.roster import views as roster_views
from server.sign_on import views as sign_on_views
from tests.rights.walk import Walk, walk
from tests.server.conftest import cheap_hashes
from tests.server.databases import migrated_file

_LONG = pytest.mark.long("walks on with a fault put in; the short suite walks once without")

_A_FEW = 180

__all__ = ["cheap_hashes", "migrated_file"]


def test_nobody_gets_what_they_have_no_right_to(migrated_file: Path) -> None:
    done = Walk()
    walk(migrated_file, 2, _A_FEW, done)
    assert (done.wrongs, done.acts) == ([], _A_FEW)
    assert {
        "add",
        "link",
        "join anew",
        "sign in",
        "follow",
        "submit",
        "read",
        "sign on",
        "connect",
        "launch",
    } <= done.accepted.keys()


def finds(migrated_file: Path, text: str) -> bool:
    """Whether one of a few worlds ends with such a wrong: not every world comes upon the fault."""
    for seed in range(1, 25):
        done = Walk()
        walk(migrated_file, seed, _A_FEW, done)
        if any(text in wrong for wrong in done.wrongs):
            return True
    return False


@_LONG
def test_it_finds_that_staff_may_touch_any_account(migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (links, email_confirmation, invitations):
        monkeypatch.setattr(module, "barrier", lambda *_: None)
    for module in (invitations, roster_plan, roster_views):
        monkeypatch.setattr(module, "barriers", lambda *_: {})
    assert finds(migrated_file, " changed [")


@_LONG
def test_it_finds_that_staff_add_people_without_asking(migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (roster_plan, roster_service):
        monkeypatch.setattr(module, "needs_consent", lambda *_: False)
    assert finds(migrated_file, " changed the place ")


@_LONG
def test_it_finds_that_a_page_is_open_to_everybody(migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def anybody(session: Session, person_id: int, slug: str) -> tuple[Course, Role] | None:
        course = find_course(session, slug)
        return None if course is None else (course, Role.STUDENT)

    monkeypatch.setattr(access, "course_and_role", anybody)
    assert finds(migrated_file, " reads the title ")


@_LONG
def test_it_finds_that_a_session_outlives_its_password(migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "end_all", lambda *_, **__: 0)
    assert finds(migrated_file, " still comes in ")


@_LONG
def test_it_finds_that_an_unchecked_email_opens_an_account(
    migrated_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Provider, "vouches_for", lambda *_, **__: True)
    assert finds(migrated_file, " which nobody checked")


@_LONG
def test_it_finds_that_a_session_alone_connects(migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_on_views, "_proves", lambda *_: True)
    assert finds(migrated_file, " connects an identity without a password ")


@_LONG
def test_it_finds_that_an_open_browser_connects_a_launch(migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lti_views, "_signed_in_since", lambda *_: True)
    assert finds(migrated_file, " connects a launch to ")


@_LONG
def test_it_finds_that_a_platform_makes_staff(migrated_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "join", lambda session, *to: enrol(session, to[1], to[0], Role.ASSISTANT))
    assert finds(migrated_file, " changed the place ")
