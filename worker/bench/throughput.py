"""What a backlog says about a machine: verdicts a minute, what its GPUs and cores did, and what held it up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worker.bench.backlog import Backlog, Step

_FULL = 0.8
"""The share of a resource from which on it is what holds the rest up."""

_STEP_NAMES = {"compile": "compiling", "run": "checking", "other": "measuring, and starting processes for it"}


@dataclass(frozen=True, slots=True)
class Lane:
    """What one GPU's time went to, as shares of the whole.

    busy: it ran kernels that were required: the student's, cuBLAS, and the judge's own
    handling: a process had a kernel, and the GPU waited for that process, also while it waited until no other process
        of its worker was starting there
    waiting: no process was warm yet
    idle: there was no kernel to measure
    """

    kernels: int
    busy: float
    handling: float
    waiting: float
    idle: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """A backlog in numbers.

    verdicts: how many of each; a step that failed ends in a system error
    cpu_seconds: by step; "other" is this process and those that drove GPUs
    cores_busy: the share of all cores that was used
    latency: seconds from its begin to its end, of the submission in the middle
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
    """Add it all up."""
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
    busy = sum(turn.result.busy_ms for turn in turns) / 1e3
    waiting = sum(_ready(turn) - turn.begun for turn in turns)
    measuring = sum(turn.ended - _ready(turn) for turn in turns)
    whole = backlog.seconds
    return Lane(
        len(turns),
        busy / whole,
        max(0.0, measuring - busy) / whole,
        waiting / whole,
        max(0.0, whole - waiting - measuring) / whole,
    )


def _ready(turn: Step) -> float:
    """When a process was ready for it; a turn that none came for only waited."""
    return turn.ended if turn.ready is None else turn.ready


def _middle(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2] if seconds else 0.0


def binds(found: Throughput) -> str:
    """One sentence: what would have to be faster for the whole to be faster."""
    count = max(len(found.lanes), 1)
    waiting = sum(lane.waiting for lane in found.lanes) / count
    handling = sum(lane.handling for lane in found.lanes) / count
    idle = sum(lane.idle for lane in found.lanes) / count
    step, seconds = max(found.cpu_seconds.items(), key=lambda item: item[1], default=("other", 0.0))
    share = seconds / max(sum(found.cpu_seconds.values()), 1e-9)
    cores = (
        f"the {found.cores} cores were in use for {found.cores_busy:.0%} of the time, {share:.0%} of that"
        f" for {_STEP_NAMES.get(step, step)}"
    )
    nothing = f"the GPU had nothing to do for {idle:.0%} of the time" if found.lanes else "there is no GPU"
    if found.lanes and idle < 1 - _FULL:
        if found.busy >= _FULL:
            had = f"for {1 - idle:.0%} of the time it had a kernel, and it ran for {found.busy:.0%}"
            return f"The GPU binds: {had}; {cores}."
        if waiting > handling:
            return f"Starting processes for the GPU binds: for {waiting:.0%} of the time it waited for one; {cores}."
        return (
            f"What handles kernels binds: the GPU ran for {found.busy:.0%} of the time, and for {handling:.0%} it"
            f" waited for a process that had one, which waits in turn while others start on the device; {cores}."
        )
    if found.cores_busy >= _FULL:
        return f"The processor binds: {cores}; {nothing}."
    return f"Neither is full: {cores}, and {nothing}; single submissions took the rest."
