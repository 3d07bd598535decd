"""Insert a row unless it exists, for both databases."""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from server.database.base import Base


def insert_into(session: Session, table: type[Base]) -> Any:
    """An INSERT with `on_conflict_do_nothing` and `on_conflict_do_update`, for the session's database."""
    if session.get_bind().dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)
