"""The schema's version: migrate the tables, or say in one line why the database can't be used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError

from server.database.base import Base
from server.database.engine import DatabaseUnavailable, snapshots
from server.database.faults import check_file, explained

if TYPE_CHECKING:
    from alembic.config import Config

FOLDER = Path(__file__).resolve().parents[2] / "migrations"

# Any number that no other program locks in the same PostgreSQL database.
_LOCK = 0x74696C65
_WAIT_FOR_ANOTHER = "120s"
# A migration that can't lock a table at once gives up, because its waiting would block all others.
_WAIT_FOR_A_TABLE = "5s"
_LONGEST_STATEMENT = "10min"


class NoSchema(DatabaseUnavailable):
    """The database has no tables yet."""


class SchemaTooOld(DatabaseUnavailable):
    """The tables belong to an older Tilelab."""


class SchemaTooNew(DatabaseUnavailable):
    """The tables belong to a newer Tilelab, or to another branch."""


def upgrade(engine: Engine) -> bool:
    """Migrate the tables to this code's version, completely or not at all; returns whether they changed.

    Safe to call in several processes at once: one migrates, the others wait. Raises DatabaseUnavailable.
    """
    if engine.dialect.name == "sqlite":
        # Make a new file readable by its owner only: it holds people's work. Files next to it get the same rights.
        check_file(engine.url)
        if engine.url.database and engine.url.database != ":memory:":
            os.close(os.open(engine.url.database, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    with explained(engine), _alone(engine) as connection:
        present = _revision(connection)
        if present == newest():
            return False
        _refuse_foreign(connection, present)
        from alembic import command  # it loads for a tenth of a second, and mostly there is nothing to migrate

        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return True


def check(engine: Engine) -> None:
    """Raise DatabaseUnavailable or a subclass above, unless the database is ready for this code."""
    if engine.dialect.name == "sqlite":
        check_file(engine.url)
        if engine.url.database and not Path(engine.url.database).exists():
            raise NoSchema(_NO_SCHEMA)
    with explained(engine), snapshots(engine).connect() as connection:
        present = _revision(connection)
        if present == newest():
            return
        _refuse_foreign(connection, present)
    if present is None:
        raise NoSchema(_NO_SCHEMA)
    raise SchemaTooOld("The database belongs to an older Tilelab. Stop the server, then run: tilelab admin migrate")


def newest() -> str:
    """The version that this code needs."""
    return max(_known())


def compared_as(dialect: str) -> dict[str, Any]:
    """Alembic's options: compare defaults too, and rebuild a table if SQLite can't alter it."""
    return {"compare_server_default": True, "compare_type": True, "render_as_batch": dialect == "sqlite"}


_NO_SCHEMA = "The database has no tables yet. Create them with: tilelab admin migrate"


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


@cache
def _known() -> frozenset[str]:
    """The versions that this code knows: the names of their migrations begin with them."""
    return frozenset(path.name.partition("_")[0] for path in FOLDER.glob("versions/[0-9]*.py"))


def _revision(connection: Connection) -> str | None:
    there = inspect(connection).has_table("alembic_version")
    return connection.scalar(text("SELECT version_num FROM alembic_version")) if there else None


def _refuse_foreign(connection: Connection, present: str | None) -> None:
    """Refuse tables that belong to a much older or a newer Tilelab, or to another program."""
    if present is not None and present < min(_known()):
        raise SchemaTooOld(
            f"The database has version {present}, which is too old for this code. "
            'See "Very old databases" in docs/operators.md.'
        )
    if present is not None and present not in _known():
        raise SchemaTooNew(
            f"The database belongs to a newer Tilelab: this code doesn't know version {present}. "
            "Update the code on this machine."
        )
    if present is None and (strange := set(inspect(connection).get_table_names()) & set(Base.metadata.tables)):
        raise DatabaseUnavailable(
            f"The database has a table {min(strange)} that isn't Tilelab's. Use a separate database for Tilelab."
        )


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A transaction that excludes all other migrations, with settings for changing tables."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection, _rebuilding(connection), connection.begin():
            yield connection
            if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
                raise RuntimeError("a migration left a reference to a missing row")
        return
    with engine.begin() as connection:
        connection.execute(text(f"SET LOCAL lock_timeout = '{_WAIT_FOR_ANOTHER}'"))
        connection.execute(text(f"SET LOCAL statement_timeout = '{_LONGEST_STATEMENT}'"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        connection.execute(text(f"SET LOCAL lock_timeout = '{_WAIT_FOR_A_TABLE}'"))
        try:
            yield connection
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != "55P03":
                raise
            raise DatabaseUnavailable(
                "The tables are in use, so nothing was changed. Stop the server, then run: tilelab admin migrate"
            ) from error


@contextmanager
def _rebuilding(connection: Connection) -> Iterator[None]:
    """Turn off foreign keys: SQLite changes a table by rebuilding it."""
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")
