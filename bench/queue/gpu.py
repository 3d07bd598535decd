"""The same backlog through the whole queue and through the bare worker, on one machine, in one run.

One machine with a GPU runs everything: SQLite, its own Redis, dispatcher, recorder, and a worker with slots. The bare
worker is worker.bench.backlog: the workplaces of the same slots, without the queue. Both alternate, so that neither has
the warmer GPU.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bench.gpu.machine import CPU, Machine, find_machine
from bench.gpu.subjects import Subject, backlog
from bench.queue.ground import Ground, Terms
from bench.queue.worker import STAND_IN
from bench.table import table
from server.grading.models import Job, Step
from server.submissions.models import Submission
from server.submissions.service import SubmissionInput, accept
from server.submissions.source import read_source
from worker.bench.backlog import work_off
from worker.bench.throughput import binds, throughput
from worker.contract.fleet import SLOTS_OF_A_GPU
from worker.contract.messages import StepKind
from worker.supervision.cores import cores

AT_LEAST = 0.95
SUBMISSIONS, ROUNDS = 200, 2

_STUDENTS = 50
_RANKING = 32
"""The size for the CPU device, for which one measurement still takes many seconds."""
_CHECK_LIMIT = 500


def run(folder: Path, *, quick: bool = False, stand_in: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text. stand_in: try it with the CPU device instead of the GPU."""
    number, rounds = (4 if stand_in else 24, 1) if quick else (SUBMISSIONS, ROUNDS)
    cache = folder / "cache"
    cache.mkdir()
    machine = find_machine(CPU if stand_in else "0", cache, _RANKING)
    subjects = backlog(number)
    device_class = STAND_IN if stand_in else machine.device_class
    tiles = tuple(dict.fromkeys(subject.tile for subject in subjects))
    terms = Terms(device_class, machine.arch, tiles, _RANKING if stand_in else None)
    bare, queued = [], []
    with Ground(folder, students=_STUDENTS, terms=terms, database="sqlite") as ground:
        ground.serve("dispatcher", "recorder")
        for turn in range(rounds):
            bare.append(_bare(machine, subjects))
            _say(f"round {turn + 1}: bare {bare[-1]['per_minute']:.0f} a minute; {bare[-1]['binds']}")
            queued.append(_queued(ground, subjects, cache, turn, stand_in=stand_in))
            _say(f"round {turn + 1}: through the queue {queued[-1]['per_minute']:.0f} a minute")
    ratio = sum(each["per_minute"] for each in queued) / sum(each["per_minute"] for each in bare)
    figures = {
        "device": machine.name, "cores": cores(), "submissions": number, "bare": bare, "queued": queued,
        "ratio": ratio,
    }  # fmt: skip
    return figures, _text(figures)


def _say(text: str) -> None:
    print(f"gpu: {text}", file=sys.stderr, flush=True)


def _bare(machine: Machine, subjects: Sequence[Subject]) -> dict[str, Any]:
    """Measure the worker alone, with the evidence that the server requests."""
    works = [machine.work(subject, evidence=True) for subject in subjects]
    with machine.gpu_places() as gpus:
        done = work_off(works, machine.cache, gpus)
    found = throughput(done)
    wrong = [
        f"{subject.name}: {each.error or each.verdict}"
        for subject, each in zip(subjects, done.graded, strict=True)
        if each.verdict.value != subject.expected
    ]
    return {
        "per_minute": found.per_minute, "seconds": done.seconds, "gpu_busy": found.busy,
        "cores_busy": found.cores_busy, "binds": binds(found), "unexpected": wrong,
    }  # fmt: skip


