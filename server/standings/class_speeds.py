"""The place of a student's measured speed in the class. Nothing of it names or points to another student."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from kernels.rendering.page.experiment_page import PlotView
from server.courses.models import Membership, Role
from server.grading.metric import UNITS, metric_of
from server.standings.bins import bins, histogram
from server.standings.models import Standing
from server.submissions.models import Submission

FEWEST = 5
"""Among fewer students, a range of speeds could tell whose it is."""


@dataclass(frozen=True, slots=True)
class ClassSpeeds:
    """The best speeds of a class.

    slower: how many others are slower; others: how many others there are
    """

    slower: int
    others: int
    plot: PlotView


def class_speeds(session: Session, submission_id: int, now: datetime) -> ClassSpeeds | None:
    """The distribution with the owner's best speed; None without one, or in a small class.

    A frozen leaderboard gives the speeds of that moment. Others count only if leaderboards list them: from the listed
    speeds, readers could tell the ones in between.
    """
    submission = session.get_one(Submission, submission_id)
    assignment = submission.assignment
    students = select(Membership.person_id).where(
        Membership.course_id == assignment.course_id, Membership.role == Role.STUDENT
    )
    frozen = assignment.board_frozen_at is not None and assignment.board_frozen_at <= now
    rows = session.execute(
        select(Standing.person_id, Standing.score).where(
            Standing.assignment_id == assignment.id, Standing.device_class == submission.device_class,
            Standing.before_freeze.is_(frozen), Standing.person_id.in_(students),
            Standing.score != 0.0, or_(Standing.listed, Standing.person_id == submission.person_id),
        )
    )  # fmt: skip
    scores: dict[int, float] = {row.person_id: row.score for row in rows}
    own = scores.pop(submission.person_id, None)
    if own is None or len(scores) + 1 < FEWEST or not submission.device_class:
        return None
    metric = metric_of(assignment.exercise)
    found = bins([abs(score) for score in (*scores.values(), own)], [("you", abs(own))])
    labels = [(f"{'you: ' if one.rungs else ''}{one.label}", one.students) for one in found]
    unit = UNITS[metric]
    plot = histogram("class", "Speeds of the class", f"Best accepted kernel, {unit}", "Students", labels)
    return ClassSpeeds(sum(score < own for score in scores.values()), len(scores), plot)
