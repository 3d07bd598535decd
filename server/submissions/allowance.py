"""The limits of one student in one assignment: shown on pages, and enforced for each new submission."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Row,
    Select,
    String,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    union_all,
)
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from kernels.wording import plural
from server.accounts.limits import Limit
from server.courses.models import Accommodation, Assignment, Extension
from server.database.base import UtcTime
from server.grading.models import Job, JobKind, JobState, Step
from server.submissions.counted_submission import Deadlines, attempts_for, due_for
from server.submissions.models import Mode, Submission
from server.submissions.refusals import Closed, NoAttemptsLeft, NotAccepted, TooOften
from server.teams.deadlines import shared_deadlines

SUBMITS = Limit("submit", 60, timedelta(minutes=1))
"""All requests to submit by one person, from pages and programs. The other limits are far lower."""

MOST_A_DAY = 1_000
"""Stored submissions of one person in any 24 hours. Each may hold 64 KiB of source and is never deleted."""


_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_LOOK_AGAIN_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Allowance:
    """A student's limits at a moment, and how far they are used.

    attempts: including extra attempts; None if unlimited
    used: attempts used so far
    next_at: when the next submission is possible; None if there is no minimum interval
    checks: checks per hour; checked: checks in the last hour
    check_at: when the next check is possible; None if some are left
    under_way: submissions that aren't graded yet
    """

    deadlines: Deadlines
    attempts: int | None
    used: int
    next_at: datetime | None
    checks: int
    checked: int
    check_at: datetime | None
    under_way: int

    @property
    def left(self) -> int | None:
        """Attempts left; None if unlimited."""
        return None if self.attempts is None else max(0, self.attempts - self.used)

    def refusal(self, mode: Mode, now: datetime, most_under_way: int | None) -> NotAccepted | None:
        """Why a submission or check isn't possible now; None if it is. most_under_way: None if unlimited."""
        if self.deadlines.closed(now):
            return Closed(
                "This assignment closed at {at}. If something kept you from submitting, ask your course staff.",
                self.deadlines.closes_at,
            )
        full = most_under_way is not None and self.under_way >= most_under_way
        # A refusal suggests the other mode only if that mode is possible now.
        if mode is Mode.RANK:
            refused = self._rank(now, checking=not full and self._check(now) is None)
        else:
            refused = self._check(now, ranking=not full and self._rank(now) is None)
        if refused is None and full:
            return TooOften(
                f"You have {plural(self.under_way, 'submission')} in progress for this assignment, which is the limit. "
                "Submit again when one is done.",
                _LOOK_AGAIN_SECONDS,
            )
        return refused

    def _rank(self, now: datetime, *, checking: bool = False) -> NotAccepted | None:
        if self.left == 0:
            assert self.attempts is not None
            instead = " You can still check." if checking else ""
            return NoAttemptsLeft(
                f"You used {_all(self.attempts)} for this assignment.{instead} Course staff can grant more."
            )
        if self.next_at is not None and now < self.next_at:
            seconds = (self.next_at - now).total_seconds()
            # Rounded up, so that a retry after these seconds succeeds.
            return TooOften(
                f"You submitted a moment ago. Try again in {plural(-int(-seconds // 1), 'second')}.", seconds
            )
        return None

    def _check(self, now: datetime, *, ranking: bool = False) -> NotAccepted | None:
        if self.checks == 0:
            return NoAttemptsLeft("This assignment has no free checks. Submit instead.")
        if self.check_at is not None and now < self.check_at:
            seconds = (self.check_at - now).total_seconds()
            instead = " You can submit now." if ranking else ""
            return TooOften(
                f"You made {plural(self.checked, 'check')} within an hour, which is the limit. The next one is "
                f"possible at {{at}}.{instead}",
                seconds,
                self.check_at,
            )
        return None


def allowance(session: Session, assignment: Assignment, person_id: int, now: datetime) -> Allowance:
    """Read a student's limits in an assignment."""
    return allowances(session, [assignment], person_id, now)[assignment.id]


