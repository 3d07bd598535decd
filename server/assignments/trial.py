"""Trials: a student's kernel runs once, at sizes and values that the student chooses.

A trial never counts, and nobody else sees it. Only the last one of a person and assignment is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from kernels.exercise import Exercise, InputKind, Operand, read_exercise
from kernels.exercise.input_words import INPUT_WORDS, InputWords
from kernels.exercise.model import Operation, Role
from kernels.exercise.trial import Trial, Typable, check_trial, input_kinds, typable, usual_sizes
from kernels.verdict import Verdict
from server.accounts.limits import Limit, count_in
from server.courses.models import Assignment
from server.grading.changed_check import ChangedCheck, unpack_changed
from server.grading.models import NO_SOURCE, Job, JobKind, JobState, Priority, Result, Source, Step
from server.grading.service import Work, delete_jobs, keep_source, queue_job
from server.submissions.allowance import deadlines_of
from server.submissions.models import Submission
from server.submissions.refusals import Closed, NoAttemptsLeft, NotAccepted, NotOpen
from server.submissions.service import wait_for_turn
from server.submissions.source import SubmittedSource
from worker.contract.messages import Ticket

_FOR_STAFF = 120
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class TypedArray:
    """An array whose values may be typed. shape: as the exercise writes it, such as `Width x Width`."""

    name: str
    shape: str
    allowed: Typable


@dataclass(frozen=True, slots=True)
class Choices:
    """What a student can choose for a trial. sizes: by name, those to begin with; most: the largest of each."""

    exercise: Exercise
    tile: int
    sizes: Mapping[str, int]
    most: int
    kinds: Mapping[InputKind, InputWords]
    arrays: Sequence[TypedArray]


@dataclass(frozen=True, slots=True)
class LastTrial:
    """A person's last trial. verdict, report: None before the verdict; source: the tried text."""

    state: JobState
    trial: Trial
    source: str
    verdict: Verdict | None
    report: bytes | None

    @property
    def waits(self) -> bool:
        return self.state in {JobState.QUEUED, JobState.RUNNING}


def choices_of(assignment: Assignment) -> Choices:
    """What its exercise lets one choose. Raises ExerciseError."""
    exercise = read_exercise(assignment.exercise.name, assignment.exercise.definition)
    tile = assignment.tile or exercise.tile
    sizes = usual_sizes(exercise, tile)
    kinds = {kind: INPUT_WORDS[kind] for kind in input_kinds(exercise)}
    names = exercise.names(tile, sizes)
    given = (each for each in exercise.operands if each.role in {Role.INPUT, Role.INOUT})
    arrays = [
        TypedArray(each.name, _shape(each), allowed)
        for each in given
        if exercise.operation is not Operation.ANALYSIS and (allowed := typable(exercise, each, names)) is not None
    ]
    return Choices(exercise, tile, sizes, exercise.largest_on_cpu, kinds, arrays)


def start_trial(
    session: Session, assignment: Assignment, person: int, source: SubmittedSource, trial: Trial, now: datetime, *,
    staff: bool,
) -> Sequence[Ticket]:  # fmt: skip
    """Queue a trial in place of the last one. Returns the tickets to revoke after the commit.

    raise (TrialError): the exercise can't run so
    raise (ExerciseError): this version can't read the exercise
    raise (NotAccepted, TooOften): the student may not try now
    """
    choices = choices_of(assignment)
    check_trial(choices.exercise, trial, choices.tile)
    if (refused := refusal(session, assignment, person, now, staff=staff)) is not None:
        raise refused
    wait_for_turn(session, person)
    count_in(session, limit_of(assignment, staff=staff), f"person {person} {assignment.id}", now)
    tickets = delete_trials(session, _of(assignment.id, person))
    changed = ChangedCheck(assignment.exercise.definition, assignment.exercise.digest, evidence=False, trial=trial)
    work = Work(
        kind=JobKind.TRIAL,
        priority=Priority.NORMAL,
        person=person,
        source=keep_source(session, source.digest, source.content, now),
        exercise=assignment.exercise_id,
        arch=assignment.arch,
        tile=assignment.tile,
        trial_of=assignment.id,
        changed=changed,
    )
    queue_job(session, work, now)
    return tickets


def refusal(session: Session, assignment: Assignment, person: int, now: datetime, *, staff: bool) -> NotAccepted | None:
    """Why the person can't try at all now; None if they can. Without free checks, there are no trials."""
    if assignment.course.archived_at is not None:
        return NotOpen("This course is archived. You can’t try kernels in it.")
    if staff:
        return None
    if not assignment.checks_per_hour:
        return NoAttemptsLeft("This assignment has no free checks, so you can’t try kernels either.")
    deadlines = deadlines_of(session, assignment, person)
    if deadlines.closed(now):
        return Closed("This assignment closed at {at}.", deadlines.closes_at)
    return None


def limit_of(assignment: Assignment, *, staff: bool) -> Limit:
    """As many trials as free checks. Neither uses up the other."""
    return Limit("try", _FOR_STAFF if staff else assignment.checks_per_hour, _HOUR)


def last_trial(session: Session, assignment: int, person: int) -> LastTrial | None:
    query = (
        select(Job.state, Step.work, Source.content, Job.verdict, Result.report)
        .join(Step, Step.job_id == Job.id)
        .join(Source, Source.digest == Job.source_digest)
        .outerjoin(Result, Result.job_id == Job.id)
        .where(_of(assignment, person))
        .order_by(Job.id.desc())
        .limit(1)
    )
    found = session.execute(query).one_or_none()
    if found is None or found.work is None:
        return None
    trial = unpack_changed(found.work).trial
    assert trial is not None, "a trial's step has it"
    return LastTrial(found.state, trial, found.content.decode("utf-8", "replace"), found.verdict, found.report)


def delete_trials(session: Session, which: ColumnElement[bool]) -> list[Ticket]:
    """Delete trials, and their sources that nothing else has. Returns the tickets to revoke after the commit."""
    trials = Job.trial_of_id.is_not(None) & which
    digests = set(session.scalars(select(Job.source_digest).where(trials))) - {NO_SOURCE}
    if not digests:
        return []
    tickets = delete_jobs(session, trials)
    used = (
        select(table.source_digest).where(table.source_digest == Source.digest).exists() for table in (Submission, Job)
    )
    session.execute(delete(Source).where(Source.digest.in_(digests), *(~each for each in used)))
    return tickets


def _of(assignment: int, person: int) -> ColumnElement[bool]:
    return (Job.trial_of_id == assignment) & (Job.person_id == person)


def _shape(operand: Operand) -> str:
    return operand.rows.text if operand.vector else f"{operand.rows.text} × {operand.cols.text}"
