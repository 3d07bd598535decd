"""What tests of a course's pages do with them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

from sqlalchemy import select

from kernels.verdict import Verdict
from server.grading.models import Job, JobState, Result, Source
from server.submissions.models import Submission
from server.submissions.verdicts import update_judged_jobs
from tests.server.web.conftest import Portal

HOME, PAGE, FORM = "/courses/gpu/", "/courses/gpu/tiled/", "/courses/gpu/tiled/submissions"
KERNEL = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {\n}\n"
DAY = timedelta(days=1)


def now() -> datetime:
    return datetime.now(UTC)


def handed_in(portal: Portal) -> list[tuple[str, str]]:
    """What was handed in: for what, and the text."""
    with portal.course.sessions.begin() as session:
        query = select(Submission.mode, Source.content).join(Source, Source.digest == Submission.source_digest)
        return [(mode.value, content.decode()) for mode, content in session.execute(query.order_by(Submission.id))]


def end(portal: Portal, verdict: Verdict, **result: Any) -> str:
    """Let the last submission have that verdict, and a result of these numbers where there are any; gives its name."""
    with portal.course.sessions.begin() as session:
        job = session.scalars(select(Job).order_by(Job.id.desc()).limit(1)).one()
        job.state, job.verdict, job.ended_at = JobState.DONE, verdict, now()
        update_judged_jobs(session, [job])
        if result:
            given = {"job_id": job.id, "verdict": verdict, "device_class": "h200", "report": b"", "recorded_at": now()}
            session.add(Result(**(given | result)))
        return session.scalars(select(Submission.public_id).where(Submission.id == job.submission_id)).one()


def typed(page: str) -> str:
    """What stands in the form's text."""
    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert found is not None
    return unescape(found[1])


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).replace("\N{NO-BREAK SPACE}", " ").split())
