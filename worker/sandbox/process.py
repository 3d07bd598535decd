"""The parent's side of the sandbox: starts a child early, sends it one request, and enforces its limits.

All processes for a student's file start here.
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

from worker.sandbox.child_command import ENVIRONMENT, command
from worker.sandbox.folder import OwnFolder
from worker.sandbox.limits import Failure, Isolation, Limits, SandboxFailure
from worker.sandbox.progress_messages import LONGEST

SAMPLE_SECONDS = 0.02
"""Time between two samples. Written memory grows by about 50 MB in this time."""

_WRITABLE = re.compile(r"^VmData:\s+(\d+) kB", re.MULTILINE)


class PeakMemory:
    """The peak of a process's writable private memory, which is the quantity that its limit bounds.

    `ru_maxrss` isn't useful: on Linux it starts with the parent's memory, for fork, vfork and posix_spawn. And after a
    process has died, its status no longer shows its memory.
    """

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._status = Path(f"/proc/{pid}/status")

    def look(self) -> None:
        """Take a sample. Does nothing if the process has ended or the system has no such figure."""
        with contextlib.suppress(OSError):
            if match := _WRITABLE.search(self._status.read_text(encoding="ascii", errors="replace")):
                self.bytes = max(self.bytes, 1024 * int(match[1]))


# Loading the compiler from a cold disk may take seconds, which don't count for the submission.
START_SECONDS = 60.0
_CHUNK = 2**18
_PIPE_BYTES = 2**20
# A child is untrusted: without a limit it could keep its parent busy until the timeout.
_QUESTIONS = 100_000
_NEAR_MEMORY = 0.5
# the kernel's two clocks of a process differ a little, and by more on a busy machine
_NEAR_TIME = 0.9
_KILLED_NEAR_TIME = 0.5


def _to_nobody(_what: str) -> None: ...


class Child:
    """An isolated process that runs one step, usually once. Use it as a context manager, or call `close`.

    The child dies with the thread that creates it.

    module: the process runs its `main`
    options: Python's options; they skip the search for site packages, see worker.sandbox.child
    environment: the whole environment of the process
    inherited: additional file descriptors
    report: class of its report about its isolation
    cpu_seconds: CPU time of the whole process; known after its end
    """

    module = "worker.sandbox.child"
    options: tuple[str, ...] = ("-I", "-S")
    environment: Mapping[str, str] = ENVIRONMENT
    inherited: tuple[int, ...] = ()
    report: type[Isolation] = Isolation

    def __init__(self, step: str, limits: Limits | None = None) -> None:
        """Start the process and return at once. It warms up in the background."""
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
            # A child that doesn't read must not stop its parent.
            os.set_blocking(self._process.stdin.fileno(), False)

    def _popen(self, step: str, answers: int) -> subprocess.Popen[bytes]:
        try:
            # Its own session makes it a process group, which `kill` ends as a whole.
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
        """Wait until the child is ready, and return its isolation. Raises SandboxFailure."""
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
            # WNOWAIT leaves the process for `_reap`, which needs its CPU time.
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
        """Send a request, and wait for the response. Raises SandboxFailure, after which the child is unusable.

        seconds: timeout, by default the limit
        told: called with the child's progress, which is untrusted; must not raise
        """
        self.wait_ready()
        deadline = self._deadline(seconds)
        answer = self._exchange(payload, deadline, close=last)
        for _ in range(_QUESTIONS):
            if not isinstance(answer, dict) or "told" not in answer:
                return _response(answer)
            told(str(answer["told"])[:LONGEST])
            answer = self._answer(self._line(deadline, self.limits.response_bytes))
        self.kill()
        raise SandboxFailure(Failure.ERROR, "too many progress messages")

    def converse(self, payload: dict[str, Any], reply: Callable[[str], Mapping[str, Any]]) -> dict[str, Any]:
        """Send a request, and answer the child's questions until it responds. Otherwise like `request`.

        reply: answers a question; its time doesn't count for the limit
        """
        self.wait_ready()
        deadline = self._deadline(None)
        for _ in range(_QUESTIONS):
            answer = self._exchange(payload, deadline, close=False)
            if not isinstance(answer, dict) or "ask" not in answer:
                return _response(answer)
            if time.monotonic() > deadline:
                raise self._timed_out()
            asked = time.monotonic()
            payload = dict(reply(str(answer["ask"])))
            deadline += time.monotonic() - asked
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
        """Put a file into the child's folder and let it continue, before it is ready. For `rest`.

        raise (OSError): the file can't be written
        """
        (Path(self._folder.path) / name).write_bytes(data)
        if self._process.stdin is not None:
            _write(self._process.stdin, memoryview(b"\n"))
        # a larger pipe lets the child write a long text before the parent reads it
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._answers, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def rest(self) -> bytes:
        """Read a program's output until it ends with success. Raises SandboxFailure."""
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
        """Kill the process with its children, and remove its folder. Safe to call twice."""
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
        """Write `request`, if any, and close if asked. Then read a line of at most `most` bytes."""
        unsent = memoryview(request)
        if request:
            unsent = self._send(unsent, close=close)
        ends = self._ends(writing=bool(unsent))
        while unsent or b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready = ends.poll(1000 * max(0.0, min(left, SAMPLE_SECONDS)))
            if not ready and left <= 0:
                raise self._timed_out()
            # a sample takes as long as a short answer, so don't sample before each
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
        """A new poll object for each wait, which is cheap because it needs no descriptor."""
        ends = select.poll()
        ends.register(self._answers, select.POLLIN)
        if writing and self._process.stdin is not None:
            ends.register(self._process.stdin, select.POLLOUT)
        return ends

    def _send(self, unsent: memoryview, *, close: bool) -> memoryview:
        """Write what fits now, close at the end if asked, and return the rest."""
        requests = self._process.stdin
        if requests is None or requests.closed:
            return unsent[:0]
        unsent = unsent[_write(requests, unsent) :]
        if close and not unsent:
            requests.close()
        return unsent

    def _receive(self, most: int) -> bool:
        """Read the available bytes. False at the end of the stream."""
        data = os.read(self._answers, _CHUNK)
        self._buffer += data
        if len(self._buffer) > most:
            self.kill()
            raise SandboxFailure(Failure.MEMORY, "the response exceeds its limit")
        return bool(data)

    def _timed_out(self) -> SandboxFailure:
        self.kill()
        return SandboxFailure(Failure.TIME, "elapsed time exceeds its limit")

    def _death(self) -> SandboxFailure:
        """Infer why the child died from its exit status, CPU time and memory."""
        self._reap()
        code, seconds = self._process.returncode, self.cpu_seconds
        detail = f"exit {code}, {seconds:.1f} s, {self._memory.bytes >> 20} MB"
        killed = code == -signal.SIGKILL
        # the compiler ends in many ways after a failed allocation, but always near the memory limit
        large = self._memory.bytes > self.limits.memory_bytes * _NEAR_MEMORY
        # the system kills a process that is over its CPU time, but also if it has no memory left
        near = _KILLED_NEAR_TIME if killed and not large else _NEAR_TIME
        if code == -signal.SIGXCPU or seconds >= self.limits.cpu_seconds * near:
            return SandboxFailure(Failure.TIME, detail)
        if large:
            return SandboxFailure(Failure.MEMORY, detail)
        # otherwise the kill doesn't come from the child's limits: a person did it, or a system without memory
        return SandboxFailure(Failure.ERROR if killed else Failure.CRASH, detail)

    def _reap(self) -> None:
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime

    def kill(self) -> None:
        """Kill the child's process group. The child isn't reaped yet, so the number is still its own."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _response(answer: object) -> dict[str, Any]:
    """The response in an answer. Raises SandboxFailure if the answer is a failure."""
    if isinstance(answer, dict) and isinstance(answer.get("response"), dict):
        response: dict[str, Any] = answer["response"]
        return response
    detail = answer.get("detail") if isinstance(answer, dict) and _said(answer, "error") else answer
    raise SandboxFailure(Failure.MEMORY if _said(answer, "memory") else Failure.ERROR, str(detail)[:4000])


def _said(answer: object, failure: str) -> bool:
    return isinstance(answer, dict) and answer.get("failure") == failure


def _write(requests: IO[bytes], data: memoryview) -> int:
    """Write what fits. If the child is gone, pretend that all was written: the other pipe shows its end."""
    try:
        return os.write(requests.fileno(), data)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)
