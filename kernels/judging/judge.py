"""Runs the cases of a plan on a device and judges the results.

All cases run, the smallest first. The verdict follows from the findings of all cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernels.compile.diagnostics import Resources
from kernels.device import Argument, Budget, Buffer, Execution, Schedule
from kernels.facts import Facts
from kernels.judging.compare import NEVER_WRITTEN, POISON, Mismatch, Output, mismatch, wrong_elements
from kernels.judging.diagnosis import diagnose
from kernels.judging.inputs import Matrix, from_memory, in_rows, make_inputs, to_memory
from kernels.judging.limits import launch_finding, with_launch
from kernels.judging.operations import results, work
from kernels.judging.outcomes import REPEATED, TOO_LARGE, Outcome, merge, size_text, value_text, wrong_answer
from kernels.judging.plan import CasePlan, LaunchPlan, Plan
from kernels.launch import Launch
from kernels.verdict import (
    CUT_SHORT,
    CaseCheck,
    CaseStatus,
    Example,
    Finding,
    Severity,
    Verdict,
    errors_of,
    finding_order,
)
from kernels.wording import part_of

_WARP = 32
PRINT_LIMIT = 8 * 1024
# The instructions of a plain kernel for a multiplication, or for an element.
_PLAIN = 10
# One thread may execute twice what all threads of the solution need, and four times where that is little.
_MUCH = 200_000
_MOST_ALONE = 1_000_000


_INCOMPLETE = frozenset({Verdict.TIME_LIMIT, Verdict.RUNTIME_ERROR, Verdict.RESOURCE_LIMIT})

RunKernel = Callable[[CasePlan, Sequence[Buffer], Schedule, Budget], Execution]
"""Launches the kernel on a device for a case; raises LostError if the device can't run anything any more."""


Solve = Callable[[CasePlan, Sequence[Buffer]], Mapping[str, Matrix]]
"""Runs the exercise's solution on a device for a case, and returns each matrix after the run."""


PlanInputs = Mapping[str, dict[str, Matrix]]
"""The inputs of each small case, by its name."""


Need = Callable[[CasePlan, Sequence[Buffer]], int]
"""Returns how many instructions all threads of the exercise's solution execute together in a case."""


class LostError(Exception):
    """An earlier case made the device unusable. The text is the note of the cases that didn't run."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of all cases. launch, launch_sizes: of the largest case that ran."""

    findings: tuple[Finding, ...]
    checks: tuple[CaseCheck, ...]
    printed: str
    printed_case: str | None
    launch: Launch | None
    launch_sizes: Mapping[str, int]


def plan_inputs(plan: Plan) -> PlanInputs:
    """The inputs of all small cases, which take longer to make than to judge."""
    return {case.name: make_inputs(case, int(plan.seed, 16)) for case in plan.cases if case.on_cpu and case.launch}


def judge(
    plan: Plan,
    run: RunKernel,
    resources: Sequence[Resources],
    solve: Solve | None = None,
    need: Need | None = None,
    inputs: PlanInputs | None = None,
) -> Judgement:
    """Run and judge every case of the plan.

    resources: of each compilation, by `CasePlan.module`
    solve: for the operation SOLUTION
    need: for the instruction budget of the operation SOLUTION. It runs before the kernel, so never on a device whose
        memory the kernel could search for the results
    inputs: of `plan_inputs`, if they exist
    """
    seed = int(plan.seed, 16)
    by_size = _run_cases(plan, run, resources, solve, need, inputs or {})
    outcomes = {outcome.case.name: outcome for outcome in by_size}
    findings = _with_wrong_value(merge(by_size), by_size, plan, run, seed, solve, need) + wrong_answer(by_size)
    speaking = next((outcome for outcome in by_size if outcome.printed), None)
    largest = next((outcome.case for outcome in reversed(by_size) if outcome.launched), None)
    return Judgement(
        findings=tuple(sorted(findings, key=finding_order)),
        checks=tuple(_check(outcomes[case.name]) for case in plan.cases),
        printed=speaking.printed[:PRINT_LIMIT] if speaking else "",
        printed_case=speaking.case.name if speaking else None,
        launch=largest.launch if largest is not None else None,
        launch_sizes=largest.sizes if largest is not None else {},
    )


