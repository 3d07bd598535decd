"""Who works on what: one key in Redis for each attempt.

A key holds the name of the worker that claimed the attempt, as long as that worker beats; afterwards what became of it,
long enough for every copy of its message to be gone. Redis may forget all of it: a worker that still beats writes its
claim anew, and what nobody writes anew is given out again, by whoever has the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from worker.contract.messages import Ticket

TOMBSTONE_SECONDS = 6 * 3600


class Stand(StrEnum):
    """What the key of an attempt says."""

    FREE = "free"
    CLAIMED = "claimed"
    SETTLED = "settled"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Claim:
    """An attempt's key; worker: who holds it, or empty."""

    stand: Stand
    worker: str = ""


class Claims(Protocol):
    """What workers, the dispatcher and the recorder do with claims. Each raises ConnectionError where Redis is away."""

    def claim(self, ticket: Ticket, worker: str, lease_seconds: float) -> bool:
        """Take an attempt. False where someone has it or had it, also this very worker."""

    def beat(self, ticket: Ticket, worker: str, lease_seconds: float, *, overslept: bool = False) -> bool:
        """Say that the worker is alive. False where the attempt is settled, revoked, or another worker's.

        overslept: the worker did not try to beat for a whole lease. Then a claim that is gone ran out, and is lost;
            else Redis lost it, and it is written anew.
        """

    def settle(self, ticket: Ticket) -> None:
        """Its result is in the database, or was refused for good: nobody needs to send it again."""

    def revoke(self, ticket: Ticket) -> None:
        """Nobody may go on with it."""

    def look(self, tickets: Sequence[Ticket]) -> list[Claim]:
        """What the keys of these attempts say, in one round trip."""
