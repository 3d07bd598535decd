"""The table of e-mails."""

from __future__ import annotations

import secrets
from datetime import datetime
from functools import partial

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from server.accounts.models import MailKind
from server.database.base import Base, BigId, choice

_WAITS = text("next_at IS NOT NULL")


class Mail(Base):
    """An e-mail to a person: one for each occasion. The address is read when it is sent.

    reference: the occasion, such as "extension request 7"
    path: of the page that it links to; "" for a one-time link, which is made when it is sent
    link_id: the link that someone asked for
    key: for the page where the reader turns off this kind
    made_at: when the occasion was
    next_at: when to try next; None once it is sent or given up
    """

    __tablename__ = "mails"
    __table_args__ = (
        UniqueConstraint("person_id", "reference"),
        Index("ix_mails_waiting", "next_at", postgresql_where=_WAITS, sqlite_where=_WAITS),
        Index(None, "made_at"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    kind: Mapped[MailKind] = mapped_column(choice(MailKind, constrained=False))
    reference: Mapped[str] = mapped_column(String(100))
    subject: Mapped[str] = mapped_column(String(300))
    path: Mapped[str] = mapped_column(String(300))
    link_id: Mapped[int | None] = mapped_column(ForeignKey("one_time_links.id", ondelete="SET NULL"), index=True)
    key: Mapped[str] = mapped_column(String(43), unique=True, default=partial(secrets.token_urlsafe, 24))
    made_at: Mapped[datetime]
    next_at: Mapped[datetime | None]
    tries: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
