"""`tilelab admin user`: links that are handed out, and who runs the server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from server.accounts import browser_sessions
from server.accounts.models import ApiToken, Identity, LinkPurpose, OneTimeLink, Person
from server.accounts.service import create_person, sign_in
from server.audit.models import AuditEvent
from server.database.engine import Sessions
from server.enrolment.links import find_link
from tests.server.commands.admin import done, refused, told
from tests.server.commands.test_admin import PASSWORD, ready, url
from tests.server.course import read_row, read_rows
from worker.commands.root import Exit

__all__ = ["ready", "url"]

PORTAL = "https://tilelab.example"
VERBS = {"invite": LinkPurpose.INVITATION, "reset-link": LinkPurpose.RESET}


@pytest.fixture(autouse=True)
def ada(ready: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELAB_PUBLIC_URL", f"{PORTAL}/")
    done("user", "add", "ada@example.edu", "Ada", "--password", stdin=f"{PASSWORD}\n")


def actions(made: Sessions) -> list[str]:
    return read_rows(made, select(AuditEvent.action).order_by(AuditEvent.id))


@pytest.mark.parametrize("verb", VERBS)
def test_a_link_is_printed_and_is_good(ready: Sessions, verb: str) -> None:
    printed = done("user", verb, "ADA@example.edu").strip()
    token = printed.removeprefix(f"{PORTAL}/{VERBS[verb]}/")
    assert token != printed
    with ready.begin() as session:
        found = find_link(session, VERBS[verb], token)
        assert found is not None
        assert found.person.email == "ada@example.edu"
        assert found.created_by is None
    assert f"{VERBS[verb]}.created" in actions(ready)
    said = told("user", verb, "ada@example.edu")
    assert said["url"].startswith(PORTAL)
    assert timedelta(seconds=said["expires_in_seconds"]) >= timedelta(hours=24)


@pytest.mark.parametrize("verb", VERBS)
def test_what_hinders_a_link_is_said_in_a_line(ready: Sessions, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "list" in refused("user", verb, "nobody@example.edu")
    done("user", "disable", "ada@example.edu")
    assert "is disabled" in refused("user", verb, "ada@example.edu")
    monkeypatch.delenv("TILELAB_PUBLIC_URL")
    assert "TILELAB_PUBLIC_URL" in refused("user", verb, "ada@example.edu", code=Exit.SYSTEM_FAULT)
    assert not read_rows(ready, select(OneTimeLink))


def test_who_runs_the_server_is_said_and_noted(ready: Sessions) -> None:
    done("user", "add", "ops@example.edu", "Olga", "--admin")
    assert "now an operator of this server." in done("user", "make-admin", "ada@example.edu")
    done("user", "make-admin", "ada@example.edu")
    assert done("user", "list").count("(admin)") == 2
    assert "no longer" in done("user", "make-admin", "ops@example.edu", "--end")
    said = {one["email"]: one["admin"] for one in told("user", "list")}
    assert said == {"ada@example.edu": True, "ops@example.edu": False}
    assert [action for action in actions(ready) if action.startswith("admin.")] == [
        "admin.appointed", "admin.appointed", "admin.dismissed",
    ]  # fmt: skip


def test_programs_read_how_somebody_stands_then(ready: Sessions) -> None:
    said = told("user", "password", "ada@example.edu", stdin="two green teapots\n")
    assert (said["email"], said["disabled"]) == ("ada@example.edu", False)
    assert told("user", "disable", "ada@example.edu")["disabled"] is True
    assert told("user", "disable", "ada@example.edu", "--enable")["disabled"] is False
    assert told("user", "make-admin", "ada@example.edu")["admin"] is True


def test_a_password_from_the_command_line_ends_all_other_ways_in(ready: Sessions) -> None:
    token = done("user", "reset-link", "ada@example.edu").strip().rpartition("/")[2]
    with ready.begin() as session:
        ada, now = session.scalars(select(Person)).one(), datetime.now(UTC)
        cookie = browser_sessions.begin(session, ada, "test")
        session.add(Identity(person=ada, issuer="i", subject="s", email=ada.email, created_at=now, used_at=now))
    done("user", "password", "ada@example.edu", stdin="two green teapots\n")
    with ready.begin() as session:
        assert find_link(session, LinkPurpose.RESET, token) is None
        assert browser_sessions.find(session, cookie) is None
        assert not session.scalars(select(Identity)).all()


def test_an_email_and_a_name_are_corrected(ready: Sessions) -> None:
    done("user", "add", "bob@example.edu", "Bob")
    token = done("user", "reset-link", "ada@example.edu").strip().rpartition("/")[2]
    changed = done("user", "change", "ada@example.edu", "--email", "ADA@new.example", "--name", "Ada Lovelace")
    assert changed == "Changed to Ada Lovelace <ada@new.example>.\n"
    assert "already" in refused("user", "change", "ada@new.example", "--email", "bob@example.edu")
    assert "--email" in refused("user", "change", "ada@new.example")
    with ready.begin() as session:
        assert find_link(session, LinkPurpose.RESET, token) is None
        event = session.scalars(select(AuditEvent).where(AuditEvent.action == "person.changed")).one()
        assert event.detail == {"changed": ["email", "name"]}
    assert sign_in(ready, "ada@new.example", PASSWORD)


def test_a_token_with_an_account_ends_and_is_noted(ready: Sessions) -> None:
    assert "120 days" in done("user", "add", "bob@example.edu", "Bob", "--token")
    token = read_row(ready, select(ApiToken))
    assert token.expires_at == token.created_at + timedelta(days=120)
    assert actions(ready)[-1] == "token.created"


def test_a_token_allows_the_scopes_of_the_command(ready: Sessions) -> None:
    done("user", "add", "bob@example.edu", "Bob")
    done("user", "token", "bob@example.edu", "--scope", "staff", "--scope", "read")
    done("user", "token", "bob@example.edu", "--name", "usual")
    found = read_rows(ready, select(ApiToken.scopes).order_by(ApiToken.id))
    assert found == ["read staff", "read submit staff"]


def test_who_came_with_a_code_is_marked_until_their_password_is_set(ready: Sessions) -> None:
    with ready.begin() as session:
        create_person(session, email="eve@example.edu", name="Eve", proven=False)
    assert "Eve  (" in done("user", "list")
    done("user", "password", "eve@example.edu", stdin="two green teapots\n")
    assert done("user", "list").rstrip().endswith("Eve")
