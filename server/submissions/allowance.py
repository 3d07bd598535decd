"""What one student may hand in for one assignment: asked by the page that tells of it, and by what accepts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, exists, func, or_, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from kernels.wording import plural
from server.courses.counting import Deadlines, attempts_for, due_for
from server.courses.models import Assignment, Extension
from server.grading.models import Job, JobKind, JobState
from server.submissions.models import Mode, Submission
from server.submissions.refusals import Closed, NoAttemptsLeft, NotAccepted, NotOpen, TooOften

_HOUR = timedelta(hours=1)
_LOOK_AGAIN_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Allowance:
    """Somebody's limits at a moment, and how far they are used.

    attempts: for the ranking, extra ones included; None for any number. used: of them
    next_at: before when no other is taken for the ranking; None where that is no matter
    checks: in an hour; checked: in the last one; check_at: when the next is taken, where they are used up
    under_way: submissions that are not graded yet
    """

    opens_at: datetime | None
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
        """Attempts that are left; None for any number."""
        return None if self.attempts is None else max(0, self.attempts - self.used)

    def refusal(self, mode: Mode, now: datetime, most_under_way: int | None) -> NotAccepted | None:
        """Why nothing is taken now; None where it is. most_under_way: None for any number."""
        if self.opens_at is not None and now < self.opens_at:
            return NotOpen("This assignment opens at {at}.", self.opens_at)
        if self.deadlines.closed(now):
            return Closed(
                "This assignment closed at {at}; nothing is taken any more. Ask your course's staff if you were kept "
                "from handing in.",
                self.deadlines.closes_at,
            )
        refused = self._rank(now) if mode is Mode.RANK else self._check(now)
        if refused is None and most_under_way is not None and self.under_way >= most_under_way:
            return TooOften(
                f"{plural(self.under_way, 'submission')} of yours for this assignment are not graded yet. The next "
                "one is taken as soon as one of them is done.",
                _LOOK_AGAIN_SECONDS,
            )
        return refused

    def _rank(self, now: datetime) -> NotAccepted | None:
        if self.left == 0:
            assert self.attempts is not None
            return NoAttemptsLeft(
                f"You have used {_all(self.attempts)} for this assignment. Checking costs none and goes on; more "
                "attempts can be granted by your course's staff."
            )
        if self.next_at is not None and now < self.next_at:
            seconds = (self.next_at - now).total_seconds()
            return TooOften(
                f"You handed in a moment ago. The next one is taken in {plural(-int(-seconds // 1), 'second')}.",
                seconds,
            )
        return None

    def _check(self, now: datetime) -> NotAccepted | None:
        if self.checks == 0:
            return NoAttemptsLeft("Nothing is only checked in this assignment; hand it in.")
        if self.check_at is not None and now < self.check_at:
            seconds = (self.check_at - now).total_seconds()
            return TooOften(
                f"You have had {plural(self.checked, 'check')} within an hour, which is all there is. The next one is "
                f"made at {{at}}; handing in is possible now.",
                seconds,
                self.check_at,
            )
        return None


def allowance(session: Session, assignment: Assignment, person_id: int, now: datetime) -> Allowance:
    """What somebody may hand in now."""
    extension = session.get(Extension, (assignment.id, person_id))
    used, last = _attempts(session, assignment.id, person_id)
    checks = _checks(session, assignment, person_id, now)
    interval = timedelta(seconds=assignment.min_interval_seconds)
    return Allowance(
        opens_at=assignment.opens_at,
        deadlines=due_for(assignment, extension),
        attempts=attempts_for(assignment, extension),
        used=used,
        next_at=last + interval if last is not None and interval else None,
        checks=assignment.checks_per_hour,
        checked=len(checks),
        check_at=checks[-1] + _HOUR if len(checks) >= assignment.checks_per_hour and checks else None,
        under_way=_under_way(session, assignment.id, person_id),
    )


def _attempts(session: Session, assignment: int, person: int) -> tuple[int, datetime | None]:
    """How many were used, and when the last one was. What was cancelled, or failed through us, costs none."""
    counts = or_(
        Job.state.in_([JobState.QUEUED, JobState.RUNNING]),
        and_(Job.state == JobState.DONE, Job.verdict != Verdict.SYSTEM_ERROR),
    )
    query = select(func.count(), func.max(Submission.created_at)).where(
        Submission.assignment_id == assignment,
        Submission.person_id == person,
        Submission.mode == Mode.RANK,
        exists().where(Job.submission_id == Submission.id, counts),
    )
    number, last = session.execute(query).one()
    return number, last


def _checks(session: Session, assignment: Assignment, person: int, now: datetime) -> list[datetime]:
    """When the checks of the last hour were, the last one first; no more of them than there may be."""
    query = select(Submission.created_at).where(
        Submission.assignment_id == assignment.id,
        Submission.person_id == person,
        Submission.mode == Mode.CHECK,
        Submission.created_at > now - _HOUR,
    )
    return list(
        session.scalars(query.order_by(Submission.created_at.desc()).limit(assignment.checks_per_hour)).all()
    )


def _under_way(session: Session, assignment: int, person: int) -> int:
    query = (
        select(func.count())
        .select_from(Submission)
        .join(Job, Job.submission_id == Submission.id)
        .where(
            Submission.assignment_id == assignment,
            Submission.person_id == person,
            Job.kind == JobKind.SUBMISSION,
            Job.state.in_([JobState.QUEUED, JobState.RUNNING]),
        )
    )
    return session.scalar(query) or 0


def _all(attempts: int) -> str:
    return "your only attempt" if attempts == 1 else f"all of your {attempts} attempts"
