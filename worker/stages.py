"""The sandboxed processes of a job: two for each, started at once so that each warms up while the one before works.

Nothing heavy is imported here: the command starts them before anything else.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from worker.sandbox.limits import Failure, Limits, SandboxFailure
from worker.sandbox.process import Child

if TYPE_CHECKING:
    from kernels.compile import Compilation
    from kernels.verdict import Finding
    from worker.sandbox.compiling import CompileRequest
    from worker.sandbox.disassembling import Disassembler, Disassembly
    from worker.steps import CheckRequest, CheckResponse

COMPILE_LIMITS = Limits(wall_seconds=20.0, cpu_seconds=10, memory_bytes=2 * 2**30)

CHECK_LIMITS = Limits(wall_seconds=120.0, cpu_seconds=120, memory_bytes=4 * 2**30, response_bytes=8 * 2**20)
"""Guards us, not the student: an endless kernel ends by its instruction budget long before."""


class Stages(Protocol):
    """What grading needs of its processes."""

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

    def isolation(self) -> tuple[str, ...]:
        """What is not enforced on this machine, in words."""


class SandboxedStages:
    """Both stages in children of their own, for one job. Use as a context manager."""

    def __init__(self) -> None:
        """Start both processes and return at once."""
        self._compiler = Child("compile", COMPILE_LIMITS)
        self._compiler_used = False
        try:
            self._checker = Child("check", CHECK_LIMITS)
        except SandboxFailure:
            self._compiler.close()
            raise
        self._disassembler: Disassembler | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes. Safe to call twice."""
        self._compiler.close()
        self._checker.close()
        if self._disassembler is not None:
            self._disassembler.close()

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Compile in the first child; once more in a fresh one, where sizes are macros and differ."""
        from worker.sandbox.compiling import compile_in

        if self._compiler_used:
            self._compiler.close()
            self._compiler = Child("compile", COMPILE_LIMITS)
        self._compiler_used = True
        return compile_in(self._compiler, request)

    def check(self, request: CheckRequest) -> CheckResponse:
        """Judge in the second child."""
        from kernels.wire import WireError, from_plain, to_plain
        from worker.steps import CheckResponse

        try:
            return from_plain(CheckResponse, self._checker.request(to_plain(request)))
        except WireError as error:
            raise SandboxFailure(Failure.ERROR, f"the check step answered nonsense: {error}") from error

    def start_disassembly(self, cubin: bytes) -> None:
        """Begin in a third child, whose start costs nothing where no one asks for it."""
        from worker.sandbox.disassembling import Disassembler

        if self._disassembler is not None:
            self._disassembler.close()
        self._disassembler = Disassembler(cubin)

    def disassembly(self) -> Disassembly:
        """Wait for the third child; call it in the thread that started it."""
        from worker.sandbox.disassembling import Disassembly

        if self._disassembler is None:
            return Disassembly(None, "the kernel was not disassembled")
        return self._disassembler.result()

    def isolation(self) -> tuple[str, ...]:
        """What holds in neither child, as the children themselves found."""
        gaps = [child.isolation.missing() for child in (self._compiler, self._checker) if child.isolation]
        return tuple(dict.fromkeys(gap for child in gaps for gap in child))
