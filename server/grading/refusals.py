"""Results that the recorder refused, because they can't be trusted. The audit log keeps them for operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from server.audit.service import note, recent
from server.text import storable

_ACTION = "worker.refused"
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RefusedResult:
    """A refused result. worker: as it names itself; why: as in server.recording.origin.Distrust."""

    worker: str
    job: int
    why: str
    at: datetime


def note_refusal(session: Session, job: int, worker: str, why: str, now: datetime) -> None:
    """Keep a refused result in the audit log."""
    name = storable(worker)[:100] or "without a name"
    note(session, None, _ACTION, f"worker {name}", now=now, job=job, why=str(why))


def recent_refusals(session: Session, now: datetime) -> Sequence[RefusedResult]:
    """The refused results of the last week, newest first."""
    return [
        RefusedResult(event.subject.removeprefix("worker "), event.detail["job"], event.detail["why"], event.at)
        for event in recent(session, _ACTION, now, _MOST_SHOWN)
    ]
