from __future__ import annotations

import os
import stat

import psycopg
import pytest
from sqlalchemy import create_engine, text

from tests.services.postgres_server import PostgresServer
from tests.services.processes import alive, children_of


@pytest.fixture
def server(tmp_path):
    with PostgresServer(tmp_path) as started:
        yield started


def processes_of(server):
    assert server.process
    return [server.process.pid, *children_of(server.process.pid)]


def test_what_was_committed_outlives_a_kill_and_what_was_not_does_not(server):
    server.create_database("grades")
    with server.connect("grades") as connection:
        connection.execute("CREATE TABLE points (id integer PRIMARY KEY)")
        for number in range(100):
            connection.execute("INSERT INTO points VALUES (%s)", (number,))
    open_one = server.connect("grades")
    open_one.autocommit = False
    open_one.execute("INSERT INTO points VALUES (100)")
    before = processes_of(server)
    server.kill()
    assert not any(map(alive, before))
    with pytest.raises(psycopg.OperationalError):
        open_one.commit()
    open_one.close()
    server.start()
    with server.connect("grades") as connection:
        rows = connection.execute("SELECT id FROM points ORDER BY id").fetchall()
    assert rows == [(number,) for number in range(100)]


def test_nothing_runs_after_it_is_stopped_though_someone_is_connected(server):
    before = processes_of(server)
    assert len(before) > 3
    connection = server.connect()
    server.stop()
    assert not any(map(alive, before))
    connection.close()
    server.stop()


@pytest.mark.long("other tests start the server in their own folder")
def test_its_folder_may_lie_where_only_the_owner_gets(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with PostgresServer(closed / "in" / ("a long name " * 8)) as server:
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
        assert not server.sockets.stat().st_mode & 0o077
        with server.connect() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        if os.geteuid() == 0:
            assert server.data.stat().st_uid
    assert not server.data.exists()
    assert not server.sockets.exists()


def test_the_fixture_is_an_empty_database(postgres_url):
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        found = connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"))
        assert found.scalar_one() == 0
        connection.execute(text("CREATE TABLE leftover (id integer)"))
    engine.dispose()


def test_the_fixture_is_an_empty_database_the_second_time_too(postgres_url):
    test_the_fixture_is_an_empty_database(postgres_url)


def test_the_database_goes_though_someone_is_still_connected(postgres):
    postgres.create_database("short lived")
    with postgres.connect("short lived") as connection:
        postgres.drop_database("short lived")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
