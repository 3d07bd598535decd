"""Measure steps of an older database that are not over get the digests of what they measure."""

from __future__ import annotations

import base64
import json
import zlib

import pytest
from alembic import command
from sqlalchemy import Engine, text

from server.database import schema
from server.database.schema import upgrade
from tests.server.course import NOW
from tests.server.database.test_exercises_kept import insert
from tests.server.database.test_judged_jobs_kept import fill, number
from tests.server.databases import OLDER_ON_SQLITE

FIRST, SECOND = "a" * 64, "b" * 64
WORK = base64.b64encode(zlib.compress(json.dumps({"request": {}, "digests": [FIRST, SECOND]}).encode()))

# By submission: the state of the step of its first job, its work, and the digests that it gets.
STEPS: dict[int, tuple[str, bytes | None, str | None]] = {
    1: ("queued", WORK, f"{FIRST} {SECOND}"),
    2: ("done", WORK, None),
    3: ("queued", None, None),
    4: ("queued", b"of another version", ""),
}


@pytest.mark.long("a published migration doesn't change; the short suite migrates a whole database")
@OLDER_ON_SQLITE
def test_steps_that_wait_get_their_digests(empty: Engine) -> None:
    config = schema._config()
    with schema._alone(empty) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0007")
        fill(connection)
        command.upgrade(config, "0008")
        for submission, (state, work, _) in STEPS.items():
            insert(
                connection, "steps", id=submission, job_id=number(submission, 1), kind="measure", state=state,
                queue="gpu.h200", person_id=1, priority=2, turn=1, attempt=0, work=work,
                queued_at=NOW.isoformat(" "),
            )  # fmt: skip
    upgrade(empty)
    with schema._alone(empty) as connection:
        rows = connection.execute(text("SELECT id, digests FROM steps"))
        assert {row.id: row.digests for row in rows} == {
            step: digests for step, (_, _, digests) in STEPS.items()
        }
        config.attributes["connection"] = connection
        command.downgrade(config, "0008")
        assert connection.scalar(text("SELECT count(*) FROM steps WHERE work IS NOT NULL")) == 3
