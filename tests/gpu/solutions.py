"""Grades the exercises of the operation `solution` and of other types than float, and prints what it finds.

`python -m tests.gpu.solutions [EXERCISE ...]`: each solution with its counts, its speed and the interval of that; each
incorrect kernel with its verdict and line, and with the verdict of the GPU alone. A GPU alone finds neither races nor
reads of memory without values. Exit code 1 if a solution isn't accepted and measured, or an incorrect kernel gets
another verdict or line than it must. `--cpu` has the CPU device in the GPU's place, and `--size N` sets small sizes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.compile.compilation import DEFAULT_ARCH, Compilation
from kernels.exercise import Exercise, Operation, list_exercises
from kernels.exercise.values import ElementType
from kernels.exercise.wrong_kernels import WrongKernel, wrong_kernels
from kernels.rendering.measured_numbers import interval_of, ranked_value, value_text
from kernels.report import Report
from kernels.verdict import Severity, Verdict, decide
from worker.gpu.nvml import GpuFacts, NoGPU, gpus
from worker.steps.compile_requests import compile_request
from worker.steps.cpu_check import Planned, plan_for
from worker.steps.gpu_measurement import Made, answer_of, request
from worker.steps.grading import Job, grade
from worker.steps.solution import solution_for, with_solutions
from worker.steps.stages import Clock, SandboxedStages

SEED = "5eed" * 8
COUNTERS = (
    "global_load_requests", "global_load_sectors", "global_store_requests", "shared_load_requests",
    "shared_load_conflicts", "divergent_branches",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Machine:
    """Where kernels are graded. gpu: None for the CPU device in its place."""

    gpu: GpuFacts | None
    cache: Path

    @property
    def arch(self) -> str:
        return self.gpu.arch if self.gpu is not None else DEFAULT_ARCH

    def stages(self) -> SandboxedStages:
        """The processes for one kernel."""
        stages = SandboxedStages()
        stages.open_gpu(self.gpu.index if self.gpu is not None else None, self.arch, self.cache)
        return stages

    def job(self, exercise: Exercise, file: Path, tile: int | None = None) -> Job:
        kind = self.gpu.device_class if self.gpu is not None else "cpu"
        source = file.read_bytes()
        return Job(source, exercise, self.arch, SEED, self.cache, tile, evidence=True, gpu=kind)


def graded_here(exercise: Exercise, text: str, folder: Path) -> Report:
    """The report on a text, by this machine's first GPU."""
    kernel = folder / "kernel.cu"
    kernel.write_text(text, "utf-8")
    machine = Machine(gpus()[0], folder)
    with machine.stages() as stages:
        return grade(machine.job(exercise, kernel), stages)


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade all, and print one line for each kernel."""
    asked = _asked(arguments)
    try:
        gpu = None if asked.cpu else gpus()[0]
    except NoGPU as reason:
        print(f"not run: {reason}")
        return 0
    chosen = [each for each in list_exercises() if is_special(each)]
    chosen = [_sized(each, asked.size) for each in chosen if each.name in asked.exercises or not asked.exercises]
    began, problems = time.monotonic(), 0
    print(f"on {gpu.name if gpu is not None else 'the CPU device'}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(gpu, Path(folder))
        for exercise in chosen:
            for problem, line in _graded(machine, exercise):
                problems += problem
                print(f"{'DIFFERS ' if problem else ''}{line}", flush=True)
    print(f"{len(chosen)} exercises in {time.monotonic() - began:.0f} s; {problems} kernels differ")
    return int(problems > 0)


def is_special(exercise: Exercise) -> bool:
    """Whether its results are compared with its solution, or not all of its operands are floats."""
    typed = any(operand.type is not ElementType.FLOAT for operand in exercise.operands)
    return typed or exercise.operation is Operation.SOLUTION


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.solutions", description=__doc__)
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE")
    parser.add_argument("--cpu", action="store_true", help="without a GPU")
    parser.add_argument("--size", type=int, default=0, help="for each size of the ranking, instead of its own")
    return parser.parse_args(arguments)


def _sized(exercise: Exercise, size: int) -> Exercise:
    return replace(exercise, ranking=dict.fromkeys(exercise.ranking, size), curve=False) if size else exercise


def _graded(machine: Machine, exercise: Exercise) -> Iterator[tuple[bool, str]]:
    """Whether each kernel differs from what it must be, and its line."""
    for tile in sorted(exercise.tiles, key=lambda tile: tile != exercise.tile):
        with machine.stages() as stages:
            report = grade(machine.job(exercise, exercise.solution, tile), stages)
        differs = report.verdict is not Verdict.ACCEPTED or report.measurement is None
        yield differs, f"{exercise.name} solution, tile {tile}: {_verdict(report)}; {_speed(report)}"
        if tile == exercise.tile:
            yield False, f"{exercise.name} counts: {_counts(report)}"
    for wrong in wrong_kernels(exercise):
        yield _judged_wrong(machine, exercise, wrong)


def _judged_wrong(machine: Machine, exercise: Exercise, wrong: WrongKernel) -> tuple[bool, str]:
    job = machine.job(exercise, wrong.file)
    with machine.stages() as stages:
        report = grade(job, stages)
    with machine.stages() as stages:
        alone = _alone(job, stages)
    shown = wrong.shown_by(report.verdict, report.findings)
    # Only an incorrect result is certain to show on a GPU.
    missed = wrong.verdicts == (Verdict.WRONG_ANSWER,) and alone is not Verdict.WRONG_ANSWER
    return (not shown or missed, f"{exercise.name} {wrong.name}: {_verdict(report)}; the GPU alone: {alone.words}")


def _alone(job: Job, stages: SandboxedStages) -> Verdict:
    """The verdict of the GPU for a kernel that the CPU device doesn't judge."""
    planned = plan_for(job, stages, Clock())
    assert isinstance(planned, Planned), "an incorrect kernel of an exercise can be read"
    made = []
    for case in planned.plan.modules(large=True):
        compiled = stages.compile(compile_request(job, planned.source, replace(planned.plan, cases=(case,))))
        assert isinstance(compiled, Compilation), compiled
        made.append(compiled)
    solution = solution_for(job, planned.plan, stages, large=True)
    plan = with_solutions(planned.plan, solution)
    return decide(answer_of(stages, request(job, planned.source, Made(plan, made, solution))).findings)


