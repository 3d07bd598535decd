"""What a GPU shows to be wrong with a kernel, in words for a student. A GPU names no line."""

from __future__ import annotations

from kernels.exercise import Layout
from kernels.judging.compare import show
from kernels.judging.outcomes import size_text
from kernels.judging.plan import CasePlan, MatrixPlan
from kernels.verdict import Example, Finding, Verdict
from kernels.wording import plural
from worker.gpu.backend import DeviceFault, FaultKind
from worker.gpu.judge.verification import Damage, Wrong

LOST = "not run, because the GPU could not go on after an earlier case"

_KINDS = {
    FaultKind.ADDRESS: Verdict.OUT_OF_BOUNDS,
    FaultKind.TRAP: Verdict.RUNTIME_ERROR,
    FaultKind.TIME: Verdict.TIME_LIMIT,
    FaultKind.RESOURCES: Verdict.RESOURCE_LIMIT,
    FaultKind.OTHER: Verdict.RUNTIME_ERROR,
}


def fault_finding(fault: DeviceFault, case: CasePlan, seconds: float) -> Finding:
    """How a launch ended badly.

    seconds: after which it counted as endless
    """
    size = size_text(case)
    messages = {
        FaultKind.ADDRESS: f"On the GPU a thread read or wrote memory that belongs to nobody ({size})."
        " Check every index against the size before it is used.",
        FaultKind.TRAP: f"On the GPU the kernel stopped itself ({size}): by a trap, a failed assert or a broken"
        " instruction.",
        FaultKind.TIME: f"The kernel did not end within {seconds:g} s at {size} on the GPU: probably a loop that"
        " never ends, or threads that wait for others that never come.",
        FaultKind.RESOURCES: f"The GPU cannot start this launch ({size}): it asks for more than the device has."
        " Use a smaller block, or less shared memory.",
        FaultKind.OTHER: f"The GPU gave an error while the kernel was running ({size}).",
    }
    return _finding(_KINDS[fault.kind], messages[fault.kind], case)


def guard_finding(matrix: MatrixPlan, damage: Damage, case: CasePlan) -> Finding:
    """Memory in front of a matrix, or behind it, was written."""
    side, between = damage.row, damage.column
    near = "just" if between == 0 else f"{plural(between, 'element')}"
    where = f"{near} behind its end" if side > 0 else f"{near} in front of its start"
    message = (
        f"The kernel wrote outside {matrix.name} on the GPU ({size_text(case)}), {where}:"
        f" {plural(damage.count, 'element')} there that no matrix has"
        f" {'was' if damage.count == 1 else 'were'} overwritten. Check every index against the size before it is used."
    )
    return _finding(Verdict.OUT_OF_BOUNDS, message, case, damage.count)


def input_finding(matrix: MatrixPlan, damage: Damage, case: CasePlan) -> Finding:
    """An input is no longer what it was."""
    element = matrix.element(damage.row, damage.column)
    message = (
        f"{element} is no longer what it was before the run ({size_text(case)}); {matrix.name} is an input and must"
        " not be written."
    )
    return _finding(Verdict.INPUT_MODIFIED, message, case, damage.count, element)


def wrong_finding(matrix: MatrixPlan, wrong: Wrong, case: CasePlan, repeat: int) -> Finding:
    """The output of a repeat is wrong.

    repeat: counted from 1; 0 for a launch that was only judged
    """
    element = matrix.element(*wrong.element)
    right = show(wrong.right)
    found = (
        f"was never written; it should be {right}"
        if wrong.unwritten
        else f"is {show(wrong.found)}, not {right}"
    )
    of = f", repeat {repeat} of the measurement" if repeat else ""
    message = f"{element} {found} ({size_text(case)}{of})."
    if repeat:
        before = "repeats before it, each with other inputs," if repeat > 1 else "cases before it"
        message += f" The {before} were right."
    if not wrong.lines:
        return _finding(Verdict.WRONG_ANSWER, message, case, wrong.count, element)
    lines = plural(wrong.count, "row" if matrix.layout is Layout.ROW_MAJOR else "column")
    message += f" {lines} of {matrix.name} {'is' if wrong.count == 1 else 'are'} wrong."
    return _finding(Verdict.WRONG_ANSWER, message, case, element=element)


def _finding(
    kind: Verdict, message: str, case: CasePlan, count: int = 1, element: str | None = None
) -> Finding:
    return Finding(kind, message, count=count, example=Example(element=element, case=case.name))
