"""Checks of the work: queues, assignments, results, and e-mails and scores that wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, joinedload

from kernels.verdict import Verdict
from kernels.wording import plural
from server.assignments.exercise_update import is_judged
from server.courses.models import Assignment, Course
from server.database.engine import readers
from server.database.faults import explained
from server.grading.fleet_state import QueueStatus, read_fleet
from server.grading.models import Result, Step
from server.grading.refusals import recent_refusals
from server.lti.models import LtiPlatform, LtiScore
from server.mail.models import Mail
from server.operations.doctor.finding import Deployment, Finding, fine, problem, warning

_STANDS_SECONDS = 60.0
_LONG_SECONDS = 1800.0
"""As in docs/alerts.yml: a submission that waits longer has waited too long."""

_MAIL_WAITS = timedelta(hours=1)
_LATELY = timedelta(days=1)


def queue(deployment: Deployment) -> Finding:
    """Whether a queue stands still, or its oldest submission waits too long."""
    now = datetime.now(UTC)
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        queues = read_fleet(session, deployment.settings.redis_url, now).queues
        still = list(_still(session, queues, now))
    if still:
        return problem(f"{'; '.join(still)}. Students get no verdict. Look for the cause: tilelab worker status")
    if long := [each.name for each in queues if (each.oldest_seconds or 0) > _LONG_SECONDS]:
        return warning(
            f"The oldest submission in {', '.join(long)} has waited for over 30 minutes. Start more workers."
        )
    return fine(f"{sum(each.waiting for each in queues)} waiting, {sum(each.running for each in queues)} running")


def assignments(deployment: Deployment) -> Finding | None:
    """Whether workers of this version can grade all open assignments."""
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        found = open_assignments(session)
        old = sorted(each.name for each in found if not is_judged(each.exercise))
    if not found:
        return None
    if old:
        return problem(
            f"The exercises of {', '.join(old)} belong to another version, so submissions end in a system error. Run: "
            "tilelab admin assignment update --all"
        )
    return fine(f"{plural(len(found), 'open assignment')}, of this version")


def results(deployment: Deployment) -> Finding:
    """Whether grading failed lately, or the recorder refused results. That is over, so it is only a warning."""
    now = datetime.now(UTC)
    failed = select(func.count()).where(Result.verdict == Verdict.SYSTEM_ERROR, Result.recorded_at > now - _LATELY)
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        errors = session.scalar(failed) or 0
        refused = {each.worker for each in recent_refusals(session, now) if each.at > now - _LATELY}
    if refused:
        return warning(
            f"Within a day, results of {', '.join(sorted(refused))} were refused, because they can't be trusted. The "
            "page Fleet says why. If the worker's address may be stolen, run `tilelab admin worker revoke`."
        )
    if errors:
        return warning(
            f"Within a day, grading failed for {plural(errors, 'submission')}, which got no verdict. Find out why: "
            "tilelab admin jobs list --verdict system_error"
        )
    return fine("none failed within a day")


def waiting_mail(deployment: Deployment) -> Finding | None:
    if deployment.settings.mail is None:
        return None
    late = Mail.next_at.is_not(None) & (Mail.made_at < datetime.now(UTC) - _MAIL_WAITS)
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        count = session.scalar(select(func.count(Mail.id)).where(late)) or 0
    if count:
        return warning(
            f"{plural(count, 'e-mail')} waited for over an hour. Three days after its occasion, an e-mail is given up. "
            "Read the dispatcher's log."
        )
    return fine("no e-mail waits for over an hour")


def failing_scores(deployment: Deployment) -> Finding | None:
    failing = LtiScore.next_at.is_not(None) & (LtiScore.fault != "")
    with explained(deployment.engine), readers(deployment.engine).begin() as session:
        if session.scalar(select(LtiPlatform.id).limit(1)) is None:
            return None
        count = session.scalar(select(func.count(LtiScore.id)).where(failing)) or 0
        fault = session.scalar(select(LtiScore.fault).where(failing).order_by(LtiScore.made_at).limit(1))
    if count:
        return warning(f"{plural(count, 'score')} of students can't be sent: {fault}. Tilelab repeats each.")
    return fine("learning management systems take all scores")


def open_assignments(session: Session) -> Sequence[Assignment]:
    is_open = or_(Assignment.closes_at.is_(None), Assignment.closes_at > datetime.now(UTC))
    query = select(Assignment).join(Assignment.course).where(Course.archived_at.is_(None), is_open)
    return session.scalars(query.options(joinedload(Assignment.exercise), joinedload(Assignment.course))).all()


def _still(session: Session, queues: Sequence[QueueStatus], now: datetime) -> Iterator[str]:
    """Queues in which nothing moves. Short steps are seldom seen running, so the last step's end counts, too."""
    lately = now - timedelta(seconds=_STANDS_SECONDS)
    for each in queues:
        if each.stuck:
            yield f"{each.name}: {each.waiting} waiting, and no worker takes them"
        elif not each.running and (each.oldest_seconds or 0) > _STANDS_SECONDS:
            ended = session.scalar(select(func.max(Step.ended_at)).where(Step.queue == each.name))
            if ended is None or ended < lately:
                yield f"{each.name}: {each.waiting} waiting for up to {each.oldest_seconds:.0f} s, and none is running"
