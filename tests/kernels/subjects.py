"""A subject without a run, for what cannot be had from one."""

from __future__ import annotations

from kernels.analysis.subject import Subject, product_of
from kernels.compile.diagnostics import Resources
from kernels.counters import Totals
from kernels.exercise import Binding, Layout, Role
from kernels.judging.operand_plan import MatrixPlan
from kernels.launch import Launch
from kernels.occupancy import Occupancy


def matrix(name: str, role: Role, rows: int = 64, columns: int = 64) -> MatrixPlan:
    return MatrixPlan(name, role, rows, columns, Layout.ROW_MAJOR, Binding.PARAMETER, None)


def subject(*, tile: int = 16, global_load_requests: int = 16384, occupancy: Occupancy | None = None) -> Subject:
    """A plain product of two matrices of 64 by 64, as far as its totals go."""
    inputs = (matrix("M", Role.INPUT), matrix("N", Role.INPUT))
    return Subject(
        operation="matmul",
        tile=tile,
        launch=Launch((4, 4, 1), (16, 16, 1), 0),
        resources=Resources(32, 0, 0, 0, 0, 0, 0),
        lines=(),
        totals=Totals(
            global_load_requests=global_load_requests,
            global_load_bytes=2 * 64**3 * 4,
            warp_instructions=100_000,
            thread_instructions=3_200_000,
            warp_efficiency=1.0,
        ),
        inputs=inputs,
        outputs=(matrix("P", Role.OUTPUT),),
        product=product_of(inputs),
        occupancy=occupancy,
    )
