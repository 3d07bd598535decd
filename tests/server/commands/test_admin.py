"""`tilelab admin` as it is called: what it prints, its messages and exit codes."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click import Command, Context, Group

from server.accounts.service import find_by_token, sign_in
from server.courses.service import find_assignment
from server.database.engine import Sessions, connect, sessions
from server.dispatching.dispatch import take
from server.grading.attempts import ticket_of
from tests.server.commands.admin import done, refused, run, told
from tests.server.course import NOW, ACourse
from worker.commands.root import Exit, tilelab
from worker.contract.broker import connect_redis
from worker.contract.claims import Stand
from worker.contract.messages import CPU_QUEUE
from worker.contract.redis_claims import RedisClaims

PASSWORD = "correct horse"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    address = f"sqlite:///{tmp_path}/tilelab.db"
    monkeypatch.setenv("DATABASE_URL", address)
    return address


@pytest.fixture
def ready(url: str, sqlite_url: str) -> Iterator[Sessions]:
    assert sqlite_url == url
    done("course", "add", "demo", "Demo course")
    engine = connect(url)
    yield sessions(engine)
    engine.dispose()


def verbs(command: Command | None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """A command and all below it."""
    yield words
    if isinstance(command, Group):
        for name in command.list_commands(Context(command)):
            yield from verbs(command.get_command(Context(command), name), (*words, name))


@pytest.mark.parametrize("verb", [*verbs(tilelab.get_command(Context(tilelab), "admin"))], ids=" ".join)
def test_each_verb_shows_how_it_is_used(verb: tuple[str, ...]) -> None:
    shown = done(*verb, "--help")
    assert re.search(r"\n  Examples?:\n    ", shown)
    assert " ".join(["tilelab admin", *verb]) in shown


def test_a_database_is_made_ready(url: str) -> None:
    assert "tilelab admin migrate" in refused("user", "list", code=Exit.SYSTEM_FAULT)
    assert "tilelab admin migrate" in refused("migrate", "--check", code=Exit.SYSTEM_FAULT)
    assert told("migrate")["changed"] is True
    assert told("migrate")["changed"] is False
    assert "already have version" in done("migrate", "--check")
    assert "ada@example.edu" in refused("jobs", "list", "--person", "ada@example.edu")
    assert done("user", "list") == ""


def test_no_database_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("DATABASE_URL_FILE", raising=False)
    assert "DATABASE_URL is not set" in refused("migrate", code=Exit.SYSTEM_FAULT)


def test_a_course_is_set_up_by_hand(ready: Sessions) -> None:
    added = ["user", "add", "Ada@example.edu", "Ada Lovelace", "--course", "demo", "--role", "instructor"]
    made: dict[str, Any] = told(*added, "--password", "--token", stdin=f"{PASSWORD}\n")
    assert (made["email"], made["name"]) == ("ada@example.edu", "Ada Lovelace")
    assert sign_in(ready, "ada@example.edu", PASSWORD)
    with ready.begin() as session:
        person = find_by_token(session, made["token"])
        assert person is not None
        assert person.id == made["id"]
    done("user", "add", "bob@example.edu", "Bob")
    done("course", "enrol", "demo", "bob@example.edu")
    assigned = ["course", "assign", "demo", "tiled", "--device-class", "h200", "--due", "2026-03-01T23:59+01:00"]
    done(*assigned, "--points", "10", "--tile", "16")
    shown = told("course", "list", "demo")
    assert [(member["email"], member["role"]) for member in shown["members"]] == [
        ("ada@example.edu", "instructor"), ("bob@example.edu", "student"),
    ]  # fmt: skip
    (assignment,) = shown["assignments"]
    assert (assignment["name"], assignment["arch"], assignment["tile"]) == ("tiled", "sm_90", 16)
    assert assignment["due_at"] == "2026-03-01T22:59:00+00:00"
    assert "demo" in done("course", "list")
    assert [entry["email"] for entry in told("user", "list")] == [
        "ada@example.edu", "bob@example.edu",
    ]  # fmt: skip
    with ready.begin() as session:
        assert find_assignment(session, "demo/tiled") is not None


def test_passwords_tokens_and_shutting_out(ready: Sessions) -> None:
    done("user", "add", "ada@example.edu", "Ada")
    done("user", "password", "ada@example.edu", stdin=f"{PASSWORD}\n")
    assert sign_in(ready, "ada@example.edu", PASSWORD)
    token = done("user", "token", "ada@example.edu", "--name", "laptop", "--days", "9").strip()
    assert knows(ready, token)
    done("user", "disable", "ada@example.edu")
    assert not knows(ready, token)
    assert "(disabled)" in done("user", "list")
    done("user", "disable", "ada@example.edu", "--enable")
    assert knows(ready, token)
    assert done("user", "token", "ada@example.edu", "--revoke") == "Tokens revoked: 1.\n"
    assert not knows(ready, token)


def knows(made: Sessions, token: str) -> bool:
    with made.begin() as session:
        return find_by_token(session, token) is not None


@pytest.mark.one_in(2, "two of three")
@pytest.mark.parametrize("broker", ["reachable", "away", "unknown"])
def test_workers_hear_of_it_when_someone_is_erased(ready, monkeypatch, redis_url, broker) -> None:
    addresses = {"reachable": redis_url, "away": "redis://127.0.0.1:1/0", "unknown": ""}
    monkeypatch.setenv("REDIS_URL", addresses[broker])
    monkeypatch.delenv("REDIS_URL_FILE", raising=False)
    course = ACourse.make(ready)
    course.hand_in("ada")
    course.hand_in("bob")
    with ready.begin() as session:
        tickets = [ticket_of(step) for step in take(session, CPU_QUEUE, slots=2, cap=2, now=NOW)]
    with connect_redis(redis_url) as client:
        claims = RedisClaims(client)
        assert all(claims.claim(ticket, "host-1/cpu-0", 600.0) for ticket in tickets)
        assert told("user", "erase", "ada@example.edu", "--yes")["cancelled"] == 1
        stands = [claim.stand for claim in claims.look(tickets)]
    assert stands == [Stand.REVOKED if broker == "reachable" else Stand.CLAIMED, Stand.CLAIMED]


def test_someone_is_erased_after_a_question(ready: Sessions) -> None:
    done("user", "add", "ada@example.edu", "Ada")
    assert run("user", "erase", "ada@example.edu", stdin="n\n").exit_code == 1
    assert "ada@example.edu" in done("user", "list")
    assert told("user", "erase", "ada@example.edu", "--yes")["submissions"] == 0
    assert done("user", "list") == ""


def test_a_backup_is_restored_elsewhere(ready: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done("user", "add", "ada@example.edu", "Ada", "--course", "demo")
    file = str(tmp_path / "backup.zip")
    said = told("backup", file)
    assert said["bytes"] == Path(file).stat().st_size
    assert "not empty" in refused("restore", file, code=Exit.SYSTEM_FAULT)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/new.db")
    assert told("restore", file)["rows"] == said["rows"]
    assert "ada@example.edu" in done("user", "list")
    assert "cannot write the file" in refused("backup", str(tmp_path / "none" / "backup.zip"))


def test_a_backup_to_standard_output_makes_no_file(
    ready: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    made = run("backup", "-", "--json")
    assert made.exit_code == 0, made.stderr
    with zipfile.ZipFile(io.BytesIO(made.stdout_bytes)) as archive:
        assert archive.testzip() is None
    assert json.loads(made.stderr)["rows"] > 0
    assert set(tmp_path.iterdir()) == before


@pytest.mark.one_in(3, "a third")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["user", "add", "nobody", "N"], "name@university.edu"),
        (["user", "add", "ada@example.edu", "Ada", "--course", "nope"], "no course nope"),
        (["user", "token", "ada@example.edu"], "tilelab admin user list"),
        (["user", "erase", "ada@example.edu", "--yes"], "no person with the email ada@example.edu"),
        (["course", "add", "demo", "Again"], "already"),
        (["course", "enrol", "demo", "ada@example.edu"], "tilelab admin user add"),
        (["course", "assign", "nope", "tiled"], "tilelab admin course list"),
        (["course", "assign", "demo", "nope"], "no such exercise"),
        (["course", "assign", "demo", "tiled", "--tile", "7"], "no tile 7"),
    ],
)
def test_wrong_use_is_one_line_and_changes_nothing(ready: Sessions, arguments: list[str], words: str) -> None:
    assert words in refused(*arguments)
    assert done("user", "list") == ""
