"""Redis as a dispatcher sees it, with a clock that a test sets and every way of being away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from server.dispatching.attempt_watch import EMPTY_SECONDS
from server.dispatching.connections import Connections
from server.fleet.models import WorkerKey
from worker.contract.claims import Claim, Stand
from worker.contract.fleet import SlotRecord, Wanted, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE, StepMessage, Ticket, encode


@dataclass
class StandIn:
    """Claims, workers' board, broker and sender in one."""

    time: float = 0.0
    run: str = "first"
    away: bool = False
    slots: dict[str, int] = field(default_factory=lambda: {CPU_QUEUE: 1})
    held: dict[Ticket, Claim] = field(default_factory=dict)
    queues: dict[str, list[StepMessage]] = field(default_factory=dict)
    sent: list[StepMessage] = field(default_factory=list)
    revoked: list[Ticket] = field(default_factory=list)
    sends_left: int | None = None
    reserved: dict[Ticket, float] = field(default_factory=dict)

    @property
    def connections(self) -> Connections:
        return Connections(self, self, self, self, self)

    def restart(self) -> None:
        """Redis is new, and knows nothing."""
        self.run += "'"
        self.held.clear()
        self.queues.clear()

    def take(self, queue: str = CPU_QUEUE, worker: str = "w") -> StepMessage:
        """A worker takes the next message and claims it."""
        message = self.queues[queue].pop(0)
        assert self.claim(message.ticket, worker, 20.0)
        return message

    def state(self, queues: Sequence[str]) -> tuple[str, Mapping[str, int]]:
        self._answer()
        return self.run, {queue: len(self.queues.get(queue, [])) for queue in queues}

    def reserve(self, tickets: Sequence[Ticket]) -> Sequence[bool]:
        self._answer()
        free = {ticket: self.reserved.get(ticket, 0.0) <= self.time for ticket in tickets}
        self.reserved |= {ticket: self.time + EMPTY_SECONDS for ticket in tickets if free[ticket]}
        return list(free.values())

    def apply(self, keys: Sequence[WorkerKey]) -> None:
        self._answer()

    def send(self, queue: str, message: StepMessage) -> None:
        self._answer()
        encode(message)
        if self.sends_left == 0:
            raise ConnectionError("the broker is away")
        if self.sends_left is not None:
            self.sends_left -= 1
        self.queues.setdefault(queue, []).append(message)
        self.sent.append(message)

    def claim(self, ticket: Ticket, worker: str, lease_seconds: float) -> bool:
        self._answer()
        return self.held.setdefault(ticket, claim := Claim(Stand.CLAIMED, worker)) is claim

    def beat(self, ticket: Ticket, worker: str, lease_seconds: float, *, overslept: bool = False) -> bool:
        raise NotImplementedError

    def settle(self, *tickets: Ticket) -> None:
        self._answer()
        self.held |= dict.fromkeys(tickets, Claim(Stand.SETTLED))

    def revoke(self, ticket: Ticket) -> None:
        self._answer()
        self.held[ticket] = Claim(Stand.REVOKED)
        self.revoked.append(ticket)

    def look(self, tickets: Sequence[Ticket]) -> list[Claim]:
        self._answer()
        return [self.held.get(ticket, Claim(Stand.FREE)) for ticket in tickets]

    def tell(self, record: WorkerRecord) -> Wanted:
        raise NotImplementedError

    def leave(self, worker: str) -> None:
        raise NotImplementedError

    def want(self, worker: str, wanted: Wanted) -> None:
        raise NotImplementedError

    def workers(self) -> Sequence[WorkerRecord]:
        self._answer()
        slots = tuple(
            SlotRecord(f"{queue}-{i}", queue, "", WorkerState.IDLE)
            for queue, count in self.slots.items()
            for i in range(count)
        )
        return [WorkerRecord("w", "host", 1, WorkerState.IDLE, slots, 0.0, self.time, "", {"h200": "sm_90"})]

    def now(self) -> float:
        self._answer()
        return self.time

    def _answer(self) -> None:
        if self.away:
            raise ConnectionError("Redis is away")
