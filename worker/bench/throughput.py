"""A machine's throughput in a backlog: verdicts per minute, use of GPUs and cores, and the bottleneck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from worker.bench.backlog import Backlog, Step

_FULL = 0.8
"""A resource with at least this share of use is the bottleneck."""

_STEP_NAMES = {"compile": "compiling", "run": "checking", "other": "measuring, and starting processes for it"}


@dataclass(frozen=True, slots=True)
class Lane:
    """The use of one GPU's time, as shares of the whole.

    busy: it ran required kernels: the student's, cuBLAS, and the judge's own
    handling: no required kernel ran in a process that had one to measure
    waiting: all its kernels waited for a warm process
    idle: it had no kernel to measure
    """

    kernels: int
    busy: float
    handling: float
    waiting: float
    idle: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """A backlog in numbers.

    verdicts: number of each; a failed step counts as a system error
    cpu_seconds: by step; "other" is this process and the GPU processes
    cores_busy: the used share of all cores
    latency: a submission's median seconds from start to end
    """

    submissions: int
    seconds: float
    per_minute: float
    verdicts: Mapping[str, int]
    lanes: tuple[Lane, ...]
    cores: int
    cpu_seconds: Mapping[str, float]
    cores_busy: float
    latency: float

    @property
    def busy(self) -> float:
        """The mean share of time in which a GPU ran required kernels."""
        return sum(lane.busy for lane in self.lanes) / len(self.lanes) if self.lanes else 0.0


def throughput(backlog: Backlog) -> Throughput:
    by_step = dict(backlog.by_step)
    by_step["other"] = max(0.0, backlog.cpu_seconds - sum(by_step.values()))
    return Throughput(
        submissions=len(backlog.graded),
        seconds=backlog.seconds,
        per_minute=60 * sum(each.report is not None for each in backlog.graded) / backlog.seconds,
        verdicts=dict(Counter(each.verdict.value for each in backlog.graded)),
        lanes=tuple(_lane(gpu, backlog) for gpu in range(backlog.gpus)),
        cores=backlog.cores,
        cpu_seconds=by_step,
        cores_busy=sum(by_step.values()) / (backlog.cores * backlog.seconds),
        latency=_middle([each.seconds for each in backlog.graded]),
    )


def _lane(gpu: int, backlog: Backlog) -> Lane:
    turns = [step for each in backlog.graded for step in each.steps if step.gpu == gpu]
    whole = backlog.seconds
    busy = sum(turn.result.busy_ms for turn in turns) / 1e3
    measuring = _together((_ready(turn), turn.ended) for turn in turns)
    given = _together((turn.begun, turn.ended) for turn in turns)
    return Lane(
        len(turns),
        busy / whole,
        max(0.0, measuring - busy) / whole,
        (given - measuring) / whole,
        max(0.0, whole - given) / whole,
    )


def _together(times: Iterable[tuple[float, float]]) -> float:
    """The length of all intervals, with overlaps counted once."""
    length, until = 0.0, float("-inf")
    for begun, ended in sorted(times):
        length += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return length


def _ready(turn: Step) -> float:
    """The time when a process was ready. Without one, the step only waited."""
    return turn.ended if turn.ready is None else turn.ready


def _middle(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2] if seconds else 0.0


def binds(found: Throughput) -> str:
    """A sentence about the bottleneck."""
    count = max(len(found.lanes), 1)
    waiting = sum(lane.waiting for lane in found.lanes) / count
    handling = sum(lane.handling for lane in found.lanes) / count
    idle = sum(lane.idle for lane in found.lanes) / count
    step, seconds = max(found.cpu_seconds.items(), key=lambda item: item[1], default=("other", 0.0))
    share = seconds / max(sum(found.cpu_seconds.values()), 1e-9)
    cores = (
        f"The {found.cores} cores were in use for {found.cores_busy:.0%} of the time. Of that, {share:.0%} went into"
        f" {_STEP_NAMES.get(step, step)}."
    )
    nothing = f"The GPU was idle for {idle:.0%} of the time." if found.lanes else "There is no GPU."
    if found.lanes and idle < 1 - _FULL:
        if found.busy >= _FULL:
            had = f"It had a kernel for {1 - idle:.0%} of the time and ran for {found.busy:.0%}."
            return f"Bottleneck: the GPU. {had} {cores}"
        if waiting > handling:
            return f"Bottleneck: starting GPU processes. The GPU waited {waiting:.0%} of the time for one. {cores}"
        return (
            f"Bottleneck: the GPU processes. The GPU ran {found.busy:.0%} of the time, and waited {handling:.0%}"
            f" for a process with a kernel. {cores}"
        )
    if found.cores_busy >= _FULL:
        return f"Bottleneck: the processor. {cores} {nothing}"
    return f"No bottleneck. {cores} {nothing} Single submissions took the rest."
