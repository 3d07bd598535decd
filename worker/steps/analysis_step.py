"""The analysis step: runs a compiled kernel again in the sandbox, and counts its operations.

It only counts. The caller evaluates the counts outside the sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernels.counters import Totals
from kernels.evidence import CodeLine, Evidence, Extent, LineEvidence, PhaseTable, StageTable
from kernels.exercise import Operation
from kernels.judging.plan import CasePlan, Plan
from kernels.verdict import Finding, Verdict, errors_of
from kernels.wire import from_plain, to_plain
from worker.steps.check_step import check_step, misfits_in
from worker.steps.explanation import EXPLAIN, ExplainRequest, explain
from worker.steps.modules import Loaded, Module

if TYPE_CHECKING:
    from kernels.analysis.sass import Sass
    from kernels.device import Buffer, Execution, Program
    from kernels.device.counting.counts import Counts
    from kernels.judging.inputs import Matrix
    from kernels.launch import Launch

_STEPS_OF_COPIES = 8
"""A block with bulk copies may take so many times as many steps, because a copy counts as many of them."""
_FEW_THREADS = 384
"""A step of fewer threads takes hardly less time."""
_SURELY = 2
"""Of a launch that is expected to take so many times the affordable steps, nothing is run."""

MOST_LINES = 400
MOST_ELEMENTS = 3 * 2**24
"""Limit for the elements of all operands: 192 MiB, three matrices of 4,096 by 4,096."""

_GROWING = (Operation.MATMUL, Operation.SUM, Operation.TRANSPOSE)
"""Operations whose counts grow with their work."""
_BARRIERS = ("bar.sync", "barrier.sync")
_INCOMPLETE = frozenset({Verdict.TIME_LIMIT, Verdict.RUNTIME_ERROR, Verdict.RESOURCE_LIMIT})
STOPPED = _INCOMPLETE | {Verdict.BARRIER_DIVERGENCE}
"""Findings that end a run before the kernel's own end."""


@dataclass(frozen=True, slots=True)
class SmallRun:
    """A small run for the phase table. Its plan has one case."""

    plan: Plan
    module: Module


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """A kernel to count.

    plan: has one case, the counted one
    sass: the disassembly for `kernels.analysis.sass`; None if missing, and `no_sass` says why
    light: a large case whose totals are needed for the speed of light
    runs_light: whether some of its blocks run; if not, its totals are inferred from the counted ones
    affordable: limit for thread instructions in each of the two runs
    observe: also find races and uninitialized reads, if all blocks run
    """

    plan: Plan
    module: Module
    sass: str | None = None
    no_sass: str = ""
    light: CasePlan | None = None
    runs_light: bool = True
    phases: SmallRun | None = None
    affordable: int = 200_000_000
    observe: bool = True


@dataclass(frozen=True, slots=True)
class AnalysisResponse:
    """The counts.

    evidence: only extent, lines, totals, phases and notes
    barriers: executed by one block; None if unknown
    light: the totals of the second case
    problem: why nothing was counted
    """

    evidence: Evidence = field(default_factory=Evidence)
    findings: tuple[Finding, ...] = ()
    barriers: float | None = None
    light: Totals | None = None
    problem: Finding | None = None


def warm_up() -> None:
    """Load all modules of this step, because the sandbox can't open files later."""
    from kernels.analysis import hardware, sass, scaling
    from kernels.device.ptx import likeness
    from kernels.phases import stages, table
    from worker.steps import check_step as steps

    assert all((hardware, stages, table, sass, scaling, likeness))
    steps.warm_up()


