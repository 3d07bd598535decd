"""The machine for measurements: its GPU, the jobs for it, and the ways to run them."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from bench.gpu.subjects import Subject
from kernels.compile import nvrtc
from kernels.compile.compilation import Compilation
from kernels.exercise import Exercise, find_exercise
from kernels.measurement import Measurement
from kernels.report import Report
from kernels.report.model import Explanation
from kernels.source.names import Evaluated
from kernels.verdict import CaseCheck, CaseStatus, Finding
from worker.bench.backlog import encoded, text_of
from worker.bench.place_process import PlaceProcess, gpu_processes
from worker.contract.measure_work import MeasureRequest, MeasureResponse, Prepare, digest
from worker.contract.messages import CheckWork
from worker.gpu.judge.code import preparation
from worker.gpu.nvml import NoGPU, gpus
from worker.gpu.spares import Runner, Spares
from worker.sandbox.compile_child import CompileRequest, EvaluateRequest
from worker.sandbox.disassembler import Disassembly
from worker.steps.analysis_step import AnalysisRequest, AnalysisResponse
from worker.steps.check_step import CheckRequest, CheckResponse
from worker.steps.explanation import ExplainRequest, explain
from worker.steps.grading import Job, grade
from worker.steps.stages import SandboxedStages

Measure = Callable[[MeasureRequest], MeasureResponse]
T = TypeVar("T")

CPU = "cpu"
"""The CPU device behind the GPU's interface. It is for trying the script; never publish its results."""


class NotRun(RuntimeError):
    """A measurement that this machine can't make. The text names what is missing."""


@dataclass(frozen=True)
class Machine:
    """The devices and settings of measurements.

    gpus: the numbers of the GPUs to use; None uses the CPU device
    ranking: a smaller ranking size, for the CPU device
    """

    gpus: tuple[int | None, ...]
    name: str
    device_class: str
    driver: str
    arch: str
    cache: Path
    ranking: int | None = None

    @cached_property
    def compiler(self) -> str:
        return nvrtc.installed_version()

    @cached_property
    def prepare(self) -> Prepare:
        return preparation(self.arch, self.cache)

    def spares(self, ahead: int = 2, gpu: int = 0) -> Spares:
        """Return runners for one of the GPUs. The caller closes them."""
        return Spares(self.gpus[gpu], self.prepare, ahead)

    @contextlib.contextmanager
    def gpu_places(self) -> Iterator[Sequence[Sequence[PlaceProcess]]]:
        """Return warm workplaces of all slots, by GPU. They close with the block."""
        with contextlib.ExitStack() as stack:
            made = (gpu_processes(gpu, self.device_class, self.arch, self.cache) for gpu in self.gpus)
            found = [stack.enter_context(each) for each in made]
            for place in itertools.chain(*found):
                place.warm()
            yield found

    def exercise(self, name: str) -> Exercise:
        found = find_exercise(name, ())
        if self.ranking is None:
            return found
        return replace(found, ranking=dict.fromkeys(found.ranking, self.ranking))

    def job(self, subject: Subject, *, evidence: bool = False) -> Job:
        return Job(
            subject.source,
            self.exercise(subject.exercise),
            self.arch,
            os.urandom(16).hex(),
            self.cache,
            subject.tile,
            evidence=evidence,
            gpu=self.device_class,
        )

    def work(self, subject: Subject, *, evidence: bool = False) -> CheckWork:
        """Return the work of one submission for a slot."""
        text = text_of(self.exercise(subject.exercise))
        if self.ranking is not None:
            text = replace(text, definition=_ranked_at(text.definition, self.ranking), digest="")
        return CheckWork(
            encoded(subject.source),
            text,
            self.arch,
            self.device_class,
            os.urandom(16).hex(),
            subject.tile,
            evidence=evidence,
        )

    def made_on(self, day: str) -> str:
        """Return a sentence about the machine for a page."""
        return (
            f"Made on {day} with one {self.name}, driver {self.driver}, kernels compiled for {self.arch} by NVRTC"
            f" {self.compiler}, {len(os.sched_getaffinity(0))} processor cores."
        )


def _ranked_at(definition: str, size: int) -> str:
    """Return a definition with all ranking sizes set to one number."""
    head, mark, rest = definition.partition("[ranking]\n")
    sizes, gap, rest = rest.partition("\n\n")
    return head + mark + re.sub(r"= .*", f"= {size}", sizes) + gap + rest


def find_machine(device: str, cache: Path, ranking: int) -> Machine:
    """Return the machine with the GPUs `device`, such as "0" or "0,1". Raise NoGPU.

    ranking: the size for the CPU device, which can't do more
    """
    if device == CPU:
        return Machine((None,), "CPU device", CPU, "none", "sm_90", cache, ranking)
    found, numbers = gpus(), tuple(int(number) for number in device.split(","))
    if max(numbers) >= len(found):
        raise NoGPU(f"no GPU {max(numbers)} here; there are {len(found)}")
    first = found[numbers[0]]
    return Machine(numbers, first.name, first.device_class, first.driver, first.arch, cache)


