"""Claims: one key in Redis for each attempt at a step says which worker runs it.

While the worker sends heartbeats, the key holds its name. Later it holds the outcome, until all copies of the message
are gone. Redis may lose the keys: workers write their claims again, and the dispatcher sends all other steps again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from worker.contract.messages import Ticket

TOMBSTONE_SECONDS = 6 * 3600


class Stand(StrEnum):
    """The state of an attempt's claim."""

    FREE = "free"
    CLAIMED = "claimed"
    SETTLED = "settled"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Claim:
    """An attempt's claim. worker: its owner's id, or ""."""

    stand: Stand
    worker: str = ""


class Claims(Protocol):
    """Claims for workers, dispatcher and recorder. Every method raises ConnectionError if Redis is away."""

    def claim(self, ticket: Ticket, worker: str, lease_seconds: float) -> bool:
        """Claim an attempt. False if any worker has claimed it before, even this one."""

    def beat(self, ticket: Ticket, worker: str, lease_seconds: float, *, overslept: bool = False) -> bool:
        """Extend a claim. False if the attempt is settled, revoked, or another worker's.

        overslept: the worker sent no heartbeat for a whole lease. Then a missing claim has expired and is lost.
            Otherwise Redis has lost it, and this writes it again.
        """

    def settle(self, *tickets: Ticket) -> None:
        """Mark attempts whose results are in the database or finally refused, so that they aren't sent again.

        Pages that watch the jobs learn that they changed.
        """

    def revoke(self, ticket: Ticket) -> None:
        """Stop an attempt: no worker may continue it."""

    def look(self, tickets: Sequence[Ticket]) -> list[Claim]:
        """Read the claims of these attempts in one round trip."""
