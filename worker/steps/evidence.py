"""Evidence for one compiled kernel, computed from its counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernels.analysis.devices import Device, device_named
from kernels.analysis.explanation import explained
from kernels.analysis.first_look import RIGHT_FIRST
from kernels.analysis.light import Footprint, light
from kernels.analysis.subject import FLOAT, Subject, block_tile, product_of
from kernels.compile.compilation import Compilation
from kernels.compile.diagnostics import Resources
from kernels.counters import Totals
from kernels.evidence import Evidence, Light
from kernels.exercise import Exercise, Operation
from kernels.exercise.goals import goals
from kernels.judging.plan import Plan, plan_at
from kernels.launch import Launch
from kernels.occupancy import Occupancy, limits_of, occupancy
from kernels.occupancy.survey import Figures, command
from kernels.source.source_file import Source
from kernels.verdict import errors_of
from worker.contract.architectures import ARCHES, of_capability
from worker.steps.analysis_step import MOST_ELEMENTS, STOPPED, AnalysisResponse
from worker.steps.compile_requests import mentioned
from worker.steps.modules import Module

_NEARLY = 0.9
_LARGE = 2**15
"""A size at which the last, partial block of an axis hardly counts."""


@dataclass(frozen=True, slots=True)
class Target:
    """The device and the compute capability of an analysis.

    device: for the speed of light
    cc: compute capability for the compilation and the occupancy
    asked: the requested compute capability, if the compiler doesn't support it
    """

    device: Device
    cc: str
    asked: str = ""


def target(device: str = "h200", cc: str | None = None) -> Target:
    """The target for a device's name and a compute capability, by default the device's.

    raise (DeviceError, UnknownCapability): the name or the compute capability is unknown
    """
    found = device_named(device)
    asked = limits_of(cc or found.cc).cc
    if arch_of(asked) in ARCHES:
        return Target(found, asked)
    return Target(found, capability(ARCHES[0]), asked)


def arch_of(cc: str) -> str:
    """`sm_90` for `9.0`."""
    return f"sm_{cc.replace('.', '')}"


def capability(arch: str) -> str:
    """`9.0` for `sm_90`."""
    number = of_capability(arch).removeprefix("sm_")
    return f"{number[:-1]}.{number[-1]}"


def unknown_capability(asked: Target, launch: Launch, resources: Resources) -> str:
    """A note for a compute capability that the compiler doesn't support."""
    figures = Figures(launch.threads, resources.registers, resources.shared_bytes, launch.shared, resources.barriers)
    return (
        f"The compiler supports compute capability {asked.cc} and newer, so all figures are for {asked.cc}. To see "
        f"the occupancy on {asked.asked} with the registers of {asked.cc}: {command(figures, asked.asked)}"
    )


def elements(plan: Plan) -> int:
    """The number of elements in all operands of the plan's only case."""
    return sum(matrix.elements for matrix in plan.cases[0].matrices)


def fits(plan: Plan) -> bool:
    """Whether the operands fit into memory."""
    return elements(plan) <= MOST_ELEMENTS


def module_of(compilation: Compilation) -> Module:
    others = {name: each.name for name, each in compilation.others.items()}
    return Module(compilation.ptx, compilation.entry, compilation.globals, compilation.resources, others)


def meaning(
    counted: AnalysisResponse,
    exercise: Exercise,
    source: Source,
    plan: Plan,
    resources: Resources,
    target: Target,
    ranking: Plan | None = None,
) -> tuple[Evidence, Occupancy | None]:
    """The evidence of a counted run with its conclusions, and the occupancy.

    ranking: the plan of `counted.light`; None to compute the speed of light for the counted size
    """
    case = plan.cases[0]
    assert case.launch is not None, "only a case that was launched was counted"
    inputs = case.given
    totals = counted.evidence.totals
    held = occupancy(
        limits_of(target.cc),
        case.launch.threads,
        resources.registers,
        resources.shared_bytes,
        case.launch.shared,
        barriers=resources.barriers,
    )
    subject = Subject(
        operation=exercise.operation.value,
        tile=plan.tile,
        launch=case.launch,
        resources=resources,
        lines=counted.evidence.lines,
        totals=totals,
        inputs=inputs,
        outputs=case.outputs,
        product=product_of(inputs) if exercise.operation is Operation.MATMUL else None,
        barriers=counted.barriers,
        occupancy=held,
        shapes=case.shapes,
        early_wait=counted.evidence.stages.early_wait if counted.evidence.stages is not None else None,
    )
    subject = replace(subject, tile=_tile(subject, exercise, source))
    if ranking is not None and counted.light is not None and _writes_all(counted.light, ranking):
        bound = _light(counted.light, ranking, target.device)
    else:
        bound = _light(totals, plan, target.device)
    subject = replace(subject, light=bound)
    errors = errors_of(counted.findings)
    if any(finding.kind in STOPPED for finding in errors):
        return replace(counted.evidence, advice=(RIGHT_FIRST,)), held
    evidence = explained(
        counted.evidence,
        subject,
        bound=lambda totals: _light(totals, plan, target.device).milliseconds,
        # the bound of the first launch says little about the time of all
        light=() if case.then else (bound,),
        goals=goals(exercise, case.sizes, plan.tile, totals, source.macros) if _has_goals(exercise, plan) else (),
        broken=bool(errors),
    )
    return evidence, held


def _tile(subject: Subject, exercise: Exercise, source: Source) -> int:
    """The tile of a kernel's blocks. If the file doesn't name its tile, a large launch shows it."""
    if source.plan.tile.value is not None or mentioned(source.text, {exercise.tile_name: ""}):
        return subject.tile
    case = plan_at(exercise, source, subject.tile, dict.fromkeys(exercise.sizes, _LARGE)).cases[0]
    product = product_of(case.given)
    if subject.product is None or not subject.shares or case.launch is None or product is None:
        return subject.tile
    side = min(block_tile(replace(subject, tile=1, launch=case.launch, product=product, outputs=case.outputs)))
    return side if side > 1 else subject.tile


def _writes_all(totals: Totals, plan: Plan) -> bool:
    """Whether a launch wrote its output. With a fixed grid, a kernel may skip most of a large output.

    Blocks of a fixed grid may have different numbers of tiles, so their totals are an estimate.
    """
    if totals.global_atomic_requests:
        return True
    return totals.written_bytes >= _NEARLY * FLOAT * sum(output.words for output in plan.cases[0].outputs)


def _has_goals(exercise: Exercise, plan: Plan) -> bool:
    """Whether goals apply: they are numbers for the exercise's own sizes and tile."""
    rule = exercise.analysis
    return rule is not None and (dict(rule.sizes), rule.tile or plan.tile) == (dict(plan.cases[0].sizes), plan.tile)


def analysis_tile(exercise: Exercise, source: Source, asked: int | None) -> int:
    """The tile for counting: the file's own, the requested one, or the exercise's for analysis."""
    rule = exercise.analysis
    return source.tile(exercise, asked or source.plan.tile.value or (rule.tile if rule is not None else None))


def _light(totals: Totals, plan: Plan, device: Device) -> Light:
    """The modelled bound for the plan's only case."""
    case = plan.cases[0]
    assert case.launch is not None, "only a case that was launched was counted"
    read, written = (sum(FLOAT * each.words for each in part) for part in (case.given, case.outputs))
    if case.moved:
        read = max(0, case.moved - written)
    return light(totals, case.launch, case.sizes, device, Footprint(read, written))
