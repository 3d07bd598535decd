"""Every part of `tilelab up` has a pulse, and those that cannot beat are asked."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from server.up.embedded_redis import EmbeddedRedis, find_redis
from server.up.machine import BROKER, WEB, Machine
from server.up.watch import Watch
from tests.worker.fleet.watched import wait_until
from worker.contract.broker import connect_redis
from worker.supervision.parts import Event, What
from worker.supervision.process import TELL, PartProcess
from worker.supervision.pulse import Pulse


def test_every_part_beats_or_is_asked(tmp_path):
    redis = EmbeddedRedis("redis", tmp_path / "socket")
    pulses = Watch("http://127.0.0.1:1", redis.url, redis).pulses
    machine = Machine("sqlite://", redis.url, redis.url, redis, 3, (), lambda _part: True, pulses)
    parts = machine.parts()
    assert len(parts) == 5
    for part in parts:
        assert part.pulse is not None
        assert TELL in part.command or part.name in pulses
    assert len({id(part.pulse) for part in parts}) == 5


def test_a_wait_ends_when_the_part_reports_that_it_is_ready(monkeypatch):
    watch = Watch("http://127.0.0.1:1", "unix:///nowhere")
    monkeypatch.setattr(watch, "ready", lambda _part: True)
    waits = threading.Thread(target=watch.wait, args=(WEB,), daemon=True)
    waits.start()
    watch.see(Event(WEB, What.STARTED, 7))
    waits.join(0.8)
    assert waits.is_alive()
    watch.see(Event(WEB, What.READY, 7))
    waits.join(5)
    assert not waits.is_alive()


@pytest.fixture
def redis(tmp_path: Path):
    found = EmbeddedRedis(find_redis(), tmp_path / "redis.sock")
    process = PartProcess(found.command)
    wait_until(found.answers)
    yield found, process.pid
    process.kill()
    process.collect()


def beaten(pulse: Pulse) -> Callable[[], bool]:
    """Whether there was a beat since the last call."""

    def found() -> bool:
        pulse.hangs(time.monotonic() + 10**6)
        return pulse.silent_seconds == 0.0

    pulse.begin(0.0)
    return found


def test_a_redis_that_hangs_is_silent(redis):
    server, pid = redis
    watch = Watch("http://127.0.0.1:1", server.url, server)
    heard = beaten(watch.pulses[BROKER])
    with watch.looking():
        wait_until(heard)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1.0)
        heard()
        time.sleep(2.0)
        assert not heard()
        os.kill(pid, signal.SIGCONT)
        wait_until(heard)


def test_the_embedded_redis_is_bounded_and_forgets_nothing(redis):
    server, _ = redis
    with connect_redis(server.url) as client:
        told = client.config_get("maxmemory*")
        assert int(told["maxmemory"]) == 512 * 2**20
        assert told["maxmemory-policy"] == "noeviction"


def test_a_web_server_that_only_refuses_is_alive_and_a_silent_one_is_not(monkeypatch):
    monkeypatch.setattr("server.up.watch._PROBE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        watch = Watch(f"http://127.0.0.1:{listening.getsockname()[1]}", "unix:///nowhere")
        assert not watch._web_answers()

        def refuse() -> None:
            for _ in range(2):
                listening.accept()[0].close()

        thread = threading.Thread(target=refuse)
        thread.start()
        assert watch._web_answers()
        thread.join()
        assert WEB in watch.pulses
