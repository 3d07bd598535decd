"""The workers table, with each worker's last report."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from server.database.base import Base


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
