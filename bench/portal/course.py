"""Waiting submissions and their results, written in the same way as the recorder does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from bench.queue.ground import Ground
from kernels.report import Report
from kernels.verdict import Verdict
from server.grading.reports import pack
from server.submissions.models import Mode
from server.submissions.service import SubmissionInput, accept
from server.submissions.source import read_source


@dataclass(frozen=True, slots=True)
class Waiting:
    """One queued submission of each person. ids: public names; numbers: in the database."""

    ground: Ground
    ids: tuple[str, ...]
    numbers: tuple[int, ...]

    @classmethod
    def of_all(cls, ground: Ground) -> Waiting:
        """Create a submission of every person."""
        assignment = next(iter(ground.assignments.values()))
        made = [
            accept(
                ground.sessions, SubmissionInput(person, assignment, read_source(f"// {person}\n"), Mode.CHECK)
            ).submission
            for person in ground.people
        ]
        return cls(ground, tuple(each.public_id for each in made), tuple(each.id for each in made))

    def begin(self, numbers: Sequence[int]) -> None:
        _write(self.ground, _BEGIN, numbers)

    def finish(self, numbers: Sequence[int]) -> None:
        """Record results for these submissions."""
        report = Report(Verdict.ACCEPTED, "It is correct.", "tiled", "cpu", "sm_90", 16)
        finish(self.ground, numbers, report)


def finish(ground: Ground, numbers: Sequence[int], report: Report) -> None:
    """Record this result for submissions."""
    statements = [_STEP_OVER, _RESULT, _JOB_OVER, _JUDGED]
    _write(ground, statements, numbers, report=pack(report), verdict=report.verdict.value)


def _write(ground: Ground, statements: Sequence[str], numbers: Sequence[int], **more: object) -> None:
    with ground.sessions.begin() as session:
        for statement in statements:
            asked = text(statement)
            given = {"numbers": list(numbers), **more}
            session.execute(asked, {name: given[name] for name in asked.compile().params})


_JOBS = "SELECT id FROM jobs WHERE submission_id = ANY(:numbers)"
_BEGIN = (
    (
        f"UPDATE steps SET state = 'running', token = md5('t' || id), attempt = 1, sent_at = now(), started_at = now() "  # noqa: S608 - names of our own
        f"WHERE job_id IN ({_JOBS})"
    ),
    "UPDATE jobs SET state = 'running', started_at = now() WHERE submission_id = ANY(:numbers)",
)
_STEP_OVER = f"UPDATE steps SET state = 'done', token = NULL, ended_at = now(), seconds = 1 WHERE job_id IN ({_JOBS})"  # noqa: S608 - names of our own
_RESULT = """
INSERT INTO results (job_id, verdict, device_class, report, ranked, recorded_at, launch, tile, not_ranked, cause)
SELECT id, :verdict, '', :report, false, now(), '', 16, '', '' FROM jobs WHERE submission_id = ANY(:numbers)
"""
_JOB_OVER = """
UPDATE jobs SET state = 'done', verdict = :verdict, started_at = coalesce(started_at, now()), ended_at = now()
WHERE submission_id = ANY(:numbers)
"""
_JUDGED = """
UPDATE submissions SET judged_job_id = jobs.id, verdict = jobs.verdict FROM jobs
WHERE jobs.submission_id = submissions.id AND submissions.id = ANY(:numbers)
"""