def _queued(ground: Ground, subjects: Sequence[Subject], cache: Path, turn: int, *, stand_in: bool) -> dict[str, Any]:
    """Measure database, dispatcher, broker, slots and recorder. The worker is warm, like the bare worker's GPU."""
    slots = max(1, cores() - 1)
    device, more = (["--stand-in"], 1) if stand_in else (["--gpu", "0"], len(SLOTS_OF_A_GPU))
    ground.work("--slots", str(slots), "--cache", str(cache), *device, slots=slots + more)
    before, cpu, began = ground.recorded(), ground.cpu_seconds(), time.monotonic()
    numbers = [_hand_in(ground, subject, place, turn) for place, subject in enumerate(subjects)]
    accepted = time.monotonic() - began
    ground.wait_for_results(before + len(subjects), _CHECK_LIMIT)
    seconds = time.monotonic() - began
    used = {name: round(spent - cpu[name], 2) for name, spent in ground.cpu_seconds().items()}
    ground.stop("worker")
    return {
        "per_minute": 60 * len(subjects) / seconds, "seconds": seconds, "accepted_after": accepted, "slots": slots,
        "cpu_seconds": used, "cores_busy": sum(used.values()) / seconds / cores(),
        **_outcome(ground, subjects, numbers),
    }  # fmt: skip


def _hand_in(ground: Ground, subject: Subject, place: int, turn: int) -> int:
    person = ground.people[place % len(ground.people)]
    source = subject.source + f"// round {turn}\n".encode()
    return accept(
        ground.sessions, SubmissionInput(person, ground.assignments[subject.tile], read_source(source))
    ).submission.id


def _outcome(ground: Ground, subjects: Sequence[Subject], numbers: Sequence[int]) -> dict[str, Any]:
    query = (
        select(Submission.id, Job.verdict)
        .join(Job, Job.submission_id == Submission.id)
        .where(Submission.id.in_(numbers))
    )
    with ground.sessions.begin() as session:
        verdicts = dict(session.execute(query).all())
        steps = session.execute(
            select(Step.kind, Step.started_at, Step.ended_at, Step.seconds, Step.attempt)
            .join(Job, Job.id == Step.job_id)
            .where(Job.submission_id.in_(numbers))
        ).all()
    wrong = [
        f"{subject.name}: {verdicts[number]}, not {subject.expected}"
        for subject, number in zip(subjects, numbers, strict=True)
        if str(verdicts[number]) != subject.expected
    ]
    by_kind = {
        str(kind): sum(seconds or 0.0 for found, _, _, seconds, _ in steps if found is kind) for kind in StepKind
    }
    ends = sorted(ended for kind, _, ended, _, _ in steps if kind is StepKind.MEASURE and ended is not None)
    span = ends[-1] - ends[0] if ends else timedelta()
    return {
        "unexpected": wrong, "step_seconds": by_kind, "attempts": sum(attempt for *_, attempt in steps),
        "measured": len(ends), "measured_over": span.total_seconds(),
        "verdicts": Counter(str(verdict) for verdict in verdicts.values()),
    }  # fmt: skip


def _text(figures: dict[str, Any]) -> str:
    rows = [
        (
            f"round {turn + 1}", f"{bare['per_minute']:.0f}", f"{queued['per_minute']:.0f}",
            f"{queued['per_minute'] / bare['per_minute']:.2f}", f"{bare['cores_busy']:.0%}",
            f"{queued['cores_busy']:.0%}",
        )
        for turn, (bare, queued) in enumerate(zip(figures["bare"], figures["queued"], strict=True))
    ]  # fmt: skip
    head = ("verdicts a minute", "bare", "queue", "ratio", "cores busy, bare", "cores busy, queue")
    wrong = [text for each in (*figures["bare"], *figures["queued"]) for text in each["unexpected"]]
    spent = {
        name: sum(each["cpu_seconds"].get(name, 0.0) for each in figures["queued"]) / len(figures["queued"])
        for name in figures["queued"][0]["cpu_seconds"]
    }
    return (
        f"{figures['submissions']} submissions, {figures['device']}, {figures['cores']} cores.\n\n"
        f"{table(head, rows)}\n\n"
        f"Through the queue: {figures['ratio']:.2f} times the bare worker. Goal: at least {AT_LEAST}.\n"
        f"Processor seconds by part: {json.dumps({name: round(each, 1) for name, each in spent.items()})}\n"
        f"{'Not as expected: ' + '; '.join(wrong[:10]) if wrong else 'Every verdict is the expected one.'}"
    )
