"""The tables by migrations: the same as by the models, made once however many make them, and never half."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, MetaData, PrimaryKeyConstraint, UniqueConstraint, inspect, text, update
from sqlalchemy.exc import StatementError

from server.accounts.models import Person
from server.database import schema
from server.database.engine import DatabaseUnavailable, connect, sessions
from server.database.schema import NoSchema, SchemaTooNew, SchemaTooOld, check, upgrade
from server.grades.criteria import Criterion, stored
from server.grading.models import Job
from server.models import Base
from tests.server.course import ACourse

ADDS_A_COLUMN = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision = "9999", "{schema.newest()}"


def upgrade():
    with op.batch_alter_table("people") as people:
        people.add_column(sa.Column("nickname", sa.String(20), nullable=False, server_default="none"))
        people.create_check_constraint("nickname_short", "length(nickname) < 20")


def downgrade():
    pass
"""


@pytest.fixture
def newer_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Code with one more migration than there is; its file can be rewritten."""
    folder = tmp_path / "migrations"
    shutil.copytree(schema.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "versions" / "9999_more.py"
    file.write_text(ADDS_A_COLUMN)
    yield file
    monkeypatch.undo()
    schema._known.cache_clear()


@pytest.fixture
def newest(empty_url: str, empty: Engine, migrated_file: Path) -> Engine:
    """With all tables; SQLite's are copied, as their migrations take longer than most tests."""
    if empty_url.startswith("sqlite"):
        shutil.copy(migrated_file, empty_url.removeprefix("sqlite:///"))
    upgrade(empty)
    return empty