def _verdict(report: Report) -> str:
    leading = [each for each in report.findings if each.kind is report.verdict and each.severity is Severity.ERROR]
    line = next((f" at line {each.line}" for each in leading if each.line is not None), "")
    passed = sum(check.status == "passed" for check in report.checks)
    text = f"{report.verdict.words}{line}, {passed} of {len(report.checks)} cases passed"
    return text if report.verdict is not Verdict.SYSTEM_ERROR else f"{text}: {report.message}"


def _speed(report: Report) -> str:
    found = report.measurement
    if found is None:
        return "not measured"
    value, unit = ranked_value(found)
    ends = interval_of(found, found.metric)
    interval = f" ({value_text(ends[0], unit)} to {value_text(ends[1], unit)})" if ends is not None else ""
    remarks = f"; NOT RANKED: {' '.join(found.remarks)}" if found.remarks else ""
    repeats = f"{found.repeats} repeats, {found.ms_median:.4f} ms"
    curve = ", ".join(f"{each.ms_median:.4f}" for each in found.curve)
    return f"{value_text(value, unit)} {unit}{interval}, {repeats}; curve {curve} ms{remarks}"


def _counts(report: Report) -> str:
    totals = report.evidence.totals
    return ", ".join(f"{name} {getattr(totals, name):,}" for name in COUNTERS)


if __name__ == "__main__":
    sys.exit(main())
