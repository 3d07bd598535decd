"""What is wrong with a database is said in one line, which holds no password."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import DBAPIError

from server.database import faults
from server.database.engine import DatabaseUnavailable, connect
from server.database.faults import explained
from server.database.schema import NoSchema, check, upgrade

PASSWORD = "hush-hush"


def told(url: str, call: Callable[[Engine], object] = check) -> str:
    with pytest.raises(DatabaseUnavailable) as caught:
        call(connect(url))
    line = str(caught.value)
    assert "\n" not in line
    assert PASSWORD not in line
    return line


@pytest.mark.parametrize(
    "url", ["", "nothing", "mysql://u:hush-hush@h/d", "postgresql://u:hush-hush@h:port/d", "postgresql+asyncpg://h/d"]
)
def test_what_is_no_address_of_a_database(url: str) -> None:
    assert "DATABASE_URL" in told(url)


def test_nothing_listens() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        line = told(f"postgresql://u:{PASSWORD}@127.0.0.1:{port}/tilelab")
    assert f"tilelab at 127.0.0.1:{port} as user u: " in line


def test_no_such_socket(tmp_path: Path) -> None:
    assert "no server answers there" in told(f"postgresql://u:{PASSWORD}@/tilelab?host={tmp_path}")


def test_no_such_machine() -> None:
    assert "no machine has that name" in told(f"postgresql://u:{PASSWORD}@nowhere.invalid/tilelab")


def test_no_such_database(postgres_url: str) -> None:
    absent = make_url(postgres_url).set(database="absent").render_as_string(hide_password=False)
    assert "createdb absent" in told(absent)


def test_no_such_user(postgres_url: str) -> None:
    stranger = make_url(postgres_url).set(username="stranger", password=PASSWORD)
    assert "no such user" in told(stranger.render_as_string(hide_password=False))


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ('FATAL:  password authentication failed for user "u"', "it refuses the password"),
        ("fe_sendauth: no password supplied", "it needs a password"),
        ("FATAL:  sorry, too many clients already", "no free connection"),
        ("FATAL:  the database system is starting up", "Try again"),
        (f"something new about {PASSWORD}\nand more", "something new about *** and more"),
    ],
)
def test_what_postgresql_says(said: str, line: str) -> None:
    assert line in faults._reason(make_url(f"postgresql://u:{PASSWORD}@h/d"), said)


def test_no_file_yet_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(NoSchema):
        check(connect(f"sqlite:///{tmp_path}/tilelab.db"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", [check, upgrade])
def test_no_folder(tmp_path: Path, call: Callable[[Engine], object]) -> None:
    assert "does not exist" in told(f"sqlite:///{tmp_path}/none/tilelab.db", call)


@pytest.mark.parametrize("call", [check, upgrade])
def test_a_folder_instead_of_a_file(tmp_path: Path, call: Callable[[Engine], object]) -> None:
    assert "is a folder" in told(f"sqlite:///{tmp_path}", call)


@pytest.mark.parametrize("call", [check, upgrade])
def test_a_file_that_is_no_database(tmp_path: Path, call: Callable[[Engine], object]) -> None:
    (tmp_path / "notes.txt").write_text("to do: " * 1000)
    assert "not an SQLite database" in told(f"sqlite:///{tmp_path}/notes.txt", call)


def _refused(*_: object) -> bool:
    raise PermissionError


@pytest.mark.parametrize("call", [check, upgrade])
def test_a_folder_that_is_not_writable(tmp_path: Path, call: Callable[[Engine], object], monkeypatch) -> None:
    # Root may write anywhere, and tests may run as root.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    monkeypatch.setattr(Path, "is_dir", _refused)  # as in a folder that this user can't enter
    assert "can't write to the folder" in told(f"sqlite:///{tmp_path}/tilelab.db", call)


def test_what_was_asked_wrongly_is_no_fault_of_the_database(engine) -> None:
    with pytest.raises(DBAPIError, match=r"(?i)no column|does not exist"), explained(engine), engine.begin() as session:
        session.exec_driver_sql("INSERT INTO people (absent) VALUES (1)")
