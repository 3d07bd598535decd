from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.database.engine import Sessions, connect, sessions
from tests.server.course import ACourse


@pytest.fixture
def made(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    """The database that the commands use."""
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    for name in ("DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE"):
        monkeypatch.delenv(name, raising=False)
    engine = connect(sqlite_url)
    yield sessions(engine)
    engine.dispose()


@pytest.fixture
def course(made: Sessions) -> ACourse:
    """A course that measures on nothing."""
    return ACourse.make(made, device_class="", points=10.0)
