"""The analysis step: runs a compiled kernel once more and counts what it does, inside the sandbox.

It only counts. What the counts mean is worked out by whoever asked, from plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernels.counters import Totals
from kernels.evidence import Evidence, Extent, LineEvidence, PhaseTable
from kernels.judging.plan import CasePlan, Plan
from kernels.verdict import Finding, Severity, Verdict
from kernels.wire import from_plain, to_plain
from worker.steps.check_step import check_step, misfits_in
from worker.steps.modules import Loaded, Module

if TYPE_CHECKING:
    from kernels.analysis.sass import Sass
    from kernels.device import Buffer, Execution, Program
    from kernels.device.counting.counts import Counts
    from kernels.judging.inputs import Matrix
    from kernels.launch import Launch

MOST_LINES = 400
MOST_ELEMENTS = 3 * 2**24
"""Elements of all operands together: 192 MiB, three matrices of 4,096 by 4,096."""

_BARRIERS = ("bar.sync", "barrier.sync")
_INCOMPLETE = frozenset({Verdict.TIME_LIMIT, Verdict.RUNTIME_ERROR, Verdict.RESOURCE_LIMIT})
STOPPED = _INCOMPLETE | {Verdict.BARRIER_DIVERGENCE}
"""Findings that end a run before the kernel's own end."""


