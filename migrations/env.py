"""Alembic's environment, with the connection of server.database.schema.upgrade, or with DATABASE_URL."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import JSON, Connection

from server.database.base import UtcTime
from server.database.engine import connect
from server.database.schema import compared_as
from server.models import Base
from server.settings import read_database_url


def main() -> None:
    """Run the requested migrations in one transaction."""
    given: Connection | None = context.config.attributes.get("connection")
    if given is not None:
        _run(given)
        return
    with connect(read_database_url()).begin() as connection:
        _run(connection)


def _run(connection: Connection) -> None:
    options: dict[str, Any] = compared_as(connection.dialect.name)
    context.configure(connection, target_metadata=Base.metadata, render_item=_written, **options)
    context.run_migrations()


def _written(kind: str, item: Any, known: AutogenContext) -> str | Literal[False]:
    """Write our own column types as standard ones, so that a migration doesn't depend on our code."""
    if kind == "type" and isinstance(item, UtcTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, JSON):
        known.imports.add("from sqlalchemy.dialects import postgresql")
        return 'sa.JSON().with_variant(postgresql.JSONB(), "postgresql")'
    return False


main()
