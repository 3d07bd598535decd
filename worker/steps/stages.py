"""The sandboxed processes of a job. Each starts early, so that it warms up during the step before.

Imports nothing heavy, because the command starts these processes before anything else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from worker.sandbox.limits import CHECK_LIMITS, COMPILE_LIMITS, Failure, Limits, SandboxFailure
from worker.sandbox.process import Child

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from kernels.compile.compilation import Compilation
    from kernels.report.model import Explanation
    from kernels.source.names import Evaluated
    from kernels.verdict import Finding
    from worker.contract.measure_work import MeasureRequest, MeasureResponse
    from worker.gpu.spares import Runner
    from worker.sandbox.compile_child import CompileRequest, EvaluateRequest
    from worker.sandbox.disassembler import Disassembler, Disassembly
    from worker.steps.analysis_step import AnalysisRequest, AnalysisResponse
    from worker.steps.check_step import CheckRequest, CheckResponse
    from worker.steps.explanation import ExplainRequest

T = TypeVar("T")


def _to_nobody(_what: str) -> None: ...


@dataclass(slots=True)
class Clock:
    """Seconds per step."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, step: str) -> None:
        """End a step, and note the seconds since the last one ended."""
        now = time.perf_counter()
        self.seconds[step] = round(now - self._since, 4)
        self._since = now


class Stages(Protocol):
    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile one source. Raises SandboxFailure or NVRTCUnavailable."""

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        """The values of names in a source, or findings. Raises like `compile`."""

    def check(self, request: CheckRequest) -> CheckResponse:
        """Judge one compiled kernel. Raises SandboxFailure."""

    def start_disassembly(self, cubin: bytes) -> None:
        """Start to disassemble a compiled kernel during the check. Never raises."""

    def disassembly(self) -> Disassembly:
        """Wait for the disassembly, whose text is for `kernels.analysis.sass`."""

    def start_compiling(self, request: CompileRequest) -> None:
        """Start a compilation for a later `compile`. This is optional, and never raises."""

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count the operations of one compiled kernel. Raises SandboxFailure."""

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        """Judge and measure one compiled kernel on the GPU. Raises SandboxFailure. Any thread may call it."""

    def explain(self, request: ExplainRequest) -> Explanation:
        """Explain a mistake. Raises SandboxFailure."""

    def isolation(self) -> tuple[str, ...]:
        """The missing isolation on this machine, as text."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A compilation in the background, for which a thread waits."""

    request: CompileRequest
    child: Child
    made: Future[Compilation | tuple[Finding, ...]]

    def end(self) -> None:
        """Kill it, and wait until its thread has released the child."""
        self.child.kill()
        self.made.exception()


def _beside(call: Callable[[], T]) -> Future[T]:
    """Call a function in its own thread."""
    from concurrent.futures import Future

    made: Future[T] = Future()

    def run() -> None:
        try:
            made.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again by the future's result
            made.set_exception(error)

    threading.Thread(target=run, name="compiling", daemon=True).start()
    return made


