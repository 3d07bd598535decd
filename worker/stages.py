"""The sandboxed processes of a job, each started early so that it warms up while the one before works.

Nothing heavy is imported here: the command starts them before anything else.
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from worker.sandbox.limits import Failure, Limits, SandboxFailure
from worker.sandbox.process import Child

if TYPE_CHECKING:
    from kernels.compile import Compilation
    from kernels.verdict import Finding
    from worker.analysis_step import AnalysisRequest, AnalysisResponse
    from worker.sandbox.compiling import CompileRequest
    from worker.sandbox.disassembling import Disassembler, Disassembly
    from worker.steps import CheckRequest, CheckResponse

COMPILE_LIMITS = Limits(wall_seconds=20.0, cpu_seconds=10, memory_bytes=2 * 2**30)

CHECK_LIMITS = Limits(wall_seconds=120.0, cpu_seconds=120, memory_bytes=4 * 2**30, response_bytes=8 * 2**20)
"""Guards us, not the student: an endless kernel ends by its instruction budget long before."""


class Stages(Protocol):
    """What grading and analysis need of their processes."""

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile one source; raises SandboxFailure or NVRTCUnavailable."""

    def check(self, request: CheckRequest) -> CheckResponse:
        """Judge one compiled kernel; raises SandboxFailure."""

    def start_disassembly(self, cubin: bytes) -> None:
        """Begin to read the machine code of a compiled kernel, so that it is done beside the check; never raises."""

    def disassembly(self) -> Disassembly:
        """Wait for what `start_disassembly` began.

        Its text is for `kernels.sass.read_sass`, and what comes of that for `kernels.hardware.as_executed`; it is None
        with a reason where there is none.
        """

    def prepare_analysis(self, compilations: int = 0) -> None:
        """Start what an analysis will need, with so many compilers; never raises, and may be left out."""

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count what one compiled kernel does; raises SandboxFailure."""

    def isolation(self) -> tuple[str, ...]:
        """What is not enforced on this machine, in words."""


class SandboxedStages:
    """Every stage in a child of its own, for one job. Use as a context manager."""

    def __init__(self, *, check: bool = True) -> None:
        """Start the processes and return at once.

        check: whether there will be a check; else there will be an analysis
        """
        self._children: list[Child] = []
        self._compilers: list[Child] = []
        self._checker: Child | None = None
        self._analyser: Child | None = None
        self._disassembler: Disassembler | None = None
        try:
            self._compilers.append(self._start("compile", COMPILE_LIMITS))
            if check:
                self._checker = self._start("check", CHECK_LIMITS)
            else:
                self._analyser = self._start("analyze", CHECK_LIMITS)
        except SandboxFailure:
            self.close()
            raise

    def _start(self, step: str, limits: Limits) -> Child:
        child = Child(step, limits)
        self._children.append(child)
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes. Safe to call twice."""
        for child in self._children:
            child.close()
        if self._disassembler is not None:
            self._disassembler.close()

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile in a child that is ready; each works once, so a further one is started where there is none."""
        from worker.sandbox.compiling import compile_in

        if not self._compilers:
            self._compilers.append(self._start("compile", COMPILE_LIMITS))
        return compile_in(self._compilers.pop(0), request)

    def check(self, request: CheckRequest) -> CheckResponse:
        """Judge in the second child."""
        from kernels.wire import WireError, from_plain, to_plain
        from worker.steps import CheckResponse

        if self._checker is None:
            self._checker = self._start("check", CHECK_LIMITS)
        try:
            return from_plain(CheckResponse, self._checker.request(to_plain(request)))
        except WireError as error:
            raise SandboxFailure(Failure.ERROR, f"the check step answered nonsense: {error}") from error

    def prepare_analysis(self, compilations: int = 0) -> None:
        """Start the child that counts, and compilers."""
        with contextlib.suppress(SandboxFailure):  # it is tried again, and then told, where it is needed
            if self._analyser is None:
                self._analyser = self._start("analyze", CHECK_LIMITS)
            for _ in range(compilations):
                self._compilers.append(self._start("compile", COMPILE_LIMITS))

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count in the child that has been warming up."""
        from kernels.wire import WireError, from_plain, to_plain
        from worker.analysis_step import AnalysisResponse

        if self._analyser is None:
            self._analyser = self._start("analyze", CHECK_LIMITS)
        try:
            return from_plain(AnalysisResponse, self._analyser.request(to_plain(request)))
        except WireError as error:
            raise SandboxFailure(Failure.ERROR, f"the analysis step answered nonsense: {error}") from error

    def start_disassembly(self, cubin: bytes) -> None:
        """Begin in a child whose start costs nothing where no one asks for it."""
        from worker.sandbox.disassembling import Disassembler

        if self._disassembler is not None:
            self._disassembler.close()
        self._disassembler = Disassembler(cubin)

    def disassembly(self) -> Disassembly:
        """Wait for that child; call it in the thread that started it."""
        from worker.sandbox.disassembling import Disassembly

        if self._disassembler is None:
            return Disassembly(None, "the kernel was not disassembled")
        return self._disassembler.result()

    def isolation(self) -> tuple[str, ...]:
        """What holds in none of the children, as they found themselves."""
        gaps = [child.isolation.missing() for child in self._children if child.isolation]
        return tuple(dict.fromkeys(gap for child in gaps for gap in child))
