"""The sandboxed processes of a job, each started early so that it warms up while the one before works.

Nothing heavy is imported here: the command starts them before anything else.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from worker.sandbox.limits import CHECK_LIMITS, COMPILE_LIMITS, Failure, Limits, SandboxFailure
from worker.sandbox.process import Child

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from kernels.compile.compilation import Compilation
    from kernels.source.names import Evaluated
    from kernels.verdict import Finding
    from worker.contract.measure_work import MeasureRequest, MeasureResponse
    from worker.gpu.spares import Runner
    from worker.sandbox.compiling import CompileRequest, EvaluateRequest
    from worker.sandbox.disassembling import Disassembler, Disassembly
    from worker.steps.analysis_step import AnalysisRequest, AnalysisResponse
    from worker.steps.check_step import CheckRequest, CheckResponse

T = TypeVar("T")


def _to_nobody(_what: str) -> None: ...


class Stages(Protocol):
    """What grading and analysis need of their processes."""

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile one source; raises SandboxFailure or NVRTCUnavailable."""

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        """What names of a source stand for, or why the compiler can't tell; raises as `compile` does."""

    def check(self, request: CheckRequest) -> CheckResponse:
        """Judge one compiled kernel; raises SandboxFailure."""

    def start_disassembly(self, cubin: bytes) -> None:
        """Begin to read the machine code of a compiled kernel, so that it is done beside the check; never raises."""

    def disassembly(self) -> Disassembly:
        """Wait for what `start_disassembly` began.

        Its text is for `kernels.analysis.sass`, and what comes of that for `kernels.analysis.hardware`. None with a
        reason where there is no text.
        """

    def start_compiling(self, request: CompileRequest) -> None:
        """Begin to compile what `compile` will be asked for, beside other work; may be left out. Never raises."""

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count what one compiled kernel does; raises SandboxFailure."""

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        """Judge one compiled kernel on the GPU, and measure it; raises SandboxFailure. May be called from a thread."""

    def isolation(self) -> tuple[str, ...]:
        """What is not enforced on this machine, in words."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A compilation beside other work, which a thread waits for."""

    request: CompileRequest
    child: Child
    made: Future[Compilation | tuple[Finding, ...]]

    def end(self) -> None:
        """End it, and wait until its thread has let go of the child."""
        self.child.kill()
        self.made.exception()


def _beside(call: Callable[[], T]) -> Future[T]:
    """Call in a thread of its own."""
    from concurrent.futures import Future

    made: Future[T] = Future()

    def run() -> None:
        try:
            made.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            made.set_exception(error)

    threading.Thread(target=run, name="compiling", daemon=True).start()
    return made


class SandboxedStages:
    """Every stage in a child of its own, for one job. Use as a context manager.

    All of it belongs to the thread that makes it, with which the children die; only `abort` is for other threads.

    telling: told how far a check has come, such as "checking 3 of 14: Width=17 real"; must not raise
    measured: what was asked of the GPU, once it was
    aborted: whether the children were ended from another thread; what came of them since then means nothing
    """

    def __init__(self, *, runs: bool = True) -> None:
        """Start a compiler and the process that runs kernels, and return at once.

        runs: whether kernels will be run; a process for that is started at any rate once one is
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
        """Whether all processes that were started still run."""
        return all(child.alive() for child in self._children)

    def abort(self) -> None:
        """End all processes at once, from another thread; none is started any more. They still have to be closed."""
        with self._starting:
            self.aborted = True
            for child in self._children:
                child.kill()
            if self._disassembler is not None:
                self._disassembler.kill()
        if self._gpu is not None:
            self._gpu.close()

    def open_gpu(self, index: int | None, arch: str, cache: Path) -> None:
        """Start the process that drives GPU `index`; it warms up while the file is compiled and checked.

        index: None for the CPU device in a GPU's place
        cache: folder where the judge's own kernels, compiled, are kept
        raise (SandboxFailure, NVRTCUnavailable): where it does not start
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
        """Compile in a child that is ready; each works once, so a further one is started where there is none."""
        from worker.sandbox.compiling import compile_in

        for begun in self._begun:
            if begun.request == request:
                return begun.made.result()
        return compile_in(self._compiler(), request)

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        """Ask the child that will compile next: one limit of time holds for both."""
        from worker.sandbox.compiling import evaluate_in

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
        """Counts the cases as the child begins them; what is none of them is not passed on."""
        left = {case.name for case in request.plan.cases if case.on_cpu}
        number = len(left)

        def told(case: str) -> None:
            if case in left:
                left.remove(case)
                self.telling(f"checking {number - len(left)} of {number}: {case}")

        return told

    def start_compiling(self, request: CompileRequest) -> None:
        """Compile in a child of its own; where none starts, `compile` tries again and raises."""
        from worker.sandbox.compiling import compile_in

        with contextlib.suppress(SandboxFailure):
            child = self._start("compile", COMPILE_LIMITS)
            self._begun.append(_Begun(request, child, _beside(lambda: compile_in(child, request))))

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count in the child that runs kernels."""
        from worker.steps.analysis_step import COUNT, AnalysisResponse

        return self._run(AnalysisResponse, COUNT, request)

    def _run(
        self, answer: type[T], step: str, request: object, told: Callable[[str], None] | None = None
    ) -> T:
        from kernels.wire import WireError, from_plain, to_plain

        self._runner = self._runner or self._start("run", CHECK_LIMITS)
        try:
            payload = {step: to_plain(request)}
            return from_plain(answer, self._runner.request(payload, last=False, told=told or _to_nobody))
        except WireError as error:
            raise SandboxFailure(Failure.ERROR, f"the step {step} answered nonsense: {error}") from error

    def start_disassembly(self, cubin: bytes) -> None:
        """Begin in a child whose start costs nothing where no one asks for it."""
        from worker.sandbox.disassembling import Disassembler

        if self._disassembler is not None:
            self._disassembler.close()
        with self._starting:
            if not self.aborted:
                self._disassembler = Disassembler(cubin)

    def disassembly(self) -> Disassembly:
        """Wait for that child; call it in the thread that started it."""
        from worker.sandbox.disassembling import Disassembly

        if self._disassembler is None:
            return Disassembly(None, "the kernel was not disassembled")
        return self._disassembler.result()

    def cpu_seconds(self) -> Mapping[str, float]:
        """What the processes of each step used, by its name; known once they have been closed."""
        used: dict[str, float] = {}
        for child in self._children:
            used[child.step] = used.get(child.step, 0.0) + child.cpu_seconds
        return used

    def isolation(self) -> tuple[str, ...]:
        children = [child.isolation for child in self._children]
        gaps = [held.missing() for held in (*children, self._gpu and self._gpu.isolation) if held]
        return tuple(dict.fromkeys(gap for child in gaps for gap in child))
