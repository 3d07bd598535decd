from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.database.engine import connect, sessions
from tests.server.course import SOURCE, ACourse
from tests.server.databases import KeptTables
from tests.server.programs.serving import Server, Student
from tests.services.postgres_server import PostgresServer
from worker.client.account import Account, keep_account


@pytest.fixture(scope="module")
def tables(postgres: PostgresServer) -> KeptTables:
    return KeptTables(postgres, "of_programs")


@pytest.fixture(scope="module")
def kept_server(tables: KeptTables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Of the whole module: its start takes longer than most of what is asked of it."""
    made = Server(tables.emptied(), tmp_path_factory.mktemp("web") / "web.log")
    yield made
    if made.running:
        made.stop()


@pytest.fixture
def server(kept_server: Server, tables: KeptTables) -> Iterator[Server]:
    """With a new course and nothing else."""
    tables.clear()
    engine = connect(kept_server.database_url)
    kept_server.course = ACourse.make(sessions(engine))
    if not kept_server.running:
        kept_server.start()
    yield kept_server
    engine.dispose()


@pytest.fixture
def student(tmp_path: Path) -> Student:
    """With a folder of their own, and no portal."""
    home = tmp_path / "home"
    home.mkdir()
    return Student(home)


@pytest.fixture
def ada(server: Server, student: Student) -> Student:
    """A student of the course who is signed in."""
    keep_account(student.config, Account(server.url, server.token("ada")))
    return student


@pytest.fixture
def kernel(student: Student) -> str:
    (student.home / "my.cu").write_bytes(SOURCE)
    return "my.cu"
