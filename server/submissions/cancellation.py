"""Take back what was handed in, as long as it is not graded."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.grading.models import JobKind, JobState
from server.submissions.changes import NotPossible, cancel
from server.submissions.models import Submission
from server.submissions.service import latest_job
from worker.contract.broker import BrokerUrlError, connect_redis
from worker.contract.messages import Ticket
from worker.contract.redis_claims import RedisClaims

_ASK_SECONDS = 1.0


def take_back(session: Session, submission: Submission, person: Person) -> list[Ticket]:
    """End its grading; returns the tickets to revoke once that is committed.

    raise (NotPossible): where it is over, or is graded again, which is for staff to end
    """
    job = latest_job(session, submission.id)
    if job.kind is not JobKind.SUBMISSION:
        raise NotPossible("It was graded, and staff had it graded again: only they can end that.")
    try:
        return cancel(session, job.id, person)
    except NotPossible as error:
        before = "It was stopped before" if job.state is JobState.CANCELLED else "It is graded already"
        raise NotPossible(f"{before}: there is nothing to stop.") from error


def revoke(redis_url: str, tickets: Sequence[Ticket]) -> None:
    """Let workers hear at once that nobody wants these any more. It never fails.

    One who does not hear works in vain: the database takes no result of them any more.
    """
    if not tickets:
        return
    with (
        suppress(BrokerUrlError, ConnectionError),
        connect_redis(redis_url, answer_seconds=_ASK_SECONDS) as client,
    ):
        claims = RedisClaims(client)
        for ticket in tickets:
            claims.revoke(ticket)
