"""What becomes of attempts under way: judged from claims that come and go, by a clock that nobody sets.

Redis may forget everything and a worker may be silent for a moment, so nothing is taken away on one look. Only who was
seen to hold a claim, and then not for a whole lease, has lost it; and after anything that could have kept claims from
being written or seen, every one gets a whole lease anew: our own start, a Redis that started anew or was away, a pause
of this process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from worker.contract.claims import Claim, Stand
from worker.contract.messages import Ticket

EMPTY_SECONDS = 2.0
"""After which a message that should lie in an empty queue is taken for lost."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A step that is sent or running. running: a worker was seen to have it; worker: which."""

    step: int
    ticket: Ticket
    queue: str
    running: bool
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What to do now.

    claimed: a worker has it, which is not written yet; with its name
    lost: the worker stopped beating; send_again: nobody has claimed it, and its message may be gone
    """

    claimed: Sequence[tuple[UnderWay, str]]
    lost: Sequence[UnderWay]
    send_again: Sequence[UnderWay]


@dataclass(slots=True)
class _Known:
    """What was seen of an attempt. quiet_since: since when nobody has held it, as far as anybody looked."""

    sent: float
    claimed: bool = False
    undelivered: bool = False
    quiet_since: float | None = None


@dataclass(slots=True)
class Watch:
    """The memory of one dispatcher. All times are seconds of its own monotonic clock."""

    lease_seconds: float
    republish_seconds: float
    _known: dict[str, _Known] = field(default_factory=dict)
    _looked: float | None = None

    def begin_anew(self) -> None:
        """Give every claim a whole lease from the next look on."""
        for known in self._known.values():
            known.quiet_since = None

    def sent(self, ticket: Ticket, now: float, *, delivered: bool = True) -> None:
        """A message was sent; delivered: False where the broker did not say that it has it."""
        known = self._known.setdefault(ticket.token, _Known(now))
        known.sent = now
        known.undelivered = not delivered

    def decide(
        self, now: float, under_way: Sequence[UnderWay], claims: Sequence[Claim], waiting: Mapping[str, int]
    ) -> Decisions:
        """What the claims say of the attempts under way.

        waiting: messages that lie in each queue of the broker
        """
        if self._looked is not None and now - self._looked > self.lease_seconds / 2:
            self.begin_anew()
        self._looked = now
        self._forget(under_way)
        claimed: list[tuple[UnderWay, str]] = []
        lost: list[UnderWay] = []
        unclaimed: list[UnderWay] = []
        for each, claim in zip(under_way, claims, strict=True):
            known = self._known.setdefault(each.ticket.token, _Known(now))
            known.claimed = known.claimed or each.running
            if claim.stand is Stand.CLAIMED:
                known.claimed, known.quiet_since = True, None
                if not each.running or each.worker != claim.worker:
                    claimed.append((each, claim.worker))
            elif claim.stand is Stand.FREE and not known.claimed:
                unclaimed.append(each)
            elif self._quiet(known, now):
                lost.append(each)
        return Decisions(claimed, lost, self._to_send_again(now, unclaimed, waiting))

    def _quiet(self, known: _Known, now: float) -> bool:
        """Whether nobody has had it for a lease.

        A claim that is settled or revoked for so long, while its attempt still counts, is one whose result never came
        into this database: so it is after a backup was restored.
        """
        if known.quiet_since is None:
            known.quiet_since = now
        return now - known.quiet_since >= self.lease_seconds

    def _to_send_again(
        self, now: float, unclaimed: Sequence[UnderWay], waiting: Mapping[str, int]
    ) -> list[UnderWay]:
        """Those whose message may be gone.

        In a queue that holds as many messages as it should, none is missing. Else it would grow for as long as no
        worker comes.
        """
        expected = Counter(each.queue for each in unclaimed)
        chosen = []
        for each in unclaimed:
            known = self._known[each.ticket.token]
            age, there = now - known.sent, waiting.get(each.queue, 0)
            empty = there == 0 and age >= EMPTY_SECONDS
            missing = there < expected[each.queue] and age >= self.republish_seconds
            if known.undelivered or empty or missing:
                chosen.append(each)
        return chosen

    def _forget(self, under_way: Sequence[UnderWay]) -> None:
        current = {each.ticket.token for each in under_way}
        for token in self._known.keys() - current:
            del self._known[token]
