"""The CPU device: runs a compiled kernel thread by thread, exactly, and sees what a GPU would not tell."""

from __future__ import annotations

from kernels.device.executor import Budget, Execution, check, run
from kernels.device.expansion import load_program
from kernels.device.placement import Buffer
from kernels.device.program import Program
from kernels.device.ptx import Malformed, Unsupported
from kernels.device.schedule import Schedule

__all__ = [
    "Budget",
    "Buffer",
    "Execution",
    "Malformed",
    "Program",
    "Schedule",
    "Unsupported",
    "check",
    "load_program",
    "run",
]
