"""What cannot be had is named in one line, with exit code 3, before anything is started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from server.database.engine import connect
from server.database.schema import upgrade
from server.up.data_folder import take

_LONG = pytest.mark.long("starts the command; the short suite has one wrong address of each kind")

UP = (sys.executable, "-P", "-m", "worker.commands", "up", "--port", "0")


def refused(*words: str, **environment: str) -> str:
    """The one line that the command says."""
    clean = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    done = subprocess.run(
        [*UP, *words], env={**clean, **environment}, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 3, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("tilelab: ")
    assert "Traceback" not in line
    assert done.stdout == ""
    return line


@pytest.mark.parametrize(
    ("url", "word"),
    [
        pytest.param("mysql://x/y", "postgresql://", marks=_LONG),
        ("postgresql://tilelab:geheim@127.0.0.1:1/tilelab", "Start it, or correct DATABASE_URL"),
        pytest.param(
            "sqlite:////no/such/folder/tilelab.db", "Create it, or correct DATABASE_URL", marks=_LONG
        ),
    ],
)
def test_a_wrong_address_of_a_database(tmp_path: Path, url: str, word: str):
    line = refused("--data", str(tmp_path), DATABASE_URL=url)
    assert word in line
    assert "geheim" not in line


@pytest.mark.parametrize(
    "url", ["redis://:geheim@127.0.0.1:1/0", pytest.param("http://127.0.0.1", marks=_LONG)]
)
def test_a_broker_that_cannot_be_reached(tmp_path: Path, url: str):
    line = refused("--data", str(tmp_path), REDIS_URL=url)
    assert "REDIS_URL" in line
    assert "geheim" not in line


def test_a_port_that_is_in_use(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} on 127.0.0.1 is in use" in refused("--data", str(tmp_path), "--port", str(port))


@_LONG
def test_an_address_that_is_not_this_machines(tmp_path: Path):
    assert "Choose another with --host" in refused("--data", str(tmp_path), "--host", "192.0.2.1")


def test_a_data_folder_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "Choose another with --data" in refused("--data", str(tmp_path / "file" / "data"))


def test_a_data_folder_that_another_one_holds(tmp_path: Path):
    held = take(tmp_path)
    assert f"another `tilelab up` (process {os.getpid()})" in refused("--data", str(tmp_path))
    held.lock.close()


def test_a_database_of_a_newer_tilelab(tmp_path: Path):
    folder = take(tmp_path)
    engine = connect(folder.database_url)
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'of-tomorrow'"))
    engine.dispose()
    folder.lock.close()
    assert "newer Tilelab" in refused("--data", str(tmp_path))
