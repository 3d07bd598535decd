"""Start, cancel, retry, share and pin experiments. Whether a person may do it is decided by the caller."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from kernels.experiment.model import DesignKind
from kernels.experiment.model import Experiment as Definition
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment
from server.experiments.estimate import Estimate, estimate
from server.experiments.models import Experiment, ExperimentPoint, ExperimentState, ExperimentSubmission
from server.experiments.plans import UnfitExperiment, stored_plan
from server.experiments.quota import MOST_RUNNING, Quota, quota_of, running_of
from server.grading.models import Job, JobState
from server.submissions.changes import NotPossible, cancel
from worker.contract.messages import Ticket

_OPEN = (JobState.QUEUED, JobState.RUNNING)


class QuotaUsed(ValueError):
    """A student's quota is used; the text says so. quota: with the time at which it renews."""

    def __init__(self, text: str, quota: Quota) -> None:
        super().__init__(text)
        self.quota = quota


class TooManyRunning(ValueError):
    """The person has too many running experiments."""


class LargeExperiment(ValueError):
    """A large experiment to which its owner didn't agree yet. Nothing started."""

    def __init__(self, found: Estimate) -> None:
        super().__init__(f"It has {found.points:,} points.")
        self.estimate = found


@dataclass(frozen=True, slots=True)
class NewExperiment:
    """An experiment to start.

    points: how many get a result, by server.experiments.plans.checked_plan, which takes too long for a transaction
    space: from how many a search chooses; 0 without a search
    agreed: up to how many points its owner wants after seeing the estimate
    assignment: whose quota it uses; None for no quota
    submission: the submission that it varies; None for one from a file
    submissions: kernels that are submissions, by name
    """

    course: int
    person: int
    exercise: int
    definition: Definition
    kernels: Mapping[str, str]
    points: int
    arch: str
    space: int = 0
    device_class: str = ""
    pauses: bool = False
    agreed: int = 0
    assignment: int | None = None
    submission: int | None = None
    submissions: Mapping[str, int] = field(default_factory=dict)


def check_room(session: Session, person: int, assignment: int | None, now: datetime) -> None:
    """Refuse a start before the plan is read, which takes time; `start` decides.

    raise (QuotaUsed, TooManyRunning)
    """
    _check_running(session, person)
    if assignment is not None:
        _check_left(quota_of(session, person, assignment, now))


def start(session: Session, new: NewExperiment, now: datetime) -> Experiment:
    """Store an experiment. From then on it runs.

    raise (UnfitExperiment): it has more points than the quota has left
    raise (LargeExperiment): its owner must agree first
    raise (QuotaUsed, TooManyRunning)
    """
    person = _with_room(session, new.person)
    if new.assignment is not None:
        _check_quota(quota_of(session, new.person, new.assignment, now), new.points)
    if new.points > new.agreed and (found := estimate(session, new.points, new.device_class, now)).large:
        raise LargeExperiment(found)
    experiment = Experiment(
        public_id=secrets.token_hex(8),
        course_id=new.course,
        person_id=new.person,
        name=new.definition.name,
        plan=stored_plan(new.definition, new.kernels, new.space),
        state=ExperimentState.RUNNING,
        exercise_id=new.exercise,
        device_class=new.device_class,
        arch=new.arch,
        points=new.points,
        begun=0,
        ended=0,
        tunes=new.definition.design.kind is DesignKind.TUNE,
        pauses=new.pauses,
        assignment_id=new.assignment,
        submission_id=new.submission,
        created_at=now,
    )
    session.add(experiment)
    session.flush()
    session.add_all(
        ExperimentSubmission(experiment_id=experiment.id, kernel=kernel, submission_id=submission)
        for kernel, submission in new.submissions.items()
    )
    if new.assignment is None:
        _note(session, experiment, person, "started", now, points=experiment.points)
    return experiment


