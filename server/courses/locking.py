"""One at a time in a course: who decides by what the course is now holds it until the decision is committed."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.courses.models import Course


def hold_course(session: Session, course_id: int) -> None:
    """Wait for whoever holds the course, and hold it to the end of the transaction; comes before any other lock.

    It keeps nobody from handing in, and no result from being recorded. SQLite has one writer anyway.
    """
    session.execute(select(Course.id).where(Course.id == course_id).with_for_update(key_share=True))
