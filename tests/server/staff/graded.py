"""Submissions with a verdict, without a worker; and what a page asks of the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, event

from kernels.verdict import Verdict
from server.dispatching.dispatch import take
from server.recording.record import record
from server.submissions.models import Mode
from server.submissions.service import latest_job
from tests.server.course import AFTER_ANY_PAUSE, NOW, ACourse, check_result
from worker.contract.messages import CPU_QUEUE


def judged(course: ACourse, job: int, verdict: Verdict = Verdict.ACCEPTED, **more: Any) -> None:
    """What its check came to."""
    with course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=500, cap=500, now=AFTER_ANY_PAUSE)
    with course.sessions.begin() as session:
        result = check_result(session, job, verdict, **more)
    record(course.sessions, result)


def handed_in(course: ACourse, name: str, verdict: Verdict = Verdict.ACCEPTED, now: datetime = NOW, **more: Any) -> str:
    """What that person handed in, graded at once; its public id. The course measures on nothing."""
    accepted = course.hand_in(name, now=now, mode=more.pop("mode", Mode.RANK), **more)
    judged(course, newest_job(course, accepted.submission.id), verdict)
    return accepted.submission.public_id


def newest_job(course: ACourse, submission: int) -> int:
    with course.sessions.begin() as session:
        return latest_job(session, submission).id


class Asked(list[str]):
    """What a database was asked. transactions: how many began"""

    transactions = 0

    @property
    def statements(self) -> list[str]:
        """Without those that only SQLite needs to begin a transaction."""
        return [each for each in self if not each.startswith(("PRAGMA", "BEGIN"))]


@contextmanager
def counted_queries(engine: Engine) -> Iterator[Asked]:
    """The statements of all connections meanwhile."""
    seen = Asked()

    def begun(_connection: object) -> None:
        seen.transactions += 1

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(engine, "begin", begun)
    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "begin", begun)
    event.remove(engine, "before_cursor_execute", note)
