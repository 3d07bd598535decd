"""A workplace for checks in a process of its own, so that packing their results delays no thread that serves a GPU."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernels.wire import from_plain, to_plain
from worker.contract.messages import StepKind, StepMessage, StepResult
from worker.supervision.children import die_with, search_path
from worker.workplaces.cpu import CpuWorkplace
from worker.workplaces.workplace import ABORTED, Progress

_START = "import sys; a = sys.argv; sys.path[:0] = a[3:]; from worker.bench.check_process import main; main(*a[1:3])"
_CLOSE_SECONDS = 10.0
_ENDED = "the process that compiles and checks has ended"


@dataclass(frozen=True, slots=True)
class _Checked:
    """One answer.

    cpu_seconds, used: of all checks so far, by step, and with all else that the process did
    """

    result: StepResult
    cpu_seconds: Mapping[str, float]
    used: float


class CheckProcess:
    """A `CpuWorkplace` in another process, which lives from the first `prepare` to `close`."""

    kind = StepKind.CHECK

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._process: subprocess.Popen[bytes] | None = None
        self._at_work = self._aborted = False
        self.cpu_seconds: Mapping[str, float] = {}
        self.used = 0.0

    def prepare(self) -> None:
        """Start the process, again if it has died. It keeps the processes of its next check warm."""
        if self._process is not None and self._process.poll() is not None and not self._aborted:
            self._process.communicate()
            self._process = None
        if self._process is None:
            command = [sys.executable, "-c", _START, str(os.getpid()), str(self._cache), *search_path()]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        self.prepare()
        self._at_work = True
        try:
            return self._answer(message, worker, progress)
        except (BrokenPipeError, EOFError, ValueError):  # it died, perhaps within a line
            return StepResult(message.ticket, worker, None, fault=ABORTED if self._aborted else _ENDED)
        finally:
            self._at_work = False

    def _answer(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        _send(self._process.stdin, [to_plain(message), worker])
        for line in self._process.stdout:
            if isinstance(told := json.loads(line), str):
                progress(told)
                continue
            checked = from_plain(_Checked, told)
            self.cpu_seconds, self.used = checked.cpu_seconds, checked.used
            return checked.result
        raise EOFError

    def abort(self) -> None:
        if self._at_work and self._process is not None:
            self._aborted = True
            self._process.kill()

    def close(self) -> None:
        """End the process, which removes its folders."""
        if self._process is None:
            return
        try:
            self._process.communicate(timeout=_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def main(parent: str, cache: str) -> None:
    """Answer each message on standard input, until its end."""
    die_with(int(parent))
    # Ctrl-C reaches all processes of a terminal, and the parent ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    place = CpuWorkplace(Path(cache))
    place.prepare()
    for line in sys.stdin.buffer:
        plain, worker = json.loads(line)
        result = place.do(from_plain(StepMessage, plain), worker, lambda what: _send(answers, what))
        _send(answers, to_plain(_Checked(result, place.cpu_seconds, used_seconds())))
        place.prepare()
    place.close()


def used_seconds() -> float:
    """CPU seconds of this process and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _send(pipe: IO[bytes], plain: object) -> None:
    pipe.write(json.dumps(plain, separators=(",", ":")).encode() + b"\n")
    pipe.flush()