def allowances(
    session: Session, assignments: Sequence[Assignment], person_id: int, now: datetime
) -> Mapping[int, Allowance]:
    """Read a student's limits in several assignments, by ID. Needs no more queries than one assignment."""
    numbers = [assignment.id for assignment in assignments]
    extensions = extensions_of(session, numbers, person_id)
    more_time = accommodations_of(session, {one.course_id for one in assignments}, person_id)
    shared = shared_deadlines(session, assignments, person_id)
    used = _used(session, numbers, person_id, now)

    def deadlines(one: Assignment) -> Deadlines:
        return shared.get(one.id) or due_for(one, extensions.get(one.id), more_time.get(one.course_id))

    return {one.id: _allowance(one, extensions.get(one.id), deadlines(one), used[one.id]) for one in assignments}


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored submissions of one person in 24 hours, in all assignments. first: the earliest; None for none."""

    number: int
    first: datetime | None

    def refusal(self, now: datetime, most: int) -> TooOften | None:
        """The refusal if there are `most` already; otherwise None."""
        if self.number < most or self.first is None:
            return None
        free_at = self.first + _DAY
        return TooOften(
            f"You reached the limit of {plural(self.number, 'submission')} in 24 hours. Try again at {{at}}.",
            (free_at - now).total_seconds(),
            free_at,
        )


def limits_of(
    session: Session,
    assignment: Assignment,
    extension: Extension | None,
    deadlines: Deadlines,
    person_id: int,
    now: datetime,
) -> tuple[Allowance, Kept]:
    """All limits of a new submission in one query. extension, deadlines: read before."""
    given = {"assignment": assignment.id, "person": person_id, "since": now - _HOUR, "day": now - _DAY}
    rows = session.connection().execute(_USED_AND_KEPT, given).all()
    (kept,) = (Kept(number, first) for kind, _, number, first in rows if kind == "kept")
    used = _sum_up((row for row in rows if row.kind != "kept"), [assignment.id])
    return _allowance(assignment, extension, deadlines, used[assignment.id]), kept


@dataclass(slots=True)
class _Used:
    """What a student used in one assignment.

    last: the submission that starts the minimum interval; checks: times of the last hour, the last one first
    """

    attempts: int = 0
    last: datetime | None = None
    checks: list[datetime] = field(default_factory=list)
    under_way: int = 0


def _allowance(assignment: Assignment, extension: Extension | None, deadlines: Deadlines, used: _Used) -> Allowance:
    interval = timedelta(seconds=assignment.min_interval_seconds)
    times = used.checks[: assignment.checks_per_hour]
    return Allowance(
        deadlines=deadlines,
        attempts=attempts_for(assignment, extension),
        used=used.attempts,
        next_at=used.last + interval if used.last is not None and interval else None,
        checks=assignment.checks_per_hour,
        checked=len(times),
        # The oldest of these checks is the first to leave the hour.
        check_at=times[-1] + _HOUR if times and len(times) == assignment.checks_per_hour else None,
        under_way=used.under_way,
    )


def extensions_of(session: Session, assignments: Iterable[int], person: int) -> Mapping[int, Extension]:
    """One person's extensions, by the assignments' IDs."""
    query = select(Extension).where(Extension.assignment_id.in_(assignments), Extension.person_id == person)
    return {extension.assignment_id: extension for extension in session.scalars(query)}


def accommodations_of(session: Session, courses: Collection[int], person: int) -> Mapping[int, Accommodation]:
    """One person's accommodations, by the courses' IDs."""
    query = select(Accommodation).where(Accommodation.course_id.in_(courses), Accommodation.person_id == person)
    return {found.course_id: found for found in session.scalars(query)}


def deadlines_of(session: Session, assignment: Assignment, person: int) -> Deadlines:
    """One person's deadlines in an assignment, or those of the person's team."""
    if shared := shared_deadlines(session, [assignment], person):
        return shared[assignment.id]
    extension = session.get(Extension, (assignment.id, person))
    return due_for(assignment, extension, session.get(Accommodation, (assignment.course_id, person)))


def accommodations_in(session: Session, course_id: int) -> Mapping[int, Accommodation]:
    """All accommodations in a course, by person."""
    query = select(Accommodation).where(Accommodation.course_id == course_id)
    return {found.person_id: found for found in session.scalars(query)}


def _used(session: Session, assignments: Sequence[int], person: int, now: datetime) -> Mapping[int, _Used]:
    """What a person used in each of these assignments."""
    given = {"assignments": list(assignments), "person": person, "since": now - _HOUR}
    return _sum_up(session.execute(_USED, given), assignments)


def _sum_up(rows: Iterable[Row[*tuple[Any, ...]]], assignments: Sequence[int]) -> Mapping[int, _Used]:
    used = {number: _Used() for number in assignments}
    for kind, assignment, number, moment in rows:
        found = used[assignment]
        if kind == "attempts":
            found.attempts, found.last = number, moment
        elif kind == "check":
            found.checks.append(moment)
        else:
            found.under_way = number
    for found in used.values():
        found.checks.sort(reverse=True)
    return used


def costs() -> ColumnElement[bool]:
    """Whether a submission uses an attempt or a check.

    System errors don't, and submissions cancelled before a worker started them don't. If the student cancels later, it
    does, because they may have seen findings. It doesn't if the worker was lost or course staff cancelled it.
    """
    begun = exists().where(Step.job_id == Job.id, Step.started_at.is_not(None))
    return _job(
        or_(
            Job.state.in_([JobState.QUEUED, JobState.RUNNING]),
            and_(Job.state == JobState.DONE, Job.verdict != Verdict.SYSTEM_ERROR),
            and_(Job.state == JobState.CANCELLED, Job.kind == JobKind.SUBMISSION, begun),
        )
    )


def _job(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(Job.submission_id == Submission.id, condition)


def _select_used(assigned: ColumnElement[bool], *more: Select[*tuple[Any, ...]]) -> CompoundSelect[Any]:
    """Of a person in some assignments: the used attempts of each, each check since a moment, how many are under way."""
    own = assigned, Submission.person_id == bindparam("person")
    attempts, check, under_way = (
        select(literal_column(f"'{kind}'", String).label("kind"), Submission.assignment_id).where(*own)
        for kind in ("attempts", "check", "under_way")
    )
    # A submission that was cancelled early doesn't use an attempt, but starts the interval too.
    waited_for = or_(costs(), _job(Job.state == JobState.CANCELLED))
    used = func.sum(case((costs(), 1), else_=0)), func.max(case((waited_for, Submission.created_at)))
    # A regrade by course staff must not keep a student from submitting.
    unfinished = Job.kind == JobKind.SUBMISSION, Job.state.in_([JobState.QUEUED, JobState.RUNNING])
    return union_all(
        attempts.add_columns(*used).where(Submission.mode == Mode.RANK).group_by(Submission.assignment_id),
        check.add_columns(literal_column("1"), Submission.created_at).where(
            Submission.mode == Mode.CHECK,
            Submission.created_at > bindparam("since"),
            costs(),
            # A file without a kernel isn't even compiled.
            or_(Submission.verdict.is_(None), Submission.verdict != Verdict.REJECTED),
        ),
        under_way.add_columns(func.count(), cast(null(), UtcTime))
        .join(Job, Job.submission_id == Submission.id)
        .where(*unfinished)
        .group_by(Submission.assignment_id),
        *more,
    )


_USED = _select_used(Submission.assignment_id.in_(bindparam("assignments", expanding=True)))
_USED_AND_KEPT = _select_used(
    Submission.assignment_id == bindparam("assignment"),
    select(literal_column("'kept'", String), literal_column("0"), func.count(), func.min(Submission.created_at))
    .select_from(Submission)
    .where(Submission.person_id == bindparam("person"), Submission.created_at > bindparam("day")),
)


def _all(attempts: int) -> str:
    return "your only attempt" if attempts == 1 else f"all of your {attempts} attempts"
