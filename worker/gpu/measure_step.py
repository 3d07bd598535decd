"""The measure step: judges a compiled kernel on a device, and measures it if it is correct."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TypeVar

from kernels.exercise import InputKind, Operation
from kernels.judging.judge import PlanInputs
from kernels.judging.limits import launch_finding
from kernels.judging.operations import work
from kernels.judging.outcomes import size_text
from kernels.judging.plan import CasePlan
from kernels.measurement import Clocks, Measurement, Speed
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict, errors_of, finding_order
from worker.contract.measure_work import NO_MEMORY, DriverOccupancy, MeasureRequest, MeasureResponse, Numbers
from worker.gpu.backend import Backend, DeviceFault, FaultKind, Timed
from worker.gpu.cases import SmallCases
from worker.gpu.judge.findings import LOST, fault_finding
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import Modules, Operands, place_all
from worker.gpu.timing.quiet import NOBODY_ELSE, Quiet
from worker.gpu.timing.roofline import implausible
from worker.gpu.timing.speed import clock_doubt, speed
from worker.gpu.timing.timings import FEWEST_IN_BUDGET, LONG_MS, Bench, Effort, Fresh, Timings, kind_of, repeat, timings

T = TypeVar("T")
Ask = Callable[[], Callable[[], Numbers]]

FAILED_BEFORE = "not run, because another case failed"
NOT_COMPARED = "This exercise does not compare results, so the time does not prove that the work was done."

MOST_REPEATS, MOST_ON_THE_CURVE = 120, 15
"""Limits for the launches at the ranking size and at any other size."""

INTERVAL, TOGETHER_MS = 0.0025, 7.0
"""At the ranking size, the interval that is certain enough, and the least time of all launches.

With these, two gradings rarely differ by more than 0.3 %.
"""

MOST_ASKED, ASKED_SECONDS = 1000, 10.0
"""Limits for the launches at the ranking size if an experiment asks for a number or an interval."""

CURVE_SHARE, LONGEST_SHARE = 0.05, 0.25
"""Shares of the ranking size's time budget: the budget of each other size, and the limit of its launches."""

_NOT_OF_THE_CURVE = frozenset({Verdict.RESOURCE_LIMIT, Verdict.TIME_LIMIT})
"""Findings that only skip a size of the curve. All other findings fail the kernel."""


def measure(
    request: MeasureRequest,
    backend: Backend,
    judge: Judge,
    ask: Ask,
    quiet: Quiet = NOBODY_ELSE,
    clock_mhz: int = 0,
    inputs: PlanInputs | None = None,
) -> MeasureResponse:
    """Carry out a request.

    ask: asks the parent for two new random numbers, and returns a function that reads them
    clock_mhz: of the device after the request before; 0 if there was none
    inputs: of the small cases, if they exist
    """
    job = _Job(request, backend, judge)
    with contextlib.closing(Fresh(ask)) as fresh:
        bench = Bench(backend, judge, fresh, request.launch_seconds, quiet, clock_mhz)
        job.judge_small_cases(inputs)
        job.judge_large_cases(bench)
        if request.ranking is None:
            job.look_at_largest()
        elif job.failed:
            job.leave_out_ranking(request.ranking)
        else:
            job.measure_ranking(request.ranking, bench)
    return job.response()


def _effort(request: MeasureRequest) -> Effort:
    """The limits at the size that is ranked."""
    repeats = request.repeats
    if repeats is None:
        return Effort(request.budget_seconds, MOST_REPEATS, together_ms=TOGETHER_MS, interval=INTERVAL)
    if repeats.number:
        number = min(repeats.number, MOST_ASKED)
        return Effort(ASKED_SECONDS, number, fewest=number)
    return Effort(ASKED_SECONDS, MOST_ASKED, interval=repeats.interval)


