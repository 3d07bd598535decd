"""Kernels of an experiment that are submissions: found under the rights of its owner, and frozen with their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.experiment.definition import line_of
from kernels.experiment.model import Experiment as Definition
from kernels.experiment.model import OnServer
from server.courses.models import Assignment
from server.courses.service import is_staff, visible_assignment
from server.experiments.models import ExperimentSubmission
from server.experiments.plans import UnfitExperiment
from server.standings.answers import frozen
from server.standings.service import board
from server.submissions.models import Submission
from server.submissions.queries import visible_submission
from server.text import storable


@dataclass(frozen=True, slots=True)
class Found:
    """An experiment whose kernels all have a text. submissions: the ID in the database, by the kernel's name."""

    definition: Definition
    texts: Mapping[str, str]
    submissions: Mapping[str, int]


def find_submitted(
    session: Session, definition: Definition, course: int, person: int, now: datetime, text: str
) -> Found:
    """Find the submissions among an experiment's kernels: a student's own, for course staff any of the course.

    text: of the experiment's file, for the line of a mistake
    raise (UnfitExperiment)
    """
    texts, submissions = {}, {}
    for name, wanted in definition.on_server.items():
        found = _submission(session, wanted, person, now)
        if isinstance(found, Submission) and found.assignment.course_id != course:
            found = f"`{_told(wanted)}` is in another course. Use submissions of this course."
        if isinstance(found, Submission) and not found.source.content:
            found = f"`{_told(wanted)}` has no text any more."
        if isinstance(found, str):
            raise UnfitExperiment("experiment.kernels", found, line_of(text, "experiment", "kernels"))
        texts[name] = storable(found.source.content.decode("utf-8", "replace"))
        submissions[name] = found.id
    return Found(replace(definition, on_server={}), texts, submissions)


def submissions_of(session: Session, experiment: int) -> dict[str, str]:
    """The public ID of each kernel that is a submission, by the kernel's name."""
    query = (
        select(ExperimentSubmission.kernel, Submission.public_id)
        .join(Submission, Submission.id == ExperimentSubmission.submission_id)
        .where(ExperimentSubmission.experiment_id == experiment)
    )
    return dict(session.execute(query).all())


def _submission(session: Session, wanted: OnServer, person: int, now: datetime) -> Submission | str:
    """The submission, or why there is none."""
    if wanted.submission:
        submission = visible_submission(session, person, wanted.submission)
        return submission or f"There is no submission `{wanted.submission}`, or you may not see it."
    visible = visible_assignment(session, person, wanted.best, now)
    if visible is None:
        return f"There is no assignment `{wanted.best}`, or you may not see it."
    assignment, role = visible
    best = _best(session, assignment, person, staff=is_staff(role))
    return best or f"`{wanted.best}` has no accepted submission{'' if is_staff(role) else ' of yours'}."


def _best(session: Session, assignment: Assignment, person: int, *, staff: bool) -> Submission | None:
    """The first listed line of the leaderboard for course staff, a student's own line for the student."""
    before_freeze = not staff and frozen(assignment.board_frozen_at) is not None
    lines = board(
        session, assignment.id, assignment.device_class,
        limit=1, person=None if staff else person, before_freeze=before_freeze,
    )  # fmt: skip
    line = next(iter(lines.rows), None) if staff else lines.own
    if line is None:
        return None
    return session.scalar(select(Submission).where(Submission.public_id == line.submission))


def _told(wanted: OnServer) -> str:
    return wanted.submission or wanted.best
