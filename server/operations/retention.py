"""How long a course keeps details of its submissions: sources, details of results, messages, students' experiments.

Points, verdicts, measured figures and corrections stay. A course ends when it is archived.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from sqlalchemy import ColumnElement, Engine, Select, delete, exists, func, or_, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked
from server.assignments.trial import delete_trials
from server.audit.service import note
from server.courses.models import Assignment, Correction, Course, Membership, Role
from server.courses.service import hold_course
from server.database.engine import DatabaseUnavailable, readers, sessions
from server.experiments.models import Experiment, ExperimentState
from server.fields import Range
from server.grading.models import NO_SOURCE, Job, JobState, Source
from server.grading.service import keep_source
from server.operations.erase import clear_experiments, strip
from server.submissions.models import Mode, RubricGrade, StagedRegrade, Submission
from server.talk.models import Comment, ExtensionRequest, RegradeRequest

NOTICE = timedelta(days=7)
"""At least, from a change of the setting to the first removal."""

_ROUND_SECONDS = 600.0
_AT_ONCE = 50

logger = logging.getLogger(__name__)


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long a course keeps details. days: after its end; None to keep them."""

    days: Annotated[int | None, Range(30, 3650), Asked(
        "Days after the course is archived", "30 to 3,650. Empty: keep everything.",
        help="Days after the course is archived until details of submissions go.",
    )] = None
