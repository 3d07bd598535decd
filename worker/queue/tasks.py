"""The task that a slot does: one attempt at one step, from the message to a result in the outbox."""

from __future__ import annotations

import logging
import math
import time
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
)
from worker.queue.beating import Beating
from worker.queue.outbox import Outbox
from worker.queue.record import Teller
from worker.queue.stopping import Stop
from worker.workplaces.workplace import Workplace

CLAIM_SECONDS = 10.0
"""For how long a slot tries to claim while Redis is away. Later its message has been sent anew."""

_SHORTEST_LEASE, _LONGEST_LEASE, _USUAL_LEASE = 1.0, 600.0, 20.0
_AGAIN_SECONDS = 0.25

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StepTask:
    """All that a slot does with a message. `run` never raises: a message is taken once, whatever it is.

    name: of worker and slot, what claims and results are signed with
    """

    name: str
    workplace: Workplace
    claims: Claims
    outbox: Outbox
    hints: Hints
    teller: Teller
    stop: Stop

    def register(self, app: Celery) -> None:
        """Be the task of this application."""

        def step(body: object) -> None:
            with self.teller.busy():
                self.run(body)

        app.task(name=STEP_TASK)(step)

    def run(self, body: object) -> None:
        """Do a step if it is for this slot, and nobody has done it."""
        if self.stop.asked:
            logger.info("this slot stops: a message is left, to be sent anew")
            return
        try:
            message = decode(StepMessage, body)
        except OtherVersionError as error:
            # unanswered it costs no attempt: it is sent anew, until a worker of its version takes it
            logger.error("a message is left to others, this worker is of another version: %s", error)  # noqa: TRY400
            self.teller.useless()
            return
        except UnreadableError as error:
            self._refuse(error)
            return
        except MessageError as error:
            logger.error("a message cannot be read, and is dropped: %s", error)  # noqa: TRY400 - no trace is needed
            return
        ticket = message.ticket
        with about(job=ticket.job, step=ticket.kind.value, attempt=message.attempt):
            if ticket.kind is not self.workplace.kind:
                logger.error("this slot does steps of another kind: the message is dropped")
                return
            self._attempt(message, _lease(message.lease_seconds))
        self._wait_for_room()

    def _attempt(self, message: StepMessage, lease: float) -> None:
        begun = time.monotonic()
        if not self._claim(message.ticket, lease):
            return
        self.teller.begun(message.ticket)
        logger.info("begun")
        result: StepResult | None = None
        try:
            with Beating(
                self.claims, message.ticket, self.name, lease, self.workplace.abort, claimed=begun
            ) as beating:
                result = self._do(message)
            if beating.lost:
                logger.warning("the result is dropped: the claim was lost")
                result = None
            else:
                self._hand_over(result, message.attempt, lease)
        finally:
            self.teller.ended(result)
            if not self.stop.asked:
                self.workplace.prepare()

    def _claim(self, ticket: Ticket, lease: float) -> bool:
        """Take the attempt; waits a little for a Redis that is away, which may have taken the claim all the same.

        Not one whose result is in the outbox, whatever Redis says: it may have forgotten the claim, or not answered,
        and then the claim that it knows is the one that the outbox beats for.
        """
        if self.outbox.holds(ticket):
            logger.info("a copy of a message is dropped: the result of the attempt is here, to be recorded")
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
                    logger.warning("cannot claim, the message is dropped, to be sent anew: %s", error)
                    return False
                time.sleep(_AGAIN_SECONDS)
        return False

    def _refused(self, ticket: Ticket, *, answered: bool) -> bool:
        """Whether the claim is ours after all: this slot has one step at a time, so it was the try without answer."""
        claim = self.claims.look([ticket])[0]
        if not answered and claim.stand is Stand.CLAIMED and claim.worker == self.name:
            return True
        logger.info("a copy of a message is dropped: the attempt is %s %s", claim.stand.value, claim.worker)
        return False

    def _do(self, message: StepMessage) -> StepResult:
        try:
            result = self.workplace.do(message, self.name, self.hints.of(message))
        except Exception as error:
            logger.exception("the workplace failed")
            fault = f"The worker failed: {type(error).__name__}: {error}"
            result = StepResult(message.ticket, self.name, None, fault=fault)
        # a verdict that was reached in spite of it is as good as any
        if result.fault and self.stop.given_up:
            result = replace(result, report=None, measure=None, fault=_STOPPED, given_back=True)
        return result

    def _hand_over(self, result: StepResult, attempt: int, lease: float) -> None:
        try:
            body = encode(result)
        except MessageError as error:
            result = StepResult(result.ticket, self.name, None, fault=f"The result cannot be sent: {error}")
            body = encode(result)
        seconds, state = result.seconds, "given back" if result.given_back else result.fault or "done"
        logger.info("ended after %.2f s: %s", seconds, state)
        self.outbox.add(result.ticket, attempt, body, lease, beaten=time.monotonic())

    def _refuse(self, error: UnreadableError) -> None:
        """A message that does not hold what it should: whoever sent it hears why, if it is clear what it was about."""
        ticket = error.ticket
        if ticket is None or ticket.kind is not self.workplace.kind:
            logger.error("a message cannot be read, and is dropped: %s", error)
            return
        with about(job=ticket.job, step=ticket.kind.value):
            logger.error("a message cannot be read, and is refused: %s", error)
            if self._claim(ticket, _USUAL_LEASE):
                result = StepResult(
                    ticket, self.name, None, fault=f"The message cannot be read here: {error}"
                )
                self._hand_over(result, 0, _USUAL_LEASE)

    def _wait_for_room(self) -> None:
        """Begin no further step while too many results are open: nobody takes them, and they are only in memory."""
        if self.outbox.full:
            logger.warning("%d results are not recorded so far: no further step is begun", self.outbox.open)
        while self.outbox.full and not self.stop.asked:
            self.outbox.wait(lambda: not self.outbox.full, 1.0)


_STOPPED = "Given back: the worker stops."


def _lease(seconds: float) -> float:
    """The message's, within reason."""
    if not math.isfinite(seconds):
        return _USUAL_LEASE
    return min(max(seconds, _SHORTEST_LEASE), _LONGEST_LEASE)
