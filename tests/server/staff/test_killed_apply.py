"""Processes killed while they apply a staged regrade: afterwards it is as if not begun, or finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Engine, text

from tests.server.databases import ON_BOTH, ON_POSTGRESQL
from tests.server.grading.processes import until
from tests.server.staff.test_staged_regrades import Stage, assert_applied, everything, regraded, staged, state_of

__all__ = ["staged"]

pytestmark = pytest.mark.long("the short suite cuts the transaction off within its own process")

KILLED = -signal.SIGKILL


@contextmanager
def applying(url: str, assignment: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.server.staff.killed_apply", url, str(assignment)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def killed_at(process: subprocess.Popen[str], statement: int) -> str:
    """What the killed process was about to do."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{statement}\n")
    process.stdin.flush()
    what, _, status = process.stdout.readline().strip().rpartition(" ")
    assert int(status) == signal.SIGKILL
    return what


@ON_BOTH
def test_killed_at_any_statement(staged: Stage, database_url: str) -> None:
    regraded(staged)
    before, seen, shown = everything(staged.course), state_of(staged.course), staged.preview()
    met: list[str] = []
    with applying(database_url, staged.course.assignment) as process:
        while not met or met[-1] != "nothing":
            met.append(killed_at(process, len(met) + 1))
            if met[-1] != "nothing":
                assert everything(staged.course) == before, f"killed before {met[-1]} {len(met)}"
    assert met[-2] == "the commit"
    assert len(met) > 10
    assert_applied(staged.course, seen, shown)


@ON_POSTGRESQL
def test_the_command_is_killed_while_it_waits(staged: Stage, engine: Engine) -> None:
    regraded(staged)
    before, seen, shown = everything(staged.course), state_of(staged.course), staged.preview()
    url = engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-m", "worker.commands", "admin", "regrades", "apply", "gpu/tiled", "--yes"]
    environment = {**os.environ, "DATABASE_URL": url}
    with engine.connect() as other:
        other.execute(text("SELECT 1 FROM standings FOR UPDATE"))  # after verdicts and jobs
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
            try:
                until(lambda: _waiting(engine))
            finally:
                process.kill()
        assert process.returncode == KILLED
        other.rollback()
    until(lambda: not _others(engine))
    assert everything(staged.course) == before
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=60)
    assert_applied(staged.course, seen, shown)


def _waiting(engine: Engine) -> bool:
    with engine.connect() as connection:
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        return bool(connection.execute(text(query)).scalar_one())


def _others(engine: Engine) -> bool:
    with engine.connect() as connection:
        query = """SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"""
        return bool(connection.execute(text(query)).scalar_one())
