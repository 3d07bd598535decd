from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from server.database.engine import connect


@pytest.fixture(autouse=True)
def engines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here engines are tried: none has the dialect of another test's, and with it listeners that it was not given."""
    monkeypatch.setattr("server.database.engine.create_engine", create_engine)


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
