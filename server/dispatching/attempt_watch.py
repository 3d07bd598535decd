"""Decide which attempts under way are lost, from the claims in Redis and a monotonic clock.

Redis may forget everything, and a worker may be silent for a moment. So one look never decides. An attempt is lost only
if its claim was seen once, and then not for a whole lease. Every claim gets a new lease after anything that could hide
it: a start of this process or of Redis, an outage of Redis, or a pause of this process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from worker.contract.claims import Claim, Stand
from worker.contract.messages import Ticket

EMPTY_SECONDS = 2.0
"""How long a message may be missing from an empty queue before it counts as lost."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A sent or running step. running: whether the database knows that a worker claimed it; worker: which one."""

    step: int
    ticket: Ticket
    queue: str
    running: bool
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The actions of a round.

    claimed: steps that a worker has claimed, unknown to the database, with the worker's name
    lost: steps whose worker stopped responding
    send_again: unclaimed steps whose message may be lost
    """

    claimed: Sequence[tuple[UnderWay, str]]
    lost: Sequence[UnderWay]
    send_again: Sequence[UnderWay]


@dataclass(slots=True)
class _Known:
    """An attempt as last seen. quiet_since: since when its claim is missing; None if it isn't."""

    sent: float
    claimed: bool = False
    undelivered: bool = False
    quiet_since: float | None = None


@dataclass(slots=True)
class Watch:
    """What one dispatcher remembers of attempts. All times are seconds of its monotonic clock."""

    lease_seconds: float
    republish_seconds: float
    _known: dict[str, _Known] = field(default_factory=dict)
    _looked: float | None = None

    def restart_leases(self) -> None:
        """Give every claim a whole lease from the next look on."""
        for known in self._known.values():
            known.quiet_since = None

    def sent(self, ticket: Ticket, now: float, *, delivered: bool = True) -> None:
        """Remember that this or another dispatcher sent a message. delivered: whether the broker confirmed it."""
        known = self._known.setdefault(ticket.token, _Known(now))
        known.sent = now
        known.undelivered = not delivered

    def decide(
        self, now: float, under_way: Sequence[UnderWay], claims: Sequence[Claim], waiting: Mapping[str, int]
    ) -> Decisions:
        """Decide about the attempts under way.

        claims: one for each attempt
        waiting: the number of messages in each queue of the broker
        """
        # A claim that was missing before a pause of this process would count as missing all the time.
        if self._looked is not None and now - self._looked > self.lease_seconds / 2:
            self.restart_leases()
        self._looked = now
        current = {step.ticket.token for step in under_way}
        for token in self._known.keys() - current:
            del self._known[token]
        claimed: list[tuple[UnderWay, str]] = []
        lost: list[UnderWay] = []
        unclaimed: list[UnderWay] = []
        for step, claim in zip(under_way, claims, strict=True):
            known = self._known.setdefault(step.ticket.token, _Known(now))
            # A new dispatcher learns only from the database that the attempt had a claim.
            known.claimed = known.claimed or step.running
            if claim.stand is Stand.CLAIMED:
                known.claimed, known.quiet_since = True, None
                if not step.running or step.worker != claim.worker:
                    claimed.append((step, claim.worker))
            elif claim.stand is Stand.FREE and not known.claimed:
                unclaimed.append(step)
            elif self._quiet(known, now):
                lost.append(step)
        return Decisions(claimed, lost, self._to_send_again(now, unclaimed, waiting))

    def _quiet(self, known: _Known, now: float) -> bool:
        """Whether the claim is missing for a whole lease.

        This includes claims that are settled or revoked while the attempt is still open. Their results never reached
        this database, as happens after a backup was restored.
        """
        if known.quiet_since is None:
            known.quiet_since = now
        return now - known.quiet_since >= self.lease_seconds

    def _to_send_again(self, now: float, unclaimed: Sequence[UnderWay], waiting: Mapping[str, int]) -> list[UnderWay]:
        """Attempts whose message may be lost.

        If a queue holds as many messages as expected, none is missing. Without this test, a queue would grow until a
        worker comes.
        """
        expected = Counter(step.queue for step in unclaimed)
        chosen = []
        for step in unclaimed:
            known = self._known[step.ticket.token]
            age, there = now - known.sent, waiting.get(step.queue, 0)
            # Workers took every message, but this attempt has no claim. So its message is gone.
            empty = there == 0 and age >= EMPTY_SECONDS
            missing = there < expected[step.queue] and age >= self.republish_seconds
            if known.undelivered or empty or missing:
                chosen.append(step)
        return chosen
