from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.database.engine import connect, sessions
from tests.server.course import ACourse
from tests.server.programs.serving import Server, Student


@pytest.fixture
def server(migrated_file: Path, tmp_path: Path) -> Iterator[Server]:
    url = f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'tilelab.db')}"
    engine = connect(url)
    made = Server(url, tmp_path / "web.log", ACourse.make(sessions(engine)))
    made.start()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop()
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
    signed_in = student.tilelab("login", server.url, "--token-stdin", given=server.token("ada"))
    assert signed_in.code == 0, signed_in.err
    return student
