"""The course's table of execution phases: what each thread does in each phase of a tiled kernel."""

from __future__ import annotations

from kernels.phases.table import phase_table

__all__ = [
    "phase_table",
]
