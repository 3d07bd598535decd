"""Workplaces in processes of their own, as in a worker.

In one process, unpacking a check's result would delay the threads that answer the GPU's processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from kernels.wire import from_plain, to_plain
from worker.contract.fleet import SLOTS_OF_A_GPU
from worker.contract.messages import StepKind, StepMessage, StepResult
from worker.sandbox.folder import sweep
from worker.sandbox.limits import Failure, SandboxFailure
from worker.supervision.children import die_with, search_path
from worker.workplaces.cpu import CpuWorkplace
from worker.workplaces.gpu import GpuWorkplace
from worker.workplaces.workplace import ABORTED, Progress

_START = "import sys; a = sys.argv; sys.path[:0] = a[3:]; from worker.bench.place_process import main; main(*a[1:3])"
_CLOSE_SECONDS = 10.0
_ENDED = "the process of this slot has ended"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The result of one step.

    cpu_seconds: of all checks so far, by step
    used: CPU seconds of the process, with all else that it did
    """

    result: StepResult
    cpu_seconds: Mapping[str, float]
    used: float


class PlaceProcess:
    """A workplace in another process, which lives from the first `prepare` to `close`.

    The process dies with the thread that first calls `prepare`.
    """

    def __init__(self, kind: StepKind, **options: str | int | None) -> None:
        """Start nothing yet. options: of the workplace, with paths as text."""
        self.kind = kind
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._at_work = self._aborted = False
        self.cpu_seconds: Mapping[str, float] = {}
        self.used = 0.0

    def prepare(self) -> None:
        """Start the process, again if it has died. It keeps the processes of its next step warm."""
        if self._process is not None and self._process.poll() is not None and not self._aborted:
            self._process.communicate()
            self._process = None
        if self._process is None:
            given = json.dumps([self.kind, self._options])
            command = [sys.executable, "-c", _START, str(os.getpid()), given, *search_path()]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def warm(self) -> None:
        """Wait until the first step could begin at once. Raises SandboxFailure."""
        self.prepare()
        requests, answers = self._pipes()
        _send(requests, None)
        if not answers.readline():
            raise SandboxFailure(Failure.START, _ENDED)

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
        requests, answers = self._pipes()
        _send(requests, [to_plain(message), worker])
        for line in answers:
            if isinstance(told := json.loads(line), str):
                progress(told)
                continue
            answer = from_plain(_Answer, told)
            self.cpu_seconds, self.used = answer.cpu_seconds, answer.used
            return answer.result
        raise EOFError

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """For requests and answers."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

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


class CheckProcess(PlaceProcess):
    """A `CpuWorkplace` in another process."""

    def __init__(self, cache: Path) -> None:
        super().__init__(StepKind.CHECK, cache=str(cache))


@contextlib.contextmanager
def gpu_processes(
    device: int | None, device_class: str, arch: str, cache: Path, processes: int | None = None
) -> Iterator[tuple[PlaceProcess, ...]]:
    """A process for each slot of a GPU, with the parameters of GpuWorkplace. They close with the block."""
    options: dict[str, str | int | None] = {
        "device": device, "device_class": device_class, "arch": arch, "cache": str(cache),
        "processes": processes and -(-processes // len(SLOTS_OF_A_GPU)), "shared": str(cache / f"slots-{device}"),
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        places = (PlaceProcess(StepKind.MEASURE, **options) for _ in SLOTS_OF_A_GPU)
        yield tuple(stack.enter_context(contextlib.closing(place)) for place in places)


def _place(kind: StepKind, options: Mapping[str, Any]) -> CpuWorkplace | GpuWorkplace:
    paths = {name: Path(options[name]) for name in ("cache", "shared") if name in options}
    return (CpuWorkplace if kind is StepKind.CHECK else GpuWorkplace)(**{**options, **paths})


def main(parent: str, given: str) -> None:
    """Answer each message on standard input, until its end."""
    die_with(int(parent))
    # Ctrl-C reaches all processes of a terminal, and the parent ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sweep()
    kind, options = json.loads(given)
    place = _place(StepKind(kind), options)
    place.prepare()
    for line in sys.stdin.buffer:
        if (asked := json.loads(line)) is None:
            if isinstance(place, GpuWorkplace):
                place.warm()
            _send(answers, None)
            continue
        plain, worker = asked
        result = place.do(from_plain(StepMessage, plain), worker, partial(_tell, answers))
        checked = place.cpu_seconds if isinstance(place, CpuWorkplace) else {}
        _send(answers, to_plain(_Answer(result, checked, used_seconds())))
        place.prepare()
    place.close()


def used_seconds() -> float:
    """CPU seconds of this process and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _tell(pipe: IO[bytes], what: str) -> None:
    """Pass a phase on. Details come with each launch, and would only wake the parent."""
    if " " not in what:
        _send(pipe, what)


def _send(pipe: IO[bytes], plain: object) -> None:
    pipe.write(json.dumps(plain, separators=(",", ":")).encode() + b"\n")
    pipe.flush()
