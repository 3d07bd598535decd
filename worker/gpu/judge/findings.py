"""Findings of a GPU in words for a student. A GPU reports no lines."""

from __future__ import annotations

from kernels.exercise import Layout
from kernels.exercise.values import ElementType
from kernels.facts import Element, Facts
from kernels.judging.compare import finite, show
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.outcomes import size_text
from kernels.judging.plan import CasePlan
from kernels.verdict import Example, Finding, Verdict
from kernels.wording import plural
from worker.gpu.backend import DeviceFault, FaultKind
from worker.gpu.judge.verification import Damage, Wrong

LOST = "not run, because the GPU could not continue after an earlier case"

_WORD = 4
_KINDS = {
    FaultKind.ADDRESS: Verdict.OUT_OF_BOUNDS,
    FaultKind.TRAP: Verdict.RUNTIME_ERROR,
    FaultKind.TIME: Verdict.TIME_LIMIT,
    FaultKind.RESOURCES: Verdict.RESOURCE_LIMIT,
    FaultKind.UNSUPPORTED: Verdict.UNSUPPORTED,
    FaultKind.OTHER: Verdict.RUNTIME_ERROR,
}


def fault_finding(fault: DeviceFault, case: CasePlan, seconds: float) -> Finding:
    """The finding for a failed launch. seconds: its time limit."""
    size = size_text(case)
    messages = {
        FaultKind.ADDRESS: f"On the GPU, a thread read or wrote outside any array ({size})."
        " Check every index against the size before you use it.",
        FaultKind.TRAP: f"On the GPU, your kernel stopped itself ({size}): a trap, a failed assert or an invalid"
        " instruction.",
        FaultKind.TIME: f"Your kernel ran longer than {seconds:g} s at {size} on the GPU. Look for an endless loop or"
        " a wait that never ends.",
        FaultKind.RESOURCES: f"The GPU can't start this launch ({size}). It needs more than the device has, or its"
        " blocks don't fit its clusters. Use a smaller block, less shared memory, or no clusters.",
        FaultKind.UNSUPPORTED: f"The GPU can't load or start your kernel ({size}). It needs a feature that the device"
        " or Tilelab's launch doesn't have.",
        FaultKind.OTHER: f"The GPU reported an error while your kernel was running ({size}).",
    }
    return _finding(_KINDS[fault.kind], messages[fault.kind], case)


def guard_finding(matrix: MatrixPlan, damage: Damage, case: CasePlan) -> Finding:
    side, between = damage.row, damage.column
    # Guard zones are compared in words.
    unit = "element" if matrix.type.bytes == _WORD else "word"
    near = "just" if between == 0 else f"{plural(between, unit)}"
    where = f"{near} after its end" if side > 0 else f"{near} before its start"
    message = (
        f"Your kernel wrote outside `{matrix.name}` on the GPU ({size_text(case)}), {where}."
        f" It overwrote {plural(damage.count, unit)} there."
        " Check every index against the size before you use it."
    )
    return _finding(Verdict.OUT_OF_BOUNDS, message, case, damage.count)


def input_finding(matrix: MatrixPlan, damage: Damage, case: CasePlan) -> Finding:
    element = matrix.element(damage.row, damage.column)
    message = f"Your kernel changed `{element}` ({size_text(case)}). `{matrix.name}` is an input. Don't write to it."
    return _finding(Verdict.INPUT_MODIFIED, message, case, damage.count, element)


def wrong_finding(matrix: MatrixPlan, wrong: Wrong, case: CasePlan, repeat: int, allowed: str = "") -> Finding:
    """The finding for an incorrect output.

    repeat: counted from 1; 0 for a launch that was only judged
    allowed: the tolerance in words
    """
    element, wide = matrix.result(*wrong.element), matrix.type is ElementType.DOUBLE
    right = show(wrong.right, wide=wide) + (f" ({allowed})" if allowed else "")
    found = (
        f"was never written, but should be {right}"
        if wrong.unwritten
        else f"is {show(wrong.found, wide=wide)}, not {right}"
    )
    of = f", repeat {repeat} of the measurement" if repeat else ""
    message = f"`{element}` {found} ({size_text(case)}{of})."
    if repeat:
        before = "earlier repeats, each with other inputs," if repeat > 1 else "earlier cases"
        message += f" The {before} were correct."
    facts = Facts(values=() if wrong.unwritten else finite(wrong.found, wrong.right))
    if not wrong.lines:
        return _finding(Verdict.WRONG_ANSWER, message, case, wrong.count, element, facts)
    lines = plural(wrong.count, "row" if matrix.layout is Layout.ROW_MAJOR else "column")
    message += f" {lines} of `{matrix.name}` {'is' if wrong.count == 1 else 'are'} incorrect."
    return _finding(Verdict.WRONG_ANSWER, message, case, element=element, facts=facts)


def _finding(
    kind: Verdict,
    message: str,
    case: CasePlan,
    count: int = 1,
    element: Element | None = None,
    facts: Facts | None = None,
) -> Finding:
    example = Example(case=case.name) if element is None else Example.at(element, case=case.name)
    return Finding(kind, message, count=count, example=example, facts=facts or Facts())
