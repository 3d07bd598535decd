"""The process that drives a device: what it is asked, and what it can no longer do once it is asked."""

from __future__ import annotations

import json
import os

import pytest

from kernels.wire import WireError
from tests.marks import linux
from tests.worker.gpu import runners
from worker.contract.measure_work import Numbers
from worker.gpu import runner
from worker.gpu.spares import Runner
from worker.sandbox.limits import DeviceIsolation

pytestmark = linux

WITHOUT_CALLS = "from worker.sandbox.confinement import calls; calls.install_denials = lambda: False; "
WITHOUT_LANDLOCK = "from worker.sandbox.confinement import landlock; landlock.give_up_everything = lambda **_: 0; "
SECOND_WALL_ONLY = "from worker.sandbox.confinement import lockdown; lockdown._alone = lambda: False; "


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    return path


def orders(secret):
    """What a process that was taken over would try, by name; each alone."""
    other = str(secret.with_name("made"))
    return {
        "open": ["open", str(secret)],
        "passwords": ["open", "/etc/passwd"],
        "own code": ["open", runner.__file__],
        "create": ["write", other],
        "here": ["write", "made"],
        "remove": ["remove", str(secret)],
        "mode": ["mode", str(secret)],
        "socket": ["socket"],
        "connect": ["connect"],
        "fork": ["fork"],
        "program": ["program"],
        "become": ["become"],
        "kill": ["kill", os.getpid()],
        "limits": ["limits", os.getpid()],
        "driver's open": ["driver_open", str(secret)],
        "driver's socket": ["driver_socket"],
        "driver's become": ["driver_become"],
        # what remains
        "thread": ["thread"],
        "own signal": ["signal_thread"],
        "own limits": ["limits", 0],
        "memory map": ["open", "/proc/self/maps"],
        "node": ["open", "/dev/null"],
    }


REMAINS = {"thread", "own signal", "own limits", "memory map", "node"}
OF_FILES = {"open", "passwords", "own code", "create", "here", "remove", "driver's open"}
OF_CALLS = {
    "mode", "socket", "connect", "fork", "program", "become", "kill", "limits", "driver's socket", "driver's become",
}  # fmt: skip


def tried(monkeypatch, secret, change=""):
    """What worked, by name, and how the process was held in."""
    runners.put_before(monkeypatch, runners.PROBE + runners.DRIVER_THREAD + change)
    wanted = orders(secret)
    if change == WITHOUT_CALLS:
        # these would end the process, or make a second one that answers
        for name in ("fork", "become", "driver's become"):
            del wanted[name]
    with Runner(None, runners.PREPARE) as running:
        running.ready()
        isolation = running.isolation
        found = running.measure(runners.request("each", list(wanted.values()))).ptx_digests
    assert len(found) == len(wanted)
    return {name for name, end in zip(wanted, found, strict=True) if end == "worked"}, isolation


def test_nothing_but_the_device_is_in_reach(monkeypatch, secret):
    worked, isolation = tried(monkeypatch, secret)

    assert worked == REMAINS
    assert secret.read_text() == "secret"
    assert isinstance(isolation, DeviceIsolation)
    assert isolation.missing() == ()


def test_without_the_call_filter_landlock_still_holds_files(monkeypatch, secret):
    worked, isolation = tried(monkeypatch, secret, WITHOUT_CALLS)

    assert not worked & OF_FILES
    assert "socket" in worked
    assert any("start programs" in gap for gap in isolation.missing())


def test_without_landlock_the_call_filter_still_holds_processes_and_network(monkeypatch, secret):
    worked, isolation = tried(monkeypatch, secret, WITHOUT_LANDLOCK)

    assert not worked & (OF_CALLS | {"remove"})
    assert "passwords" in worked
    assert any(" files " in gap for gap in isolation.missing())


def test_files_that_only_the_drivers_threads_could_open_are_told_of(monkeypatch, secret):
    worked, isolation = tried(monkeypatch, secret, SECOND_WALL_ONLY)

    assert worked - REMAINS == {"driver's open"}
    assert any(" files " in gap for gap in isolation.missing())


def test_it_sees_nothing_of_our_environment(monkeypatch):
    monkeypatch.setenv("TILELAB_SECRET", "hunter2")
    runners.put_before(monkeypatch, runners.PROBE)
    with Runner(None, runners.PREPARE) as running:
        found = running.measure(runners.request("environment")).ptx_digests

    assert not any(line.startswith(("HOME=", "PATH=", "TILELAB", "CUDA")) for line in found)


@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"{}",
        b'{"inputs": 1}',
        b'{"inputs": 1, "vector": -1}',
        b'{"inputs": 9223372036854775808, "vector": 1}',
        b'{"inputs": 1.5, "vector": 1}',
        b'{"inputs": true, "vector": 1}',
    ],
)
def test_what_are_no_two_numbers_is_refused(line):
    with pytest.raises(WireError):
        runner.numbers(line)


def test_two_numbers_are_taken():
    assert runner.numbers(json.dumps({"inputs": 0, "vector": 2**63 - 1}).encode()) == Numbers(0, 2**63 - 1)


def test_there_are_two_kinds_of_device():
    with pytest.raises(ValueError, match="tpu"):
        runner.warm_up("tpu")
