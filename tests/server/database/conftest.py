from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from server.database.engine import connect


@pytest.fixture
def kept_engines() -> dict[str, Engine]:
    """None: here engines are tried, and each test has its own."""
    return {}


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with nothing in it, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tilelab.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def empty(empty_url: str) -> Iterator[Engine]:
    engine = connect(empty_url)
    yield engine
    engine.dispose()
