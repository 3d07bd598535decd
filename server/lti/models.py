"""Tables of LTI: platforms, their contexts and links, launches under way, and scores to send."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.models import Person
from server.courses.models import Assignment, Course
from server.database.base import Base, BigId
from server.identity_providers import NewAccounts, Provider

_WAITS = text("next_at IS NOT NULL")

LONGEST_ISSUER, LONGEST_CLIENT = 250, 200
LONGEST_ADDRESS = 1000


class LtiPlatform(Base):
    """A learning management system that an operator registered.

    deployments: the platform's names for its installations of Tilelab
    authorization, token, keys: its addresses for launches, for access tokens, and of its public keys
    audience: what it calls its address for access tokens in requests for them; "" for the address itself
    domains: of the emails that the operator lets it vouch for
    """

    __tablename__ = "lti_platforms"
    __table_args__ = (UniqueConstraint("issuer", "client_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    title: Mapped[str] = mapped_column(String(100))
    issuer: Mapped[str] = mapped_column(String(LONGEST_ISSUER))
    client_id: Mapped[str] = mapped_column(String(LONGEST_CLIENT))
    deployments: Mapped[list[str]]
    authorization: Mapped[str] = mapped_column(String(LONGEST_ADDRESS))
    token: Mapped[str] = mapped_column(String(LONGEST_ADDRESS))
    keys: Mapped[str] = mapped_column(String(LONGEST_ADDRESS))
    audience: Mapped[str] = mapped_column(String(LONGEST_ADDRESS), default="")
    domains: Mapped[list[str]]
    created_at: Mapped[datetime]

    @property
    def people(self) -> str:
        """The issuer of its people's identities. Institutions share an issuer, and single sign-on may have the same."""
        return f"lti {self.issuer} {self.client_id}"

    def provider(self, new_accounts: NewAccounts) -> Provider:
        """The platform as a provider of identities."""
        return Provider(
            f"lti/{self.id}", self.title, self.people, self.client_id, "", frozenset(self.domains),
            new_accounts=new_accounts,
        )  # fmt: skip


class LtiKey(Base):
    """Our key; server.lti.keys says when it signs and until when platforms see it. private: as a JSON Web Key."""

    __tablename__ = "lti_keys"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    private: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class LtiContext(Base):
    """A course on a platform, connected to a course here by its instructor.

    name: the platform's own name for it; title: for people
    adds_students: whether a student there becomes one here at the first launch
    sends_grades: whether released grades go there
    members: where the platform lists its people; "" for nowhere
    """

    __tablename__ = "lti_contexts"
    __table_args__ = (UniqueConstraint("platform_id", "deployment", "name"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    platform_id: Mapped[int] = mapped_column(ForeignKey("lti_platforms.id"))
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"), index=True)
    deployment: Mapped[str] = mapped_column(String(255))
    name: Mapped[str] = mapped_column(String(255))
    title: Mapped[str] = mapped_column(String(200))
    adds_students: Mapped[bool] = mapped_column(default=True)
    sends_grades: Mapped[bool] = mapped_column(default=True)
    members: Mapped[str] = mapped_column(String(LONGEST_ADDRESS), default="")
    connected_at: Mapped[datetime]

    platform: Mapped[LtiPlatform] = relationship()
    course: Mapped[Course] = relationship()


class LtiLink(Base):
    """A link on a platform to an assignment, as its last launch said.

    name: the platform's own name for the link
    line_item: the address of its column in the platform's gradebook
    """

    __tablename__ = "lti_links"
    __table_args__ = (UniqueConstraint("context_id", "name"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    context_id: Mapped[int] = mapped_column(ForeignKey("lti_contexts.id"))
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), index=True)
    name: Mapped[str] = mapped_column(String(255))
    line_item: Mapped[str] = mapped_column(String(LONGEST_ADDRESS))

    context: Mapped[LtiContext] = relationship()
    assignment: Mapped[Assignment] = relationship()


class LtiLaunch(Base):
    """A launch under way. A nonce is used once, and a launch by one person.

    ticket: the hash of a secret in its address
    state: ties it to the browser that began it
    said: what the platform said, see server.lti.launch
    person_id: who entered with it; None until then
    frame: the hash of a secret of the frame that waits for an answer; "" for none
    answer: what the frame sends to the platform; "" for none yet
    """

    __tablename__ = "lti_launches"
    __table_args__ = (UniqueConstraint("platform_id", "nonce"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    platform_id: Mapped[int] = mapped_column(ForeignKey("lti_platforms.id"))
    nonce: Mapped[str] = mapped_column(String(100))
    ticket: Mapped[str] = mapped_column(String(64), unique=True)
    state: Mapped[str] = mapped_column(String(100))
    said: Mapped[dict[str, Any]]
    made_at: Mapped[datetime] = mapped_column(index=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    frame: Mapped[str] = mapped_column(String(64), default="", index=True)
    answer: Mapped[str] = mapped_column(String(20_000), default="")

    platform: Mapped[LtiPlatform] = relationship()
    person: Mapped[Person | None] = relationship()


class LtiScore(Base):
    """What a student's column on a platform shall show. It is sent until the platform has it.

    points: None to clear it
    made_at: when the points became these
    next_at: when to send them next; None once the platform has them
    fault: why the last try failed; "" for no failure
    """

    __tablename__ = "lti_scores"
    __table_args__ = (
        UniqueConstraint("link_id", "person_id"),
        Index("ix_lti_scores_waiting", "next_at", postgresql_where=_WAITS, sqlite_where=_WAITS),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    link_id: Mapped[int] = mapped_column(ForeignKey("lti_links.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    points: Mapped[float | None]
    most: Mapped[float]
    made_at: Mapped[datetime]
    next_at: Mapped[datetime | None]
    tries: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    fault: Mapped[str] = mapped_column(String(200), default="")

    link: Mapped[LtiLink] = relationship()
    person: Mapped[Person] = relationship()