def take_newer(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setattr(schema, "FOLDER", file.parents[1])
    schema._known.cache_clear()


def test_versions_are_read_from_the_names_of_migrations() -> None:
    there = ScriptDirectory(str(schema.FOLDER))
    assert there.get_heads() == [schema.newest()]
    assert {script.revision for script in there.walk_revisions()} == schema._known()


def test_a_deleted_job_is_found_by_index_wherever_it_is_named() -> None:
    """Otherwise each of the 10,000 jobs of a dropped regrade reads a whole table."""
    for table in Base.metadata.sorted_tables:
        first = {next(iter(index.columns)).name for index in table.indexes} | {
            next(iter(found.columns)).name
            for found in table.constraints
            if isinstance(found, PrimaryKeyConstraint | UniqueConstraint) and found.columns
        }
        for key in table.foreign_keys:
            if key.column.table.name == "jobs":
                assert key.parent.name in first, f"{table.name}.{key.parent.name}"


def test_tables_are_made_once(empty: Engine) -> None:
    with pytest.raises(NoSchema, match="tilelab admin migrate"):
        check(empty)
    assert upgrade(empty)
    check(empty)
    assert not upgrade(empty)


def test_a_database_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    file = tmp_path / "tilelab.db"
    engine = connect(f"sqlite:///{file}")
    upgrade(engine)
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    engine.dispose()


def test_migrations_and_models_do_not_differ(newest: Engine) -> None:
    with newest.connect() as connection:
        options = schema.compared_as(connection.dialect.name)
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []


def test_migrations_make_what_the_models_make_to_the_last_constraint(
    newest: Engine, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    by_migrations = written_out(newest)
    if newest.dialect.name == "sqlite":
        by_models = connect(f"sqlite:///{tmp_path}/models.db")
    else:
        with newest.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        by_models = newest
    copied = MetaData(
        naming_convention=Base.metadata.naming_convention
    )  # making tables on PostgreSQL leaves a mark on constraints that SQLite then lacks
    for table in Base.metadata.tables.values():
        table.to_metadata(copied)
    copied.create_all(by_models)
    assert written_out(by_models) == by_migrations
    by_models.dispose()


def written_out(engine: Engine) -> set[str]:
    """Every column, constraint and index, as the database itself writes it."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            return {
                *connection.scalars(text(
                    "SELECT concat_ws(' ', table_name, column_name, data_type, character_maximum_length, is_nullable, "
                    "column_default) FROM information_schema.columns "
                    "WHERE table_schema = 'public' AND table_name <> 'alembic_version'"
                )),
                *connection.scalars(text(
                    "SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint "
                    "WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> 'alembic_version'"
                )),
                *connection.scalars(text(
                    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
                )),
            }  # fmt: skip
        rows = connection.execute(
            text("SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name <> 'alembic_version'")
        ).all()
    # A table that was made again has its name in quotes; columns that were added stand in the line of the last one.
    return {
        f"{table} {part.strip()}"
        for table, sql in rows
        for line in sql.replace(f'TABLE "{table}"', f"TABLE {table}").splitlines()
        for part in re.split(r", (?=\w+ [A-Z]+(?:\(\d+\))?(?:,|$))", line.strip().rstrip(","))
        if part.strip()
    }


STARTS = """
import os, sys
from server.database.engine import connect
from server.database.schema import check, upgrade

started = 0
while started < 3 and os.fork():
    started += 1
if started == 3:
    sys.exit(max(abs(os.waitstatus_to_exitcode(os.wait()[1])) for _ in range(3)))
engine = connect(sys.argv[1])
print(upgrade(engine), flush=True)
check(engine)
"""
"""Three processes of one interpreter, because its imports take longer than they."""


@pytest.mark.one_in(2, "on SQLite")
def test_many_processes_may_start_at_once(empty_url: str) -> None:
    root = Path(__file__).resolve().parents[3]
    ended = subprocess.run(
        [sys.executable, "-c", STARTS, empty_url],
        cwd="/",
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert sorted(ended.stdout.split()) == ["False", "False", "True"]


def test_an_older_database_is_brought_up_with_all_that_is_in_it(
    newest: Engine, newer_code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = ACourse.make(sessions(newest))
    job = course.job("ada")
    take_newer(monkeypatch, newer_code)
    with pytest.raises(SchemaTooOld, match="tilelab admin migrate"):
        check(newest)
    assert upgrade(newest)
    check(newest)
    with newest.connect() as connection:
        assert connection.scalar(text("SELECT nickname FROM people")) == "none"
        assert connection.scalar(text("SELECT id FROM jobs")) == job
        with pytest.raises(Exception, match=r"(?i)foreign key"):
            connection.execute(text("DELETE FROM people"))


def test_a_newer_database_is_left_alone(empty: Engine, newer_code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_newer(monkeypatch, newer_code)
    upgrade(empty)
    monkeypatch.undo()
    schema._known.cache_clear()
    for call in (check, upgrade):
        with pytest.raises(SchemaTooNew, match="Update the code") as told:
            call(empty)
        assert "\n" not in str(told.value)


def test_a_migration_that_fails_leaves_nothing(
    newest: Engine, newer_code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer_code.write_text(ADDS_A_COLUMN.replace("def downgrade", "    raise KeyError('half-way')\n\n\ndef downgrade"))
    take_newer(monkeypatch, newer_code)
    with pytest.raises(KeyError):
        upgrade(newest)
    assert "nickname" not in {column["name"] for column in inspect(newest).get_columns("people")}
    with pytest.raises(SchemaTooOld):
        check(newest)


def test_a_migration_does_not_wait_behind_a_table_in_use(
    postgres_url: str, newer_code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = connect(postgres_url)
    upgrade(engine)
    take_newer(monkeypatch, newer_code)
    monkeypatch.setattr(schema, "_WAIT_FOR_A_TABLE", "100ms")
    with engine.connect() as other:
        other.execute(text("SELECT * FROM people"))
        with pytest.raises(DatabaseUnavailable, match="nothing was"):
            upgrade(engine)
    assert upgrade(engine)
    engine.dispose()


def test_tables_from_before_the_first_migration_are_left_alone(empty: Engine) -> None:
    with empty.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('0029')"))
    for call in (check, upgrade):
        with pytest.raises(SchemaTooOld, match="0029"):
            call(empty)


def test_tables_of_something_else_are_left_alone(empty: Engine) -> None:
    with empty.begin() as connection:
        connection.execute(text("CREATE TABLE people (id INTEGER)"))
    for call in (check, upgrade):
        with pytest.raises(DatabaseUnavailable, match="people"):
            call(empty)


def test_the_first_version_can_be_taken_back(newest: Engine) -> None:
    with newest.begin() as connection:
        config = schema._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert inspect(newest).get_table_names() == ["alembic_version"]


def test_a_rubric_of_before_items_has_none(newest: Engine) -> None:
    ACourse.make(sessions(newest)).change(rubric=stored([Criterion("aa", "Readable", 4.0)]))
    with schema._alone(newest) as connection:
        config = schema._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0034")
        rubric = connection.scalar(text("SELECT rubric FROM assignments"))
    assert json.loads(rubric) == [{"key": "aa", "title": "Readable", "most": 4.0, "text": ""}]


def test_a_version_of_the_tables_is_a_number_in_a_row() -> None:
    names = [script.revision for script in ScriptDirectory(str(schema.FOLDER)).walk_revisions()]
    assert all(re.fullmatch(r"\d{4}", name) for name in names)
    assert names == sorted(names, reverse=True)


def test_either_database_refuses_the_same(made, engine: Engine) -> None:
    course = ACourse.make(made)
    job = course.job("ada")
    for statement in (
        "UPDATE people SET email = 'Ada@x.edu'",
        f"UPDATE jobs SET verdict = 'accepted' WHERE id = {job}",
        "UPDATE jobs SET kind = 'splendid'",
        "UPDATE jobs SET state = 'lost'",
        "UPDATE steps SET attempt = 4",
        "UPDATE steps SET state = 'sent'",
        "UPDATE submissions SET idempotency_key = 'x'",
        "UPDATE submissions SET person_id = 99",
        "INSERT INTO people (email, name, created_at) SELECT email, name, created_at FROM people",
    ):
        with pytest.raises(Exception, match=r"(?i)constraint"), engine.begin() as connection:
            connection.execute(text(statement))
    with made.begin() as session:
        assert session.get_one(Person, course.person("ada")).created_at.utcoffset() is not None


def test_the_code_alone_refuses_a_verdict_that_there_is_not(made, engine: Engine) -> None:
    job = ACourse.make(made).job("ada")
    set_to = "UPDATE jobs SET verdict = '{}', state = 'done', ended_at = queued_at"
    with engine.begin() as connection:
        connection.execute(text(set_to.format("of_a_later_version")))
    with made.begin() as session, pytest.raises(LookupError):
        session.get_one(Job, job)
    with made.begin() as session, pytest.raises(StatementError, match="splendid"):
        session.execute(update(Job).values(verdict="splendid"))
