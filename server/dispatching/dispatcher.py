"""The dispatcher: sends queued steps to workers, and queues lost steps again. Several may run at once.

Each round reads the database, then Redis, and acts on both. Whatever it remembers between rounds can be lost. So it can
be killed at any point, and another dispatcher continues.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import Engine, select
from sqlalchemy.orm import joinedload

from server.database.engine import Sessions, readers, sessions
from server.database.faults import explained
from server.dispatching.attempt_watch import UnderWay, Watch
from server.dispatching.connections import Connections
from server.dispatching.dispatch import Unsendable, message_of, room, take
from server.experiments.progress import ExperimentRunner
from server.fleet.service import copy_workers, live, slots
from server.fleet.worker_keys import valid_keys
from server.grading.attempts import claimed, locked_current, ticket_of
from server.grading.models import AttemptOutcome, Job, Step, StepState
from server.grading.queue_order import IN_FLIGHT, QUEUED, queues_with
from server.settings import Settings
from server.submissions.verdicts import failed, give_up
from worker.contract.logging import about
from worker.contract.messages import MessageError, StepMessage, Ticket

FLEET_SECONDS = 1.0
COPY_SECONDS = 5.0
POINT_SECONDS = 0.09
"""Between looks at experiments in which nothing changes. A busy dispatcher's rounds come more often."""

AT_ONCE = 8
"""Messages made at once. One may have 16 MiB."""