def analysis_step(request: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(analyse(from_plain(AnalysisRequest, request)))
    return plain


def analyse(request: AnalysisRequest) -> AnalysisResponse:
    """Count one case of a kernel. If nothing can be counted, the response says why."""
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
        return AnalysisResponse(problem=reason.finding)
    except device.Malformed as reason:
        message = f"Tilelab cannot read the compiled kernel: {reason}."
        return AnalysisResponse(problem=Finding(Verdict.UNSUPPORTED, message, reason.line))


def _too_many_blocks(launch: Launch) -> Finding:
    message = (
        f"{launch.blocks:,} blocks of {launch.threads:,} threads are too many to count. No device would ever finish"
        " this launch. Use a smaller grid."
    )
    return Finding(Verdict.TIME_LIMIT, message)


def _load(module: Module) -> Loaded:
    from kernels import device

    return Loaded(module, device.load_program(module.ptx, module.entry))


def _counted(request: AnalysisRequest, loaded: Loaded, case: CasePlan) -> AnalysisResponse:
    from kernels.analysis.hardware import as_executed
    from kernels.analysis.sass import read_sass

    sass = read_sass(request.sass, request.module.entry) if request.sass is not None else None
    counts, extent, findings, steps = _run(request, loaded, case, observe=request.observe)
    executed = as_executed(counts, sass)
    notes = [] if request.sass is not None else [f"Counts are by PTX only: {request.no_sass}."]
    lines, left = _bounded(executed.lines)
    if left:
        notes.append(f"The {left} lines with the fewest instructions are left out.")
    phases, stages, light = *_phases(request.phases, loaded), None
    if request.light is not None and request.runs_light:
        expected = steps * _growth(case, request.light)
        copies = executed.totals.bulk_load_requests > 0
        light = _light(request, loaded, request.light, sass, expected=expected, copies=copies)
    elif request.light is not None and case.operation in _GROWING:
        light = _inferred(executed.totals, case, request.light)
    evidence = Evidence(
        extent=extent,
        lines=lines,
        totals=executed.totals,
        phases=phases,
        stages=stages,
        notes=tuple(dict.fromkeys([*notes, *executed.notes])),
        sass=_listing(request),
    )
    return AnalysisResponse(evidence, findings, _barriers(loaded.program, counts, case), light)


def _growth(small: CasePlan, large: CasePlan) -> float:
    """How many times as much a block does in the large case. Only a grid with more blocks shares the work."""
    from kernels.judging.operations import work

    assert small.launch is not None
    assert large.launch is not None
    return work(large) / max(1, work(small)) * small.launch.blocks / large.launch.blocks


def _inferred(totals: Totals, small: CasePlan, large: CasePlan) -> Totals:
    """A lower bound of a large launch's totals, from those of a small one."""
    from kernels.analysis.scaling import grown
    from kernels.judging.operations import work

    growth = work(large) / max(1, work(small))
    if small.operation is Operation.MATMUL:
        # Tiles reach past a small matrix with a larger part, and then multiply more than its elements.
        growth *= min(1, 2 * work(small) / max(1, totals.flops))
    outputs, larger = (sum(each.words for each in case.outputs) for case in (small, large))
    return grown(totals, growth, larger / max(1, outputs))


def _light(
    request: AnalysisRequest, loaded: Loaded, case: CasePlan, sass: Sass | None, *, expected: float, copies: bool
) -> Totals | None:
    """The totals of a large launch. None if its blocks do too much or need each other, or if it fails there.

    expected: the steps of its blocks, by a small launch
    copies: whether it makes bulk copies
    """
    from kernels.analysis.hardware import as_executed
    from kernels.analysis.scaling import TooManyBlocksError, plan_blocks, scaled
    from kernels.judging.judge import buffers

    assert case.launch is not None, "only a case that can be launched is counted"
    most = request.affordable // max(_FEW_THREADS, case.launch.threads) * (_STEPS_OF_COPIES if copies else 1)
    if expected > _SURELY * most:
        return None
    memory = buffers(case, _inputs(case))
    # More than the fewest blocks would only show that some differ, and a bound doesn't need that.
    blocks = plan_blocks(case.launch, 0)
    run = _execute(request, loaded, case, memory, blocks, most=most, multiplies=False)
    if run.findings or run.counts is None:
        return None
    try:
        return as_executed(scaled(run.counts, case.launch).counts, sass).totals
    except TooManyBlocksError:
        return None


def _affordable(request: AnalysisRequest, loaded: Loaded, case: CasePlan, memory: Sequence[Buffer]) -> int | None:
    """Estimate the affordable number of blocks from a few that run. None if these can't finish alone, or if all run
    whatever they cost.

    A block isn't followed further than decides that the fewest blocks run: 0.
    """
    from kernels.analysis.scaling import plan_blocks, probed_blocks, usual_blocks

    assert case.launch is not None, "only a case that can be launched is counted"
    if plan_blocks(case.launch, 0) is None:
        return None
    probed = probed_blocks(case.launch)
    enough = request.affordable // (usual_blocks(case.launch) * case.launch.threads) + 1
    probe = _execute(request, loaded, case, memory, probed, count=False, most=enough)
    if any(finding.kind is Verdict.TIME_LIMIT for finding in probe.findings):
        return 0
    if _incomplete(probe):
        return None
    return request.affordable * len(probed) // max(1, probe.instructions)


def _incomplete(run: Execution) -> bool:
    return any(finding.kind in _INCOMPLETE for finding in run.findings)


def _listing(request: AnalysisRequest) -> tuple[CodeLine, ...]:
    from kernels.analysis.sass import sass_listing

    return sass_listing(request.sass, request.module.entry) if request.sass is not None else ()


def _bounded(lines: tuple[LineEvidence, ...]) -> tuple[tuple[LineEvidence, ...], int]:
    if len(lines) <= MOST_LINES:
        return lines, 0
    busiest = sorted(lines, key=lambda line: -line.warp_instructions)[:MOST_LINES]
    return tuple(sorted(busiest, key=lambda line: line.line)), len(lines) - MOST_LINES


def _run(
    request: AnalysisRequest, loaded: Loaded, case: CasePlan, *, observe: bool
) -> tuple[Counts, Extent, tuple[Finding, ...], int]:
    """Run all blocks if that is affordable, otherwise enough of them to infer the rest.

    Returns the counts of the whole launch, what they cover, the findings, and the steps of the blocks that ran.
    """
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
        # blocks that wait for other blocks finish only if all of them run
        blocks, run = None, _execute(request, loaded, case, memory, None, observe=observe)
    assert run.counts is not None, "a run that counts has counts"
    if blocks is None:
        findings = judge_run(request.plan, case, inputs, run) if observe else run.findings
        extent = Extent(case.sizes, request.plan.tile, launch, launch.blocks, not errors_of(run.findings))
        return run.counts, extent, findings, run.steps
    whole = scaled(run.counts, launch, unforeseen_lines(loaded.program))
    note = whole.note[:1].upper() + whole.note[1:] + "." if whole.note else ""
    extent = Extent(
        case.sizes, request.plan.tile, launch, len(blocks), whole.exact and not errors_of(run.findings), note
    )
    return whole.counts, extent, run.findings, run.steps


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
    multiplies: bool = True,
) -> Execution:
    from kernels import device
    from kernels.judging.judge import arguments, constants, full_budget

    assert case.launch is not None, "only a case that can be launched is counted"
    budget = full_budget(case)
    if most is not None:
        budget = replace(budget, instructions=min(most, budget.instructions), alone=min(most, budget.alone))
    return device.run(
        loaded.program,
        case.launch,
        arguments(case),
        memory,
        device.Options(
            symbols=loaded.named(case.symbols),
            shapes=case.shapes,
            state=loaded.named(constants(case)),
            budget=budget,
            warp_races=request.plan.warp_races,
            observe=observe and blocks is None,
            count=count,
            blocks=blocks,
            multiplies=multiplies,
        ),
    )


