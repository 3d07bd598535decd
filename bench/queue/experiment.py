"""Whether a large experiment makes submissions wait: single submissions with and without one, by turns."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from bench.queue.canned import SECONDS
from bench.queue.ground import CANNED, Ground
from bench.table import table
from kernels.experiment.definition import read_definition
from kernels.experiment.templates import FOLDER
from server.courses.models import Assignment
from server.experiments.models import Experiment
from server.experiments.plans import checked_plan
from server.experiments.service import NewExperiment, start, stop
from server.grading.models import Job, JobState, Result
from server.submissions.models import Mode, Submission
from server.submissions.service import SubmissionInput, accept
from server.submissions.source import read_source

SUBMISSIONS = 24
ROUNDS = 4
SLOTS = 2
STEP_SECONDS = 1.0
AT_MOST = 1.2

_BETWEEN = 1.0
_DRAWS = 10_000
_EXPERIMENT = """\
[experiment]
name = "Large"
exercise = "tiled"
kernels = ["tiled.cu"]

[axes]
Width = "1:9000"
"""


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    number, rounds = (4, 2) if quick else (SUBMISSIONS, ROUNDS)
    waits: dict[str, list[float]] = {"without": [], "with": []}
    with Ground(folder) as ground:
        ground.serve("dispatcher", "recorder")
        options = ("--slots", str(SLOTS), "--workplace", CANNED, "--cache", str(folder / "cache"))
        ground.work(*options, slots=SLOTS, **{SECONDS: str(STEP_SECONDS)})
        _waits(ground, 2)  # the first ones find cold processes
        done = 0
        for turn in range(rounds):
            # Every second turn begins with the other, so a slower hour slows both.
            for name in ("without", "with") if turn % 2 == 0 else ("with", "without"):
                _say(f"{number // rounds} submissions {name} an experiment")
                experiment = _begin(ground) if name == "with" else 0
                waits[name] += _waits(ground, number // rounds)
                done += _end(ground, experiment) if experiment else 0
    low, high = _interval(waits["with"], waits["without"])
    medians = {name: statistics.median(found) for name, found in waits.items()}
    figures = {
        "submissions": len(waits["with"]), "slots": SLOTS, "step_seconds": STEP_SECONDS, "points": done,
        "medians": medians, "longest": {name: max(found) for name, found in waits.items()},
        "ratio": medians["with"] / medians["without"], "interval": [low, high],
    }  # fmt: skip
    return figures, _text(figures)


def _say(text: str) -> None:
    print(f"experiment: {text}", file=sys.stderr, flush=True)


def _begin(ground: Ground) -> int:
    """Start an experiment that doesn't end by itself, and wait until it uses its slots."""
    now, text = datetime.now(UTC), (FOLDER / "tiled.cu").read_text("utf-8")
    definition = read_definition(_EXPERIMENT)
    with ground.sessions.begin() as session:
        assignment = session.get_one(Assignment, next(iter(ground.assignments.values())))
        exercise, course = assignment.exercise, assignment.course_id
    plan = checked_plan(exercise, definition, {"tiled.cu": text}, student=False)
    new = NewExperiment(
        course, ground.people[0], exercise.id, definition, {"tiled.cu": text}, len(plan.points), "sm_90"
    )
    with ground.sessions.begin() as session:
        experiment = start(session, new, now).id
    ground.wait_for(lambda: _ended(ground, experiment) > SLOTS, "the first points")
    return experiment


def _end(ground: Ground, experiment: int) -> int:
    """Cancel it, wait until no point runs, and return how many points ended."""
    with ground.sessions.begin() as session:
        found = session.get_one(Experiment, experiment)
        stop(session, found, None, datetime.now(UTC))
        ended = found.ended
    if ended == found.points:
        raise RuntimeError("the experiment ended before the submissions; make it larger")
    time.sleep(2 * STEP_SECONDS)
    return ended


def _ended(ground: Ground, experiment: int) -> int:
    with ground.sessions.begin() as session:
        query = select(func.count()).where(Job.experiment_id == experiment, Job.state == JobState.DONE)
        return session.scalar(query) or 0


def _waits(ground: Ground, number: int) -> list[float]:
    """Return the seconds from each submission to its verdict, one after the other."""
    dice, found = random.Random(1), []
    for _ in range(number):
        time.sleep(dice.uniform(0, _BETWEEN))  # at any moment of a point's time
        source = read_source(f"// {time.monotonic_ns()}\n".encode())
        asked = SubmissionInput(ground.people[0], next(iter(ground.assignments.values())), source, Mode.CHECK)
        submission = accept(ground.sessions, asked).submission.id
        found.append(_seconds(ground, submission))
    return found


def _seconds(ground: Ground, submission: int) -> float:
    """Wait for a submission's verdict, and return the seconds until then."""
    ground.wait_for(lambda: _seconds_so_far(ground, submission), "a verdict")
    return _seconds_so_far(ground, submission)


def _seconds_so_far(ground: Ground, submission: int) -> float:
    query = (
        select(Submission.created_at, Result.recorded_at)
        .join(Job, Job.submission_id == Submission.id)
        .join(Result, Result.job_id == Job.id)
        .where(Submission.id == submission)
    )
    with ground.sessions.begin() as session:
        row = session.execute(query).one_or_none()
        return 0.0 if row is None else (row[1] - row[0]).total_seconds()


def _interval(beside: Sequence[float], alone: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the ratio of two medians."""
    dice = random.Random(1)
    drawn = sorted(
        statistics.median(dice.choices(beside, k=len(beside))) / statistics.median(dice.choices(alone, k=len(alone)))
        for _ in range(_DRAWS)
    )
    return drawn[_DRAWS // 40], drawn[-_DRAWS // 40]


def _text(figures: dict[str, Any]) -> str:
    medians, longest = figures["medians"], figures["longest"]
    rows = [(f"{name} an experiment", f"{medians[name]:.2f}", f"{longest[name]:.2f}") for name in ("without", "with")]
    low, high = figures["interval"]
    return (
        f"{figures['slots']} slots, steps of {figures['step_seconds']} s; {figures['submissions']} submissions each, "
        f"by turns. {figures['points']} points ended meanwhile.\n\n"
        f"{table(('a submission', 'median s', 'longest s'), rows)}\n\n"
        f"Ratio {figures['ratio']:.2f}, 95 % interval {low:.2f} to {high:.2f}. Goal: at most {AT_MOST:g}."
    )
