"""The design that Tilelab does not have, to show that a campaign notices what it loses.

The portal itself publishes, after its commit, and nobody publishes a step anew: what most platforms do. All else is
Tilelab's own, the taking back from workers that are gone included. Run like `python -m worker.commands`.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

import server.submissions.api
import server.submissions.service
from server.database.engine import Sessions
from server.dispatching.attempt_watch import Watch
from server.dispatching.dispatch import message_of
from server.grading import attempts
from server.grading.models import Job, Step
from server.grading.service import Queued, Work, queue_job
from server.http.site import site
from server.submissions.service import Accepted, SubmissionInput, accept
from tests.faults.target import LEASE_SECONDS
from worker.commands import main
from worker.contract.broker import StepSender, celery_app

logger = logging.getLogger(__name__)


def _queue_as_sent(session: Session, work: Work, now: datetime) -> Queued:
    """The step counts as sent from the start: no dispatcher sends it."""
    queued = queue_job(session, work, now)
    attempts.begin(session, session.get_one(Step, queued.step), now)
    return queued


def _accept_and_publish(sessions: Sessions, handed_in: SubmissionInput) -> Accepted:
    accepted = accept(sessions, handed_in, datetime.now(UTC))
    if not accepted.repeated:
        try:
            _publish(accepted.submission.id)
        except ConnectionError as error:
            logger.warning("not published: %s", error)
    return accepted


def _publish(submission: int) -> None:
    with site().readers.begin() as session:
        step = session.scalars(select(Step).join(Job).where(Job.submission_id == submission)).one()
        queue, message = step.queue, message_of(step, LEASE_SECONDS)
    sender = StepSender(celery_app(os.environ["REDIS_URL"]))
    try:
        sender.send(queue, message)
    finally:
        sender.close()


def _nothing_anew(*_arguments: object) -> list[object]:
    return []


if __name__ == "__main__":
    vars(server.submissions.service)["queue_job"] = _queue_as_sent
    vars(server.submissions.api)["accept"] = _accept_and_publish
    Watch._to_send_again = _nothing_anew  # type: ignore[method-assign, assignment]
    main()
