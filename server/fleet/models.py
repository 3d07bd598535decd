"""The tables of workers: their last reports, and their keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from server.database.base import Base, BigId


class Worker(Base):
    """A worker: a machine, or a part of one.

    state: as in worker.contract.fleet.WorkerState, or "gone" if it has stopped or was silent for long
    record: the whole report, as worker.contract.fleet.WorkerRecord
    """

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    host: Mapped[str] = mapped_column(String(255))
    state: Mapped[str] = mapped_column(String(16))
    record: Mapped[dict[str, Any]]
    first_seen: Mapped[datetime]
    last_beat: Mapped[datetime]


class WorkerKey(Base):
    """A worker's key. A worker has two while its address is being replaced.

    queues: separated by spaces, as in worker.contract.credential.Credential
    password_digest: SHA-256 of the password of its user in Redis
    key: signs results, in hex. Anyone who reads it can forge results
    valid_until: None if it does not expire
    """

    __tablename__ = "worker_keys"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    name: Mapped[str] = mapped_column(String(40), index=True)
    queues: Mapped[str] = mapped_column(String(500))
    password_digest: Mapped[str] = mapped_column(String(64))
    key: Mapped[str] = mapped_column(String(64))
    added_at: Mapped[datetime]
    valid_until: Mapped[datetime | None]

    @property
    def queue_names(self) -> tuple[str, ...]:
        return tuple(self.queues.split())