@dataclass(frozen=True, slots=True)
class SmallRun:
    """The run that the phase table is made from: its plan has one case."""

    plan: Plan
    module: Module


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What to count.

    plan: has one case, the one that is counted
    sass: the disassembly, as `kernels.analysis.sass` reads it; None where there is none, then `no_sass` says why
    light: the case whose totals alone are wanted, for the speed of light; of the same compilation
    affordable: instructions of threads that may be spent on each of the two
    observe: whether to look for races and unset values too, where all blocks run
    """

    plan: Plan
    module: Module
    sass: str | None = None
    no_sass: str = ""
    light: CasePlan | None = None
    phases: SmallRun | None = None
    affordable: int = 200_000_000
    observe: bool = True


@dataclass(frozen=True, slots=True)
class AnalysisResponse:
    """What was counted.

    evidence: extent, lines, totals, phases and notes; the rest is not for this step to fill in
    barriers: executed by one block; None where that is not known
    light: the totals of the second case
    problem: why nothing was counted
    """

    evidence: Evidence = field(default_factory=Evidence)
    findings: tuple[Finding, ...] = ()
    barriers: float | None = None
    light: Totals | None = None
    problem: Finding | None = None


def warm_up() -> None:
    """Load all that the step needs: nothing can be opened afterwards."""
    from kernels.analysis import hardware, sass, scaling
    from kernels.device.ptx import likeness
    from kernels.phases import table as phases
    from worker.steps import check_step as steps

    assert all((hardware, phases, sass, scaling, likeness))
    steps.warm_up()


def analysis_step(request: dict[str, Any]) -> dict[str, Any]:
    """The step itself."""
    plain: dict[str, Any] = to_plain(analyse(from_plain(AnalysisRequest, request)))
    return plain


def analyse(request: AnalysisRequest) -> AnalysisResponse:
    """Count one case of a kernel; where nothing can be counted, say why."""
    from kernels import device
    from kernels.analysis.scaling import TooManyBlocksError
    from kernels.judging.limits import launch_finding

    case = request.plan.cases[0]
    problem = case.problem or launch_finding(case, request.module.resources)
    if case.launch is None or problem is not None:
        return AnalysisResponse(problem=problem)
    try:
        loaded = _load(request.module)
        device.check(loaded.program)
        for unfit in misfits_in(request.plan, [loaded]):
            return AnalysisResponse(problem=unfit)
        return _counted(request, loaded, case)
    except TooManyBlocksError:
        return AnalysisResponse(problem=_too_many_blocks(case.launch))
    except device.Unsupported as reason:
        return AnalysisResponse(problem=Finding(Verdict.UNSUPPORTED, str(reason), reason.line))
    except device.Malformed as reason:
        message = f"The compiled kernel cannot be read: {reason}."
        return AnalysisResponse(problem=Finding(Verdict.UNSUPPORTED, message, reason.line))


def _too_many_blocks(launch: Launch) -> Finding:
    message = (
        f"{launch.blocks:,} blocks of {launch.threads:,} threads are too many to be counted: no device would ever"
        " end this launch. Use a smaller grid."
    )
    return Finding(Verdict.TIME_LIMIT, message)


def _load(module: Module) -> Loaded:
    from kernels import device

    return Loaded(module, device.load_program(module.ptx, module.entry))


def _counted(request: AnalysisRequest, loaded: Loaded, case: CasePlan) -> AnalysisResponse:
    from kernels.analysis.hardware import as_executed

    sass = _sass(request)
    run = _run(request, loaded, case, observe=request.observe)
    executed = as_executed(run.counts, sass)
    notes = [] if request.sass is not None else [f"Counts are by PTX only: {request.no_sass}."]
    lines, left = _bounded(executed.lines)
    if left:
        notes.append(f"The {left} lines that did least are left out.")
    phases, light = _phases(request.phases), None
    if request.light is not None:
        light = _light(request, loaded, request.light, sass)
    evidence = Evidence(
        extent=run.extent,
        lines=lines,
        totals=executed.totals,
        phases=phases,
        notes=tuple(dict.fromkeys([*notes, *executed.notes])),
    )
    return AnalysisResponse(evidence, run.findings, _barriers(loaded.program, run, case), light)


def _light(request: AnalysisRequest, loaded: Loaded, case: CasePlan, sass: Sass | None) -> Totals | None:
    """The totals of a large launch; None for a kernel whose blocks need each other, or that goes wrong there."""
    from kernels.analysis.hardware import as_executed
    from kernels.analysis.scaling import TooManyBlocksError, plan_blocks, scaled
    from kernels.judging.judge import buffers

    assert case.launch is not None, "only a case that can be launched is counted"
    memory = buffers(case, _inputs(case))
    affordable = _affordable(request, loaded, case, memory, most=request.affordable // case.launch.threads)
    blocks = plan_blocks(case.launch, affordable or 0)
    if affordable is None or (blocks is None and case.launch.blocks > 4 * affordable):
        return None
    run = _execute(request, loaded, case, memory, blocks)
    if run.findings or run.counts is None:
        return None
    try:
        return as_executed(scaled(run.counts, case.launch).counts, sass).totals
    except TooManyBlocksError:
        return None


def _affordable(
    request: AnalysisRequest,
    loaded: Loaded,
    case: CasePlan,
    memory: Sequence[Buffer],
    *,
    most: int | None = None,
) -> int | None:
    """How many blocks can be run, by some that are; None where those do not come to a good end alone.

    most: instructions of a thread after which a block is too much to run
    """
    from kernels.analysis.scaling import probed_blocks

    assert case.launch is not None, "only a case that can be launched is counted"
    probed = probed_blocks(case.launch)
    probe = _execute(request, loaded, case, memory, probed, count=False, most=most)
    if _incomplete(probe):
        return None
    return request.affordable * len(probed) // max(1, probe.instructions)


def _incomplete(run: Execution) -> bool:
    return any(finding.kind in _INCOMPLETE for finding in run.findings)


def _sass(request: AnalysisRequest) -> Sass | None:
    from kernels.analysis.sass import read_sass

    return read_sass(request.sass, request.module.entry) if request.sass is not None else None


def _bounded(lines: tuple[LineEvidence, ...]) -> tuple[tuple[LineEvidence, ...], int]:
    if len(lines) <= MOST_LINES:
        return lines, 0
    busiest = sorted(lines, key=lambda line: -line.warp_instructions)[:MOST_LINES]
    return tuple(sorted(busiest, key=lambda line: line.line)), len(lines) - MOST_LINES


@dataclass(frozen=True, slots=True)
class _Run:
    """A counted run; counts are those of the whole launch."""

    counts: Counts
    extent: Extent
    findings: tuple[Finding, ...]


def _run(request: AnalysisRequest, loaded: Loaded, case: CasePlan, *, observe: bool) -> _Run:
    """All blocks where that is affordable, else enough of them to know the rest."""
    from kernels.analysis.scaling import plan_blocks, scaled
    from kernels.device.ptx.likeness import unforeseen_lines
    from kernels.judging.judge import buffers, judge_run

    launch, inputs = case.launch, _inputs(case)
    assert launch is not None, "only a case that can be launched is counted"
    memory = buffers(case, inputs)
    affordable = _affordable(request, loaded, case, memory)
    blocks = plan_blocks(launch, affordable) if affordable is not None else None
    run = _execute(request, loaded, case, memory, blocks, observe=observe)
    if blocks is not None and _incomplete(run):
        # blocks that wait for others come to an end only where all of them run
        blocks, run = None, _execute(request, loaded, case, memory, None, observe=observe)
    assert run.counts is not None, "a run that counts has counts"
    if blocks is None:
        findings = judge_run(request.plan, case, inputs, run) if observe else run.findings
        extent = Extent(case.sizes, request.plan.tile, launch, launch.blocks, not _errors(run))
        return _Run(run.counts, extent, findings)
    whole = scaled(run.counts, launch, unforeseen_lines(loaded.program))
    note = whole.note[:1].upper() + whole.note[1:] + "." if whole.note else ""
    extent = Extent(
        case.sizes, request.plan.tile, launch, len(blocks), whole.exact and not _errors(run), note
    )
    return _Run(whole.counts, extent, run.findings)


def _errors(run: Execution) -> bool:
    return any(finding.severity is Severity.ERROR for finding in run.findings)


def _execute(
    request: AnalysisRequest,
    loaded: Loaded,
    case: CasePlan,
    memory: Sequence[Buffer],
    blocks: Sequence[int] | None,
    *,
    observe: bool = False,
    count: bool = True,
    most: int | None = None,
) -> Execution:
    from kernels import device
    from kernels.judging.judge import arguments, constants, full_budget

    assert case.launch is not None, "only a case that can be launched is counted"
    budget = full_budget(case)
    if most is not None:
        budget = device.Budget(min(most, budget.instructions))
    return device.run(
        loaded.program,
        case.launch,
        arguments(case),
        [replace(buffer, values=buffer.values.copy()) for buffer in memory],
        symbols=loaded.named(case.symbols),
        shapes=case.shapes,
        state=loaded.named(constants(case)),
        budget=budget,
        warp_races=request.plan.warp_races,
        observe=observe and blocks is None,
        count=count,
        blocks=blocks,
    )


def _inputs(case: CasePlan) -> dict[str, Matrix]:
    """Small whole numbers, none of them 0, the same at every analysis; so the right result is exact."""
    import numpy as np

    numbers = np.random.default_rng(1).integers(1, 8, 4093).astype(np.float32)
    return {
        matrix.name: np.resize(numbers, (matrix.rows, matrix.columns)) for matrix in case.inputs_of_kernel
    }


def _barriers(program: Program, run: _Run, case: CasePlan) -> float | None:
    """How many barriers one block executed, from the lines that hold nothing but barriers."""
    assert case.launch is not None, "only a case that was launched was counted"
    waits = {item.line for item in program.instructions if item.opcode.startswith(_BARRIERS)}
    if not waits:
        return 0.0
    others = {item.line for item in program.instructions if not item.opcode.startswith(_BARRIERS)}
    if None in waits or waits & others:
        return None
    warps = sum(int(work.values[1].sum()) for work in run.counts.lines if work.line in waits)
    return warps / (-(-case.launch.threads // 32) * case.launch.blocks)


def _phases(small: SmallRun | None) -> PhaseTable | None:
    from kernels import device
    from kernels.judging.judge import constants
    from kernels.phases.table import phase_table

    if small is None:
        return None
    try:
        loaded = _load(small.module)
    except (device.Unsupported, device.Malformed):
        return None
    case = small.plan.cases[0]
    return phase_table(
        loaded.program,
        small.plan,
        case,
        symbols=loaded.named(case.symbols),
        state=loaded.named(constants(case)),
    )


CHECK, COUNT = "check", "count"


def run_step(request: dict[str, Any]) -> dict[str, Any]:
    """A check or a count, under its name.

    Both are steps of one process, because its start takes longer than either of them for most kernels.
    """
    if CHECK in request:
        return check_step(request[CHECK])
    return analysis_step(request[COUNT])
