"""Heartbeats that keep a claim while its step runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Self

from worker.contract.claims import Claims
from worker.contract.logging import about
from worker.contract.messages import Ticket

# Several heartbeats per lease, so that losing one doesn't lose the claim.
BEATS_PER_LEASE = 4
_AGAIN_SECONDS = 0.5

logger = logging.getLogger(__name__)


class ClaimHeartbeat:
    """A thread that extends one claim for as long as the block runs.

    lost: the step has ended or belongs to another worker
    """

    def __init__(
        self, claims: Claims, ticket: Ticket, worker: str, lease_seconds: float, on_lost: Callable[[], None],
        *, claimed: float | None = None, now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """on_lost: called from the thread until the block ends; claimed: time of the claim, if not now."""
        self._claims, self._ticket, self._worker = claims, ticket, worker
        self._lease = lease_seconds
        self._on_lost = on_lost
        self._now = now
        self._last = now() if claimed is None else claimed
        self._over = threading.Event()
        self._lost = threading.Event()
        self._silent = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with about(job=self._ticket.job, step=self._ticket.kind.value):
            while not self._over.wait(self._lease / BEATS_PER_LEASE):
                if not self._beat():
                    self._give_up()
                    return

    def _give_up(self) -> None:
        logger.warning("lost the claim: another worker has the step, or it was cancelled")
        self._lost.set()
        self._on_lost()
        # call again, in case the step had not begun at the first call
        while not self._over.wait(_AGAIN_SECONDS):
            self._on_lost()

    def _beat(self) -> bool:
        """Send one heartbeat. While Redis is away no other worker can take the claim, so the step continues."""
        # measured between two attempts, not answers: a hanging Redis must not look like a sleeping worker
        begun = self._now()
        overslept = begun - self._last >= self._lease
        try:
            alive = self._claims.beat(self._ticket, self._worker, self._lease, overslept=overslept)
        except ConnectionError as error:
            if not self._silent:
                logger.warning("cannot send heartbeats; the step continues: %s", error)
            self._silent = True
            # an oversleep that didn't reach Redis must be reported again
            self._last = self._last if overslept else begun
            return True
        self._last, self._silent = begun, False
        return alive