class SandboxedStages:
    """Runs every stage of one job in its own child process. Use it as a context manager.

    It belongs to the thread that creates it, and the children die with this thread. Other threads may only call
    `abort`.

    telling: called with a check's progress, such as "checking 3 of 14: Width=17 real"; must not raise.
        After a case has printed, lines with its name and output follow.
    measured: the request to the GPU, once sent
    aborted: another thread killed the children, so their results mean nothing
    """

    def __init__(self, *, runs: bool = True) -> None:
        """Start a compiler and the process that runs kernels, and return at once.

        runs: start the process that runs kernels early; otherwise it starts with the first kernel
        """
        self._children: list[Child] = []
        self._compilers: list[Child] = []
        self._begun: list[_Begun] = []
        self._disassembler: Disassembler | None = None
        self._gpu: Runner | None = None
        self.telling: Callable[[str], None] = _to_nobody
        self.measured: MeasureRequest | None = None
        self.aborted = False
        self._starting = threading.Lock()
        try:
            self._compilers.append(self._start("compile", COMPILE_LIMITS))
            self._runner = self._start("run", CHECK_LIMITS) if runs else None
        except SandboxFailure:
            self.close()
            raise

    def _start(self, step: str, limits: Limits) -> Child:
        with self._starting:
            if self.aborted:
                raise SandboxFailure(Failure.START, "the job was aborted")
            child = Child(step, limits)
            self._children.append(child)
            return child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes. Safe to call twice."""
        for begun in self._begun:
            begun.end()
        for child in self._children:
            child.close()
        if self._disassembler is not None:
            self._disassembler.close()
        if self._gpu is not None:
            self._gpu.close()

    def alive(self) -> bool:
        """Whether all started processes still run."""
        return all(child.alive() for child in self._children)

    def abort(self) -> None:
        """Kill all processes from another thread, and start no more. You must still call `close`."""
        with self._starting:
            self.aborted = True
            for child in self._children:
                child.kill()
            if self._disassembler is not None:
                self._disassembler.kill()
        if self._gpu is not None:
            self._gpu.close()

    def open_gpu(self, index: int | None, arch: str, cache: Path) -> None:
        """Start the process for GPU `index`. It warms up while the file is compiled and checked.

        index: None to use the CPU device instead of a GPU
        cache: folder for the judge's compiled kernels
        raise (SandboxFailure, NVRTCUnavailable): the process doesn't start
        """
        from worker.gpu.judge.code import preparation
        from worker.gpu.spares import Runner

        self._gpu = Runner(index, preparation(arch, cache))

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        if self._gpu is None:
            raise SandboxFailure(Failure.START, "no GPU was opened")
        self.measured = request
        return self._gpu.measure(request)

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile in a ready child, or in a new one, because each child compiles once."""
        from worker.sandbox.compile_child import compile_in

        for begun in self._begun:
            if begun.request == request:
                return begun.made.result()
        return compile_in(self._compiler(), request)

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        """Ask the child that will compile next, because one time limit applies to both."""
        from worker.sandbox.compile_child import evaluate_in

        child = self._compiler()
        values = evaluate_in(child, request)
        if child.alive():
            self._compilers.insert(0, child)
        return values

    def _compiler(self) -> Child:
        if not self._compilers:
            self._compilers.append(self._start("compile", COMPILE_LIMITS))
        return self._compilers.pop(0)

    def check(self, request: CheckRequest) -> CheckResponse:
        from worker.steps.analysis_step import CHECK
        from worker.steps.check_step import CheckResponse

        return self._run(CheckResponse, CHECK, request, self._counting(request))

    def _counting(self, request: CheckRequest) -> Callable[[str], None]:
        """Count the cases as the child begins them, and repeat the first output of one. Ignores unknown names."""
        names = {case.name for case in request.plan.cases if case.on_cpu}
        left, number, printed = set(names), len(names), ""

        def told(what: str) -> None:
            nonlocal printed
            case, _, output = what.partition("\n")
            if case in left:
                left.remove(case)
            elif case in names and output and not printed:
                printed = f"\n{what}"
            else:
                return
            self.telling(f"checking {number - len(left)} of {number}: {case}{printed}")

        return told

    def start_compiling(self, request: CompileRequest) -> None:
        """Compile in a new child. If none starts, `compile` tries again and raises."""
        from worker.sandbox.compile_child import compile_in

        with contextlib.suppress(SandboxFailure):
            child = self._start("compile", COMPILE_LIMITS)
            self._begun.append(_Begun(request, child, _beside(lambda: compile_in(child, request))))

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count in the child that runs kernels."""
        from worker.steps.analysis_step import COUNT, AnalysisResponse

        return self._run(AnalysisResponse, COUNT, request)

    def explain(self, request: ExplainRequest) -> Explanation:
        from worker.steps.explanation import explain_in

        return explain_in(self._running(), request)

    def _running(self) -> Child:
        self._runner = self._runner or self._start("run", CHECK_LIMITS)
        return self._runner

    def _run(self, answer: type[T], step: str, request: object, told: Callable[[str], None] | None = None) -> T:
        from kernels.wire import WireError, from_plain, to_plain

        try:
            payload = {step: to_plain(request)}
            return from_plain(answer, self._running().request(payload, last=False, told=told or _to_nobody))
        except WireError as error:
            raise SandboxFailure(Failure.ERROR, f"invalid answer from the step {step}: {error}") from error

    def start_disassembly(self, cubin: bytes) -> None:
        from worker.sandbox.disassembler import Disassembler

        if self._disassembler is not None:
            self._disassembler.close()
        with self._starting:
            if not self.aborted:
                self._disassembler = Disassembler(cubin)

    def disassembly(self) -> Disassembly:
        """Wait for the disassembly. Call it in the thread that started it."""
        from worker.sandbox.disassembler import Disassembly

        if self._disassembler is None:
            return Disassembly(None, "the kernel was not disassembled")
        return self._disassembler.result()

    def cpu_seconds(self) -> Mapping[str, float]:
        """CPU seconds of the processes by step; known after `close`."""
        used: dict[str, float] = {}
        for child in self._children:
            used[child.step] = used.get(child.step, 0.0) + child.cpu_seconds
        return used

    def isolation(self) -> tuple[str, ...]:
        children = [child.isolation for child in self._children]
        gaps = [held.missing() for held in (*children, self._gpu and self._gpu.isolation) if held]
        return tuple(dict.fromkeys(gap for child in gaps for gap in child))
