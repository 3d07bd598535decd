"""What became of a submission, for whoever may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.courses.service import is_staff, role_in
from server.database.engine import Sessions
from server.grading.models import Job, Result
from server.grading.queue import place_of
from server.grading.reports import unpack
from server.submissions.answers import SubmissionAnswer, WaitAnswer, step_answers
from server.submissions.models import Submission
from server.submissions.service import latest_job


def read_submission(
    session: Session, person_id: int, public_id: str, now: datetime
) -> SubmissionAnswer | None:
    """The submission as its owner or the staff of its course may see it; None for anyone else."""
    submission = visible_submission(session, person_id, public_id)
    if submission is None:
        return None
    job = latest_job(session, submission.id)
    judged = submission.judged_job
    assignment = submission.assignment
    sees_seed = is_staff(role_in(session, person_id, assignment.course_id))
    report = None if judged is None else _report(session, judged, sees_seed=sees_seed)
    place = place_of(session, job, now)
    return SubmissionAnswer(
        id=submission.public_id,
        assignment=f"{assignment.course.slug}/{assignment.slug}",
        mode=submission.mode,
        device_class=submission.device_class,
        state=job.state,
        verdict=None if judged is None else judged.verdict,
        position=place.position,
        wait=None if place.position is None else WaitAnswer(place.seconds, place.reason),
        steps=step_answers(job, report if job is judged else None),
        result=report,
    )


def visible_submission(session: Session, person_id: int, public_id: str) -> Submission | None:
    """For its owner, as long as they are in its course, and for the course's staff; None for anyone else."""
    if not public_id.isascii() or not public_id.isalnum():
        return None
    found = session.scalar(select(Submission).where(Submission.public_id == public_id))
    if found is None:
        return None
    role = role_in(session, person_id, found.assignment.course_id)
    return found if is_staff(role) or (role is not None and found.person_id == person_id) else None


def may_still_see(
    sessions: Sessions, who: Callable[[Session], int | None], public_id: str
) -> Callable[[], bool]:
    """Whether that one may see the submission whenever it is asked, which may be long after the request.

    who: finds the person by what the request came with; None where that is no longer good
    """

    def may_see() -> bool:
        with sessions.begin() as session:
            person = who(session)
            return person is not None and visible_submission(session, person, public_id) is not None

    return may_see


def _report(session: Session, job: Job, *, sees_seed: bool) -> Mapping[str, Any] | None:
    """The report as it was written. From the seed all numbers of the judge can be made again: it is for staff."""
    packed = session.scalar(select(Result.report).where(Result.job_id == job.id))
    if packed is None:
        return None
    return unpack(packed) if sees_seed else {**unpack(packed), "seed": ""}
