"""Whether one student's burst makes others wait: 500 submissions from one, one each from 50 others meanwhile."""

from __future__ import annotations

import random
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bench.queue.canned import SECONDS
from bench.queue.ground import CANNED, Ground
from bench.table import table
from server.grading.models import Job, Result
from server.submissions.models import Mode, Submission
from server.submissions.service import SubmissionInput, accept
from server.submissions.source import read_source

BURST = 500
OTHERS = 50
SLOTS = 2
STEP_SECONDS = 0.25
AT_MOST = 2.0

_HEAD_START = 4.0
_BETWEEN = 12.0
_SPREAD_SECONDS = 30.0
"""The second fifty arrive over this time, and keep the slots busy for a fifth of it."""

Waits = dict[str, list[float]]


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    burst, others, spread = (120, 12, 10.0) if quick else (BURST, OTHERS, _SPREAD_SECONDS)
    found: dict[str, Waits] = {}
    with Ground(folder, students=1 + 2 * others) as ground:
        ground.serve("dispatcher", "recorder")
        cache = str(folder / "cache")
        options = ("--slots", str(SLOTS), "--workplace", CANNED, "--cache", cache)
        ground.work(*options, slots=SLOTS, **{SECONDS: str(STEP_SECONDS)})
        for name, number in (("without", 0), ("with", burst)):
            _say(f"{others} at once, then {others} over {spread:.0f} s, {name} a burst of {burst}")
            found[name] = _waits(ground, number, others, spread)
    figures = {
        "burst": burst, "others": others, "slots": SLOTS, "step_seconds": STEP_SECONDS, "spread_seconds": spread,
        "waits": {
            kind: {
                "without": statistics.median(found["without"][kind]),
                "with": statistics.median(found["with"][kind]),
                "ratio": statistics.median(found["with"][kind]) / statistics.median(found["without"][kind]),
                "longest": max(found["with"][kind]),
            }
            for kind in ("at once", "spread")
        },
        "burst_median": statistics.median(found["with"]["burst"]),
    }  # fmt: skip
    return figures, _text(figures)


def _say(text: str) -> None:
    print(f"fairness: {text}", file=sys.stderr, flush=True)


def _waits(ground: Ground, burst: int, others: int, spread: float) -> Waits:
    """Return the seconds from submission to verdict, by group of students."""
    before = ground.recorded()
    greedy, first, second = ground.people[0], ground.people[1 : 1 + others], ground.people[1 + others :]
    burst_ids: list[int] = []
    thread = threading.Thread(target=lambda: burst_ids.extend(_hand_in(ground, greedy) for _ in range(burst)))
    thread.start()
    time.sleep(_HEAD_START)
    at_once = [_hand_in(ground, person) for person in first]
    time.sleep(_BETWEEN)
    dice, came = random.Random(1), []
    begun = time.monotonic()
    for moment, person in zip(sorted(dice.uniform(0, spread) for _ in second), second, strict=True):
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        came.append(_hand_in(ground, person))
    thread.join()
    total = before + len(burst_ids) + 2 * others
    if burst and ground.recorded() >= total - SLOTS:
        raise RuntimeError("the burst ended before the others; make it larger")
    ground.wait_for_results(total)
    return {
        "burst": _seconds(ground, burst_ids),
        "at once": _seconds(ground, at_once),
        "spread": _seconds(ground, came),
    }


def _hand_in(ground: Ground, person: int) -> int:
    """Submit one kernel that is accepted now; return its number. No two of a person are alike."""
    source = f"// {person} {time.monotonic_ns()}\n".encode()
    handed_in = SubmissionInput(person, next(iter(ground.assignments.values())), read_source(source), Mode.CHECK)
    return accept(ground.sessions, handed_in).submission.id


def _seconds(ground: Ground, submissions: Sequence[int]) -> list[float]:
    query = (
        select(Submission.created_at, Result.recorded_at)
        .join(Job, Job.submission_id == Submission.id)
        .join(Result, Result.job_id == Job.id)
        .where(Submission.id.in_(submissions))
    )
    with ground.sessions.begin() as session:
        return [(recorded - created).total_seconds() for created, recorded in session.execute(query)]


def _text(figures: dict[str, Any]) -> str:
    others = figures["others"]
    names = {"at once": f"{others} at the same moment", "spread": f"{others} over {figures['spread_seconds']:.0f} s"}
    rows = [
        (
            names[kind], f"{each['without']:.2f}", f"{each['with']:.2f}", f"{each['ratio']:.2f}x",
            f"{each['longest']:.2f}",
        )
        for kind, each in figures["waits"].items()
    ]  # fmt: skip
    head = ("others, one each", "alone: median s", "in the burst: median s", "ratio", "longest s")
    return (
        f"{figures['slots']} slots, steps of {figures['step_seconds']} s; from submission to verdict.\n\n"
        f"{table(head, rows)}\n\n"
        f"The student with {figures['burst']} waits {figures['burst_median']:.1f} s (median). "
        f"Goal: a ratio of at most {AT_MOST:g}."
    )
