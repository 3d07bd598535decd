"""Running experiments: begins their points, a few at a time, and keeps what became of them.

Only begun points have rows and jobs, so 100,000 points don't fill the queue. Each call does a small part, first without
a transaction, then in a short one. Whatever is killed in between, each point begins once, because its row has its
number. The row's job gives its result.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from kernels.evidence import Evidence
from kernels.exercise import read_exercise
from kernels.experiment.model import Measure
from kernels.experiment.plan import PlannedPoint, PointPlan, digest, graded, rejected, without_report
from kernels.experiment.result import PointResult
from kernels.verdict import Verdict
from server.courses.models import SOURCE_BYTES, Assignment, Exercise
from server.database.engine import Sessions
from server.experiments.models import Experiment, ExperimentPoint, ExperimentState
from server.experiments.plans import UnfitExperiment, read_plan, variant_of
from server.experiments.queries import pack_result
from server.experiments.queries import results as all_results
from server.experiments.service import stop
from server.grading.changed_check import ChangedCheck
from server.grading.models import Job, JobKind, JobState, Priority, Result, Step
from server.grading.queue_order import QUEUED, QueueOrder
from server.grading.reports import ReportError, pack, unpack
from server.grading.service import DEADLINE_NEAR, Work, keep_source, queue_jobs
from server.grading.stored_report import read_report
from worker.contract.measure_work import Repeats
from worker.contract.messages import CPU_QUEUE, gpu_queue

OPEN_FOR_A_SLOT = 16
"""Points of one experiment with a job and no result yet, for each slot for their last step. More would only fill the
cores with checks of points that wait for a GPU, and slow down submissions.
"""

AT_ONCE = 8
"""Points that begin, and results that are kept, in one call. More would keep submissions waiting for the dispatcher."""

_MOST_PLANS = 64
_MOST_KEPT_POINTS = 200_000
"""Of the plans in memory. To read a plan again takes up to some tenths of a second."""

_OVER = (JobState.DONE, JobState.CANCELLED)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Ended:
    """A point whose job is over. report: None for a cancelled job."""

    number: int
    job: int
    ended_at: datetime
    report: bytes | None
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class _Now:
    """An experiment at one moment.

    room: how many more points may have a job and no result
    open: whether any point has a job and no result
    waiting: some begun points that wait for a new job, because their last one failed
    pause: until when no point begins; None if there is no deadline ahead
    hold: whether steps that wait in the queue must wait longer, until then
    """

    experiment: Experiment
    exercise: Exercise
    ended: Sequence[_Ended]
    room: int
    open: bool
    waiting: Sequence[int]
    pause: datetime | None
    hold: bool

    @property
    def numbers(self) -> Sequence[int]:
        """The points to begin now."""
        # Results first: a text that passed needs fewer test cases at its other sizes.
        if self.pause is not None or self.ended:
            return ()
        room, begun = max(0, min(AT_ONCE, self.room)), self.experiment.begun
        if self.experiment.tunes:
            return self.waiting[:room]
        return (*self.waiting, *range(begun, min(begun + room, self.experiment.points)))[:room]

    @property
    def chooses(self) -> bool:
        """Whether a search must choose more points, because all that it chose have a result."""
        experiment = self.experiment
        under_way = self.pause is not None or self.ended or self.open or self.waiting
        return experiment.tunes and experiment.begun < experiment.points and not under_way

    @property
    def idle(self) -> bool:
        over = self.experiment.ended == self.experiment.points
        return not (self.ended or self.numbers or self.chooses or self.hold or over)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept of a point. report: without evidence, which no page shows; None for a job without one."""

    job: int
    result: PointResult
    report: bytes | None


@dataclass(slots=True)
class Begun:
    """A point to begin: with a result at once, or with a job."""

    planned: PlannedPoint
    variant: str
    text: str
    result: PointResult | None
    changed: ChangedCheck | None


