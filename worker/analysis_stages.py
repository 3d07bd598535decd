"""The sandboxed processes of an analysis: compilers, the disassembler, and the one that runs and counts.

Nothing heavy is imported here: the command starts them before anything else.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from worker.sandbox.limits import Failure, Limits, SandboxFailure
from worker.sandbox.process import Child
from worker.stages import CHECK_LIMITS, COMPILE_LIMITS

if TYPE_CHECKING:
    from kernels.compile import Compilation
    from kernels.verdict import Finding
    from worker.analysis_step import AnalysisRequest, AnalysisResponse
    from worker.sandbox.compiling import CompileRequest
    from worker.sandbox.disassembling import Disassembler

ANALYSIS_LIMITS = Limits(
    wall_seconds=CHECK_LIMITS.wall_seconds,
    cpu_seconds=CHECK_LIMITS.cpu_seconds,
    memory_bytes=CHECK_LIMITS.memory_bytes,
    response_bytes=8 * 2**20,
)


class Stages(Protocol):
    """What an analysis needs of its processes."""

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile once more; raises SandboxFailure or NVRTCUnavailable."""

    def disassemble(self, cubin: bytes) -> Disassembler:
        """Start a disassembly, which runs beside other work."""

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count one compiled kernel; raises SandboxFailure."""

    def isolation(self) -> tuple[str, ...]:
        """What is not enforced on this machine, in words."""


class AnalysisStages:
    """All processes of one analysis. Use as a context manager.

    A compiler is kept ready, and the next one started when it is used: each works once.
    """

    def __init__(self, compilers: int = 1) -> None:
        """Start the processes and return at once."""
        self._used: list[Child] = []
        self._ready: list[Child] = []
        self._disassembler: Disassembler | None = None
        try:
            self._analyser = self._keep(Child("analyze", ANALYSIS_LIMITS))
            for _ in range(compilers):
                self.prepare_compiler()
        except SandboxFailure:
            self.close()
            raise

    def _keep(self, child: Child) -> Child:
        self._used.append(child)
        return child

    def prepare_compiler(self) -> None:
        """Start one more compiler, so that it is warm when it is needed."""
        self._ready.append(self._keep(Child("compile", COMPILE_LIMITS)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes. Safe to call twice."""
        for child in self._used:
            child.close()
        if self._disassembler is not None:
            self._disassembler.close()

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile in a child of its own."""
        from worker.sandbox.compiling import compile_in

        if not self._ready:
            self.prepare_compiler()
        return compile_in(self._ready.pop(0), request)

    def disassemble(self, cubin: bytes) -> Disassembler:
        """Start the disassembler."""
        from worker.sandbox.disassembling import Disassembler

        self._disassembler = Disassembler(cubin)
        return self._disassembler

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        """Count in the child that has been warming up."""
        return analyse_in(self._analyser, request)

    def isolation(self) -> tuple[str, ...]:
        """What holds in none of the children, as they found themselves."""
        gaps = [child.isolation.missing() for child in self._used if child.isolation]
        return tuple(dict.fromkeys(gap for child in gaps for gap in child))


def analyse_in(child: Child, request: AnalysisRequest) -> AnalysisResponse:
    """Count in a child that runs the step "analyze"."""
    from kernels.wire import WireError, from_plain, to_plain
    from worker.analysis_step import AnalysisResponse

    try:
        return from_plain(AnalysisResponse, child.request(to_plain(request)))
    except WireError as error:
        raise SandboxFailure(Failure.ERROR, f"the analysis step answered nonsense: {error}") from error
