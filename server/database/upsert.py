"""Insert a row unless it exists, for both databases."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from server.database.base import Base


def insert_into(session: Session, table: type[Base]) -> Any:
    """An INSERT with `on_conflict_do_nothing` and `on_conflict_do_update`, for the session's database."""
    return insert_for(session.get_bind().dialect.name, table)


def insert_for(dialect: str, table: type[Base]) -> Any:
    """The same for a database by its name in SQLAlchemy, for statements that are made once."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def add(session: Session, table: type[Base], row: dict[str, Any]) -> bool:
    """Insert a row unless it exists. Returns whether it is new."""
    connection = session.connection()
    return connection.execute(_add(table, connection.dialect.name), row).rowcount == 1


@cache
def _add(table: type[Base], dialect: str) -> Any:
    return insert_for(dialect, table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
