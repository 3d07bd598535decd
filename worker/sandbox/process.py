"""The parent's side: starts a child early, hands it one request, and ends it at its limits.

The only place that starts a process for a student's file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Self

from worker.sandbox.folder import OwnFolder
from worker.sandbox.limits import Failure, Isolation, Limits, SandboxFailure
from worker.sandbox.starting import ENVIRONMENT, command

SAMPLE_SECONDS = 0.02
"""Between two looks. Memory that is written to grows by some 50 MB in that time."""

_WRITABLE = re.compile(r"^VmData:\s+(\d+) kB", re.MULTILINE)


class PeakMemory:
    """The most private memory that a process could write to at any look: the quantity that its limit bounds.

    What the system keeps for the dead (`ru_maxrss`) is no use: Linux starts it at what the parent held when it started
    the child, by fork, vfork and posix_spawn alike. And a memory image is gone before the death can be noticed.
    """

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._status = Path(f"/proc/{pid}/status")

    def look(self) -> None:
        """Look now; nothing changes where the process has ended, or on a system that does not tell."""
        with contextlib.suppress(OSError):
            if match := _WRITABLE.search(self._status.read_text(encoding="ascii", errors="replace")):
                self.bytes = max(self.bytes, 1024 * int(match[1]))


# A cold disk may take seconds to load the compiler; this is our time, not the submission's.
START_SECONDS = 60.0
_CHUNK = 2**18
_PIPE_BYTES = 2**20
_QUESTIONS = 100_000
_LONGEST_TOLD = 200
_NEAR_MEMORY = 0.5
# the kernel's two clocks of a process differ a little, and by more on a busy machine
_NEAR_TIME = 0.9
_KILLED_NEAR_TIME = 0.5


def _to_nobody(_what: str) -> None: ...


class Child:
    """A confined process that runs one step, once as a rule. Use as a context manager, or call `close`.

    Its parent is the thread that makes it: the child dies with that thread.

    module: whose `main` the process runs
    options: how Python starts; without the search for site packages, see worker.sandbox.child
    environment: all that the process sees of ours
    inherited: descriptors that it has beside its own
    report: what it tells about what confines it
    cpu_seconds: what the process used in all, its start included; known once it has ended
    """

    module = "worker.sandbox.child"
    options: tuple[str, ...] = ("-I", "-S")
    environment: Mapping[str, str] = ENVIRONMENT
    inherited: tuple[int, ...] = ()
    report: type[Isolation] = Isolation

    def __init__(self, step: str, limits: Limits | None = None) -> None:
        """Start the process and return at once; it warms up while the caller does other things."""
        self.step = step
        self.cpu_seconds = 0.0
        self.limits = limits or Limits()
        self.isolation: Isolation | None = None
        self._started = time.monotonic()
        self._buffer = bytearray()
        with contextlib.ExitStack() as undo:
            try:
                self._folder = OwnFolder()
                undo.callback(self._folder.close)
                self._answers, theirs = os.pipe()
                undo.callback(os.close, self._answers)
                self._process = self._popen(step, theirs)
            except OSError as error:
                raise SandboxFailure(Failure.START, str(error)) from error
            undo.pop_all()
        self._memory = PeakMemory(self._process.pid)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def _popen(self, step: str, answers: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._command(step, answers), bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, pass_fds=(answers, *self.inherited), cwd=self._folder.path,
                env=self.environment, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(answers)

    def _command(self, step: str, answers: int) -> list[str]:
        numbers = (os.getpid(), answers, self.limits.cpu_seconds, self.limits.memory_bytes)
        return command(self.module, self.options, (step, *map(str, numbers)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_ready(self) -> Isolation:
        """Wait until the child is warm and confined; says what confines it. Raises SandboxFailure."""
        if self.isolation is None:
            answer: Any = None
            try:
                answer = json.loads(self._line(self._started + START_SECONDS, _CHUNK))
                self.isolation = self.report(**answer)
            except (SandboxFailure, ValueError, TypeError) as error:
                why = answer.get("detail") if _said(answer, "start") else error
                raise SandboxFailure(Failure.START, f"the child did not start: {why}") from error
        return self.isolation

    def alive(self) -> bool:
        if self._process.returncode is not None:
            return False
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # another thread collects it at this moment
            return False

    def request(
        self,
        payload: dict[str, Any],
        *,
        last: bool = True,
        seconds: float | None = None,
        told: Callable[[str], None] = _to_nobody,
    ) -> dict[str, Any]:
        """Hand over a request and wait for the response. Raises SandboxFailure, after which there is no other.

        seconds: how long to wait, if not the limit by the clock
        told: what the child tells of how far it has come, which may be anything; must not raise
        """
        self.wait_ready()
        deadline = self._deadline(seconds)
        answer = self._exchange(payload, deadline, close=last)
        for _ in range(_QUESTIONS):
            if not isinstance(answer, dict) or "told" not in answer:
                return _response(answer)
            told(str(answer["told"])[:_LONGEST_TOLD])
            answer = self._answer(self._line(deadline, self.limits.response_bytes))
        self.kill()
        raise SandboxFailure(Failure.ERROR, "it tells too much")

    def converse(
        self, payload: dict[str, Any], reply: Callable[[str], Mapping[str, Any]], seconds: float | None = None
    ) -> dict[str, Any]:
        """The same for a request about which the child may ask back, any number of times within the limits.

        reply: what is written for a question
        """
        self.wait_ready()
        deadline = self._deadline(seconds)
        for _ in range(_QUESTIONS):
            answer = self._exchange(payload, deadline, close=False)
            if not isinstance(answer, dict) or "ask" not in answer:
                return _response(answer)
            if time.monotonic() > deadline:
                raise self._timed_out()
            payload = dict(reply(str(answer["ask"])))
        self.kill()
        raise SandboxFailure(Failure.ERROR, "too many questions")

    def _deadline(self, seconds: float | None) -> float:
        return time.monotonic() + (self.limits.wall_seconds if seconds is None else seconds)

    def _exchange(self, payload: dict[str, Any], deadline: float, *, close: bool) -> object:
        request = json.dumps(payload).encode() + b"\n"
        return self._answer(self._line(deadline, self.limits.response_bytes, request, close=close))

    @staticmethod
    def _answer(line: bytes) -> object:
        try:
            answer: object = json.loads(line)
        except ValueError as error:
            raise SandboxFailure(Failure.CRASH, "the response is not JSON") from error
        return answer

    def hand_over(self, name: str, data: bytes) -> None:
        """Leave a file in the child's folder and tell it to go on, without waiting until it is ready; for `rest`.

        raise (OSError): where the file cannot be written
        """
        (Path(self._folder.path) / name).write_bytes(data)
        if self._process.stdin is not None:
            _write(self._process.stdin, memoryview(b"\n"))
        # so that a text of some length can be written while nobody reads it yet
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._answers, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def rest(self) -> bytes:
        """All that the child writes until it ends well, for one that becomes a program. Raises SandboxFailure."""
        self.wait_ready()
        deadline = time.monotonic() + self.limits.wall_seconds
        ends = self._ends(writing=False)
        while True:
            left = deadline - time.monotonic()
            if ends.poll(1000 * max(0.0, min(left, SAMPLE_SECONDS))):
                if not self._receive(self.limits.response_bytes):
                    break
            elif left <= 0:
                raise self._timed_out()
            self._memory.look()
        failure = self._death()
        if self._process.returncode:
            raise failure
        return bytes(self._buffer)

    def close(self) -> None:
        """End the process and all that it started, and remove its folder. Safe to call twice."""
        if self._process.returncode is None:
            self.kill()
            self._reap()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._answers >= 0:
            os.close(self._answers)
            self._answers = -1
        self._folder.close()

    def _line(self, deadline: float, most: int, request: bytes = b"", *, close: bool = False) -> bytes:
        """Write `request`, if any, and close if asked; read up to the end of a line of at most `most` bytes."""
        unsent = memoryview(request)
        if request:
            unsent = self._send(unsent, close=close)
        ends = self._ends(writing=bool(unsent))
        while unsent or b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready = ends.poll(1000 * max(0.0, min(left, SAMPLE_SECONDS)))
            if not ready and left <= 0:
                raise self._timed_out()
            # a look takes as long as a short answer, so not before each
            if unsent or not ready:
                self._memory.look()
            for descriptor, _ in ready:
                if descriptor == self._answers:
                    if not self._receive(most):
                        raise self._death()
                elif not (unsent := self._send(unsent, close=close)):
                    ends.unregister(descriptor)
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def _ends(self, *, writing: bool) -> select.poll:
        """What to wait for; made anew each time, which is cheap, as it takes no descriptor."""
        ends = select.poll()
        ends.register(self._answers, select.POLLIN)
        if writing and self._process.stdin is not None:
            ends.register(self._process.stdin, select.POLLOUT)
        return ends

    def _send(self, unsent: memoryview, *, close: bool) -> memoryview:
        """Write what fits now, and close after the last of it if asked; what is left."""
        requests = self._process.stdin
        if requests is None or requests.closed:
            return unsent[:0]
        unsent = unsent[_write(requests, unsent) :]
        if close and not unsent:
            requests.close()
        return unsent

    def _receive(self, most: int) -> bool:
        """Take what there is; False at the end of all answers."""
        data = os.read(self._answers, _CHUNK)
        self._buffer += data
        if len(self._buffer) > most:
            self.kill()
            raise SandboxFailure(Failure.MEMORY, "the response is over its limit")
        return bool(data)

    def _timed_out(self) -> SandboxFailure:
        self.kill()
        return SandboxFailure(Failure.TIME, "over the limit by the clock")

    def _death(self) -> SandboxFailure:
        """Why the child ended without an answer, by its exit status and what it had used."""
        self._reap()
        code, seconds = self._process.returncode, self.cpu_seconds
        detail = f"exit {code}, {seconds:.1f} s, {self._memory.bytes >> 20} MB"
        killed = code == -signal.SIGKILL
        # an allocation that fails ends the compiler in many ways; being near the limit is the sign they share
        large = self._memory.bytes > self.limits.memory_bytes * _NEAR_MEMORY
        # a process that is over its time is killed, as one is for which there is no memory
        near = _KILLED_NEAR_TIME if killed and not large else _NEAR_TIME
        if code == -signal.SIGXCPU or seconds >= self.limits.cpu_seconds * near:
            return SandboxFailure(Failure.TIME, detail)
        if large:
            return SandboxFailure(Failure.MEMORY, detail)
        # no limit of its own kills a child so: someone did, or the system, for want of memory that others have
        return SandboxFailure(Failure.ERROR if killed else Failure.CRASH, detail)

    def _reap(self) -> None:
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime

    def kill(self) -> None:
        """Kill the child's process group, which it leads; it is not reaped yet, so the number is its own."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _response(answer: object) -> dict[str, Any]:
    """What is in an answer; raises SandboxFailure where that is a failure."""
    if isinstance(answer, dict) and isinstance(answer.get("response"), dict):
        response: dict[str, Any] = answer["response"]
        return response
    raise SandboxFailure(Failure.MEMORY if _said(answer, "memory") else Failure.ERROR, str(answer)[:4000])


def _said(answer: object, failure: str) -> bool:
    return isinstance(answer, dict) and answer.get("failure") == failure


def _write(requests: IO[bytes], data: memoryview) -> int:
    """Write what fits; a child that is gone already reads as all written, its end shows on the other pipe."""
    try:
        return os.write(requests.fileno(), data)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)
