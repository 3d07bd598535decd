"""What cannot be had is named in one line, before anything is started."""

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
from server.up import whole_server
from server.up.data_folder import DataFolder, take
from server.up.whole_server import CannotRun, Options, run_everything

UP = (sys.executable, "-P", "-m", "worker.commands", "up")


def refused(data: Path, host: str = "127.0.0.1", port: int = 0, **environment: str) -> str:
    """The one line that the server says."""
    folders: list[DataFolder] = []

    def taken(path: Path) -> DataFolder:
        folders.append(take(path))
        return folders[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_server, "take", taken)
        for name in ("DATABASE_URL", "REDIS_URL"):
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(CannotRun) as refusal:
            run_everything(Options(data, host, port, demo=False, verbose=False), pytest.fail)
    for folder in folders:
        folder.lock.close()
    (line,) = str(refusal.value).splitlines()
    return line


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("mysql://x/y", "postgresql://"),
        ("postgresql://tilelab:geheim@127.0.0.1:1/tilelab", "Start it, or correct DATABASE_URL"),
        ("sqlite:////no/such/folder/tilelab.db", "Create it, or correct DATABASE_URL"),
    ],
)
def test_a_wrong_address_of_a_database(tmp_path: Path, url: str, word: str):
    line = refused(tmp_path, DATABASE_URL=url)
    assert word in line
    assert "geheim" not in line


@pytest.mark.parametrize("url", ["redis://:geheim@127.0.0.1:1/0", "http://127.0.0.1"])
def test_a_broker_that_cannot_be_reached(tmp_path: Path, url: str):
    line = refused(tmp_path, REDIS_URL=url)
    assert "REDIS_URL" in line
    assert "geheim" not in line


def test_a_port_that_is_in_use(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} on 127.0.0.1 is in use" in refused(tmp_path, port=port)


def test_the_command_ends_with_that_line_and_a_code_of_its_own(tmp_path: Path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [*UP, "--data", str(tmp_path / "file" / "data")], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 3, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("tilelab: ")
    assert done.stdout == ""


def test_an_address_that_is_not_this_machines(tmp_path: Path):
    assert "Choose another with --host" in refused(tmp_path, host="192.0.2.1")


def test_a_data_folder_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "Choose another with --data" in refused(tmp_path / "file" / "data")


def test_a_data_folder_that_another_one_holds(tmp_path: Path):
    held = take(tmp_path)
    assert f"another `tilelab up` (process {os.getpid()})" in refused(tmp_path)
    held.lock.close()


def test_a_database_of_a_newer_tilelab(tmp_path: Path):
    folder = take(tmp_path)
    engine = connect(folder.database_url)
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'of-tomorrow'"))
    engine.dispose()
    folder.lock.close()
    assert "newer Tilelab" in refused(tmp_path)
