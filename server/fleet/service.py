"""The workers as the database knows them: copied from the board in Redis by the dispatcher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.wire import WireError, from_plain, to_plain
from server.fleet.models import Worker
from worker.fleet import WorkerRecord, WorkerState

SILENT_SECONDS = 30.0
"""A worker that has told nothing for so long is not counted on."""

GONE = "gone"
_STALE = timedelta(minutes=2)
_WORKING = frozenset({WorkerState.STARTING, WorkerState.IDLE, WorkerState.BUSY})


def live(records: Sequence[WorkerRecord], now: float) -> list[WorkerRecord]:
    """Those that told of themselves a short while ago; now: by the clock that their beats were written with."""
    return [record for record in records if now - record.beat <= SILENT_SECONDS]


def slots(records: Sequence[WorkerRecord]) -> dict[str, int]:
    """How many slots take steps from each queue."""
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
    """Write what workers told into the table; who is silent or has left is gone."""
    known = {worker.id: worker for worker in session.scalars(select(Worker))}
    seen = {record.id: record for record in live(records, now)}
    for name, record in sorted(seen.items()):
        beat = datetime.fromtimestamp(record.beat, UTC)
        worker = known.get(name)
        if worker is None:
            worker = Worker(id=name, host=record.host, first_seen=beat)
            session.add(worker)
        worker.state = record.state.value
        worker.record = to_plain(record)
        worker.last_beat = beat
    for name, worker in known.items():
        if name not in seen:
            worker.state = GONE


def known_workers(session: Session, now: datetime) -> list[WorkerRecord]:
    """The workers that live, as far as the table knows; for whoever does not ask Redis."""
    query = select(Worker.record).where(Worker.state != GONE, Worker.last_beat > now - _STALE)
    found = []
    for plain in session.scalars(query.order_by(Worker.id)):
        try:
            found.append(from_plain(WorkerRecord, plain))
        except WireError:  # written by another version
            continue
    return found


def device_classes(session: Session, now: datetime) -> Mapping[str, str]:
    """The classes that living workers measure on, each with the architecture to compile for."""
    return {
        name: arch for worker in known_workers(session, now) for name, arch in worker.device_classes.items()
    }