@dataclass(slots=True)
class Known:
    """The compiled and checked parts of a submission, for reuse."""

    compiled: list[Compilation | tuple[Finding, ...]] = field(default_factory=list)
    evaluated: list[Evaluated | tuple[Finding, ...]] = field(default_factory=list)
    checked: CheckResponse | None = None


class Recording(SandboxedStages):
    """The usual processes. Their answers are kept."""

    def __init__(self, measure: Measure) -> None:
        super().__init__()
        self.known = Known()
        self._measure = measure

    def wait_ready(self) -> None:
        for child in self._children:
            child.wait_ready()

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        self.known.compiled.append(super().compile(request))
        return self.known.compiled[-1]

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        self.known.evaluated.append(super().evaluate(request))
        return self.known.evaluated[-1]

    def check(self, request: CheckRequest) -> CheckResponse:
        self.known.checked = super().check(request)
        return self.known.checked

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        return self._measure(request)


class Unchecked(SandboxedStages):
    """Compiles as usual, but accepts every kernel without the CPU device's check: the GPU judges alone."""

    def __init__(self, measure: Measure) -> None:
        super().__init__(runs=False)
        self._measure = measure

    def check(self, request: CheckRequest) -> CheckResponse:
        checks = tuple(CaseCheck(case.name, CaseStatus.NOT_RUN, "left to the GPU") for case in request.plan.cases)
        return CheckResponse((), checks, ptx_digests=tuple(digest(module.ptx) for module in request.modules))

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        return self._measure(request)


class Again:
    """A submission that was already compiled and checked. Only its measurement is repeated."""

    def __init__(self, known: Known, measure: Measure) -> None:
        self._compiled, self._evaluated = list(known.compiled), list(known.evaluated)
        self._checked = known.checked
        self._measure = measure

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:  # noqa: ARG002 - known
        return self._compiled.pop(0)

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:  # noqa: ARG002 - known
        return self._evaluated.pop(0)

    def check(self, request: CheckRequest) -> CheckResponse:  # noqa: ARG002 - known
        assert self._checked is not None, "only what compiled is graded again"
        return self._checked

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        return self._measure(request)

    def start_disassembly(self, cubin: bytes) -> None:
        """Do nothing: the disassembly isn't needed."""

    def disassembly(self) -> Disassembly:
        return Disassembly(None, "not asked for")

    def start_compiling(self, request: CompileRequest) -> None:
        """Do nothing: the kernel is already compiled."""

    def explain(self, request: ExplainRequest) -> Explanation:
        return explain(request)

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:  # noqa: ARG002 - never answered
        raise RuntimeError("only a whole grade has counts, not a repeated measurement")

    def isolation(self) -> tuple[str, ...]:
        return ()


def measured_by(spares: Spares) -> Measure:
    """Measure each request in the next runner."""

    def measure(request: MeasureRequest) -> MeasureResponse:
        runner = spares.take()
        try:
            return runner.measure(request)
        finally:
            runner.close()

    return measure


@contextlib.contextmanager
def measured_in_one(machine: Machine) -> Iterator[Measure]:
    """Measure all requests in one process."""
    with Runner(machine.gpus[0], machine.prepare) as runner:
        yield lambda request: runner.measure(request, last=False)


def measured_between(spares: Spares, right: MeasureRequest, after: list[float]) -> Measure:
    """Measure each request in a process that has measured a right kernel. If it goes on, it measures this once more.

    after: gets the milliseconds of the right kernel after another one
    """

    def measure(request: MeasureRequest) -> MeasureResponse:
        with spares.take() as runner:
            runner.measure(right, last=False)
            answer = runner.measure(request, last=False)
            if answer.measurement is not None and (again := runner.measure(right).measurement) is not None:
                after.append(again.ms_median)
            return answer

    return measure


def measured_quietly(machine: Machine) -> Measure:
    """Measure each request in its own runner, while no other starts."""

    def measure(request: MeasureRequest) -> MeasureResponse:
        with Runner(machine.gpus[0], machine.prepare) as runner:
            runner.ready()
            return runner.measure(request)

    return measure


def grade_first(machine: Machine, subject: Subject, measure: Measure) -> tuple[Report, Known]:
    """Grade a submission as a whole. Also return its reusable parts."""
    with Recording(measure) as stages:
        return grade(machine.job(subject), stages), stages.known


def grade_again(machine: Machine, subject: Subject, known: Known, measure: Measure) -> Report:
    """Measure the same submission again, in a new process with new inputs."""
    return grade(machine.job(subject), Again(known, measure))


def speed_at(measurement: Measurement, width: int) -> tuple[float, float | None] | None:
    """Return milliseconds and GFLOPS at one size, including the ranking size; None if it was left out."""
    for speed in (measurement, *measurement.curve):
        if set(speed.sizes.values()) == {width}:
            return speed.ms_median, speed.gflops
    return None
