"""Workers, as they last told of themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from server.database.base import Base


class Worker(Base):
    """One worker: a machine, or a part of one.

    state: as in worker.contract.fleet.WorkerState, and "gone" for one that has stopped or been silent for long
    record: all that it told, as worker.contract.fleet.WorkerRecord
    """

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    host: Mapped[str] = mapped_column(String(255))
    state: Mapped[str] = mapped_column(String(16))
    record: Mapped[dict[str, Any]]
    first_seen: Mapped[datetime]
    last_beat: Mapped[datetime]
