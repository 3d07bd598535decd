"""Both kinds of database as fixtures, with all tables and nothing in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from server.database.engine import Sessions, connect, sessions
from server.models import Base


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """SQLite, then PostgreSQL."""
    sqlite = request.param == "sqlite"
    yield from _filled(
        f"sqlite:///{tmp_path}/tilelab.db" if sqlite else request.getfixturevalue("postgres_url")
    )


@pytest.fixture
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    """PostgreSQL, for what only it does."""
    yield from _filled(postgres_url)


@pytest.fixture
def made(engine: Engine) -> Sessions:
    """Sessions on either database."""
    return sessions(engine)


def _filled(url: str) -> Iterator[Engine]:
    engine = connect(url)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()
