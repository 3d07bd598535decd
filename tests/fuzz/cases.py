"""One mutated text and the way it is tried: what may come out of it, and what is a failure."""

from __future__ import annotations

import contextlib
import json
import logging
import resource
import signal
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from kernels import device
from kernels.compile.diagnostics import Resources
from kernels.judging.plan import Plan, make_plan
from kernels.launch import Launch
from kernels.source.source_file import Source, read_source
from kernels.verdict import Severity, Verdict, decide
from kernels.wire import from_plain, to_plain
from tests.fuzz.seeds import ARCH, CACHE, PTX_TILE, SEED, exercise_of
from worker.steps.check_step import CheckRequest, CheckResponse, check_step
from worker.steps.grading import Job, grade
from worker.steps.modules import Module
from worker.steps.stages import SandboxedStages

WIDTH = 9
BUDGET = 3_000
CPU_SECONDS = 10.0
WALL_SECONDS = 150.0
MEMORY_BYTES = 4 * 2**30
_PROJECT = Path(__file__).resolve().parents[2]
_RESOURCES = Resources(32, 1024, 0, 0, 0, 64, 1)


class Layer(StrEnum):
    """How a text is tried.

    SOURCE: through the source rules and the plan, GRADE: from source to report through both sandboxed processes,
    RUN: PTX on the CPU device, CHECK: PTX through the check step and the judge
    """

    SOURCE = "source"
    GRADE = "grade"
    RUN = "run"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Case:
    """A mutated text and how to try it. entry, block and schedule are for PTX, tile is for sources."""

    layer: Layer
    data: bytes
    exercise: str
    tile: int | None = None
    entry: str = ""
    block: tuple[int, int] = (PTX_TILE, PTX_TILE)
    schedule: str = "lockstep"


@dataclass(frozen=True, slots=True)
class Failure:
    """What must not happen. Equal keys are most likely one mistake."""

    key: str
    detail: str


class HangError(BaseException):
    """The case took too long; no ordinary handler may swallow it."""


class WrongError(AssertionError):
    """The answer is one that must not be given."""


def bound_memory() -> None:
    """Let this process have four gigabytes and no more."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))


def outcome_of(case: Case) -> str | Failure:
    """What became of the case in a word, or how it failed."""
    try:
        with _watched():
            return _LAYERS[case.layer](case)
    except (Exception, HangError) as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        return _failure(error)


@contextlib.contextmanager
def _watched() -> Iterator[None]:
    """Rings after ten seconds of computing, which a busy machine may stretch; by the clock, when both sandboxed
    processes must have come to their limits."""

    def ring(number: int, frame: object) -> None:
        raise HangError("still running at the end of its time")

    watches = ((signal.SIGPROF, signal.ITIMER_PROF, CPU_SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, WALL_SECONDS))
    before = {number: signal.signal(number, ring) for number, _, _ in watches}
    for _, timer, seconds in watches:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, timer, _ in watches:
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def _failure(error: BaseException) -> Failure:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if str(_PROJECT / "kernels") in frame.filename
           or str(_PROJECT / "worker") in frame.filename]  # fmt: skip
    last = own[-1] if own else frames[-1]
    name = Path(last.filename).stem
    kind = type(error).__name__
    # An alarm rings anywhere in what takes so long.
    key = f"{kind}-{name}" if isinstance(error, HangError) else f"{kind}-{name}-{last.name.strip('<>')}"
    if isinstance(error, WrongError):
        key = f"wrong-{str(error).split(':', 1)[0]}"
    return Failure(key, "".join(traceback.format_exception(error)[-12:]))


# -- the layers -------------------------------------------------------------------------------------------------------


def _try_source(case: Case) -> str:
    exercise = exercise_of(case.exercise)
    source = read_source(case.data, exercise)
    if not isinstance(source, Source):
        if not source:
            raise WrongError("refused without a finding")
        if any(finding.kind is not Verdict.REJECTED for finding in source):
            raise WrongError("a source finding that is no rejection")
        json.dumps([to_plain(finding) for finding in source])
        return "rejected"
    if source.plan.asked:
        return "asked"
    plan = make_plan(exercise, source, case.tile, SEED)
    if from_plain(Plan, json.loads(json.dumps(to_plain(plan)))) != plan:
        raise WrongError("a plan that does not survive the wire")
    source.defines(exercise, plan.tile, plan.cases[0].sizes)
    return "taken"


def _try_grade(case: Case) -> str:
    exercise = exercise_of(case.exercise)
    job = Job(case.data, exercise, ARCH, SEED, CACHE / "headers", tile=case.tile)
    log = _Log()
    logging.getLogger("worker").addHandler(log)
    try:
        with SandboxedStages() as stages:
            report = grade(job, stages)
    finally:
        logging.getLogger("worker").removeHandler(log)
    if report.verdict is Verdict.SYSTEM_ERROR:
        said = "\n".join(log.lines)
        # The last line of a traceback says most about where it came from.
        raise WrongError(f"system_error {said.strip().splitlines()[-1][:80] if said else ''}:\n{said}")
    json.dumps(to_plain(report))
    return report.verdict.value


class _Log(logging.Handler):
    """Keeps what the grader says to its operator."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _try_run(case: Case) -> str:
    random = np.random.default_rng(1)
    values = [random.integers(-9, 9, WIDTH * WIDTH).astype(np.float32) for _ in "MN"]
    buffers = [
        device.Buffer("M", values[0], initialised=True, columns=WIDTH),
        device.Buffer("N", values[1], initialised=True, columns=WIDTH),
        device.Buffer("P", np.full(WIDTH * WIDTH, np.nan, np.float32), initialised=False, columns=WIDTH),
    ]
    try:
        program = device.load_program(case.data.decode("utf-8", "replace"), case.entry)
        device.check(program)
        execution = device.run(
            program,
            Launch((2, 2, 1), (*case.block, 1), 4096 if case.tile is None else case.tile),
            ["M", "N", "P", WIDTH],
            buffers,
            device.Options(
                budget=device.Budget(BUDGET), schedule=device.Schedule(case.schedule), warp_races=Severity.ERROR
            ),
        )
    except device.Malformed:
        return "malformed"
    except device.Unsupported:
        return "unsupported"
    json.dumps([to_plain(finding) for finding in execution.findings])
    if any(array.shape != (WIDTH * WIDTH,) for array in execution.values.values()):
        raise WrongError("a buffer of another size than before")
    return decide(execution.findings).value


def _try_check(case: Case) -> str:
    exercise = exercise_of(case.exercise)
    plan = make_plan(exercise, None, PTX_TILE, SEED)
    small = sorted((each for each in plan.cases if each.on_cpu), key=lambda each: each.weight)[:3]
    plan = Plan(**{name: getattr(plan, name) for name in Plan.__slots__} | {"cases": tuple(small)})
    module = Module(case.data.decode("utf-8", "replace"), case.entry, {}, _RESOURCES)
    request = CheckRequest(plan, (module,))
    response = check_step(json.loads(json.dumps(to_plain(request))))
    answer = from_plain(CheckResponse, json.loads(json.dumps(response)))
    verdict = decide(answer.findings)
    if verdict is Verdict.SYSTEM_ERROR:
        raise WrongError(f"system_error in the judge: {answer.findings}")
    return verdict.value


_LAYERS = {Layer.SOURCE: _try_source, Layer.GRADE: _try_grade, Layer.RUN: _try_run, Layer.CHECK: _try_check}
