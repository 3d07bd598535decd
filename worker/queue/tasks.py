"""The task of a slot: one attempt at a step, from the message to a result in the outbox."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from celery import Celery

from worker.contract.broker import STEP_TASK
from worker.contract.claims import Claims, Stand
from worker.contract.hints import Hints
from worker.contract.logging import about
from worker.contract.messages import (
    MessageError,
    OtherVersionError,
    StepMessage,
    StepResult,
    Ticket,
    UnreadableError,
    decode,
    encode,
    graded_digest,
)
from worker.queue.claim_heartbeat import ClaimHeartbeat
from worker.queue.outbox import Outbox
from worker.queue.slot_reporter import SlotReporter
from worker.queue.stop_request import Stop
from worker.workplaces.workplace import Workplace

CLAIM_SECONDS = 10.0
"""How long a slot tries to claim while Redis is away. After that, the message has been sent again."""

_SHORTEST_LEASE, _LONGEST_LEASE, _USUAL_LEASE = 1.0, 600.0, 20.0
_AGAIN_SECONDS = 0.25

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StepTask:
    """A slot's work on a message. `run` never raises, because a message is taken only once.

    name: of worker and slot, for claims and results
    seal: signs an encoded result
    """

    name: str
    seal: Callable[[str], str]
    workplace: Workplace
    claims: Claims
    outbox: Outbox
    hints: Hints
    reporter: SlotReporter
    stop: Stop

    def register(self, app: Celery) -> None:
        def step(body: object) -> None:
            with self.reporter.busy():
                self.run(body)

        app.task(name=STEP_TASK)(step)

    def run(self, body: object) -> None:
        """Run a step if it is for this slot and no worker has claimed it."""
        # The message is lost here, but the attempt is in the database. So the dispatcher sends it again.
        if self.stop.asked:
            logger.info("this slot stops and leaves a message, which will be sent again")
            return
        try:
            message = decode(StepMessage, body)
        except OtherVersionError as error:
            # without an answer, the message is sent again until a worker of its version takes it
            logger.error("left a message of another version for other workers: %s", error)  # noqa: TRY400
            self.reporter.useless()
            return
        except UnreadableError as error:
            self._refuse(error)
            return
        except MessageError as error:
            logger.error("dropped an unreadable message: %s", error)  # noqa: TRY400 - no trace is needed
            return
        ticket = message.ticket
        with about(job=ticket.job, step=ticket.kind.value, attempt=message.attempt):
            if ticket.kind is not self.workplace.kind:
                logger.error("dropped a message: this slot runs other steps")
                return
            self._attempt(message, _lease(message.lease_seconds))
        self._wait_for_room()

    def _attempt(self, message: StepMessage, lease: float) -> None:
        begun = time.monotonic()
        if not self._claim(message.ticket, lease):
            return
        self.reporter.begun(message.ticket)
        logger.info("begun")
        result: StepResult | None = None
        try:
            with ClaimHeartbeat(
                self.claims, message.ticket, self.name, lease, self.workplace.abort, claimed=begun
            ) as heartbeat:
                result = self._do(message)
            if heartbeat.lost:
                logger.warning("dropped the result, because the claim was lost")
                result = None
            else:
                self._hand_over(result, message.attempt, lease)
        finally:
            self.reporter.ended(result)
            # The next step's processes start now, so that the next message doesn't wait for them.
            if not self.stop.asked:
                self.workplace.prepare()

    def _claim(self, ticket: Ticket, lease: float) -> bool:
        """Claim the attempt. Waits for Redis a little; a claim without an answer may have succeeded.

        Never claims an attempt whose result is in the outbox. Redis may have lost that claim, or it holds the claim
        that the outbox extends.
        """
        if self.outbox.holds(ticket):
            logger.info("dropped a copy of a message, because the attempt's result is in the outbox")
            return False
        deadline = time.monotonic() + CLAIM_SECONDS
        answered = True
        while not self.stop.asked:
            try:
                if self.claims.claim(ticket, self.name, lease):
                    return True
                return self._refused(ticket, answered=answered)
            except ConnectionError as error:
                answered = False
                if time.monotonic() > deadline:
                    logger.warning("cannot claim, dropped the message, which will be sent again: %s", error)
                    return False
                time.sleep(_AGAIN_SECONDS)
        return False

    def _refused(self, ticket: Ticket, *, answered: bool) -> bool:
        """Whether a try without an answer made the claim. It did if this slot owns it: a slot runs only one step."""
        claim = self.claims.look([ticket])[0]
        if not answered and claim.stand is Stand.CLAIMED and claim.worker == self.name:
            return True
        logger.info("dropped a copy of a message: the attempt is %s %s", claim.stand.value, claim.worker)
        return False

    def _do(self, message: StepMessage) -> StepResult:
        try:
            result = self.workplace.do(message, self.name, self.hints.of(message))
        except Exception as error:
            logger.exception("the workplace failed")
            fault = f"Internal error in the worker: {type(error).__name__}: {error}"
            result = StepResult(message.ticket, self.name, None, fault=fault)
        if not result.fault:
            result = replace(result, graded=graded_digest(message))
        # a verdict reached while stopping is still valid
        if result.fault and self.stop.given_up:
            result = replace(result, report=None, measure=None, fault=_STOPPED, given_back=True)
        return result

    def _hand_over(self, result: StepResult, attempt: int, lease: float) -> None:
        try:
            body = encode(result)
        # Without any result, the step would only end with its lease.
        except MessageError as error:
            result = StepResult(result.ticket, self.name, None, fault=f"Cannot send the result: {error}")
            body = encode(result)
        seconds, state = (result.seconds, "returned to the queue" if result.given_back else result.fault or "done")
        logger.info("ended after %.2f s: %s", seconds, state)
        self.outbox.add(result.ticket, attempt, self.seal(body), lease, beaten=time.monotonic())

    def _refuse(self, error: UnreadableError) -> None:
        """Refuse an unreadable message. If its attempt is known, its sender gets the reason."""
        ticket = error.ticket
        if ticket is None or ticket.kind is not self.workplace.kind:
            logger.error("dropped an unreadable message: %s", error)
            return
        with about(job=ticket.job, step=ticket.kind.value):
            logger.error("refused an unreadable message: %s", error)
            if self._claim(ticket, _USUAL_LEASE):
                result = StepResult(ticket, self.name, None, fault=f"This worker can't read the message: {error}")
                self._hand_over(result, 0, _USUAL_LEASE)

    def _wait_for_room(self) -> None:
        """Start no step while too many results are unconfirmed, because they are only in memory."""
        if self.outbox.full:
            logger.warning("%d results are not recorded yet; waiting before the next step", self.outbox.open)
        while self.outbox.full and not self.stop.asked:
            self.outbox.wait(lambda: not self.outbox.full, 1.0)


_STOPPED = "Returned to the queue, because the worker stops."


def _lease(seconds: float) -> float:
    """The message's lease within sane limits."""
    if not math.isfinite(seconds):
        return _USUAL_LEASE
    return min(max(seconds, _SHORTEST_LEASE), _LONGEST_LEASE)
