"""Write down who did what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol

from sqlalchemy.orm import Session

from server.audit.models import AREAS, AuditEvent


class Actor(Protocol):
    """A person, by number."""

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
    """Write down a deed, in the transaction that does it.

    A person is named by number ("person 17"), never by name or email: the record outlives what people may have erased.
    action: one of AREAS, a dot, and what was done, so that a reader who asks for an area finds it
    actor: None for the system, or someone at the command line
    course_id: in which course, whose staff can read of it then
    detail: values that JSON has
    """
    if action.partition(".")[0] not in AREAS:
        raise ValueError(f"{action} is of no area that readers of the audit know")
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
