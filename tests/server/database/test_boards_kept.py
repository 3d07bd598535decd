"""Boards of an older database: each line stays where it is, and draws a lot."""

from __future__ import annotations

import pytest
from alembic import command
from sqlalchemy import Engine

from server.database import schema
from server.database.engine import sessions
from server.database.schema import upgrade
from server.standings.service import board
from tests.server.course import ACourse
from tests.server.databases import OLDER_ON_SQLITE
from tests.server.standings.results import ranked


@pytest.mark.long("a published migration doesn't change; the short suite migrates a whole database")
@OLDER_ON_SQLITE
def test_lines_stay_and_draw_lots(empty: Engine) -> None:
    upgrade(empty)
    course = ACourse.make(sessions(empty))
    for name, gflops in (("ada", 500.0), ("ben", 700.0), ("cem", 600.0)):
        ranked(course, name, gflops)
    config = schema._config()
    with schema._alone(empty) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0005")
    upgrade(empty)
    with course.sessions.begin() as session:
        rows = board(session, course.assignment, "h200").rows
    assert [row.name for row in rows] == ["ben", "cem", "ada"]
    assert len({row.lot for row in rows}) == 3
    assert all(0 <= row.lot < 2**62 for row in rows)
