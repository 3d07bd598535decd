"""The workers in the database, which the dispatcher copies from Redis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from kernels.wire import WireError, from_plain, to_plain
from server.database.upsert import insert_into
from server.fleet.models import Worker
from worker.contract.fleet import SLOTS_OF_A_GPU, WorkerRecord, WorkerState
from worker.contract.messages import is_gpu_queue

GIVEN_UP_SECONDS = 30.0
"""Silence after which a worker isn't counted on."""

GONE = "gone"
_STALE = timedelta(minutes=2)
HEARD = timedelta(seconds=20)
"""Maximum age of the dispatcher's copy of a heartbeat while both processes run."""

_WORKING = frozenset({WorkerState.STARTING, WorkerState.IDLE, WorkerState.BUSY})


def live(records: Sequence[WorkerRecord], now: float) -> list[WorkerRecord]:
    """Workers that reported recently. now: by the clock of their heartbeats."""
    return [record for record in records if now - record.beat <= GIVEN_UP_SECONDS]


def slots(records: Sequence[WorkerRecord]) -> dict[str, int]:
    """The number of slots for each queue."""
    return dict(
        Counter(
            slot.queue
            for record in records
            if record.state in _WORKING
            for slot in record.slots
            if slot.state in _WORKING
        )
    )


def copy_workers(session: Session, records: Sequence[WorkerRecord], now: float) -> None:
    """Store the workers' reports; silent or stopped workers become "gone". Safe to run in several processes."""
    seen = sorted(live(records, now), key=lambda record: record.id)
    for record in seen:
        beat = datetime.fromtimestamp(record.beat, UTC)
        told = {"state": record.state.value, "record": to_plain(record), "last_beat": beat}
        new = {"id": record.id[:100], "host": record.host[:255], "first_seen": beat, **told}
        insert = insert_into(session, Worker).values(**new)
        session.execute(insert.on_conflict_do_update(index_elements=[Worker.id], set_=told))
    names = [record.id[:100] for record in seen]
    session.execute(update(Worker).where(Worker.state != GONE, Worker.id.not_in(names)).values(state=GONE))


def known_workers(session: Session, now: datetime) -> list[WorkerRecord]:
    """Running workers according to the database, without a query to Redis."""
    return [record for record, _ in _known(session, now)]


def known_slots(session: Session, now: datetime) -> tuple[dict[str, int], dict[str, int]]:
    """The number of slots for each queue: of all running workers, and of recently heard workers."""
    known = _known(session, now)
    heard = [record for record, beat in known if beat > now - HEARD]
    return slots([record for record, _ in known]), slots(heard)


def at_once(queue: str, slots: int) -> float:
    """How many steps of a queue run at a time. Of a GPU's slots, one measures at a time."""
    return max(1.0, slots / len(SLOTS_OF_A_GPU)) if slots and is_gpu_queue(queue) else slots


def _known(session: Session, now: datetime) -> list[tuple[WorkerRecord, datetime]]:
    query = select(Worker.record, Worker.last_beat).where(Worker.state != GONE, Worker.last_beat > now - _STALE)
    known = []
    for plain, beat in session.execute(query.order_by(Worker.id)):
        try:
            known.append((from_plain(WorkerRecord, plain, lenient=True), beat))
        except WireError:  # written by another version
            continue
    return known


def device_classes(session: Session, now: datetime) -> Mapping[str, str]:
    """The device classes of running workers, each with the architecture to compile for."""
    return {name: arch for worker in known_workers(session, now) for name, arch in worker.device_classes.items()}
