"""Exercises of an older database: Tilelab's own get their files, and each course gets what it set from a folder."""

from __future__ import annotations

import re
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, Engine, text

from kernels.exercise import find_exercise, read_exercise
from server.courses.exercises import kept_content, material_of
from server.courses.models import Assignment, Exercise
from server.database import schema
from server.database.engine import sessions
from server.database.schema import upgrade
from server.grading.models import Job
from tests.server.commands.own_exercises import DEFINITION
from tests.server.course import NOW
from tests.server.databases import OLDER_ON_SQLITE

# as version 0006 brought it, which the migration recognises: without the goal about shared loads
TILED = re.sub(
    r"# Half of an untiled.*?\n\n(?=\[|$)",
    "",
    (find_exercise("tiled").root / "exercise.toml").read_text(),
    flags=re.DOTALL,
).replace(
    "# Three tiles of 32 or five of 16 along each side. The last one reaches past the edge.",
    "# Three tiles of 32 and five of 16 along each side, the last one partly outside.",
)
OLDER, OWN, COPY, UNUSED = "0" * 64, "1" * 64, "2" * 64, "3" * 64
SHIPPED = find_exercise("tiled").digest
# of Tilelab's `naive`, as the first judge had it
RETITLED = "d244392878adb2da099e25f327583678ae8730b9711bc3e961b8becc4d8ae8f0"
NAIVE = (find_exercise("naive").root / "exercise.toml").read_text()


def insert(connection: Connection, table: str, **values: Any) -> None:
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)


def fill(connection: Connection) -> None:
    """Two courses that share rows of exercises, as tables of version 0006 have them."""
    now = NOW.isoformat(" ")
    for digest, name, definition in (
        (SHIPPED, "tiled", TILED), (OLDER, "tiled", TILED), (OWN, "tiled", DEFINITION), (COPY, "mine", TILED),
        (UNUSED, "unused", DEFINITION), (RETITLED, "naive", NAIVE.replace('title = "', 'title = "Our own: ', 1)),
    ):  # fmt: skip
        insert(
            connection, "exercises", digest=digest, name=name, title="T", definition=definition, added_at=now
        )
    insert(
        connection, "people", id=1, email="a@example.edu", name="A", created_at=now, admin=False, shows_name=False,
        time_zone="", made_name="Modest Buzzard 921",
    )  # fmt: skip
    for course in (1, 2):
        insert(
            connection, "courses", id=course, slug=f"c{course}", title="C", created_at=now, time_zone="UTC"
        )
    insert(connection, "sources", digest="s" * 64, content=b"//", added_at=now)
    # in course 1 the own `tiled` was replaced by Tilelab's since
    for number, course, digest, judged_by in (
        (1, 1, SHIPPED, OWN), (2, 2, OWN, OWN), (3, 1, COPY, COPY), (4, 2, SHIPPED, OLDER),
        (5, 1, RETITLED, RETITLED),
    ):  # fmt: skip
        insert(
            connection, "assignments", id=number, course_id=course, exercise_digest=digest, slug=f"a{number}",
            title="A", device_class="", arch="sm_90", points=1.0, created_at=now, listed=True,
            late_percent_per_day=0.0, min_interval_seconds=0, checks_per_hour=1, counts="best",
        )  # fmt: skip
        insert(
            connection, "submissions", id=number, public_id=str(number), assignment_id=number, person_id=1,
            source_digest="s" * 64, mode="rank", device_class="", created_at=now,
        )  # fmt: skip
        insert(
            connection, "jobs", id=number, kind="submission", submission_id=number, person_id=1,
            source_digest="s" * 64, exercise_digest=judged_by, device_class="", arch="sm_90", seed="0", priority=2,
            state="queued", queued_at=now,
        )  # fmt: skip


@pytest.mark.long("a published migration doesn't change; the short suite migrates a whole database")
@OLDER_ON_SQLITE
def test_each_exercise_goes_to_whom_it_belongs(empty: Engine) -> None:
    config = schema._config()
    with schema._alone(empty) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0006")
        fill(connection)
    upgrade(empty)
    with sessions(empty).begin() as session:
        found = {number: session.get_one(Assignment, number).exercise for number in range(1, 6)}
        judged = {number: session.get_one(Job, number).exercise for number in range(1, 6)}
        origins = {number: (row.course_id, row.name, row.digest) for number, row in found.items()}
        assert origins == {
            1: (None, "tiled", SHIPPED), 2: (2, "tiled", OWN), 3: (1, "mine", COPY), 4: (None, "tiled", SHIPPED),
            5: (None, "naive", RETITLED),
        }  # fmt: skip
        assert {number: (row.course_id, row.digest) for number, row in judged.items()} == {
            1: (1, OWN), 2: (2, OWN), 3: (1, COPY), 4: (None, OLDER), 5: (None, RETITLED),
        }  # fmt: skip
        assert judged[2] is found[2]
        assert found[1] is found[4]
        given = material_of(session, found[1])
        assert given is not None
        assert given.starter == find_exercise("tiled").starter.read_text()
        assert material_of(session, found[2]) is None
        assert material_of(session, found[5]) is not None, "students saw Tilelab's"
        assert kept_content(session, found[2]).exercise.digest == read_exercise("tiled", DEFINITION).digest
        assert session.query(Exercise).count() == 7
    with schema._alone(empty) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0006")
        assert connection.execute(text("SELECT exercise_digest FROM jobs ORDER BY id")).scalars().all() == [
            OWN, OWN, COPY, OLDER, RETITLED,
        ]  # fmt: skip
        assert connection.scalar(text("SELECT count(*) FROM exercises")) == 6
