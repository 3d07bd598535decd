"""The parent's side of the disassembly, which returns a kernel's machine code as text.

Grading never fails because of it. If the text is missing, a reason is given, and counts use the PTX.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from worker.sandbox.limits import Failure, Limits, SandboxFailure
from worker.sandbox.process import Child
from worker.sandbox.program import FILE

DISASSEMBLY_LIMITS = Limits(wall_seconds=15.0, cpu_seconds=10, memory_bytes=2**30, response_bytes=16 * 2**20)
CUBIN_LIMIT = 4 * 2**20

_MESSAGES = {
    Failure.TIME: "the disassembler took too long for this kernel",
    Failure.MEMORY: "the disassembler needed too much memory for this kernel, or wrote too much",
    Failure.CRASH: "the disassembler could not read this kernel",
    Failure.START: "the disassembler could not start",
    Failure.ERROR: "the disassembler failed",
}
UNCONFINED = "this machine cannot isolate the disassembler (that needs Linux with Landlock), so it was not run"


@dataclass(frozen=True, slots=True)
class Disassembly:
    """The disassembler's output, for `kernels.analysis.sass.read_sass`.

    text: None if missing
    reason: why it is missing, to follow "Counts are by PTX only: "
    """

    text: str | None
    reason: str = ""


class ProgramChild(Child):
    """A process that isolates itself and then executes a program. The step is the program's path."""

    module = "worker.sandbox.program"


class Disassembler:
    """One disassembly in the background. Create it, do other work, then get its `result`.

    The process dies with the thread that created it. Use it as a context manager, or call `close`.
    """

    def __init__(self, cubin: bytes, limits: Limits = DISASSEMBLY_LIMITS, program: Path | None = None) -> None:
        """Start the process and return at once. Never raises; `result` reports failures.

        program: nvdisasm; by default the installed one
        """
        self._child: ProgramChild | None = None
        self._result: Disassembly | None = None
        program = program or find_program()
        if program is None:
            self._result = Disassembly(None, "the package nvidia-cuda-nvdisasm is not installed")
        elif len(cubin) > CUBIN_LIMIT:
            self._result = Disassembly(None, "the compiled kernel is too large for the disassembler")
        else:
            self._start(cubin, program, limits)

    def _start(self, cubin: bytes, program: Path, limits: Limits) -> None:
        try:
            self._child = ProgramChild(str(program), limits)
            self._child.hand_over(FILE, cubin)
        except (SandboxFailure, OSError):
            self._result = Disassembly(None, _MESSAGES[Failure.START])

    def result(self) -> Disassembly:
        """Wait for the text. Further calls return the same result."""
        if self._result is None:
            self._result = self._collect()
            self.close()
        return self._result

    def _collect(self) -> Disassembly:
        child = self._child
        if child is None:
            return Disassembly(None, _MESSAGES[Failure.START])
        try:
            isolation = child.wait_ready()
            if not (isolation.calls and isolation.landlock and isolation.limits):
                return Disassembly(None, UNCONFINED)
            return Disassembly(child.rest().decode("utf-8", "replace"))
        except SandboxFailure as failure:
            return Disassembly(None, _MESSAGES[failure.kind])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    def close(self) -> None:
        """End the process. Safe to call twice."""
        if self._child is not None:
            self._child.close()


def disassemble(cubin: bytes) -> Disassembly:
    with Disassembler(cubin) as running:
        return running.result()


def find_program() -> Path | None:
    """The path of the installed nvdisasm without symbolic links, or None."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(root).glob("*/bin/nvdisasm")):
            return found.resolve()
    return None