# fmt: on


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be removed.

    at: from when on; None while the course isn't archived, or if it keeps everything
    oldest, newest: when the first and the last of the submissions came
    kept: submissions that stay until a grade is given and released, a request answered, or a regrade over
    """

    at: datetime | None
    submissions: int
    messages: int
    experiments: int
    oldest: datetime | None
    newest: datetime | None
    kept: int


def preview(session: Session, course: Course, days: int | None, now: datetime | None = None) -> Preview:
    """What would be removed with this setting.

    days: if not the present ones, the time to take it back begins now
    """
    moment = now or datetime.now(UTC)
    set_at = (course.retention_set_at if days == course.retention_days else None) or moment
    gone = _removable(course.id)
    count, oldest, newest = session.execute(
        select(func.count(), func.min(Submission.created_at), func.max(Submission.created_at)).where(gone)
    ).one()
    numbers = select(Submission.id).where(gone)
    messages = (
        select(func.count()).select_from(about).where(about.submission_id.in_(numbers))
        for about in (Comment, RegradeRequest)
    )
    requests = select(func.count()).select_from(ExtensionRequest).where(_answered(course.id))
    experiments = select(func.count()).select_from(Experiment).where(_experiments(course.id))
    every = select(func.count()).select_from(Submission).where(_with_source(course.id))
    return Preview(
        _due(course.archived_at, days, set_at), count,
        sum(session.scalar(each) or 0 for each in (*messages, requests)),
        session.scalar(experiments) or 0, oldest, newest, (session.scalar(every) or 0) - count,
    )  # fmt: skip


def _due(archived_at: datetime | None, days: int | None, set_at: datetime | None) -> datetime | None:
    if archived_at is None or days is None or set_at is None:
        return None
    return max(archived_at + timedelta(days=days), set_at + NOTICE)


def _with_source(course: int) -> ColumnElement[bool]:
    of_course = select(Assignment.id).where(Assignment.course_id == course)
    return Submission.assignment_id.in_(of_course) & (Submission.source_digest != NO_SOURCE)


def _removable(course: int) -> ColumnElement[bool]:
    """Submissions on which nothing waits: no grade, no open request, no regrade, no unfinished job."""
    asked = select(RegradeRequest.id).where(
        RegradeRequest.submission_id == Submission.id, RegradeRequest.granted.is_(None)
    )
    staged = select(StagedRegrade.id).where(StagedRegrade.assignment_id == Submission.assignment_id)
    graded = select(Job.id).where(
        Job.submission_id == Submission.id, Job.state.in_((JobState.QUEUED, JobState.RUNNING))
    )
    waits = (*_ungraded(), asked, staged, graded)
    return _with_source(course) & ~or_(*(each.exists() for each in waits))


def _ungraded() -> tuple[Select[int], ...]:
    """What shows that a submission's grade is held back, or that the rubric's points are missing."""
    of_assignment = Assignment.id == Submission.assignment_id
    held = select(Correction.person_id).where(
        Correction.assignment_id == Submission.assignment_id, Correction.person_id == Submission.person_id,
        Correction.held,
    )  # fmt: skip
    done = (
        exists().where(RubricGrade.assignment_id == Assignment.id, RubricGrade.person_id == Membership.person_id),
        exists().where(
            Correction.assignment_id == Assignment.id, Correction.person_id == Membership.person_id, Correction.excused
        ),
    )
    no_points = (
        select(Assignment.id)
        .join(Membership, Membership.course_id == Assignment.course_id)
        .where(of_assignment, Assignment.rubric != "", *(~each for each in done))
        .where(Membership.person_id == Submission.person_id, Membership.role == Role.STUDENT)
        .where(Membership.dropped_at.is_(None), Submission.mode == Mode.RANK)
        .where(Submission.verdict.is_not(None), Submission.verdict != Verdict.SYSTEM_ERROR)
    )
    return select(Assignment.id).where(of_assignment, Assignment.grades_held), held, no_points


def _experiments(course: int) -> ColumnElement[bool]:
    """Experiments of students that are over and still have points."""
    students = select(Membership.person_id).where(Membership.course_id == course, Membership.role == Role.STUDENT)
    over = (Experiment.state != ExperimentState.RUNNING) & (Experiment.points > 0)
    return (Experiment.course_id == course) & Experiment.person_id.in_(students) & over


def _answered(course: int) -> ColumnElement[bool]:
    of_course = select(Assignment.id).where(Assignment.course_id == course)
    return ExtensionRequest.assignment_id.in_(of_course) & ExtensionRequest.granted.is_not(None)


def _set(session: Session, on: Target, _: Person | None, given: Retention) -> bool:
    course = on.course
    if given.days == course.retention_days:
        return False
    course.retention_days, course.retention_set_at = given.days, datetime.now(UTC)
    session.flush()
    return True


RETENTION = Act(
    asks=Retention, do=_set, audit="course.retention_changed",
    present=lambda _, on: Retention(days=on.course.retention_days),
)  # fmt: skip


def remove_some(session: Session, number: int, now: datetime) -> int:
    """Remove a piece of what is due in a course, with an audit entry. Returns how much; 0 if nothing is left."""
    hold_course(session, number)
    course = session.get_one(Course, number, populate_existing=True)
    due = _due(course.archived_at, course.retention_days, course.retention_set_at)
    if due is None or due > now:
        return 0
    delete_trials(session, Job.trial_of_id.in_(select(Assignment.id).where(Assignment.course_id == number)))
    query = select(Submission.id).where(_removable(number)).order_by(Submission.id).limit(_AT_ONCE)
    submissions = session.scalars(query).all()
    done = {
        "submissions": _remove_submissions(session, submissions, now),
        "experiments": 0 if submissions else _remove_experiments(session, number, now),
        "requests": 0 if submissions else len(
            session.execute(delete(ExtensionRequest).where(_answered(number)).returning(ExtensionRequest.id)).all()
        ),
    }  # fmt: skip
    if total := sum(done.values()):
        note(session, None, "course.details_removed", f"course {course.slug}", now=now, course_id=number, **done)
    return total


def _remove_submissions(session: Session, submissions: Sequence[int], now: datetime) -> int:
    if not submissions:
        return 0
    for about in (Comment, RegradeRequest):
        session.execute(delete(about).where(about.submission_id.in_(submissions)))
    _remove_sources(session, Job.submission_id.in_(submissions), now)
    which = Submission.id.in_(submissions)
    used = set(session.scalars(select(Submission.source_digest).where(which)))
    values = {"source_digest": NO_SOURCE, "idempotency_key": None, "request_digest": None}
    session.execute(update(Submission).where(which).values(**values))
    _forget_unused(session, used)
    return len(submissions)


def _remove_experiments(session: Session, course: int, now: datetime) -> int:
    query = select(Experiment.id).where(_experiments(course)).order_by(Experiment.id).limit(_AT_ONCE)
    numbers = session.scalars(query.with_for_update()).all()
    if numbers:
        clear_experiments(session, numbers, now)
        _forget_unused(session, _remove_sources(session, Job.experiment_id.in_(numbers), now))
    return len(numbers)


def _remove_sources(session: Session, which: ColumnElement[bool], now: datetime) -> set[str]:
    """Let these jobs have neither source nor details. Returns the digests of their sources."""
    keep_source(session, NO_SOURCE, b"", now)
    found = session.execute(select(Job.id, Job.source_digest).where(which, Job.source_digest != NO_SOURCE)).all()
    jobs = [number for number, _ in found]
    strip(session, jobs)
    session.execute(update(Job).where(Job.id.in_(jobs)).values(source_digest=NO_SOURCE))
    return {digest for _, digest in found}


def _forget_unused(session: Session, digests: set[str]) -> None:
    """Delete sources that no submission and no job has, in any course."""
    used = (
        select(table.source_digest).where(table.source_digest == Source.digest).exists() for table in (Submission, Job)
    )
    session.execute(delete(Source).where(Source.digest.in_(digests - {NO_SOURCE}), *(~each for each in used)))


class Remover:
    """Removes what is due, in pieces. Several may run at once."""

    def __init__(self, engine: Engine) -> None:
        self._read, self._write = readers(engine), sessions(engine)

    def run(self, stop: threading.Event) -> None:
        """Run until `stop` is set. An outage of the database only delays a removal."""
        while not stop.is_set():
            try:
                self.round(datetime.now(UTC), stop)
            except (DatabaseUnavailable, DBAPIError) as error:
                logger.warning("a removal waits: %s", type(error).__name__)
            except Exception:
                logger.exception("a removal waits")
            stop.wait(_ROUND_SECONDS)

    def round(self, now: datetime, stop: threading.Event) -> int:
        """Remove all that is due. Returns how much."""
        with self._read.begin() as session:
            found = session.execute(
                select(Course.id, Course.archived_at, Course.retention_days, Course.retention_set_at).where(
                    Course.archived_at.is_not(None), Course.retention_days.is_not(None)
                )
            ).all()
        courses = [number for number, ended, days, set_at in found if (due := _due(ended, days, set_at)) and due <= now]
        return sum(self._remove(number, now, stop) for number in courses)

    def _remove(self, course: int, now: datetime, stop: threading.Event) -> int:
        total = 0
        while not stop.is_set():
            with self._write.begin() as session:
                some = remove_some(session, course, now)
            if not some:
                break
            total += some
        return total