# Everything that a message needs, in one query.
_WHOLE = (
    joinedload(Step.job, innerjoin=True).options(
        joinedload(Job.exercise, innerjoin=True), joinedload(Job.source, innerjoin=True)
    ),
)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Dispatcher:
    engine: Engine
    connections: Connections
    settings: Settings
    watch: Watch = field(init=False)
    _experiments: ExperimentRunner = field(init=False)
    _write: Sessions = field(init=False)
    _read: Sessions = field(init=False)
    _run: str = ""
    _slots: Mapping[str, int] = field(default_factory=dict)
    _fleet_read: float | None = None
    _fleet_copied: float | None = None
    _users_applied: float | None = None
    _points_due: float | None = None

    def __post_init__(self) -> None:
        self.watch = Watch(self.settings.lease_seconds, self.settings.republish_seconds)
        self._write = sessions(self.engine)
        self._read = readers(self.engine)
        self._experiments = ExperimentRunner(self._read, self._write)

    def tick(self, now: float | None = None) -> bool:
        """Run one round. Returns whether anything changed: then the next round may have more to do.

        now: seconds of a monotonic clock.
        raise (DatabaseUnavailable, ConnectionError): one of them is unavailable; the next round continues
        """
        moment = time.monotonic() if now is None else now
        with explained(self.engine):
            try:
                return self._round(moment)
            except ConnectionError:
                # While Redis is away, workers can't extend their claims. Missing ones prove nothing.
                self.watch.restart_leases()
                raise

    def _round(self, now: float) -> bool:
        # Read the rows before the claims. A result recorded in between then only looks unfinished for one round.
        under_way, queues = self._rows()
        sent = [each for each in under_way if not each.running]
        claims = self.connections.claims.look([each.ticket for each in under_way])
        run, lengths = self.connections.broker.state(sorted({each.queue for each in sent}))
        # A restarted Redis has lost all claims. Workers write them again with their next heartbeats.
        if run != self._run:
            self._run = run
            self.watch.restart_leases()
            self._users_applied = None
        self._apply_users(now)
        self._look_at_fleet(now)
        decisions = self.watch.decide(now, under_way, claims, lengths)
        self._write_claimed(decisions.claimed)
        for each in decisions.lost:
            self._give_back(each)
        unsent = self._reserved([each.ticket for each in decisions.send_again], now)
        for queue in queues:
            waiting = sum(1 for each in sent if each.queue == queue)
            if room(self._slots.get(queue, 0), waiting):
                unsent += self._take(queue)
        self._publish(unsent, now)
        begun = self._begin_points(now)
        return bool(unsent or decisions.claimed or decisions.lost or begun)

    def _begin_points(self, now: float) -> bool:
        if self._points_due is not None and now < self._points_due:
            return False
        begun = self._experiments.step(datetime.now(UTC), self._slots)
        self._points_due = None if begun else now + POINT_SECONDS
        return begun

    def _rows(self) -> tuple[list[UnderWay], list[str]]:
        columns = (Step.id, Step.job_id, Step.kind, Step.token, Step.queue, Step.state, Step.worker)
        with self._read.begin() as session:
            rows = session.execute(select(*columns).where(IN_FLIGHT).order_by(Step.id)).all()
            under_way = [
                UnderWay(step, Ticket(job, kind, token or ""), queue, state is StepState.RUNNING, worker or "")
                for step, job, kind, token, queue, state, worker in rows
            ]
            return under_way, queues_with(session, QUEUED)

    def _apply_users(self, now: float) -> None:
        if self._users_applied is not None and now - self._users_applied < COPY_SECONDS:
            return
        with self._read.begin() as session:
            keys = valid_keys(session, datetime.now(UTC))
        self.connections.users.apply(keys)
        self._users_applied = now

    def _look_at_fleet(self, now: float) -> None:
        # Rounds come many times a second, and the fleet changes less often.
        if self._fleet_read is not None and now - self._fleet_read < FLEET_SECONDS:
            return
        records, clock = self.connections.fleet.workers(), self.connections.fleet.now()
        self._slots = slots(live(records, clock))
        self._fleet_read = now
        if self._fleet_copied is None or now - self._fleet_copied >= COPY_SECONDS:
            with self._write.begin() as session:
                copy_workers(session, records, clock)
            self._fleet_copied = now

    def _write_claimed(self, found: Sequence[tuple[UnderWay, str]]) -> None:
        if not found:
            return
        workers = {each.ticket: worker for each, worker in found}
        with self._write.begin() as session:
            # Another process that holds the others ends their attempts, or writes the same.
            for ticket, step in locked_current(session, workers, skip_locked=True).items():
                claimed(session, step, workers[ticket], datetime.now(UTC))

    def _give_back(self, each: UnderWay) -> None:
        """Take a step from a lost worker.

        The claim is revoked last: once the database has committed, a result of the old attempt no longer counts.
        """
        with self._write.begin() as session:
            step = locked_current(session, [each.ticket]).get(each.ticket)
            if step is None:
                return
            attempt = step.attempt
            fault = f"the worker {step.worker or 'that had claimed it'} stopped responding"
            over = failed(session, step, AttemptOutcome.LOST, fault, datetime.now(UTC))
        with about(job=each.ticket.job, step=each.ticket.kind.value, attempt=attempt):
            logger.warning("%s; %s", fault, "the job is given up" if over else "the step is queued again")
        # Without this, the old worker works in vain, but its result has an old token and changes nothing.
        with suppress(ConnectionError):
            self.connections.claims.revoke(each.ticket)

    def _reserved(self, tickets: Sequence[Ticket], now: float) -> list[Ticket]:
        """Those of these lost messages that no other dispatcher has just sent again."""
        mine = dict(zip(tickets, self.connections.broker.reserve(tickets), strict=True))
        for ticket in tickets:
            if not mine[ticket]:
                self.watch.sent(ticket, now)
        return [ticket for ticket in tickets if mine[ticket]]

    def _take(self, queue: str) -> list[Ticket]:
        with self._write.begin() as session:
            taken = take(session, queue, self._slots.get(queue, 0), self.settings.in_flight, datetime.now(UTC))
            return [ticket_of(step) for step in taken]

    def _publish(self, tickets: Sequence[Ticket], now: float) -> None:
        """Send the messages of these steps. Unsent ones are sent again once the broker answers."""
        unsent = dict.fromkeys(tickets)
        try:
            for first in range(0, len(tickets), AT_ONCE):
                for ticket, queue, message in self._messages(tickets[first : first + AT_ONCE]):
                    self._send(ticket, queue, message, now)
                    del unsent[ticket]
        except ConnectionError:
            for ticket in unsent:
                self.watch.sent(ticket, now, delivered=False)
            raise

    def _send(self, ticket: Ticket, queue: str, message: StepMessage | Unsendable, now: float) -> None:
        try:
            if isinstance(message, Unsendable):
                raise message
            self.connections.sender.send(queue, message)
        except (Unsendable, MessageError) as error:
            # Every further message would fail in the same way.
            self._give_up(ticket, f"the step cannot be sent: {error}")
            return
        self.watch.sent(ticket, now)
        with about(job=ticket.job, step=ticket.kind.value, attempt=message.attempt):
            logger.info("sent to %s", queue)

    def _messages(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, str, StepMessage | Unsendable]]:
        """The queues and messages of these steps, without those that were claimed or ended meanwhile."""
        tokens = [ticket.token for ticket in tickets]
        query = select(Step).where(Step.token.in_(tokens), Step.state == StepState.SENT).options(*_WHOLE)
        with self._read.begin() as session:
            steps = {step.token: step for step in session.scalars(query)}
            return [
                (ticket, steps[ticket.token].queue, self._message(steps[ticket.token]))
                for ticket in tickets
                if ticket.token in steps
            ]

    def _message(self, step: Step) -> StepMessage | Unsendable:
        try:
            return message_of(step, self.settings.lease_seconds)
        except Unsendable as error:
            return error

    def _give_up(self, ticket: Ticket, why: str) -> None:
        with self._write.begin() as session:
            step = locked_current(session, [ticket]).get(ticket)
            if step is None:
                return
            attempt = step.attempt
            give_up(session, step, why, datetime.now(UTC))
        with about(job=ticket.job, step=ticket.kind.value, attempt=attempt):
            logger.error("%s", why)
