"""Transactions side by side: on SQLite a writer waits for the other, a reader for none, and nobody is refused."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError

from server.accounts.models import Person
from server.accounts.service import create_person
from server.audit.models import AuditEvent
from server.audit.service import note
from server.database.engine import DatabaseUnavailable, connect, hasty, leave_unsynced, readers, sessions
from server.database.faults import Outlook, outlook
from server.database.storage import check_write
from server.grading.models import QueueClock
from server.models import Base
from tests.server.course import read_row

ROOT = Path(__file__).resolve().parents[3]

WRITER = """
import sys
from sqlalchemy import update
from server.database.engine import connect, sessions
from server.grading.models import QueueClock
made = sessions(connect(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    with made.begin() as session:
        found = session.get(QueueClock, ("cpu", 2))
        session.execute(update(QueueClock).values(turn=found.turn + 1))
"""


def test_a_reader_waits_for_no_writer_and_sees_one_state(engine: Engine) -> None:
    made, reading = sessions(engine), readers(engine)
    with made.begin() as session:
        create_person(session, email="ada@example.edu", name="Ada")
    with made.begin() as writing, reading.begin() as session:
        writing.execute(update(Person).values(name="Augusta"))
        assert session.scalar(select(Person.name)) == "Ada"
        writing.commit()
        assert session.scalar(select(Person.name)) == "Ada"
    with reading.begin() as session:
        assert session.scalar(select(Person.name)) == "Augusta"


def test_a_reader_cannot_write_and_the_next_to_use_its_connection_can(engine: Engine) -> None:
    with pytest.raises(Exception, match=r"(?i)read-?only"), readers(engine).begin() as session:
        session.execute(update(Person).values(name="Eve"))
    with sessions(engine).begin() as session:
        create_person(session, email="ada@example.edu", name="Ada")
    with readers(engine).begin() as session:
        assert session.scalar(select(func.count()).select_from(Person)) == 1


@pytest.mark.long("the short suite has concurrent writers in tests/server/submissions/test_limits.py")
def test_processes_that_read_and_then_write_are_never_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/tilelab.db"
    engine = connect(url)
    Base.metadata.create_all(engine)
    made = sessions(engine)
    with made.begin() as session:
        session.add(QueueClock(queue="cpu", priority=2, turn=0))
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, url, "60"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    stop, counts = threading.Event(), []

    def read() -> None:
        while not stop.wait(0.002):
            with readers(engine).begin() as session:
                counts.append(session.scalars(select(QueueClock.turn)).one())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        with made.begin() as session:
            note(session, None, "job.tested", "nothing")
    errors = [process.communicate(timeout=120)[1] for process in started]
    stop.set()
    reader.join()
    assert errors == [""] * 2
    assert counts == sorted(counts)
    with made.begin() as session:
        assert session.scalar(select(QueueClock.turn)) == 120
        assert session.scalar(select(func.count()).select_from(AuditEvent)) == 20
    engine.dispose()


def test_a_new_file_can_be_opened_by_many_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/tilelab.db"

    def opened(_: int) -> str:
        engine = connect(url)
        with engine.begin() as connection:
            mode = str(connection.execute(text("PRAGMA journal_mode")).scalar())
        engine.dispose()
        return mode

    with ThreadPoolExecutor(12) as pool:
        assert set(pool.map(opened, range(48))) == {"wal"}


def test_no_database_takes_what_is_not_json(made) -> None:
    with pytest.raises((StatementError, ValueError)), made.begin() as session:
        note(session, None, "job.tested", "nothing", value=float("nan"))


def test_documents_come_back_as_they_were(made) -> None:
    detail: dict[str, Any] = {"b": 1, "a": [None, 1.5, "ü", {"c": True}]}
    with made.begin() as session:
        note(session, None, "job.tested", "nothing", **detail)
    assert read_row(made, select(AuditEvent.detail)) == json.loads(json.dumps(detail))


def test_what_a_statement_was_given_is_in_no_error_and_so_in_no_log(made, caplog) -> None:
    """PostgreSQL tells the row that it refuses, and SQLAlchemy all parameters, unless they are told not to."""
    secret = "ada@example.edu"
    with made.begin() as session:
        create_person(session, email=secret, name="Ada")
    for name in ("Eve", None):
        row = insert(Person).values(email=secret, name=name, created_at=datetime.now(UTC))
        with pytest.raises(IntegrityError) as refused, made.begin() as session:
            session.execute(row)
        logging.getLogger("server").error("refused", exc_info=refused.value)
    assert caplog.text.count("refused") == 2
    assert "people" in caplog.text
    assert secret not in caplog.text


def test_a_commit_waits_until_it_is_on_the_disk(engine: Engine) -> None:
    setting = "PRAGMA synchronous" if engine.dialect.name == "sqlite" else "SHOW synchronous_commit"
    with engine.connect() as connection:
        assert str(connection.execute(text(setting)).scalar()) in {"2", "on"}


def test_what_may_be_lost_with_the_power_is_said_for_one_transaction_alone(sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    levels = []
    for needless in (False, True, False, True):
        with sessions(engine).begin() as session:
            if needless:
                leave_unsynced(session)
            levels.append(session.scalar(text("PRAGMA synchronous")))
    with hasty(engine, 1.0).begin() as session:
        levels.append(session.scalar(text("PRAGMA synchronous")))
    assert levels == [2, 1, 2, 1, 2]
    engine.dispose()


def test_a_hasty_writer_waits_for_no_other(made, engine: Engine) -> None:
    with made.begin() as session:
        person = create_person(session, email="ada@example.edu", name="Ada").id
    with made.begin() as session:
        session.execute(update(Person).values(name="Augusta"))
        began = time.monotonic()
        with pytest.raises(DBAPIError) as refused, hasty(engine, 0.05).begin() as other:
            other.execute(update(Person).where(Person.id == person).values(name="Eve"))
        assert time.monotonic() - began < 5.0
        assert outlook(refused.value) is Outlook.PASSES
    # and its connection waits again as any other does
    with hasty(engine, 0.05).begin() as session:
        session.execute(update(Person).values(name="Eve"))
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 60_000


def test_a_write_is_proved_on_either_database_and_leaves_no_row(engine: Engine) -> None:
    log = Path(f"{engine.url.database}-wal")
    sizes: list[int] = []
    for _ in range(2):
        check_write(engine)
        sizes.append(log.stat().st_size if engine.dialect.name == "sqlite" else len(sizes))
    assert sizes[0] < sizes[1], "it was written"
    with readers(engine).begin() as session:
        assert session.scalar(select(func.count()).select_from(QueueClock)) == 0


def test_a_connection_to_what_became_a_standby_is_dropped(migrated_url: str) -> None:
    engine = connect(migrated_url)
    with engine.connect() as connection:
        connection.execute(text("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"))
        connection.commit()
    with pytest.raises(DatabaseUnavailable):
        check_write(engine)
    check_write(engine)
    engine.dispose()
