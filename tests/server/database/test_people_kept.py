"""People of an older database: the boards call them what they did, and it is known whose accounts staff stand for."""

from __future__ import annotations

from datetime import timedelta

import pytest
from alembic import command
from sqlalchemy import Engine, text

from server.database import schema
from server.database.schema import upgrade
from tests.server.course import NOW
from tests.server.databases import OLDER_ON_SQLITE

NAMES = ["Modest Buzzard 921", "Quick Ferret 500", "Silver Pelican 898", "Sharp Linnet 330"]


@pytest.mark.long("a published migration doesn't change; the short suite migrates a whole database")
@OLDER_ON_SQLITE
def test_names_stay_and_who_came_with_a_code_is_known(empty: Engine) -> None:
    config = schema._config()
    with empty.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        for number, name in enumerate(("staffs", "joined", "invited", "linked"), 1):
            at = NOW + timedelta(days=number)
            connection.execute(
                text(
                    "INSERT INTO people (id, email, name, created_at, admin, shows_name, time_zone) "
                    "VALUES (:id, :email, :name, :at, false, false, '')"
                ),
                {"id": number, "email": f"{name}@example.edu", "name": name, "at": at.isoformat(" ")},
            )
        for number, action, days in (
            (2, "course.joined", 2),
            (3, "course.joined", 30),
            (4, "course.joined", 4),
            (4, "password.set_by_link", 9),
        ):
            connection.execute(
                text(
                    "INSERT INTO audit_events (at, actor_id, action, subject, detail) "
                    "VALUES (:at, :who, :action, '', '{}')"
                ),
                {
                    "who": number,
                    "action": action,
                    "at": (NOW + timedelta(days=days, seconds=1)).isoformat(" "),
                },
            )
    upgrade(empty)
    with empty.connect() as connection:
        rows = connection.execute(
            text("SELECT made_name, proven_at IS NOT NULL FROM people ORDER BY id")
        ).all()
    assert [bool(proven) for _, proven in rows] == [True, False, True, True]
    assert [name for name, _ in rows] == NAMES
