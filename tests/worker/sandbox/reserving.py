"""Children of a machine with a GPU's driver, whose libraries reserve gigabytes of addresses that nobody writes to."""

from __future__ import annotations

from worker.sandbox.limits import Limits
from worker.sandbox.process import Child
from worker.steps.stages import SandboxedStages

# As much as a CUDA driver of version 580 reserves: readable and writable by nobody.
RESERVE = (
    "import mmap, ctypes; libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p; "
    "kept = [libc.mmap(None, ctypes.c_size_t(size << 20), 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, "
    "ctypes.c_size_t(0)) for size in (4098, 8256)]; "
    "assert None not in kept and ctypes.c_void_p(-1).value not in kept; "
)


class ReservingChild(Child):
    """Holds 12 GB of addresses before it does anything else."""

    def _command(self, step: str, answers: int) -> list[str]:
        command = super()._command(step, answers)
        command[command.index("-c") + 1] = RESERVE + command[command.index("-c") + 1]
        return command


class ReservingStages(SandboxedStages):
    """All steps of a job in such children."""

    def _start(self, step: str, limits: Limits) -> Child:
        child = ReservingChild(step, limits)
        self._children.append(child)
        return child
