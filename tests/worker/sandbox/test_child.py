from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from kernels.compile import nvrtc
from kernels.exercise import find_exercise
from kernels.verdict import Verdict
from tests.marks import linux
from tests.worker.sandbox.reserving import RESERVE, ReservingStages
from worker.sandbox.child import detail_of
from worker.sandbox.child_command import ENVIRONMENT
from worker.sandbox.limits import Failure, Isolation, Limits, SandboxFailure
from worker.sandbox.process import Child
from worker.steps.grading import Job, grade

pytestmark = linux

ROOT = Path(__file__).resolve().parents[3]
LIMITS = Limits(wall_seconds=60, cpu_seconds=5, memory_bytes=2**30)
WITHOUT_CALLS = "from worker.sandbox.confinement import calls; calls.install = lambda: False; "
WITHOUT_LANDLOCK = "from worker.sandbox.confinement import landlock; landlock.give_up_everything = lambda: 0; "


class ProbeChild(Child):
    """A child whose step is this folder's probe; `change` takes a wall away, to see what the others hold."""

    def __init__(self, limits=LIMITS, change=""):
        self._change = change
        super().__init__("probe", limits)

    def _command(self, step, answers):
        command = super()._command(step, answers)
        place = command.index("-c") + 1
        command[place] = (
            f"import sys; sys.path[:0] = {sys.path!r} + [{str(ROOT)!r}]; from worker.sandbox import child; "
            f"child.STEPS['probe'] = ('tests.worker.sandbox.probe', 'probe'); {self._change}" + command[place]
        )
        return command


def ask(action, *arguments, limits=LIMITS, change=""):
    with ProbeChild(limits, change) as child:
        return child.request({"action": action, "arguments": arguments})["result"]


def failure(action, *arguments, limits=LIMITS, change="") -> Failure:
    with pytest.raises(SandboxFailure) as raised:
        ask(action, *arguments, limits=limits, change=change)
    return raised.value.kind


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    return str(path)


@pytest.fixture
def listener():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_request_is_answered():
    assert ask("echo", {"a": [1, "ü", None]}) == {"a": [1, "ü", None]}


def test_a_large_request_and_a_large_response_pass():
    assert len(ask("echo", "x" * 5_000_000)) == 5_000_000


def test_the_environment_is_scrubbed(monkeypatch):
    monkeypatch.setenv("TILELAB_SECRET", "hunter2")

    assert "hunter2" not in str(ask("environment"))
    assert not {"HOME", "PATH", "USER"} & set(ask("environment"))


@pytest.mark.parametrize("change", ["", WITHOUT_CALLS, WITHOUT_LANDLOCK])
def test_no_file_can_be_read_or_made_behind_either_wall_alone(change, secret, tmp_path):
    made = tmp_path / "made"

    assert ask("open", secret, change=change) in {"FileNotFoundError", "PermissionError"}
    assert ask("create", str(made), change=change) != "worked"
    assert ask("create", "here", change=change) != "worked"
    assert not made.exists()


