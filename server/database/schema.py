"""The version of the tables: bring it up to this code's, or say in one line why the database cannot be used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError

from server.database.base import Base
from server.database.engine import DatabaseUnavailable, snapshots
from server.database.faults import check_file, explained

FOLDER = Path(__file__).resolve().parents[2] / "migrations"

# Any number that nothing else in the same PostgreSQL database locks.
_LOCK = 0x74696C65
_WAIT_FOR_ANOTHER = "120s"
# A migration that cannot have a table at once gives up: while it waits, all who want that table wait behind it.
_WAIT_FOR_A_TABLE = "5s"
_LONGEST_STATEMENT = "10min"


class NoSchema(DatabaseUnavailable):
    """The database holds no tables yet."""


class SchemaTooOld(DatabaseUnavailable):
    """The tables are those of an older Tilelab."""


class SchemaTooNew(DatabaseUnavailable):
    """The tables are those of a newer Tilelab, or of another branch of it."""


def upgrade(engine: Engine) -> bool:
    """Bring the tables to this code's version, all or nothing; whether there was anything to do.

    Any number of processes may call it at once: one does it, the others wait for it. Raises DatabaseUnavailable.
    """
    if engine.dialect.name == "sqlite":
        _make_private(engine)
    with explained(engine), _alone(engine) as connection:
        present = _revision(connection)
        if present == newest():
            return False
        _refuse_foreign(connection, present)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return True


def check(engine: Engine) -> None:
    """Raise DatabaseUnavailable, or one of the kinds of it above, unless the database is ready for this code."""
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
    raise SchemaTooOld(
        "The database is of an older Tilelab. Stop the server, then run: tilelab admin migrate"
    )


@cache
def newest() -> str:
    """The version that this code needs."""
    head = _script().get_current_head()
    assert head is not None
    return head


def compared_as(dialect: str) -> dict[str, Any]:
    """How Alembic is to treat tables: also compare defaults, and rebuild a table where SQLite cannot alter it."""
    return {
        "compare_server_default": True,
        "compare_type": True,
        "render_as_batch": dialect == "sqlite",
    }


_NO_SCHEMA = "The database has no tables yet. Make them with: tilelab admin migrate"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


@cache
def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _refuse_foreign(connection: Connection, present: str | None) -> None:
    """What this code must not touch: tables of a newer Tilelab, or of something else."""
    known = {script.revision for script in _script().walk_revisions()}
    if present is not None and present not in known:
        raise SchemaTooNew(
            f"The database is of a newer Tilelab than this code (version {present} is not known here). "
            "Update the code on this machine."
        )
    if present is None and (
        strange := set(inspect(connection).get_table_names()) & set(Base.metadata.tables)
    ):
        raise DatabaseUnavailable(
            f"The database holds a table {min(strange)} that no migration made. Give Tilelab a database of its own."
        )


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A transaction that no other process is in at the same time, with what it takes to change tables."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection, _rebuilding(connection), connection.begin():
            yield connection
            if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
                raise RuntimeError("a migration left a row that points nowhere")
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
                "The tables are in use, so they could not be changed, and nothing was. "
                "Stop the server, then run: tilelab admin migrate"
            ) from error


@contextmanager
def _rebuilding(connection: Connection) -> Iterator[None]:
    """SQLite changes a table by making it anew; what refers to it must bear that until the end."""
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _make_private(engine: Engine) -> None:
    """A new file is for its owner alone: it holds what people handed in. The files beside it take after it."""
    check_file(engine.url)
    if engine.url.database and engine.url.database != ":memory:":
        os.close(os.open(engine.url.database, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
