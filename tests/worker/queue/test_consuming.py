"""Who takes messages beats by itself: idle, and without a broker, but not when it is stuck."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.services.redis_server import RedisServer
from tests.worker.queue.slots import until
from worker.contract.broker import celery_app


@pytest.fixture
def server(tmp_path):
    with RedisServer(tmp_path / "redis") as running:
        yield running


@pytest.fixture
def consumer(server, tmp_path):
    """The file that it touches."""
    command = [sys.executable, "-m", "tests.worker.queue.consumers", server.url, str(tmp_path)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield tmp_path / "beat"
    finally:
        process.kill()
        process.wait()


def beats_on(file: Path) -> None:
    """It is touched twice from now on."""
    for _ in range(2):
        before = _touched(file)
        until(partial(_touched_after, file, before), "a beat")


def _touched(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0


def _touched_after(file: Path, before: int) -> bool:
    return _touched(file) > before


def test_it_beats_idle_and_while_the_broker_is_away(server, consumer):
    beats_on(consumer)
    server.kill()
    time.sleep(2)
    beats_on(consumer)
    server.start()
    beats_on(consumer)


@pytest.mark.one_in(2, "one of two tasks")
@pytest.mark.parametrize("name", ["celery.map", "celery.starmap"])
def test_tasks_that_celery_brings_along_are_not_run(server, consumer, tmp_path, name):
    app = celery_app(server.url)
    app.send_task(name, ({"task": "touch"}, [[]]), queue="sticky")
    app.send_task("stick", queue="sticky")
    until((tmp_path / "stuck").exists)
    assert not (tmp_path / "touched").exists()


def test_one_that_is_stuck_falls_silent(server, consumer, tmp_path):
    beats_on(consumer)
    app = celery_app(server.url)
    app.send_task("stick", queue="sticky")
    until((tmp_path / "stuck").exists)
    last = consumer.stat().st_mtime_ns
    time.sleep(4)
    assert consumer.stat().st_mtime_ns == last
