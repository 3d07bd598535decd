"""Submissions of an older database get the job that gave them their verdict."""

from __future__ import annotations

import pytest
from alembic import command
from sqlalchemy import Connection, Engine, text

from server.database import schema
from server.database.schema import upgrade
from tests.server.course import NOW
from tests.server.database.test_exercises_kept import insert
from tests.server.databases import OLDER_ON_SQLITE

_OVER = {"accepted": "done", "wrong_answer": "done", "system_error": "done", "cancelled": "cancelled"}

# By submission: what its jobs came to, in order; and which of them, counted from one, its verdict is from.
JOBS: dict[int, tuple[list[str], int | None]] = {
    1: (["accepted"], 1),
    2: (["queued"], None),
    3: (["cancelled"], None),
    4: (["accepted", "wrong_answer"], 2),
    5: (["accepted", "system_error"], 1),
    6: (["wrong_answer", "cancelled"], 1),
    7: (["accepted", "running"], 1),
    8: (["system_error"], 1),
    9: (["system_error", "system_error", "queued"], 2),
    10: (["system_error", "accepted"], 2),
    11: (["cancelled", "accepted", "system_error"], 2),
}


def number(submission: int, job: int) -> int:
    return 100 * submission + job


def fill(connection: Connection) -> None:
    """As tables of version 0007 have them."""
    now = NOW.isoformat(" ")
    insert(
        connection, "exercises", id=1, name="tiled", version="v", digest="d", title="T", definition="", added_at=now
    )  # fmt: skip
    insert(
        connection, "people", id=1, email="a@example.edu", name="A", created_at=now, admin=False, shows_name=False,
        time_zone="", made_name="Modest Buzzard 921",
    )  # fmt: skip
    insert(connection, "courses", id=1, slug="c", title="C", created_at=now, time_zone="UTC")
    insert(connection, "sources", digest="s" * 64, content=b"//", added_at=now)
    insert(
        connection, "assignments", id=1, course_id=1, exercise_id=1, slug="a", title="A", device_class="",
        arch="sm_90", points=1.0, created_at=now, listed=True, late_percent_per_day=0.0, min_interval_seconds=0,
        checks_per_hour=1, counts="best",
    )  # fmt: skip
    for submission, (jobs, _) in JOBS.items():
        insert(
            connection, "submissions", id=submission, public_id=str(submission), assignment_id=1, person_id=1,
            source_digest="s" * 64, mode="rank", device_class="", created_at=now,
        )  # fmt: skip
        for which, came_to in enumerate(jobs, 1):
            state = _OVER.get(came_to, came_to)
            insert(
                connection, "jobs", id=number(submission, which), kind="submission", submission_id=submission,
                person_id=1, source_digest="s" * 64, exercise_id=1, device_class="", arch="sm_90", seed="0",
                priority=2, state=state, verdict=came_to if state == "done" else None, queued_at=now,
                ended_at=now if came_to in _OVER else None,
            )  # fmt: skip


@pytest.mark.long("a published migration doesn't change; the short suite migrates a whole database")
@OLDER_ON_SQLITE
def test_each_submission_keeps_the_verdict_that_it_had(empty: Engine) -> None:
    config = schema._config()
    with schema._alone(empty) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0007")
        fill(connection)
    upgrade(empty)
    with empty.connect() as connection:
        rows = connection.execute(text("SELECT id, judged_job_id, verdict FROM submissions")).all()
        assert {row.id: row.verdict for row in rows} == {
            submission: None if which is None else jobs[which - 1]
            for submission, (jobs, which) in JOBS.items()
        }
        assert {row.id: row.judged_job_id for row in rows} == {
            submission: None if which is None else number(submission, which)
            for submission, (_, which) in JOBS.items()
        }
    with pytest.raises(Exception, match=r"(?i)foreign key"), empty.begin() as connection:
        connection.execute(text("UPDATE submissions SET judged_job_id = 4711 WHERE id = 1"))
    with schema._alone(empty) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0007")
        assert connection.scalar(text("SELECT count(*) FROM submissions")) == len(JOBS)
        assert connection.scalar(text("SELECT count(*) FROM jobs")) == sum(
            len(jobs) for jobs, _ in JOBS.values()
        )
