"""The CPU device: runs a compiled kernel exactly, thread by thread, and finds mistakes that a GPU doesn't report."""

from __future__ import annotations

from kernels.device.execution.executor import Execution, Options, check, run
from kernels.device.execution.in_turn import Call, run_in_turn
from kernels.device.execution.schedule import Budget, Schedule
from kernels.device.memory.placement import Argument, Buffer
from kernels.device.ptx.expansion import load_program
from kernels.device.ptx.module import Malformed, Unsupported
from kernels.device.ptx.program import Program
from kernels.device.tensor.open_places import elsewhere, first_use

__all__ = [
    "Argument",
    "Budget",
    "Buffer",
    "Call",
    "Execution",
    "Malformed",
    "Options",
    "Program",
    "Schedule",
    "Unsupported",
    "check",
    "elsewhere",
    "first_use",
    "load_program",
    "run",
    "run_in_turn",
]