@pytest.mark.parametrize("action", ["open", "stat", "access", "list"])
def test_whether_a_file_exists_cannot_be_told(action, secret, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    places = (secret, secret + "-not", str(tmp_path), str(tmp_path / "pipe"), "/etc/shadow", "/proc/self/environ", ".")

    assert len({ask(action, place) for place in places}) == 1


@pytest.mark.parametrize("change", ["", WITHOUT_CALLS, WITHOUT_LANDLOCK])
def test_the_network_is_out_of_reach_behind_either_wall_alone(change, listener):
    assert ask("connect", listener, change=change) != "worked"


def test_no_process_can_be_started_or_ended():
    assert ask("fork") != "worked"
    assert ask("program") != "worked"
    assert ask("kill", os.getpid()) != "worked"


def test_what_is_printed_is_no_answer():
    assert ask("talk") == "true"


@pytest.mark.parametrize(
    ("action", "arguments", "limits", "kind"),
    [
        # neither ends by itself, nor by the other limit
        ("sleep", (1000,), Limits(wall_seconds=0.3), Failure.TIME),
        ("spin", (), Limits(wall_seconds=1000, cpu_seconds=1), Failure.TIME),
        ("allocate", (2**31,), LIMITS, Failure.MEMORY),
        ("exhaust", (), LIMITS, Failure.MEMORY),
        ("large", (2**21,), Limits(response_bytes=2**20), Failure.MEMORY),
        ("crash", (), LIMITS, Failure.CRASH),
        ("exit", (), LIMITS, Failure.CRASH),
        ("fail", (), LIMITS, Failure.ERROR),
    ],
)
def test_every_end_has_its_kind(action, arguments, limits, kind):
    assert failure(action, *arguments, limits=limits) is kind


def test_memory_is_bounded_by_what_can_be_written_and_not_by_what_is_reserved():
    most = LIMITS.memory_bytes
    assert failure("exhaust", change=RESERVE) is Failure.MEMORY
    assert ask("allocate", most // 2, change=RESERVE) == most // 2
    assert most // 2 < ask("share", change=RESERVE) <= most
    assert ask("open_reserved", most // 2, change=RESERVE) == 0
    assert ask("open_reserved", most, change=RESERVE) != 0


@pytest.mark.long("the short suite grades kernels with smaller headers")
def test_a_kernel_with_large_headers_is_graded_where_a_driver_reserves_addresses(tmp_path):
    source = (ROOT / "tests/corpus/right/naive_cooperative_groups.cu").read_bytes()
    with ReservingStages() as stages:
        report = grade(Job(source, find_exercise("naive"), "sm_90", "5eed", tmp_path, evidence=True), stages)

    assert report.verdict is Verdict.ACCEPTED
    assert report.evidence.lines


@pytest.mark.parametrize(
    ("before_the_lock", "loaded"), [("c.warm_up", False), ("lambda: (c.warm_up(), c.rehearse())", True)]
)
def test_the_compiler_finds_no_driver_behind_the_lock(before_the_lock, loaded, tmp_path, monkeypatch):
    """A first compilation loads the driver of a GPU where it finds one; the second row shows that it would."""
    builtins = next(nvrtc.library_folder().glob("libnvrtc-builtins.so.*"))
    shutil.copy(builtins, tmp_path / "libcuda.so.1")
    monkeypatch.setattr(ProbeChild, "environment", {**ENVIRONMENT, "LD_LIBRARY_PATH": str(tmp_path)})
    change = (
        "from tests.worker.sandbox import probe; from worker.sandbox import compile_step as c; "
        f"probe.warm_up, probe.rehearse = {before_the_lock}, c.rehearse; "
    )

    assert ask("loaded", "libcuda.so.1", change=change) is loaded


def test_what_the_parent_uses_is_not_held_against_the_child():
    large = bytearray(b"x") * (LIMITS.memory_bytes // 8 * 5)

    assert failure("crash") is Failure.CRASH
    assert len(large) > LIMITS.memory_bytes // 2


def test_the_detail_of_our_own_fault_says_where():
    with pytest.raises(SandboxFailure) as raised:
        ask("fail")

    error, _, frames = raised.value.detail.partition(" File ")
    assert (error.strip(), "probe.py" in frames) == ("ValueError: our own fault", True)


def test_a_long_error_is_cut_after_its_type():
    detail = detail_of(ValueError("x" * 10_000))
    assert (detail[:12], len(detail) < 2_100) == ("ValueError: ", True)


@pytest.mark.parametrize(("share", "kind"), [(0.0, Failure.ERROR), (0.6, Failure.TIME)])
def test_what_a_child_was_killed_for_shows_in_the_time_that_it_had_used(share, kind):
    with ProbeChild(Limits(wall_seconds=60, cpu_seconds=2)) as child:
        child.wait_ready()
        killing = threading.Thread(target=kill_after, args=(child._process.pid, 2 * share))
        killing.start()
        with pytest.raises(SandboxFailure) as raised:
            child.request({"action": "spin", "arguments": []})
        killing.join()
    assert raised.value.kind is kind


def kill_after(pid, seconds):
    """Kill a process once it has used so much processor time."""
    ticks = seconds * os.sysconf("SC_CLK_TCK")
    while sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) < ticks:
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)


def test_an_unknown_step_is_a_failed_start():
    with Child("no such step") as child, pytest.raises(SandboxFailure) as raised:
        child.wait_ready()

    assert raised.value.kind is Failure.START


@pytest.mark.parametrize("place", ["tempfile.mkdtemp", "os.pipe", "subprocess.Popen"])
def test_a_machine_that_has_no_more_of_something_is_a_failed_start(place, monkeypatch, tmp_path):
    def none_left(*_args: object, **_options: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(place, none_left)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(SandboxFailure, match="Too many open files") as raised:
        Child("compile")
    assert raised.value.kind is Failure.START
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert not list(tmp_path.iterdir())


def test_all_that_should_hold_a_child_in_does_so_on_linux():
    with ProbeChild() as child:
        isolation = child.wait_ready()

    assert isolation.calls
    assert isolation.limits
    assert isolation.missing() == ()


@pytest.mark.parametrize(
    ("isolation", "words"),
    [
        (Isolation(calls=False, landlock=0, network=True, limits=True), "read files"),
        (Isolation(calls=False, landlock=7, network=True, limits=True), "which files exist"),
        (Isolation(calls=False, landlock=3, network=False, limits=True), "network"),
        (Isolation(calls=True, landlock=0, network=False, limits=False), "memory"),
    ],
)
def test_what_is_not_enforced_is_said(isolation, words):
    assert any(words in gap for gap in isolation.missing())


def test_without_the_call_filter_the_child_says_so():
    with ProbeChild(change=WITHOUT_CALLS) as child:
        assert not child.wait_ready().calls


def test_nothing_is_left_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ProbeChild() as child:
        pid = child._process.pid
        assert list(tmp_path.iterdir())
    child.close()

    assert not list(tmp_path.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
