"""What the compiler says of a file, as far as its occupancy depends on it."""

from __future__ import annotations

from kernels.compile.compilation import Compilation
from kernels.occupancy.survey import Figures
from kernels.source import Source
from kernels.verdict import Finding
from worker.steps.closer_look import look_at
from worker.steps.compiling import Task
from worker.steps.source import read
from worker.steps.stages import Stages


def figures_of(task: Task, stages: Stages) -> Figures | tuple[Finding, ...]:
    """Compile a file for an architecture; its launch is that of the exercise, or of its own launch comment.

    raise (SandboxFailure, NVRTCUnavailable, HeadersUnavailable): where it is not the file that is at fault
    """
    found = read(task, stages)
    if not isinstance(found, Source):
        return found
    look = look_at(task, found)
    case = look.plan.cases[0]
    if case.launch is None:
        return (case.problem,) if case.problem is not None else ()
    made = look.compile(stages, look.plan)
    if not isinstance(made, Compilation):
        return made
    use = made.resources
    return Figures(case.launch.threads, use.registers, use.shared_bytes, case.launch.shared, use.barriers)
