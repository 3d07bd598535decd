"""Write entries of the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.audit.models import AREAS, AuditEvent


class Actor(Protocol):
    """A person, by ID."""

    @property
    def id(self) -> int: ...


def note(
    session: Session,
    actor: Actor | None,
    action: str,
    subject: str,
    *,
    now: datetime | None = None,
    course_id: int | None = None,
    **detail: Any,
) -> AuditEvent:
    """Write an entry, in the transaction of the action itself.

    Name people by ID ("person 17"), never by name or email: the entry outlives an erased person.
    action: one of AREAS, a dot, and what was done; readers filter by area
    actor: None for the system or the command line
    course_id: the course whose staff may read the entry
    detail: values that JSON can hold
    """
    if action.partition(".")[0] not in AREAS:
        raise ValueError(f"{action} is in no area of the audit")
    event = AuditEvent(
        at=now or datetime.now(UTC),
        actor_id=None if actor is None else actor.id,
        action=action,
        subject=subject,
        detail=detail,
        course_id=course_id,
    )
    session.add(event)
    return event


RECENT = timedelta(days=7)


def recent(session: Session, action: str, now: datetime, most: int) -> Sequence[AuditEvent]:
    """The last week's entries of an action, newest first."""
    query = select(AuditEvent).where(AuditEvent.action == action, AuditEvent.at > now - RECENT)
    return session.scalars(query.order_by(AuditEvent.id.desc()).limit(most)).all()