def _inputs(case: CasePlan) -> dict[str, Matrix]:
    """Small nonzero integers, the same in every analysis, so that results are exact.

    For the operation SOLUTION, what the exercise declares, because a kernel may use values as indices.
    """
    import numpy as np

    from kernels.judging.inputs import make_inputs

    if case.operation is Operation.SOLUTION:
        return make_inputs(case, 1)
    numbers = np.random.default_rng(1).integers(1, 8, 4093).astype(np.float32)
    return {matrix.name: np.resize(numbers, (matrix.rows, matrix.columns)) for matrix in case.inputs_of_kernel}


def _barriers(program: Program, counts: Counts, case: CasePlan) -> float | None:
    """The number of barriers that one block executed, from lines with only barriers."""
    assert case.launch is not None, "only a case that was launched was counted"
    waits = {item.counted_line for item in program.instructions if item.opcode.startswith(_BARRIERS)}
    if not waits:
        return 0.0
    others = {item.counted_line for item in program.instructions if not item.opcode.startswith(_BARRIERS)}
    if None in waits or waits & others:
        return None
    warps = sum(each.total.warps for each in counts.lines if each.line in waits)
    return warps / (-(-case.launch.threads // 32) * case.launch.blocks)


def _phases(small: SmallRun | None, counted: Loaded) -> tuple[PhaseTable | None, StageTable | None]:
    """The phases of a small run: of each thread, or with tensor cores those of the block's pipeline."""
    from kernels import device
    from kernels.judging.judge import constants
    from kernels.phases.stages import multiplies_matrices, stage_table
    from kernels.phases.table import phase_table

    if small is None:
        return None, None
    try:
        loaded = counted if small.module == counted.module else _load(small.module)
    except (device.Unsupported, device.Malformed):
        return None, None
    case = small.plan.cases[0]
    symbols, state = loaded.named(case.symbols), loaded.named(constants(case))
    if multiplies_matrices(loaded.program):
        return None, stage_table(loaded.program, small.plan, case, symbols=symbols, state=state)
    return phase_table(loaded.program, small.plan, case, symbols=symbols, state=state), None


CHECK, COUNT = "check", "count"


def run_step(request: dict[str, Any]) -> dict[str, Any]:
    """Check, count or explain, by the request's key.

    One process does all of it, because for most kernels its start takes longer than any of them.
    """
    if CHECK in request:
        return check_step(request[CHECK])
    if EXPLAIN in request:
        explanation: dict[str, Any] = to_plain(explain(from_plain(ExplainRequest, request[EXPLAIN])))
        return explanation
    return analysis_step(request[COUNT])