@dataclass(slots=True)
class ExperimentRunner:
    """Does a small part of one running experiment at each call, in turn."""

    read: Sessions
    write: Sessions
    _last: int = 0
    _plans: dict[int, PointPlan] = field(default_factory=dict)

    def step(self, now: datetime, slots: Mapping[str, int] = MappingProxyType({})) -> bool:
        """Go on with the next running experiment. Returns whether anything changed. slots: of live workers."""
        with self.read.begin() as session:
            found = _next(session, self._last, slots, now)
        if found is None:
            return False
        self._last = found.experiment.id
        if found.idle:
            return False
        unfit, results, points = "", list[_Kept](), list[Begun]()
        # PostgreSQL ends a transaction that waits for long, so the parts that take time are outside of one
        try:
            plan = self._plan(found)
            kept = [_kept(plan, one) for one in found.ended]
            points = self._to_begin(plan, found, self._chosen(plan, found), now)
        except (UnfitExperiment, ReportError, ValueError) as error:
            logger.exception("experiment %s can't go on", found.experiment.public_id)
            unfit = str(error)
        else:
            results = kept
        with self.write.begin() as session:
            return _write(session, found, results, points, now, unfit)

    def _chosen(self, plan: PointPlan, found: _Now) -> Sequence[int]:
        """The points to begin."""
        if not found.chooses:
            return found.numbers
        # numpy takes a tenth of the memory of each part of a server, and only searches need it
        from kernels.experiment.tuning.search import next_points

        with self.read.begin() as session:
            known = all_results(session, found.experiment.id)
        return next_points(plan.points, plan.design, known)

    def _to_begin(self, plan: PointPlan, found: _Now, numbers: Sequence[int], now: datetime) -> list[Begun]:
        if not numbers:
            return []
        points = [plan.point(number) for number in numbers]
        variants = [variant_of(plan, point) for point in points]
        with self.read.begin() as session:
            passed = _passed(session, found.experiment.id, variants)
        moment = now.isoformat(timespec="seconds")
        return [
            _begun(plan, found.exercise, point, variant, passed.get(variant), moment)
            for point, variant in zip(points, variants, strict=True)
        ]

    def _plan(self, found: _Now) -> PointPlan:
        number = found.experiment.id
        if number not in self._plans:
            experiment = found.experiment
            with self.read.begin() as session:
                written = session.scalars(select(Experiment.plan).where(Experiment.id == number)).one()
            plan = read_plan(written, found.exercise, experiment.device_class)
            while self._plans and not self._has_room(plan):
                del self._plans[next(iter(self._plans))]
            self._plans[number] = plan
        return self._plans[number]

    def _has_room(self, plan: PointPlan) -> bool:
        points = len(plan.points) + sum(len(each.points) for each in self._plans.values())
        return len(self._plans) < _MOST_PLANS and points <= _MOST_KEPT_POINTS


def pause_until(session: Session, experiment: Experiment, now: datetime) -> datetime | None:
    """The deadline for which an experiment pauses now; None for none."""
    if not experiment.pauses:
        return None
    return session.scalar(
        select(func.max(Assignment.due_at)).where(
            Assignment.course_id == experiment.course_id,
            Assignment.due_at > now,
            Assignment.due_at <= now + DEADLINE_NEAR,
        )
    )


def _next(session: Session, last: int, slots: Mapping[str, int], now: datetime) -> _Now | None:
    running = select(Experiment).where(Experiment.state == ExperimentState.RUNNING).order_by(Experiment.id)
    experiment = session.scalar(running.where(Experiment.id > last).limit(1)) or session.scalar(running.limit(1))
    if experiment is None:
        return None
    exercise = experiment.exercise
    assert exercise is not None, "every experiment that runs has an exercise"
    still = (ExperimentPoint.experiment_id == experiment.id, ExperimentPoint.verdict.is_(None))
    ended = session.execute(
        select(ExperimentPoint.number, Job.id, Job.ended_at, Result.report, Job.verdict)
        .join(Job, Job.id == ExperimentPoint.job_id)
        .outerjoin(Result, Result.job_id == Job.id)
        .where(*still, Job.state.in_(_OVER))
        .order_by(ExperimentPoint.number)
        .limit(AT_ONCE)
    )
    found = [_Ended(number, job, at, report, verdict) for number, job, at, report, verdict in ended if at is not None]
    unfinished = session.scalar(select(func.count(ExperimentPoint.job_id)).where(*still)) or 0
    waiting = _waiting(session, experiment)
    pause = pause_until(session, experiment, now)
    hold = pause is not None and (
        session.scalar(select(Step.id).where(*_held_back(experiment, pause)).limit(1)) is not None
    )
    queue = gpu_queue(experiment.device_class) if experiment.device_class else CPU_QUEUE
    room = OPEN_FOR_A_SLOT * max(1, slots.get(queue, 0)) - unfinished
    return _Now(experiment, exercise, found, room, unfinished > 0, waiting, pause, hold)


def _waiting(session: Session, experiment: Experiment) -> Sequence[int]:
    query = (
        select(ExperimentPoint.number)
        .where(
            ExperimentPoint.experiment_id == experiment.id,
            ExperimentPoint.verdict.is_(None),
            ExperimentPoint.job_id.is_(None),
        )
        .order_by(ExperimentPoint.number)
        .limit(AT_ONCE)
    )
    return session.scalars(query).all()


def _kept(plan: PointPlan, ended: _Ended) -> _Kept:
    planned, moment = plan.point(ended.number), ended.ended_at.isoformat(timespec="seconds")
    if ended.report is None or ended.verdict is None:
        result = without_report(plan, planned, Verdict.SYSTEM_ERROR, "Its job was cancelled.", moment)
        return _Kept(ended.job, result, None)
    plain = unpack(ended.report)
    if isinstance(evidence := plain.get("evidence"), dict):
        evidence["lines"] = []  # most of a report, and nothing that a point keeps
    report = read_report(plain, ended.verdict)
    return _Kept(ended.job, graded(plan, planned, report, moment), pack(replace(report, evidence=Evidence())))


