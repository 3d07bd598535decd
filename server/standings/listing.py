"""A person's lines on all leaderboards: listed or not for other students, or removed."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment
from server.standings.models import Standing
from server.standings.ranks import BoardKey, bucket, change
from server.submissions.models import Submission

_KEY = (Standing.assignment_id, Standing.device_class, Standing.before_freeze, Standing.score, Standing.listed)


def set_listed(session: Session, person_id: int, *, listed: bool) -> None:
    """List a person on leaderboards, or no longer. Other students see it at once.

    Takes the locks of `update_leaderboards`, in its order: no line is written meanwhile.
    """
    person = session.get_one(Person, person_id, with_for_update={"key_share": True})
    if person.listed == listed:
        return
    theirs = select(Submission.assignment_id).where(Submission.person_id == person_id)
    mine = select(Assignment.id).where(Assignment.id.in_(theirs)).order_by(Assignment.id)
    found = session.scalars(mine.with_for_update(read=True)).all()
    person.listed = listed
    lines = update(Standing).where(Standing.person_id == person_id, Standing.assignment_id.in_(found))
    changes: Counter[tuple[BoardKey, int, bool]] = Counter()
    for assignment, device_class, before_freeze, score, now in session.execute(
        lines.values(listed=listed).returning(*_KEY)
    ):
        place = BoardKey(assignment, device_class, before_freeze), bucket(score)
        changes[*place, not now] -= 1
        changes[*place, now] += 1
    change(session, changes)
    note(session, person, "person.changed", f"person {person_id}", changed=["listed"])


def remove_person(session: Session, person: int) -> None:
    """Remove a person from all leaderboards."""
    removed = session.execute(delete(Standing).where(Standing.person_id == person).returning(*_KEY))
    gone: Counter[tuple[BoardKey, int, bool]] = Counter()
    for assignment, device_class, before_freeze, score, listed in removed:
        gone[BoardKey(assignment, device_class, before_freeze), bucket(score), listed] -= 1
    change(session, gone)
