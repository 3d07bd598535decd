"""Experiments in a course, and what workers would say of their points."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import select

from kernels.experiment.definition import read_definition
from kernels.experiment.templates import FOLDER
from kernels.occupancy import Occupancy
from kernels.verdict import Verdict
from server.courses.models import Assignment
from server.database.engine import readers
from server.dispatching.dispatch import message_of, take
from server.experiments.models import Experiment, ExperimentPoint, ExperimentState
from server.experiments.plans import checked_plan
from server.experiments.progress import ExperimentRunner
from server.experiments.queries import pack_result
from server.experiments.service import NewExperiment, start
from server.grading.models import Step, StepState
from server.recording.record import record
from tests.kernels.experiment.made import result
from tests.server.course import CPU_QUEUE, NOW, ACourse, check_result, later, measure_result, step_of
from worker.contract.messages import CheckWork

KERNEL = (FOLDER / "tiled.cu").read_text("utf-8")
TILE = """\
[experiment]
name = "Vary the tile"
exercise = "tiled"
kernels = ["tiled.cu"]

[axes]
TILE_WIDTH = [4, 8, 16, 32]
"""


def started(course: ACourse, name: str = "ina", text: str = TILE, now: datetime = NOW, **more: Any) -> str:
    """The ID of a new experiment of that person, with one kernel."""
    person = course.person(name)
    definition = read_definition(text)
    kernels = dict.fromkeys(definition.kernels, KERNEL) or {"tiled.cu": KERNEL}
    with course.sessions.begin() as session:
        exercise = session.get_one(Assignment, course.assignment).exercise
    student, device = "assignment" in more, more.get("device_class", "")
    plan = checked_plan(exercise, definition, kernels, text, student=student, device_class=device)
    given: dict[str, Any] = {
        "course": course.course, "person": person, "exercise": exercise.id, "definition": definition,
        "kernels": kernels, "points": plan.tried, "space": len(plan.points), "arch": "sm_90",
    }  # fmt: skip
    with course.sessions.begin() as session:
        return start(session, NewExperiment(**(given | more)), now).public_id


def runner_of(course: ACourse) -> ExperimentRunner:
    return ExperimentRunner(readers(course.sessions.kw["bind"]), course.sessions)


def experiment_of(course: ACourse, public_id: str) -> Experiment:
    return course.row(select(Experiment).where(Experiment.public_id == public_id))


def points_of(course: ACourse, public_id: str) -> list[ExperimentPoint]:
    with course.sessions.begin() as session:
        query = select(ExperimentPoint).join(Experiment, Experiment.id == ExperimentPoint.experiment_id)
        query = query.where(Experiment.public_id == public_id).order_by(ExperimentPoint.number)
        return list(session.scalars(query))


def sent(course: ACourse, queue: str = CPU_QUEUE, slots: int = 9, now: datetime = NOW) -> list[int]:
    """The jobs of the steps that a dispatcher sends now."""
    with course.sessions.begin() as session:
        return [step.job_id for step in take(session, queue, slots=slots, cap=100, now=now)]


def work_of(course: ACourse, job: int) -> CheckWork:
    """What a worker gets to check."""
    with course.sessions.begin() as session:
        work = message_of(step_of(session, job), 30).check
    assert work is not None
    return work


def checked(course: ACourse, job: int, verdict: Verdict = Verdict.ACCEPTED, **more: Any) -> None:
    """A worker's report on the check of a job comes."""
    with course.sessions.begin() as session:
        result = check_result(session, job, verdict)
        if result.report is not None:
            result = replace(result, report=replace(result.report, **more))
    record(course.sessions, result, later(3))


def measured(course: ACourse, job: int, gflops: float) -> None:
    with course.sessions.begin() as session:
        result = measure_result(session, job, gflops)
    record(course.sessions, result, later(5))


def run_all(course: ACourse, runner: ExperimentRunner, now: datetime = NOW) -> int:
    """Run everything to its end, each point accepted; how many points were checked."""
    count = 0
    for _ in range(50):
        changed = runner.step(now)
        jobs, gpu = sent(course), sent(course, "gpu.h200")
        for job in jobs:
            checked(course, job)
        for job in gpu:
            measured(course, job, 5_000.0)
        count += len(jobs)
        if not (changed or jobs or gpu):
            return count
    raise AssertionError("it never ends")


def finished(course: ACourse, name: str = "ina", text: str = TILE, **more: Any) -> str:
    """The ID of an experiment of that person whose points all have counts and models."""
    public_id = started(course, name, text, **more)
    (axis,) = (axis for axis in read_definition(text).axes if len(axis.values) > 1)
    with course.sessions.begin() as session:
        experiment = session.scalars(select(Experiment).where(Experiment.public_id == public_id)).one()
        for number, value in enumerate(axis.values):
            found = result(number, params={axis.name: value}, kernel="tiled.cu", loads=value)
            shares = replace(Occupancy(2, 64, 1 / (2 + number), "warps"), cc="9.0")
            session.add(
                ExperimentPoint(
                    experiment_id=experiment.id, number=number, variant="", verdict=Verdict.ACCEPTED, tile=16,
                    result=pack_result(replace(found, occupancy=shares)),
                )
            )  # fmt: skip
        experiment.begun = experiment.ended = experiment.points
        experiment.state, experiment.ended_at = ExperimentState.DONE, NOW
    return public_id


def in_queue(course: ACourse) -> int:
    """How many steps wait."""
    return len(course.rows(select(Step.id).where(Step.state == StepState.QUEUED)))