class _Job:
    def __init__(self, request: MeasureRequest, backend: Backend, judge: Judge) -> None:
        self._request = request
        self._backend = backend
        self._busy_before = backend.busy_ms()
        self._judge = judge
        self._modules = Modules(backend, request.modules)
        self._solution = Modules(backend, request.solution)
        self._findings: list[Finding] = []
        self._checks: dict[str, CaseCheck] = {}
        self._ranking: Speed | None = None
        self._speeds: list[tuple[int, Speed]] = []
        self._left_out: list[str] = []
        self._remarks: list[str] = []
        self._occupancy: DriverOccupancy | None = None
        self._lost = False

    @property
    def failed(self) -> bool:
        return bool(errors_of(self._findings))

    # -- what is only judged -------------------------------------------------------------------------------------------

    def judge_small_cases(self, inputs: PlanInputs | None) -> None:
        small = SmallCases(self._backend, self._judge, self._modules, self._solution, self._request.launch_seconds)
        found = small.judged(self._request.plan, self._request.modules, inputs)
        self._lost = small.lost
        self._findings += found.findings
        self._checks = {check.case: check for check in found.checks}

    def judge_large_cases(self, bench: Bench) -> None:
        """Judge cases that are too large for the CPU device, on inputs made here, except the ranking size."""
        for case in self._request.plan.cases:
            if case.on_cpu or case == self._request.ranking or case.module >= len(self._request.modules):
                continue
            if self.failed:
                self._check(case, CaseStatus.NOT_RUN, LOST if self._lost else FAILED_BEFORE)
                continue
            found = self._judged(case, bench)
            if isinstance(found, Finding):
                self._fail(case, found)
            elif found is None:
                self._check(case, CaseStatus.NOT_RUN, NO_MEMORY)
            else:
                self._check(case, CaseStatus.PASSED)

    def _judged(self, case: CasePlan, bench: Bench) -> Timed | Finding | None:
        """Run one launch. Returns a finding if it fails, or None if the device has too little memory."""
        kind = kind_of(case, 0) if case.inputs is InputKind.REAL else case.inputs
        return self._on_device(case, lambda operands: repeat(bench, operands, kind))

    def look_at_largest(self) -> None:
        """Note the occupancy of the largest case that ran, if nothing is measured."""
        ran = [
            case
            for case in self._request.plan.cases
            if case.on_cpu and case.launch is not None and self._launch_problem(case) is None
        ]
        if ran and not self._lost:
            # a refused module was already reported
            with contextlib.suppress(DeviceFault):
                self._look_at_occupancy(max(ran, key=lambda case: case.weight))

    def leave_out_ranking(self, case: CasePlan) -> None:
        """Mark the ranking size as not run, because the kernel is incorrect."""
        known = self._checks.get(case.name)
        if known is None or known.status is CaseStatus.NOT_RUN:
            self._check(case, CaseStatus.NOT_RUN, LOST if self._lost else FAILED_BEFORE)

    # -- what is measured ----------------------------------------------------------------------------------------------

    def measure_ranking(self, case: CasePlan, bench: Bench) -> None:
        found = self._timed(case, bench, _effort(self._request), ranking=True)
        if isinstance(found, Finding):
            self._fail(case, found)
        elif found is None:
            self._check(case, CaseStatus.NOT_RUN, NO_MEMORY)
        else:
            self._check(case, CaseStatus.PASSED)
            self._ranking = self._keep(found, self._backend.clocks())
            self._doubt(clock_doubt(found))
            self._doubt(NOT_COMPARED if case.operation is Operation.ANALYSIS else "")
            self._measure_curve([other for other in self._request.curve if other.sizes != case.sizes], bench)

    def _measure_curve(self, cases: Sequence[CasePlan], bench: Bench) -> None:
        """Measure the curve, short sizes first, so that other processes can finish starting meanwhile."""
        long = any(self._predicted_ms(case) > LONG_MS for case in cases)
        with bench.quiet.soon() if long else contextlib.nullcontext():
            for case in cases:
                self._measure_at(case, bench)

    def _measure_at(self, case: CasePlan, bench: Bench) -> None:
        """Measure one size of the curve. Skips it if it can't be measured or takes too long."""
        longest = LONGEST_SHARE * self._request.budget_seconds
        needed = FEWEST_IN_BUDGET * self._predicted_ms(case) / 1000
        if self._lost or self.failed:
            self._leave_out(case, LOST if self._lost else FAILED_BEFORE)
            return
        if needed > longest:
            times = f"{FEWEST_IN_BUDGET} launches would take about {needed:.2g} s"
            self._leave_out(case, f"{times}, more than the limit of {longest:.2g} s")
            return
        effort = Effort(CURVE_SHARE * self._request.budget_seconds, MOST_ON_THE_CURVE)
        found = self._timed(case, bench, effort, ranking=False)
        if isinstance(found, Timings):
            self._keep(found, Clocks())
        elif found is None:
            self._leave_out(case, NO_MEMORY)
        elif found.kind in _NOT_OF_THE_CURVE:
            self._leave_out(case, found.message)
        else:
            self._fail(case, found)

    def _timed(self, case: CasePlan, bench: Bench, effort: Effort, *, ranking: bool) -> Timings | Finding | None:
        """Time the repeats of one size. Returns a finding if it fails, or None if the device has too little memory."""

        def run(operands: Operands) -> Timings | Finding:
            if ranking:
                self._look_at_occupancy(case)
            return timings(bench, operands, effort, first=ranking)

        return self._on_device(case, run)

    def _on_device(self, case: CasePlan, run: Callable[[Operands], T | Finding]) -> T | Finding | None:
        """Run a case. Returns a finding if it fails, or None if the device has too little memory."""
        problem = self._launch_problem(case)
        if problem is not None:
            return problem
        try:
            operands = self._placed(case)
            return run(operands) if operands is not None else None
        except DeviceFault as fault:
            # After any other fault, CUDA refuses every further call of this process.
            self._lost = fault.lost
            return fault_finding(fault, case, self._request.launch_seconds)

    def _placed(self, case: CasePlan) -> Operands | None:
        self._modules[case.module]  # a refused module is a finding, but too little memory isn't
        try:
            return place_all(self._backend, self._modules, self._solution, case)
        except DeviceFault as fault:
            if fault.kind is not FaultKind.RESOURCES:
                raise
            return None

    def _launch_problem(self, case: CasePlan) -> Finding | None:
        resources = self._request.modules[case.module].resources
        return case.problem or (launch_finding(case, resources) if resources is not None else None)

    def _look_at_occupancy(self, case: CasePlan) -> None:
        kernel, launch = self._modules[case.module].kernel, case.launch
        assert launch is not None, "only a case that can be launched is looked at"
        used = self._backend.used(kernel)
        blocks = self._backend.blocks_per_multiprocessor(kernel, launch.threads, launch.shared)
        self._occupancy = DriverOccupancy(
            launch.threads, launch.shared, blocks, used.registers, used.shared_bytes, used.local_bytes
        )

    def _predicted_ms(self, case: CasePlan) -> float:
        """The expected time of one launch, from the nearest measured size."""
        needed = work(case)
        done, nearest = min(self._speeds, key=lambda speed: abs(speed[0] - needed))
        return nearest.ms_median * needed / done

    # -- what comes of it ----------------------------------------------------------------------------------------------

    def _keep(self, found: Timings, clocks: Clocks) -> Speed:
        """Keep the speed at one size."""
        measured = speed(found, clocks)
        self._speeds.append((work(found.case), measured))
        self._doubt(implausible(found.case, measured.ms_median, self._backend.environment))
        return measured

    def _doubt(self, doubt: str) -> None:
        """Add a remark, which keeps the result off leaderboards, unless it is empty."""
        if doubt:
            self._remarks.append(doubt)

    def _fail(self, case: CasePlan, finding: Finding) -> None:
        self._findings.append(finding)
        self._check(case, CaseStatus.FAILED, finding.kind.words)

    def _check(self, case: CasePlan, status: CaseStatus, note: str = "") -> None:
        self._checks[case.name] = CaseCheck(case.name, status, note)

    def _leave_out(self, case: CasePlan, reason: str) -> None:
        self._left_out.append(f"{size_text(case)}: {reason}")

    def response(self) -> MeasureResponse:
        return MeasureResponse(
            findings=tuple(sorted(self._findings, key=finding_order)),
            checks=tuple(self._checks.values()),
            measurement=self._measurement(),
            occupancy=self._occupancy,
            ptx_digests=tuple(module.ptx_digest for module in self._request.modules),
            lost=self._lost,
            busy_ms=self._busy_ms(),
            environment=self._backend.environment,
        )

    def _busy_ms(self) -> float:
        return self._backend.busy_ms() - self._busy_before

    def _measurement(self) -> Measurement | None:
        ranking = self._request.ranking
        if self._ranking is None or ranking is None or self.failed:
            return None
        curve = [each for _, each in sorted(self._speeds, key=lambda speed: speed[0])]
        return Measurement(
            **{field.name: getattr(self._ranking, field.name) for field in fields(Speed)},
            metric=self._request.metric,
            environment=self._backend.environment,
            curve=tuple(curve),
            left_out=tuple(self._left_out),
            # A doubtful time is shown, but it must not take a rank from anyone.
            ranked=not self._remarks,
            remarks=tuple(self._remarks),
            busy_ms=self._busy_ms(),
            ptx_digest=self._request.modules[ranking.module].ptx_digest,
            launch=ranking.launch,
        )
