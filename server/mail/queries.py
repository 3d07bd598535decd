"""What waits to be sent, what could not be, and an e-mail to try it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from server.accounts.models import MailKind, Person
from server.mail.models import Mail

_SHOWN = 20
_GIVEN_UP = Mail.next_at.is_(None) & Mail.sent_at.is_(None) & (Mail.tries > 0)


@dataclass(frozen=True, slots=True)
class Unsent:
    """An e-mail that was given up."""

    name: str
    email: str
    subject: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class MailState:
    """The e-mails of the last 30 days.

    since: of the oldest that waits; untried_since: of the oldest that the mail server hasn't answered yet
    unsent: the latest that were given up
    """

    waiting: int
    since: datetime | None
    untried_since: datetime | None
    failed: int
    unsent: Sequence[Unsent]


def mail_state(session: Session) -> MailState:
    untried = func.min(case((Mail.tries == 0, Mail.made_at)))
    waiting, since, untried_since = session.execute(
        select(func.count(Mail.id), func.min(Mail.made_at), untried).where(Mail.next_at.is_not(None))
    ).one()
    failed = session.scalar(select(func.count(Mail.id)).where(_GIVEN_UP)) or 0
    latest = (
        select(Person.name, Person.email, Mail.subject, Mail.made_at)
        .join(Person, Person.id == Mail.person_id)
        .where(_GIVEN_UP)
        .order_by(Mail.id.desc())
        .limit(_SHOWN)
    )
    unsent = [Unsent(*row) for row in session.execute(latest)] if failed else []
    return MailState(waiting, since, untried_since, failed, unsent)


def ask_for_test(session: Session, person: Person) -> None:
    """Let the mailer send the person an e-mail that says nothing."""
    now = datetime.now(UTC)
    session.add(
        Mail(
            person_id=person.id, kind=MailKind.TEST, reference=f"test {now:%Y-%m-%d %H:%M:%S.%f}",
            subject="A test e-mail from Tilelab", path="/fleet", made_at=now, next_at=now,
        )
    )  # fmt: skip
