"""Starts and long launches keep out of each other's way, also where a process is killed in between."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.marks import linux
from worker.gpu.timing import quiet
from worker.gpu.timing.quiet import NOBODY_ELSE, Quiet, quiet_file

pytestmark = linux

PROGRAM = """
import sys
from worker.gpu.timing.quiet import Quiet
way = getattr(Quiet(int(sys.argv[1])), sys.argv[2])
print("wants", flush=True)
with way():
    print("has", flush=True)
    sys.stdin.readline()
print("left", flush=True)
sys.stdin.readline()
"""


class Process:
    """Goes in at once, and out when it is told."""

    def __init__(self, descriptor: int, way: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(descriptor), way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            pass_fds=(descriptor,),
            env={"PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._said = b""
        assert self.says("wants")

    def says(self, word: str, seconds: float = 30.0) -> bool:
        assert self._process.stdout is not None
        end = time.monotonic() + seconds
        while word.encode() not in self._said and time.monotonic() < end:
            self._said += self._process.stdout.read() or b""
            time.sleep(0.005)
        return word.encode() in self._said

    def waits(self) -> bool:
        return not self.says("has", seconds=0.2)

    def leave(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        assert self.says("left")

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def start():
    made: list[Process] = []
    with quiet_file() as file:

        def starter(way: str) -> Process:
            made.append(Process(file.fileno(), way))
            return made[-1]

        yield starter
        for process in made:
            process.end()


def test_starts_go_on_beside_each_other_and_hold_up_what_is_timed(start):
    one, other = start("starting"), start("starting")
    assert one.says("has")
    assert other.says("has")
    timed = start("alone")
    assert timed.waits()
    one.leave()
    assert timed.waits()
    other.leave()
    assert timed.says("has")


def test_nothing_starts_while_something_is_timed_or_waits_for_that(start):
    first = start("starting")
    assert first.says("has")
    timed = start("alone")
    assert timed.waits()
    late = start("starting")
    assert late.waits()
    first.leave()
    assert timed.says("has")
    assert late.waits()
    timed.leave()
    assert late.says("has")


@pytest.mark.parametrize("way", ["alone", "starting"])
def test_a_process_that_is_killed_holds_up_nobody(start, way):
    killed = start(way)
    assert killed.says("has")
    timed = start("alone")
    assert timed.waits()
    killed.end()
    assert timed.says("has")


def test_who_says_early_that_it_will_be_alone_lets_those_under_way_end(start):
    first = start("starting")
    assert first.says("has")
    soon = start("soon")
    assert soon.says("has")
    late = start("starting")
    assert late.waits()
    first.leave()
    soon.leave()
    assert late.says("has")


def test_a_start_that_never_ends_is_not_waited_for(monkeypatch):
    with quiet_file() as file:
        stuck = Process(file.fileno(), "starting")
        assert stuck.says("has")
        monkeypatch.setattr(quiet, "_PATIENCE_SECONDS", 0.1)
        with Quiet(file.fileno()).alone():
            pass
        stuck.end()


def test_without_a_file_nobody_waits():
    with NOBODY_ELSE.alone(), NOBODY_ELSE.starting(), Quiet(None).alone():
        pass
