"""Let students choose the submission that counts, if the assignment allows it."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Counts
from server.courses.service import role_in
from server.submissions.allowance import deadlines_of
from server.submissions.entries import entries_of
from server.submissions.models import Mode, Submission
from server.teams.credit import chosen_by


class NotChoosable(ValueError):
    """The submission can't be chosen; the text tells its owner why."""


def choose(session: Session, person: int, public_id: str, now: datetime | None = None) -> Submission | None:
    """Choose the submission that counts. Returns None if it isn't this person's or their present team's, or they left
    the course.

    raise (NotChoosable): the assignment doesn't allow it, is closed, or the submission isn't accepted
    """
    moment = now or datetime.now(UTC)
    if not (public_id.isascii() and public_id.isalnum()):
        return None
    submission = session.scalar(
        select(Submission).where(Submission.public_id == public_id, chosen_by(person)).with_for_update(of=Submission)
    )
    if submission is None or role_in(session, person, submission.assignment.course_id) is None:
        return None
    assignment = submission.assignment
    if assignment.counts is not Counts.CHOSEN:
        what = "best" if assignment.counts is Counts.BEST else "last"
        raise NotChoosable(f"In this assignment the {what} submission counts, so there is nothing to choose.")
    if assignment.course.archived_at is not None:
        raise NotChoosable("This course is archived. What counts can't change any more.")
    if deadlines_of(session, assignment, person).closed(moment):
        raise NotChoosable("This assignment is closed. What counts can't change any more.")
    if submission.mode is not Mode.RANK:
        raise NotChoosable("This was a check. Submit it, then it can count.")
    entries = entries_of(session, assignment, person)
    entry = next((each for each in entries if each.submission_id == submission.id), None)
    if entry is None or not entry.judged:
        raise NotChoosable("This submission has no verdict yet. Choose it once it is graded.")
    if not entry.worth_choosing:
        raise NotChoosable("Only an accepted submission can be chosen.")
    submission.chosen_at = moment
    session.flush()
    note(
        session, session.get_one(Person, person), "submission.chosen", f"submission {public_id}", now=moment,
        course_id=assignment.course_id, assignment=assignment.slug,
    )  # fmt: skip
    return submission
