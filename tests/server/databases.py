"""Both kinds of database as fixtures, with all tables and nothing in them.

The tables are made once in a test process, as an operator makes them: a migration takes longer than most tests. For
each test SQLite's file is copied, and PostgreSQL's database emptied. Each stays at one address, so that its engine
serves all tests of the process: it knows the statements that earlier tests compiled.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import pytest
from sqlalchemy import Engine

from server.database.engine import Sessions, connect, sessions
from server.database.schema import upgrade
from server.models import Base
from tests.services.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with all tables, to be copied."""
    file = tmp_path_factory.mktemp("migrated") / "tilelab.db"
    engine = connect(f"sqlite:///{file}")
    upgrade(engine)
    engine.dispose()
    return file


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """The address of `tilelab.db` in the test's folder."""
    return f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'tilelab.db')}"


@pytest.fixture(scope="session")
def kept_file(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> KeptFile:
    return KeptFile(migrated_file, tmp_path_factory.mktemp("kept") / "tilelab.db")


@pytest.fixture(scope="session")
def kept_tables(postgres: PostgresServer) -> KeptTables:
    return KeptTables(postgres)


@pytest.fixture
def migrated_url(kept_tables: KeptTables) -> str:
    """The address of a database in PostgreSQL."""
    return kept_tables.emptied()


@pytest.fixture(scope="session")
def kept_engines() -> dict[str, Engine]:
    """By address. Between tests they have no connection."""
    return {}


def on_each_database(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `database_url` on SQLite, and in the whole suite on PostgreSQL, too."""
    own = [mark for mark in metafunc.definition.iter_markers("parametrize") if "database_url" in mark.args[0]]
    if "database_url" in metafunc.fixturenames and not own:
        both = metafunc.definition.get_closest_marker("both_databases")
        marks = [] if both and both != ON_ONE.mark else [pytest.mark.long("the short suite has the same on SQLite")]
        kinds = ["sqlite", pytest.param("postgresql", marks=marks)]
        metafunc.parametrize("database_url", kinds, indirect=True)


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of SQLite's, then of PostgreSQL's."""
    kind = "kept_file" if request.param == "sqlite" else "kept_tables"
    kept: KeptFile | KeptTables = request.getfixturevalue(kind)
    return kept.emptied()


ON_BOTH = pytest.mark.both_databases
"""For locks, claims, upserts and whatever else the two do in ways of their own: both in the short suite, too."""

ON_ONE = pytest.mark.both_databases(False)
"""For what takes long and shows no difference, among others that do."""

OLDER_ON_SQLITE = pytest.mark.parametrize(
    "empty_url",
    [
        "sqlite",
        pytest.param(
            "postgresql", marks=pytest.mark.long("the short suite has it on SQLite, and either's tables in full")
        ),
    ],
    indirect=True,
)
"""For what a migration makes of older rows."""

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what one kind of database shows as well as both."""

ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""For what only it does."""


@pytest.fixture
def engine(database_url: str, kept_engines: dict[str, Engine]) -> Iterator[Engine]:
    """SQLite, then PostgreSQL."""
    if database_url not in kept_engines:
        kept_engines[database_url] = connect(database_url)
    yield kept_engines[database_url]
    kept_engines[database_url].dispose()


@pytest.fixture
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    """PostgreSQL, for what only it does, in a database that no test used before: plans depend on what was there."""
    engine = connect(postgres_url)
    Base.metadata.create_all(engine)
    engine.dispose()
    yield engine
    engine.dispose()


@pytest.fixture
def made(engine: Engine) -> Sessions:
    """Sessions on either database."""
    return sessions(engine)


class KeptFile:
    """One SQLite database, replaced by an empty one from test to test."""

    def __init__(self, template: Path, file: Path) -> None:
        self._template, self._file = template, file

    def emptied(self) -> str:
        """Its address. Nobody may be connected."""
        for old in self._file.parent.glob(f"{self._file.name}*"):
            old.unlink()
        shutil.copy(self._template, self._file)
        return f"sqlite:///{self._file}"


class KeptTables:
    """One database of a server, emptied from test to test; made anew where a test changed more than rows."""

    def __init__(self, server: PostgresServer, name: str = "with_tables") -> None:
        self._server = server
        self._name = name
        self._shape = ""

    def emptied(self) -> str:
        """Its address. Whoever is still connected is cut off."""
        if not self._shape or not self._empty():
            self._make()
        return self._server.url(self._name)

    def clear(self) -> None:
        """Empty it under whoever is connected; what comes next has numbers that nothing had before."""
        with self._server.connect(self._name) as connection:
            connection.execute(_NO_ROWS)

    def _make(self) -> None:
        self._server.drop_database(self._name)
        self._server.create_database(self._name)
        engine = connect(self._server.url(self._name))
        upgrade(engine)
        engine.dispose()
        with self._server.connect(self._name) as connection:
            (self._shape,) = connection.execute(_SHAPE).fetchone() or ("",)

    def _empty(self) -> bool:
        """Whether it is now as it was when it was made."""
        with self._server.connect(self._name) as connection:
            connection.execute(_CUT_OFF)
            if connection.execute(_SHAPE).fetchone() != (self._shape,):
                return False
            connection.execute(_NO_ROWS)
            connection.execute(_FROM_ONE)
        return True


_CUT_OFF: LiteralString = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

# tables with their columns, their constraints and indexes, and which version the database says that they are of
_SHAPE: LiteralString = """
SELECT md5(
    (SELECT string_agg(concat(attrelid, attname, atttypid, attnotnull, attisdropped), ' ' ORDER BY attrelid, attnum)
     FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'public'::regnamespace)
    || (SELECT string_agg(oid::text, ' ' ORDER BY oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace)
    || (SELECT string_agg(version_num, ' ') FROM alembic_version)
)
"""

# Nearly all tables are small, and to delete a few rows is ten times as fast as to truncate. Foreign keys and triggers
# rest meanwhile, so that the order does not matter.
_NO_ROWS: LiteralString = """
DO $$
DECLARE
    each regclass;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR each IN SELECT oid FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'alembic_version'
    LOOP
        IF pg_relation_size(each) > 1000000 THEN
            EXECUTE format('TRUNCATE %s CASCADE', each);
        ELSE
            EXECUTE format('DELETE FROM %s', each);
        END IF;
    END LOOP;
END $$
"""

_FROM_ONE: LiteralString = """
SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false)
FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL
"""
