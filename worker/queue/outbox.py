"""Unconfirmed results, which are sent again until the recorder confirms them.

Results are only in memory. If the worker dies, its claim expires and the step runs again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worker.contract.claims import Claims
from worker.contract.logging import about
from worker.contract.messages import Ticket
from worker.queue.claim_heartbeat import BEATS_PER_LEASE

RESEND_SECONDS = 3.0
"""A result is sent again after this time if the results queue is empty, because a recorder lost it."""

INSIST_SECONDS = 60.0
"""A result is sent again after this time in any case.

The time doubles up to LEAST_OFTEN_SECONDS, because copies pile up in Redis while no recorder runs."""

LEAST_OFTEN_SECONDS = 3600.0

MOST_LETTERS = 32
MOST_BYTES = 64 * 2**20
_LOOK_SECONDS = 1.0
_SOON_SECONDS = 0.1

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Letter:
    """An unconfirmed result.

    sent: time of the last sending, or None
    beaten: time of the last heartbeat for its claim
    insist: seconds until it is sent again in any case
    """

    ticket: Ticket
    attempt: int
    body: str
    lease: float
    beaten: float
    due: float
    sent: float | None = None
    insist: float = INSIST_SECONDS


class Outbox:
    """Keeps results until each is settled or revoked, and extends their claims meanwhile.

    send: publishes an encoded result; waiting: length of the results queue. Both raise ConnectionError
    """

    def __init__(
        self, claims: Claims, worker: str, send: Callable[[str], None], waiting: Callable[[], int],
        *, most: int = MOST_LETTERS, most_bytes: int = MOST_BYTES, resend_seconds: float = RESEND_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._claims, self._worker = claims, worker
        self._send, self._waiting = send, waiting
        self._most, self._most_bytes, self._resend = most, most_bytes, resend_seconds
        self._now = now
        self._letters: dict[Ticket, _Letter] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._silent = False
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._thread.start()

    def add(self, ticket: Ticket, attempt: int, body: str, lease_seconds: float, *, beaten: float) -> None:
        """Add a result and send it soon. beaten: time of the last heartbeat for its claim, by our clock."""
        letter = _Letter(ticket, attempt, body, lease_seconds, beaten, self._now())
        with self._changed:
            self._letters[ticket] = letter
            self._changed.notify_all()

    def holds(self, ticket: Ticket) -> bool:
        """Whether the result of this attempt is here unconfirmed."""
        return ticket in self._letters

    @property
    def open(self) -> int:
        return len(self._letters)

    @property
    def unsent(self) -> int:
        with self._changed:
            return sum(letter.sent is None for letter in self._letters.values())

    @property
    def full(self) -> bool:
        """Whether the worker should start no more steps."""
        with self._changed:
            size = sum(len(letter.body) for letter in self._letters.values())
            return len(self._letters) >= self._most or size >= self._most_bytes

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition on this outbox is true, and return whether it is."""
        with self._changed:
            return self._changed.wait_for(until, seconds)

    def close(self) -> None:
        """Stop at once. Unconfirmed results are lost, and their steps run again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(_LOOK_SECONDS)

    def _run(self) -> None:
        while not self._closed:
            with self._changed:
                letters = list(self._letters.values())
            for letter in letters:
                if self._now() >= letter.due and not self._closed and not self._attend(letter):
                    self._wait_all(letters)
                    break
            with self._changed:
                due = min((letter.due for letter in self._letters.values()), default=self._now() + _LOOK_SECONDS)
                self._changed.wait(max(0.0, due - self._now()))

    def _attend(self, letter: _Letter) -> bool:
        """Send a result if it is due, or see whether it is settled. False if Redis is away."""
        now = self._now()
        pause = _pause(letter)
        letter.due = now + pause
        with about(job=letter.ticket.job, step=letter.ticket.kind.value, attempt=letter.attempt):
            try:
                if self._to_be_sent(letter, now):
                    self._send(letter.body)
                    letter.sent = now
                    # The recorder usually confirms a result at once.
                    letter.due = now + min(_SOON_SECONDS, pause)
                elif not self._alive(letter, now):
                    self._forget(letter)
            except ConnectionError as error:
                if not self._silent:
                    logger.warning("cannot send results now, keeping them: %s", error)
                self._silent = True
                return False
            except Exception:
                # this thread must not die: the slot would continue without sending anything
                logger.exception("cannot send a result now, keeping it")
                return False
        self._silent = False
        with self._changed:
            self._changed.notify_all()
        return True

    def _wait_all(self, letters: Sequence[_Letter]) -> None:
        """Postpone all letters while Redis is away. Missed heartbeats don't count as an oversleep."""
        now = self._now()
        for letter in letters:
            # A real oversleep must stay visible: another worker may have the step by now.
            if now - letter.beaten < letter.lease:
                letter.beaten = now
            letter.due = now + _pause(letter)

    def _to_be_sent(self, letter: _Letter, now: float) -> bool:
        if letter.sent is None:
            return True
        if now - letter.sent >= letter.insist:
            letter.insist = min(2 * letter.insist, LEAST_OFTEN_SECONDS)
            return True
        return now - letter.sent >= self._resend and self._alive(letter, now) and self._waiting() == 0

    def _alive(self, letter: _Letter, now: float) -> bool:
        overslept = now - letter.beaten >= letter.lease
        alive = self._claims.beat(letter.ticket, self._worker, letter.lease, overslept=overslept)
        letter.beaten = now
        return alive

    def _forget(self, letter: _Letter) -> None:
        logger.debug("the result is settled")
        with self._changed:
            self._letters.pop(letter.ticket, None)


def _pause(letter: _Letter) -> float:
    return min(_LOOK_SECONDS, letter.lease / BEATS_PER_LEASE)