def _run_cases(
    plan: Plan,
    run: RunKernel,
    resources: Sequence[Resources],
    solve: Solve | None,
    need: Need | None,
    inputs: PlanInputs,
) -> list[Outcome]:
    """All cases, the smallest first. After an endless case, other cases of its size don't run."""
    outcomes: list[Outcome] = []
    endless_sizes: list[Mapping[str, int]] = []
    for case in sorted(plan.cases, key=lambda case: case.weight):
        # Each case of this size would use its whole budget to show the same loop.
        if case.sizes in endless_sizes:
            outcomes.append(Outcome(case, CaseStatus.NOT_RUN, REPEATED))
            continue
        given = inputs.get(case.name)
        outcome = _judge_case(plan, case, run, resources, solve, need, given, bool(endless_sizes))
        if outcome.endless:
            endless_sizes.append(case.sizes)
        outcomes.append(outcome)
    return outcomes


def full_budget(case: CasePlan, needed: int | None = None) -> Budget:
    """The instructions that a thread may execute before it runs too long.

    That's twenty times the need of a plain kernel for the thread's share, and enough for any prologue. One thread may
    also do the work of all. The budget is bounded, because a launch with few threads would make every case slow.

    needed: by the exercise's solution in all threads; None if it doesn't run
    """
    threads = min((launch.threads * launch.blocks for launch in case.launches), default=1)
    most = 50_000 + 2_000 * case.weight
    share = min(12_000 + 200 * (work(case) // threads), most)
    if needed is None:
        needed = _PLAIN * work(case)
        return Budget(share, min(_alone(needed), most), needed)
    return Budget(share, min(_alone(needed), _MOST_ALONE), needed, "the solution")


def _alone(needed: int) -> int:
    return min(4 * needed, max(2 * needed, _MUCH))


def short_budget(case: CasePlan) -> Budget:
    """Enough for a plain kernel. It applies after a case exceeded its full budget, and keeps a job short."""
    return Budget(1_000 + 30 * case.weight)


def _judge_case(
    plan: Plan,
    case: CasePlan,
    run: RunKernel,
    resources: Sequence[Resources],
    solve: Solve | None,
    need: Need | None,
    inputs: dict[str, Matrix] | None,
    endless: bool,
) -> Outcome:
    if not case.on_cpu:
        return Outcome(case, CaseStatus.NOT_RUN, TOO_LARGE)
    problem = case.problem or launch_finding(case, resources[case.module])
    if case.launch is None or problem is not None:
        return Outcome(case, CaseStatus.FAILED, "can't be launched", (problem,) if problem else ())
    inputs = inputs or make_inputs(case, int(plan.seed, 16))
    budget = short_budget(case) if endless else _full_budget(case, inputs, need)
    try:
        execution = run(case, buffers(case, inputs), Schedule.LOCKSTEP, budget)
    except LostError as lost:
        return Outcome(case, CaseStatus.NOT_RUN, str(lost))
    return _judge_execution(plan, case, inputs, execution, endless, solve)


def _full_budget(case: CasePlan, inputs: dict[str, Matrix], need: Need | None) -> Budget:
    needed = need(case, buffers(case.by_solution(), inputs)) if need is not None else None
    return full_budget(case, needed)


def _solved(case: CasePlan, inputs: dict[str, Matrix], solve: Solve | None) -> Mapping[str, Matrix] | None:
    """Each matrix after a run of the solution, which may have other scratch memory."""
    return None if solve is None else solve(case, buffers(case.by_solution(), inputs))


def judge_run(
    plan: Plan, case: CasePlan, inputs: dict[str, Matrix], execution: Execution, solve: Solve | None = None
) -> tuple[Finding, ...]:
    """The findings of one run of one case, including an incorrect result. solve: as for `judge`."""
    outcome = _judge_execution(plan, case, inputs, execution, endless=False, solve=solve)
    return (*outcome.findings, *wrong_answer([outcome]))


def _judge_execution(
    plan: Plan, case: CasePlan, inputs: dict[str, Matrix], execution: Execution, endless: bool, solve: Solve | None
) -> Outcome:
    findings = _with_order(execution) if not execution.others else execution.findings
    found = tuple(_in_case(_with_blocks(finding, case), case) for finding in findings)
    cut = endless and any(finding.kind is Verdict.TIME_LIMIT for finding in found)
    # A plain kernel needs less than the short budget, but a slow one may need more. So exceeding it proves
    # nothing.
    if cut:
        found = tuple(finding for finding in found if finding.kind is not Verdict.TIME_LIMIT)
    changed = tuple(_input_modified(case, inputs, execution))
    found = (*(finding for finding in found if not _follows(finding, changed)), *changed)
    errors = errors_of(found)
    if cut or errors:
        status, note = (CaseStatus.FAILED, _kinds(errors)) if errors else (CaseStatus.NOT_RUN, CUT_SHORT)
        return Outcome(case, status, note, found, printed=execution.printed, launched=True, ran=execution, is_cut=cut)
    solved = _solved(case, inputs, solve)
    runs = [results(case, plan.tile, inputs, ran, solved) for ran in (execution, *execution.others)]
    if (bad := _open_element(runs)) is not None:
        return _by_order(case, bad, found, execution)
    for output in runs[0]:
        wrong = wrong_elements(output.actual, output.expected)
        bad = mismatch(output, wrong)
        if bad is not None:
            break
    else:
        return Outcome(case, CaseStatus.PASSED, "", found, printed=execution.printed, launched=True)
    return Outcome(
        case=case,
        status=CaseStatus.FAILED,
        note=f"{part_of(bad.wrong, bad.elements, 'element')} incorrect",
        findings=found,
        mismatch=bad,
        diagnoses=diagnose(output, wrong),
        printed=execution.printed,
        launched=True,
    )


def _with_order(execution: Execution) -> tuple[Finding, ...]:
    """The findings, with two atomics in place of the unset values that one order of them shows."""
    pair = execution.unordered
    errors = errors_of(execution.findings)
    if pair is None or not errors:
        return execution.findings
    message = f"{pair.message} In one order of threads: {errors[0].message}"
    others = (finding for finding in execution.findings if finding not in errors)
    return (replace(pair, message=message), *others)


def _open_element(runs: Sequence[Sequence[Output]]) -> Mismatch | None:
    """The elements that are correct in one run and incorrect in another; None without any."""
    for outputs in zip(*runs, strict=True) if len(runs) > 1 else ():
        wrong = [wrong_elements(output.actual, output.expected) for output in outputs]
        always = np.logical_and.reduce(wrong)
        for output, mask in zip(outputs, wrong, strict=True):
            if (bad := mismatch(output, mask & ~always)) is not None:
                return bad
    return None


def _by_order(case: CasePlan, bad: Mismatch, findings: tuple[Finding, ...], execution: Execution) -> Outcome:
    """The outcome of a case whose result is correct only in some orders of atomics."""
    share = f"{part_of(bad.wrong, bad.elements, 'element')}"
    pair = execution.unordered
    value = "unwritten" if bad.found == NEVER_WRITTEN else bad.found
    message = f"`{bad.element}` is {bad.right} or {value}, depending on which thread comes first ({size_text(case)})."
    example = pair.example if pair is not None and pair.example is not None else Example()
    finding = Finding(
        Verdict.ORDER_DEPENDENT,
        message if pair is None else f"{message} {pair.message}",
        None if pair is None else pair.line,
        None if pair is None else pair.other_line,
        bad.wrong,
        Example.at(bad.element, example.block, example.threads, case.name),
        facts=Facts() if pair is None else pair.facts,
    )
    return Outcome(
        case,
        CaseStatus.FAILED,
        f"{share} {'depends' if bad.wrong == 1 else 'depend'} on the order of threads",
        (*findings, finding),
        printed=execution.printed,
        launched=True,
    )


def arguments(launched: CasePlan | LaunchPlan) -> list[Argument]:
    """The kernel's arguments; a name means a pointer to that buffer."""
    return [a.map or (a.matrix if a.matrix is not None else a.value) for a in launched.arguments]


def constants(case: CasePlan) -> dict[str, bytes]:
    """The values of the exercise's module variables at the launch, by their names in the source."""
    return {constant.symbol: (constant.value & 0xFFFF_FFFF).to_bytes(4, "little") for constant in case.constants}


def buffers(case: CasePlan, inputs: dict[str, Matrix]) -> list[Buffer]:
    """The matrices in device memory: inputs with values, outputs with the NaN for unwritten elements."""
    made = []
    for matrix in case.matrices:
        given, columns = inputs.get(matrix.name), 0 if matrix.vector else matrix.row_length
        if given is not None:
            values = to_memory(given, matrix.layout, matrix.type)
        else:
            values = np.full(matrix.words, POISON, dtype=np.float32).view(np.uint8)[: matrix.bytes]
        values = values.view(f"f{matrix.type.bytes}" if matrix.type.bytes > 1 else np.uint8)
        made.append(Buffer(matrix.name, values, initialised=given is not None, columns=columns, planes=matrix.planes))
    return made


def _in_case(finding: Finding, case: CasePlan) -> Finding:
    example = replace(finding.example or Example(), case=case.name)
    message = with_launch(finding.message, case, example.launch)
    return replace(finding, message=message, example=example)


def _with_blocks(finding: Finding, case: CasePlan) -> Finding:
    """The finding. If the launch itself is too large, its message gives the blocks that the size needs."""
    example, launch = finding.example or Example(), _launch_of(finding, case)
    # Only a launch with too many blocks runs too long without an example.
    if finding.kind is not Verdict.TIME_LIMIT or launch is None or example != Example(launch=example.launch):
        return finding
    x, y, _ = launch.block
    needed = max((-(-matrix.columns // x) * -(-matrix.rows // y) for matrix in case.matrices), default=1)
    if needed >= launch.blocks:
        return finding
    message = f"The launch has {launch.blocks:,} blocks. {size_text(case)} needs only {needed:,}."
    line = case.launch_lines.get("grid") if example.launch < 2 else None
    return replace(finding, message=message, line=line)


def _launch_of(finding: Finding, case: CasePlan) -> Launch | None:
    """The launch in which a finding was made; None if the case can't be launched."""
    number = finding.example.launch if finding.example is not None else 0
    return case.launches[max(0, number - 1)] if case.launches else None


def _kinds(findings: Iterable[Finding]) -> str:
    names = dict.fromkeys(finding.kind.words for finding in findings)
    return ", ".join(names)


def _input_modified(case: CasePlan, inputs: dict[str, Matrix], execution: Execution) -> Iterable[Finding]:
    for matrix in case.inputs_of_kernel:
        given = to_memory(inputs[matrix.name], matrix.layout, matrix.type)
        stored = execution.values[matrix.name]
        # Bits show a change that values hide: a NaN differs from itself, and -0 equals 0.
        bits = f"u{matrix.type.bytes}"
        differs = given.view(bits) != stored.view(bits)[: matrix.elements]
        if not differs.any():
            continue
        changed = in_rows(differs, matrix)
        before, after = from_memory(given, matrix), from_memory(stored, matrix)
        row, column = divmod(int(np.argmax(changed)), matrix.columns)
        element = matrix.element(row, column)
        yield Finding(
            kind=Verdict.INPUT_MODIFIED,
            message=f"`{element}` changed from {before[row, column]:g} to {after[row, column]:g} ({size_text(case)})."
            f" `{matrix.name}` is an input. Don't write to it.",
            line=next(iter(execution.stored.get(matrix.name, ())), None),
            count=int(changed.sum()),
            example=Example.at(element, case=case.name),
        )


def _follows(finding: Finding, changed: Sequence[Finding]) -> bool:
    """Whether a race only follows from a write to an input that other threads read."""
    # The race on the input needs no barrier. It disappears with the write.
    names = {each.array for each in changed} - {""}
    return finding.kind is Verdict.DATA_RACE and finding.array in names


def _with_wrong_value(
    findings: tuple[Finding, ...],
    by_size: Sequence[Outcome],
    plan: Plan,
    run: RunKernel,
    seed: int,
    solve: Solve | None,
    need: Need | None,
) -> tuple[Finding, ...]:
    """The findings. The first race between warps gets an incorrect value that another order of the warps causes."""
    races = ((o, f) for o in by_size for f in o.findings if _between_warps(f, _launch_of(f, o.case)))
    outcome, race = next(races, (None, None))
    if outcome is None or race is None:
        return findings
    at = [_place(finding) for finding in findings].index(_place(race))
    # A run that stopped early has unwritten elements, which prove nothing about the race.
    if _is_incomplete(outcome.case, outcome.findings):
        return findings
    case = outcome.case
    inputs = make_inputs(case, seed)
    budget = _full_budget(case, inputs, need)
    try:
        execution = run(case, buffers(case, inputs), Schedule.WARP_SERIAL, budget)
    except LostError:
        return findings
    if _is_incomplete(case, execution.findings):
        return findings
    solved = _solved(case, inputs, solve)
    assert outcome.ran is not None, "a case with a race keeps its run"
    serial, usual = (results(case, plan.tile, inputs, ran, solved) for ran in (execution, outcome.ran))
    for output, before in zip(serial, usual, strict=True):
        # A value that is incorrect in both orders has another cause, so it would prove nothing about the race.
        bits = f"u{output.actual.itemsize}"
        changed = output.actual.view(bits) != before.actual.view(bits)
        bad = mismatch(output, wrong_elements(output.actual, output.expected) & changed)
        if bad is not None:
            break
    else:
        return findings
    text = f"If warps run one at a time, {value_text(bad, 'becomes')} ({size_text(case)})."
    message = f"{findings[at].message} {text}"
    return (*findings[:at], replace(findings[at], message=message), *findings[at + 1 :])


def _is_incomplete(case: CasePlan, findings: Iterable[Finding]) -> bool:
    """Whether a run may have stopped early. Of several launches, those after an error don't run."""
    errors = [finding.kind for finding in errors_of(findings)]
    return any(kind in _INCOMPLETE or (case.then and kind is not Verdict.DATA_RACE) for kind in errors)


def _place(finding: Finding) -> tuple[object, ...]:
    """The key by which findings of several cases are merged."""
    return finding.kind, finding.line, finding.other_line, finding.severity


def _between_warps(finding: Finding, launch: Launch | None) -> bool:
    """Whether this is a race of two warps, whose order may change the result."""
    if finding.kind is not Verdict.DATA_RACE or finding.severity is not Severity.ERROR or launch is None:
        return False
    threads = finding.example.threads if finding.example is not None else ()
    x, y, _ = launch.block
    warps = {(i + x * (j + y * k)) // _WARP for i, j, k in threads}
    return len(warps) != 1 or finding.facts.between_blocks


def _check(outcome: Outcome) -> CaseCheck:
    bad = outcome.mismatch
    counts = (0, 0) if bad is None else (bad.wrong, bad.elements)
    return CaseCheck(outcome.case.name, outcome.status, outcome.note, *counts)
