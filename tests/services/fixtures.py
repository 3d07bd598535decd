"""The services as fixtures: one server of each kind in a test process, started by the first test that asks."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.services.postgres_server import PostgresServer
    from tests.services.redis_server import RedisServer


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server to make databases in. A test that kills its server has one of its own."""
    from tests.services.postgres_server import PostgresServer

    # rows stand in the order in which they came, test after test, and nothing is tidied up in the midst of one
    with PostgresServer(tmp_path_factory.mktemp("postgres"), autovacuum="off") as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The address, for SQLAlchemy, of a database with nothing in it, which goes with the test."""
    name = f"test_{uuid.uuid4().hex}"
    postgres.create_database(name)
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that many tests use. A test that kills or pauses its server has one of its own."""
    from tests.services.redis_server import RedisServer

    folder = tmp_path_factory.mktemp("redis")
    with RedisServer(folder) as server:
        yield server
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The address of a Redis with nothing in it, for redis-py and for Celery."""
    with redis_server.client() as client:
        client.flushall()
    return redis_server.url