def stop(
    session: Session, experiment: Experiment, actor: Person | None, now: datetime, reason: str | None = None
) -> list[Ticket]:
    """Cancel an experiment. Its results stay. Returns the tickets to revoke after the commit.

    actor: None for an experiment that can't go on; the reason says why
    raise (NotPossible): it is over
    """
    _lock(session, experiment)
    if experiment.state is not ExperimentState.RUNNING:
        raise NotPossible(f"The experiment is {experiment.state.value}. There is nothing to cancel.")
    jobs = session.scalars(
        select(Job.id).where(Job.experiment_id == experiment.id, Job.state.in_(_OPEN)).order_by(Job.id)
    ).all()
    tickets: list[Ticket] = []
    for job in jobs:
        try:
            tickets += cancel(session, job, actor, now, noted=False)
        except NotPossible:  # its result came meanwhile
            continue
    experiment.state, experiment.ended_at = ExperimentState.CANCELLED, now
    if actor is None or actor.id != experiment.person_id:
        _note(session, experiment, actor, "cancelled", now, reason=reason)
    return tickets


def retry(session: Session, experiment: Experiment, actor: Person, now: datetime) -> int:
    """Let the points with a system error begin again, and return their number. All other results stay.

    raise (NotPossible): it is cancelled, its course is archived, or no point has a system error
    raise (TooManyRunning)
    """
    if experiment.state is not ExperimentState.RUNNING:
        _with_room(session, experiment.person_id)
    _lock(session, experiment)
    if experiment.state is ExperimentState.CANCELLED:
        raise NotPossible("The experiment is cancelled. Start it again as a new one.")
    if experiment.course is not None and experiment.course.archived_at is not None:
        raise NotPossible("The course is archived. Nothing runs in it.")
    put_back = session.scalars(
        update(ExperimentPoint)
        .where(ExperimentPoint.experiment_id == experiment.id, ExperimentPoint.verdict == Verdict.SYSTEM_ERROR)
        .values(verdict=None, tile=None, result=None, job_id=None)
        .returning(ExperimentPoint.number)
    ).all()
    if not put_back:
        raise NotPossible("No point ended in a system error. There is nothing to retry.")
    experiment.ended -= len(put_back)
    experiment.state, experiment.ended_at = ExperimentState.RUNNING, None
    if actor.id != experiment.person_id:
        _note(session, experiment, actor, "retried", now, points=len(put_back))
    return len(put_back)


def share(session: Session, experiment: Experiment, actor: Person, now: datetime, *, shared: bool) -> None:
    """Show an experiment to the class, or hide it again."""
    _lock(session, experiment)
    if shared == (experiment.shared_at is not None):
        return
    experiment.shared_at = now if shared else None
    experiment.pinned_id = None
    _note(session, experiment, actor, "shared" if shared else "hidden", now)


def pin(session: Session, experiment: Experiment, assignment: Assignment | None, actor: Person, now: datetime) -> None:
    """Link to an experiment from an assignment's page, which shares it; None removes the link."""
    _lock(session, experiment)
    number = None if assignment is None else assignment.id
    if number == experiment.pinned_id:
        return
    if assignment is not None:
        experiment.shared_at = experiment.shared_at or now
    experiment.pinned_id = number
    slug = None if assignment is None else assignment.slug
    _note(session, experiment, actor, "pinned" if assignment else "unpinned", now, assignment=slug)


def _with_room(session: Session, person: int) -> Person:
    """Lock a person who may have one more running experiment; raises TooManyRunning."""
    found = session.scalars(select(Person).where(Person.id == person).with_for_update(key_share=True)).one()
    _check_running(session, person)
    return found


def _check_running(session: Session, person: int) -> None:
    if running_of(session, person) >= MOST_RUNNING:
        raise TooManyRunning(f"{MOST_RUNNING} experiments are running, which is the limit. Wait for one.")


def _check_left(quota: Quota) -> None:
    if not quota.points_left:
        used = "points" if quota.experiments_left else "experiments"
        raise QuotaUsed(f"You used your {used} for this assignment today.", quota)


def _check_quota(quota: Quota, points: int) -> None:
    _check_left(quota)
    if points > quota.points_left:
        reason = f"The experiment has {points:,} points. You may start {quota.points_left:,} now."
        raise UnfitExperiment("axes", reason)


def _lock(session: Session, experiment: Experiment) -> None:
    session.refresh(experiment, with_for_update={"of": Experiment})


def _note(
    session: Session, experiment: Experiment, actor: Person | None, what: str, now: datetime, **detail: object
) -> None:
    subject = f"experiment {experiment.public_id}"
    given = {name: value for name, value in detail.items() if value is not None}
    note(session, actor, f"experiment.{what}", subject, now=now, course_id=experiment.course_id, **given)
