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
from server.grading.attempts import claimed, locked_current
from server.grading.models import AttemptOutcome, Job, Step, StepState
from server.grading.queue_order import IN_FLIGHT, QUEUED, queues_with
from server.settings import Settings
from server.submissions.verdicts import failed, give_up
from worker.contract.logging import about
from worker.contract.messages import MessageError, StepMessage, Ticket

FLEET_SECONDS = 1.0
COPY_SECONDS = 5.0

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
        steps = [each.step for each in decisions.send_again]
        for queue in queues:
            waiting = sum(1 for each in sent if each.queue == queue)
            if room(self._slots.get(queue, 0), waiting):
                steps += self._take(queue)
        self._publish(steps, now)
        begun = self._experiments.step(datetime.now(UTC), self._slots)
        return bool(steps or decisions.claimed or decisions.lost or begun)

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
        self.connections.users.apply(self._run, keys)
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
        with self._write.begin() as session:
            for each, worker in found:
                step = locked_current(session, each.ticket)
                if step is not None:
                    claimed(session, step, worker, datetime.now(UTC))

    def _give_back(self, each: UnderWay) -> None:
        """Take a step from a lost worker.

        The claim is revoked last: once the database has committed, a result of the old attempt no longer counts.
        """
        with self._write.begin() as session:
            step = locked_current(session, each.ticket)
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

    def _take(self, queue: str) -> list[int]:
        with self._write.begin() as session:
            taken = take(session, queue, self._slots.get(queue, 0), self.settings.in_flight, datetime.now(UTC))
            return [step.id for step in taken]

    def _publish(self, steps: Sequence[int], now: float) -> None:
        """Send the messages of these steps. Unsent ones are sent again once the broker answers."""
        for i, number in enumerate(steps):
            try:
                self._publish_one(number, now)
            except ConnectionError:
                with self._read.begin() as session:
                    rows = session.execute(
                        select(Step.job_id, Step.kind, Step.token).where(Step.id.in_(steps[i:]), IN_FLIGHT)
                    ).all()
                for job, kind, token in rows:
                    self.watch.sent(Ticket(job, kind, token or ""), now, delivered=False)
                raise

    def _publish_one(self, number: int, now: float) -> None:
        try:
            found = self._message(number)
            if found is None:
                return
            queue, message = found
            self.connections.sender.send(queue, message)
        except (Unsendable, MessageError) as error:
            # Every further message would fail in the same way.
            self._give_up(number, f"the step cannot be sent: {error}")
            return
        ticket = message.ticket
        self.watch.sent(ticket, now)
        with about(job=ticket.job, step=ticket.kind.value, attempt=message.attempt):
            logger.info("sent to %s", queue)

    def _message(self, number: int) -> tuple[str, StepMessage] | None:
        """The queue and message of a step; None if it was claimed or ended meanwhile."""
        with self._read.begin() as session:
            step = session.get(Step, number, options=_WHOLE)
            if step is None or step.state is not StepState.SENT:
                return None
            return step.queue, message_of(step, self.settings.lease_seconds)

    def _give_up(self, number: int, why: str) -> None:
        with self._write.begin() as session:
            query = select(Step).where(Step.id == number, IN_FLIGHT).with_for_update()
            step = session.scalar(query)
            if step is None:
                return
            give_up(session, step, why, datetime.now(UTC))
            subject = {"job": step.job_id, "step": step.kind.value, "attempt": step.attempt}
        with about(**subject):
            logger.error("%s", why)
