"""Whether the database can store more: a real write, and the free disk space."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from sqlalchemy import Engine, text

from server.database.engine import hasty
from server.database.faults import explained

_WAIT_SECONDS = 2.0
_MIB = 2**20


def check_write(engine: Engine) -> None:
    """Commit a small write without effect. Raises DatabaseUnavailable if it fails."""
    if engine.dialect.name == "sqlite":
        # a new number each time: SQLite doesn't write unchanged pages
        statement = text(f"PRAGMA user_version = {secrets.randbelow(2**31)}")
    else:
        statement = text("UPDATE alembic_version SET version_num = version_num")
    with explained(engine), hasty(engine, _WAIT_SECONDS).begin() as session:
        session.execute(statement)


def free_bytes(engine: Engine) -> int | None:
    """Free space on the disk of SQLite's file. None for PostgreSQL, whose disk only its machine knows."""
    if engine.dialect.name != "sqlite" or engine.url.database in {None, "", ":memory:"}:
        return None
    try:
        found = os.statvfs(Path(str(engine.url.database)).resolve().parent)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def is_nearly_full(engine: Engine, floor_mb: float) -> bool:
    """Whether the free space is below the reserve for accepted submissions."""
    free = free_bytes(engine)
    return free is not None and free < floor_mb * _MIB
