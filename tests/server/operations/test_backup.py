"""Backup and restore: every row comes back, in either kind of database, and nothing is half restored."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, inspect, select, text

from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.audit.service import note
from server.database.engine import connect, sessions
from server.models import Base
from server.operations import backup
from server.operations.backup import BackupRefused, RestoreRefused, back_up, erasures_of, restore, stream
from server.operations.erase import erase_person
from server.operations.erasures import erasures_in, read_list
from tests.server.commands.admin import refused as refused_command
from tests.server.commands.admin import told
from tests.server.operations.a_full_course import full_course
from tests.server.operations.test_erase import traces


@pytest.fixture(scope="module")
def full_file(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("full") / "full.db"
    shutil.copy(migrated_file, file)
    engine = connect(f"sqlite:///{file}")
    full_course(sessions(engine))
    engine.dispose()
    return file


@pytest.fixture
def full(full_file: Path, tmp_path: Path) -> Iterator[Engine]:
    """An SQLite database in which every table has rows."""
    yield from opened(f"sqlite:///{shutil.copy(full_file, tmp_path)}")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Engine]:
    """An SQLite database with nothing in it, nor any tables."""
    yield from opened(f"sqlite:///{tmp_path}/other.db")


@pytest.fixture
def without_rows(sqlite_url: str) -> Iterator[Engine]:
    """An SQLite database with all tables."""
    yield from opened(sqlite_url)


@pytest.fixture
def postgres_full(migrated_url: str) -> Iterator[Engine]:
    for engine in opened(migrated_url):
        full_course(sessions(engine))
        yield engine


def opened(url: str) -> Iterator[Engine]:
    engine = connect(url)
    yield engine
    engine.dispose()


def made_pipe(path: Path) -> None:
    os.mkfifo(path)


def made_link(path: Path) -> None:
    path.with_name("target").write_bytes(b"")
    path.symlink_to("target")


def made_file(path: Path) -> None:
    path.write_text("somebody's", "utf-8")


def made_other_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("letter.txt", "somebody's")


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("make", [made_pipe, made_link, Path.mkdir, made_file, made_other_archive])
def test_only_an_earlier_backup_is_replaced_unless_it_is_asked_for(
    full: Engine, tmp_path: Path, make: Callable[[Path], None], replace: bool
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    place = folder / "backup.zip"
    make(place)
    was = place.lstat()
    if stat.S_ISREG(was.st_mode) and replace:
        back_up(full, place, replace=True)
        assert zipfile.is_zipfile(place)
        return
    with pytest.raises(BackupRefused):
        back_up(full, place, replace=replace)
    assert (place.lstat().st_ino, place.lstat().st_mode) == (was.st_ino, was.st_mode)
    assert {each.name for each in folder.iterdir()} <= {"backup.zip", "target"}


def test_an_earlier_backup_and_an_empty_file_are_replaced(full: Engine, tmp_path: Path) -> None:
    place = tmp_path / "backup.zip"
    place.touch()
    for _ in range(2):
        back_up(full, place)
        with place.open("rb") as file, backup.ArchiveReader(file) as reader:
            assert reader.manifest.rows > 0


def test_what_comes_meanwhile_is_not_replaced_either(full: Engine, tmp_path: Path) -> None:
    place = tmp_path / "backup.zip"
    with pytest.raises(BackupRefused):
        back_up(full, place, lambda _: None if place.exists() else place.mkdir())
    assert place.is_dir()


def test_a_backup_through_a_pipe_is_restored(full: Engine, other: Engine, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as read, (tmp_path / "came.zip").open("wb") as came:
        copying = threading.Thread(target=shutil.copyfileobj, args=(read, came))
        copying.start()
        with os.fdopen(writing, "wb") as file:
            manifest = stream(full, file)
        copying.join()
    assert restore(other, tmp_path / "came.zip").manifest.rows == manifest.rows
    assert rows_of(other) == rows_of(full)


def rows_of(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    with engine.connect() as connection:
        return {
            table.name: [
                row._asdict() for row in connection.execute(select(table).order_by(*table.primary_key.columns))
            ]
            for table in Base.metadata.sorted_tables
        }


def test_from_one_kind_to_the_other_and_back_every_row_is_the_same(
    full: Engine, postgres_url: str, other: Engine, tmp_path: Path
) -> None:
    before = rows_of(full)
    assert all(before.values()), "a table is not tried at all"
    postgres = connect(postgres_url)
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    written = back_up(full, first)
    assert written.rows == sum(map(len, before.values()))
    assert restore(postgres, first).manifest == written
    assert rows_of(postgres) == before
    assert back_up(postgres, second).tables == written.tables
    restore(other, second)
    assert rows_of(other) == before
    postgres.dispose()


def test_ids_go_on_after_the_last_that_was_restored(full: Engine, postgres_url: str, tmp_path: Path) -> None:
    back_up(full, tmp_path / "backup.zip")
    for engine in (connect(postgres_url), connect(f"sqlite:///{tmp_path}/new.db")):
        restore(engine, tmp_path / "backup.zip")
        with sessions(engine).begin() as session:
            last = session.scalars(select(func.max(AuditEvent.id))).one()
            event = note(session, None, "job.tested", "nothing")
            session.flush()
            assert event.id == last + 1
        engine.dispose()


@pytest.mark.parametrize(
    "kind", [pytest.param("full", marks=pytest.mark.long("the short suite has PostgreSQL")), "postgres_full"]
)
def test_a_backup_holds_one_moment_while_others_write(
    kind: str, request: pytest.FixtureRequest, other: Engine, tmp_path: Path
) -> None:
    engine: Engine = request.getfixturevalue(kind)
    made = sessions(engine)
    stop = threading.Event()
    errors: list[BaseException] = []

    def write() -> None:
        """Two rows in tables that are read far apart, always together."""
        number = 0
        while not stop.is_set():
            number += 1
            try:
                with made.begin() as session:
                    session.execute(text("UPDATE courses SET title = :title"), {"title": str(number)})
                    session.execute(text("UPDATE steps SET turn = :turn"), {"turn": number})
            except Exception as error:  # noqa: BLE001 - told to the test
                errors.append(error)
                return

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(4):
        back_up(engine, tmp_path / f"{number}.zip")
    stop.set()
    writer.join()
    assert errors == []
    restore(other, tmp_path / "3.zip")
    rows = rows_of(other)
    assert {row["title"] for row in rows["courses"]} == {str(row["turn"]) for row in rows["steps"]}


def test_the_file_is_its_owner_s_and_there_whole_or_not_at_all(
    full: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backups" / "backup.zip"
    file.parent.mkdir()
    back_up(full, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup.ArchiveWriter, "finish", fail)
    with pytest.raises(OSError, match="No space"):
        back_up(full, file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_database_that_is_not_empty_is_left_alone(full: Engine, tmp_path: Path) -> None:
    back_up(full, tmp_path / "backup.zip")
    before = rows_of(full)
    with pytest.raises(RestoreRefused, match="not empty"):
        restore(full, tmp_path / "backup.zip")
    assert rows_of(full) == before


def refused(engine: Engine, file: Path) -> str:
    with pytest.raises(RestoreRefused) as told:
        restore(engine, file)
    line = str(told.value)
    assert "\n" not in line
    assert str(file) in line
    return line


@pytest.mark.one_in(2, "every second place")
@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, -1, -30])
def test_a_file_that_was_cut_off_is_refused(full: Engine, other: Engine, tmp_path: Path, kept: float) -> None:
    file = tmp_path / "backup.zip"
    back_up(full, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(kept * len(whole)) if kept == 0.5 else int(kept)])
    refused(other, file)


def test_a_file_with_a_bit_turned_is_refused_and_nothing_is_restored(
    full: Engine, without_rows: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    back_up(full, file)
    whole = bytearray(file.read_bytes())
    for place in range(50, len(whole), len(whole) // 25):
        broken = whole.copy()
        broken[place] ^= 0x10
        file.write_bytes(broken)
        try:
            restore(without_rows, file)
        except RestoreRefused:
            assert not any(rows_of(without_rows).values())
        else:
            # A bit that says nothing of the contents, such as the time of a member.
            assert rows_of(without_rows) == rows_of(full)
            with without_rows.begin() as connection:
                for table in reversed(Base.metadata.sorted_tables):
                    connection.execute(table.delete())


def rewritten(file: Path, name: str, change: Any) -> None:
    """The archive with one member changed, everything else as it was."""
    with zipfile.ZipFile(file) as old:
        members = {info.filename: old.read(info) for info in old.infolist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(file, "w") as new:
        for member, content in members.items():
            if content is not None:
                new.writestr(member, content)


def manifest(**changes: Any) -> Any:
    return lambda content: json.dumps(json.loads(content) | changes)


@pytest.mark.one_in(3, "a third of the changes")
@pytest.mark.parametrize(
    ("member", "change", "words"),
    [
        ("people.jsonl", lambda content: content.replace(b"ada@", b"eve@"), "match its checksum"),
        ("people.jsonl", lambda content: content[: content.index(b"\n") + 1], "match its checksum"),
        ("people.jsonl", lambda content: content + b"{}\n", "other columns"),
        ("people.jsonl", lambda content: content + b"[", "an incomplete line"),
        ("people.jsonl", lambda content: b"nonsense\n" + content, "an invalid row"),
        ("people.jsonl", lambda content: content + content[: content.index(b"\n") + 1], "match its checksum"),
        ("people.jsonl", lambda _: None, "damaged"),
        ("manifest.json", lambda _: None, "backup of Tilelab"),
        ("manifest.json", lambda _: b"[]", "backup of Tilelab"),
        ("manifest.json", manifest(revision="9999"), "version 9999"),
        ("manifest.json", manifest(format=9), "format is 9"),
        ("manifest.json", manifest(tables={}), "is missing"),
        ("manifest.json", manifest(tables={"strange": {"rows": 1, "sha256": ""}}), "strange"),
        ("manifest.json", manifest(tables={"people": 1}), "manifest"),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(
    full: Engine, without_rows: Engine, tmp_path: Path, member: str, change: Any, words: str
) -> None:
    file = tmp_path / "backup.zip"
    back_up(full, file)
    rewritten(file, member, change)
    assert words in refused(without_rows, file)
    assert not any(rows_of(without_rows).values())


def test_postgresql_says_which_row_it_refuses(full: Engine, postgres_url: str, tmp_path: Path) -> None:
    with full.begin() as connection:
        connection.execute(text("UPDATE courses SET title = :title"), {"title": "a\0b"})
    back_up(full, tmp_path / "backup.zip")
    postgres = connect(postgres_url)
    assert "courses" in refused(postgres, tmp_path / "backup.zip")
    postgres.dispose()


def restored(engine: Engine, *words: str) -> int:
    """How many accounts the command erased again."""
    return int(told("restore", *words)["erased"])


def test_an_erased_person_does_not_come_back_with_an_older_backup(
    full: Engine, other: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer, listed = (tmp_path / name for name in ("older.zip", "newer.zip", "erased.jsonl"))
    back_up(full, older)
    monkeypatch.setenv("TILELAB_ERASED_LIST", str(listed))
    monkeypatch.setenv("DATABASE_URL", str(full.url))
    assert told("user", "erase", "ada@example.edu", "--yes")["submissions"] == 3
    (erasure,) = read_list(listed)
    assert b"ada" not in listed.read_bytes().lower()
    assert listed.stat().st_mode & 0o777 == 0o600
    assert back_up(full, newer).erased == (erasure,)
    monkeypatch.setenv("DATABASE_URL", str(other.url))
    assert restored(other, str(older)) == 1
    assert traces(other) == []
    with other.connect() as connection:
        assert erasures_in(connection) == (erasure,)


def test_a_newer_backup_says_who_was_erased(full: Engine, other: Engine, tmp_path: Path) -> None:
    older, newer = tmp_path / "older.zip", tmp_path / "newer.zip"
    back_up(full, older)
    with full.connect() as connection:
        ada = connection.scalar(select(Person.id).where(Person.email == "ada@example.edu"))
    assert ada is not None
    erase_person(sessions(full), ada)
    back_up(full, newer)
    (erasure,) = erasures_of(newer)
    elsewhere = replace(erasure, created_at="2020-01-01T00:00:00+00:00")
    assert restore(other, older, erased=[erasure, elsewhere]).erased == 1
    assert traces(other) == []


@pytest.mark.parametrize("text", ["{", "[1]", '{"person": 1}', "\x00"])
def test_a_list_that_is_none_restores_nothing(
    full: Engine, other: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    listed = tmp_path / "list"
    listed.write_text(text)
    back_up(full, tmp_path / "backup.zip")
    monkeypatch.setenv("DATABASE_URL", str(other.url))
    refused_command("restore", str(tmp_path / "backup.zip"), "--erased", str(listed))
    with other.connect() as connection:
        assert not inspect(connection).get_table_names() or not connection.scalar(select(func.count(Person.id)))
