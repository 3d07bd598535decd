"""Work on people's texts, in processes that can be ended.

A thread can't be stopped, and a search in a text keeps the interpreter's lock from all other threads. So this work
happens in another process, with a limit of processor time that the system enforces. Arguments and results are plain
values.
"""

from __future__ import annotations

import atexit
import json
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

SECONDS = 2.0
"""Of processor time for one work. The slowest page of a legal text takes a quarter of it (`make page-costs`)."""

MOST = 2
"""Processes for each process of the portal. One more starts when all others are busy."""

_WAIT_SECONDS = 20.0
_END_SECONDS = 5.0
_CHUNK = 2**18
_used = threading.local()


class WorkFailed(RuntimeError):
    """The function raised an exception, or its process failed; the text says more."""


class TooCostly(Exception):
    """The process was ended, because the work took too much processor time or memory."""


class NoFreeProcess(Exception):
    """All processes were busy for too long."""


def bounded(function: Callable[..., Any], *given: object, seconds: float = SECONDS) -> Any:
    """Call a function of a module with plain values, in a process that can be ended. Its result must be plain, too.

    raise (TooCostly, NoFreeProcess): the work takes too long, or wasn't begun
    raise (WorkFailed): the function or its process failed
    """
    return _processes.do(function, given, seconds)


def prepare_bounded_work(*modules: str) -> None:
    """Start a process that loads these modules, so that the first page needn't wait for it."""
    _processes.prepare(modules)


def bounded_seconds() -> float:
    """Processor time that other processes have used for this thread so far."""
    return float(getattr(_used, "seconds", 0.0))


class _Process:
    def __init__(self, modules: Sequence[str]) -> None:
        command = [sys.executable, "-P", "-m", "server.bounded_process", *modules]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def ask(self, line: bytes, seconds: float) -> dict[str, Any]:
        """Send a request and wait for the answer. Raises TooCostly or WorkFailed, and then the process has ended."""
        until = time.monotonic() + seconds
        answer = bytearray()
        try:
            with suppress(BrokenPipeError):
                answer = self._exchange(line, until)
            found: dict[str, Any] = json.loads(answer) if answer.endswith(b"\n") else {}
        except BaseException:
            self.close()
            raise
        if found:
            return found
        late = time.monotonic() >= until
        if not late:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self.close()
        status = self._process.returncode
        if late or status in {-signal.SIGPROF, -signal.SIGKILL}:
            raise TooCostly("elapsed time" if late else f"ended by signal {-status}")
        raise WorkFailed(f"the process ended with {status}")

    def _exchange(self, line: bytes, until: float) -> bytearray:
        """The answer; incomplete if the process ended or the time is over."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        ends = select.poll()
        ends.register(self._process.stdout, select.POLLIN)
        answer = bytearray()
        self._process.stdin.write(line)
        while not answer.endswith(b"\n") and ends.poll(1000 * max(0.0, until - time.monotonic())):
            if not (data := self._process.stdout.read(_CHUNK)):
                break
            answer += data
        return answer

    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                with suppress(OSError):
                    end.close()


class _Processes:
    """At most MOST processes; a free one does the next work."""

    def __init__(self) -> None:
        self._modules: Sequence[str] = ()
        self._places = threading.BoundedSemaphore(MOST)
        self._free: list[_Process] = []
        self._lock = threading.Lock()

    def prepare(self, modules: Sequence[str]) -> None:
        with self._lock:
            self._modules = modules
            if not self._free:
                self._free.append(_Process(modules))

    def do(self, function: Callable[..., Any], given: Sequence[object], seconds: float) -> Any:
        line = json.dumps([function.__module__, function.__qualname__, given, seconds]).encode() + b"\n"
        if not self._places.acquire(timeout=_WAIT_SECONDS):
            raise NoFreeProcess
        try:
            process = self._take()
            answer = process.ask(line, _WAIT_SECONDS)
            with self._lock:
                self._free.append(process)
        except TooCostly:
            _used.seconds = bounded_seconds() + seconds
            raise
        finally:
            self._places.release()
        _used.seconds = bounded_seconds() + answer["seconds"]
        if "failure" in answer:
            raise WorkFailed(answer["failure"])
        return answer["value"]

    def close(self) -> None:
        with self._lock:
            while self._free:
                self._free.pop().close()

    def _take(self) -> _Process:
        with self._lock:
            while self._free:
                process = self._free.pop()
                if process.alive():
                    return process
                process.close()
        return _Process(self._modules)


_processes = _Processes()
atexit.register(_processes.close)
