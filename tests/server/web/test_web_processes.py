"""How many processes answer requests."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from worker.commands.root import tilelab

SQLITE, POSTGRESQL = "sqlite://", "postgresql://tilelab@127.0.0.1:1/tilelab"


@pytest.mark.parametrize(
    ("cores", "database", "setting", "words", "expected"),
    [
        (2, POSTGRESQL, "", [], 2),
        (64, POSTGRESQL, "", [], 4),
        (64, SQLITE, "", [], 4),
        (2, SQLITE, "16", [], 16),
        (2, POSTGRESQL, "16", ["--processes", "3"], 3),
    ],
)
def test_as_many_as_set_or_by_the_cores(monkeypatch, cores, database, setting, words, expected):
    started = []

    def serve(_settings, bound, processes, _tell):
        bound.close()
        started.append(processes)

    monkeypatch.setattr("worker.supervision.cores.cores", lambda: cores)
    monkeypatch.setattr("server.web.web_server.serve", serve)
    for name, value in {"DATABASE_URL": database, "REDIS_URL": "redis://127.0.0.1:1/0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TILELAB_WEB_PROCESSES", setting)
    assert CliRunner().invoke(tilelab, ["serve", "web", "--port", "0", *words]).exit_code == 0
    assert started == [expected]