def _passed(session: Session, experiment: int, variants: Sequence[str]) -> Mapping[str, int]:
    """The tile of an accepted point, by variant."""
    query = select(ExperimentPoint.variant, func.min(ExperimentPoint.tile)).where(
        ExperimentPoint.experiment_id == experiment,
        ExperimentPoint.variant.in_(variants),
        ExperimentPoint.verdict == Verdict.ACCEPTED,
    )
    rows = session.execute(query.group_by(ExperimentPoint.variant))
    return {variant: tile for variant, tile in rows if tile is not None}


def _begun(
    plan: PointPlan, exercise: Exercise, point: PlannedPoint, variant: str, passed: int | None, moment: str
) -> Begun:
    text = plan.text(point)
    if reason := _too_long(text) or plan.unfit(point):
        return Begun(point, variant, text, rejected(plan, point, reason, moment), None)
    definition = plan.definition(point, passed)
    judged_by = read_exercise(exercise.name, definition).digest
    changed = ChangedCheck(definition, judged_by, plan.measure.counts, _repeats(plan.measure))
    return Begun(point, variant, text, None, changed)


def _repeats(measure: Measure) -> Repeats | None:
    if measure.repeats or measure.interval:
        return Repeats(measure.repeats, measure.interval / 100)
    return None


def _too_long(text: str) -> str:
    """Why a text with the point's values can't be stored; "" if it can."""
    size = len(text.encode())
    return f"The text has {size:,} bytes. The limit is {SOURCE_BYTES:,}." if size > SOURCE_BYTES else ""


def _write(
    session: Session, found: _Now, results: Sequence[_Kept], points: Sequence[Begun], now: datetime, unfit: str
) -> bool:
    """Store results and begin points, unless another dispatcher did or someone cancelled the experiment."""
    locked = select(Experiment).where(Experiment.id == found.experiment.id).with_for_update()
    experiment = session.scalars(locked).one()
    if experiment.state is not ExperimentState.RUNNING:
        return False
    changed = sum(_keep(session, experiment, result) for result in results) > 0
    unchanged = experiment.begun == found.experiment.begun
    if points and unchanged and _waiting(session, experiment) == found.waiting:
        again = [point.planned.number for point in points if point.planned.number in found.waiting]
        session.execute(
            delete(ExperimentPoint).where(
                ExperimentPoint.experiment_id == experiment.id, ExperimentPoint.number.in_(again)
            )
        )
        works = [_work(session, experiment, one, now) for one in points if one.result is None]
        jobs = iter(queue_jobs(session, works, now, QueueOrder(session, CPU_QUEUE, Priority.EXPERIMENT)))
        session.execute(insert(ExperimentPoint), [_row(experiment, one, jobs) for one in points])
        experiment.begun += len(points) - len(again)
        experiment.ended += sum(one.result is not None for one in points)
        changed = True
    if unfit:
        stop(session, experiment, None, now, unfit)
        return True
    if found.hold and found.pause is not None:
        session.execute(update(Step).where(*_held_back(experiment, found.pause)).values(not_before=found.pause))
    if experiment.ended == experiment.points:
        experiment.state, experiment.ended_at = ExperimentState.DONE, now
        changed = True
    return changed


def _keep(session: Session, experiment: Experiment, kept: _Kept) -> bool:
    """Store the result of a point, unless it has one."""
    stored = session.scalar(
        update(ExperimentPoint)
        .where(ExperimentPoint.job_id == kept.job, ExperimentPoint.verdict.is_(None))
        .values(verdict=kept.result.verdict, tile=kept.result.tile, result=pack_result(kept.result))
        .returning(ExperimentPoint.number)
    )
    if stored is None:
        return False
    experiment.ended += 1
    # Nothing reads these again, and they are most of an experiment's size.
    session.execute(update(Step).where(Step.job_id == kept.job).values(work=None))
    if kept.report is not None:
        session.execute(update(Result).where(Result.job_id == kept.job).values(report=kept.report))
    return True


def _row(experiment: Experiment, one: Begun, jobs: Any) -> dict[str, Any]:
    result = one.result
    return {
        "experiment_id": experiment.id,
        "number": one.planned.number,
        "variant": one.variant,
        "job_id": next(jobs) if result is None else None,
        "verdict": None if result is None else result.verdict,
        "tile": None if result is None else result.tile,
        "result": None if result is None else pack_result(result),
    }


def _work(session: Session, experiment: Experiment, one: Begun, now: datetime) -> Work:
    assert experiment.exercise_id is not None
    return Work(
        kind=JobKind.EXPERIMENT,
        priority=Priority.EXPERIMENT,
        person=experiment.person_id,
        source=keep_source(session, digest(one.text), one.text.encode(), now),
        exercise=experiment.exercise_id,
        arch=experiment.arch,
        device_class=experiment.device_class,
        tile=one.planned.change.tile,
        experiment=experiment.id,
        changed=one.changed,
    )


def _held_back(experiment: Experiment, until: datetime) -> tuple[ColumnElement[bool], ...]:
    """The waiting steps of an experiment that must wait until a deadline is over, and don't yet."""
    mine = select(Job.id).where(Job.experiment_id == experiment.id, Job.state.not_in(_OVER))
    return Step.job_id.in_(mine), QUEUED, or_(Step.not_before.is_(None), Step.not_before < until)
