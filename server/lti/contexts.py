"""Courses of platforms, connected to courses here; and who enters a course by a launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from server.accounts.models import Identity, Person
from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked, store, stored
from server.audit.service import note
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import find_assignment, is_staff, role_in
from server.enrolment.codes import CannotJoin, join
from server.lti.launch import Launch
from server.lti.models import LtiContext, LtiLink, LtiPlatform, LtiScore


class Why(StrEnum):
    """Why a launch opens no page for this person.

    UNCONNECTED: no course here is connected to the course on the platform
    ELSEWHERE: it leads to another course than the connected one
    MISSING: it leads to an assignment that the course doesn't have
    STRANGER: the person isn't in the course, and a launch doesn't add them
    STUDENT: only course staff choose assignments
    """

    UNCONNECTED = "unconnected"
    ELSEWHERE = "elsewhere"
    MISSING = "missing"
    STRANGER = "stranger"
    STUDENT = "student"


class NoEntry(Exception):
    """The launch opens no page."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.value)
        self.why = why


def find_context(session: Session, platform: LtiPlatform, launch: Launch) -> LtiContext | None:
    """The connected course of a launch."""
    return session.scalar(
        select(LtiContext).where(
            LtiContext.platform_id == platform.id,
            LtiContext.deployment == launch.deployment,
            LtiContext.name == launch.context,
        )
    )


def may_join(context: LtiContext | None, launch: Launch) -> bool:
    """Whether a launch makes a new person a student. The platform's word makes nobody staff."""
    return context is not None and context.adds_students and launch.learns and context.course.archived_at is None


def enter(session: Session, context: LtiContext, launch: Launch, person: Person) -> Assignment | None:
    """Admit a person to the course. Returns the assignment to which the launch leads, if any; raises NoEntry.

    A link and its column are noted, so that grades find them.
    """
    course = context.course
    if launch.course not in {"", course.slug}:
        raise NoEntry(Why.ELSEWHERE)
    if role_in(session, person.id, course.id) is None:
        if not may_join(context, launch):
            raise NoEntry(Why.STRANGER)
        try:
            join(session, person, course)
        except CannotJoin as error:
            raise NoEntry(Why.STRANGER) from error
    if launch.return_to and not is_staff(role_in(session, person.id, course.id)):
        raise NoEntry(Why.STUDENT)
    if launch.members:
        context.members = launch.members
    if not launch.assignment:
        return None
    assignment = find_assignment(session, f"{course.slug}/{launch.assignment}")
    if assignment is None:
        raise NoEntry(Why.MISSING)
    link = _note_link(session, context, launch, assignment)
    if role_in(session, person.id, course.id) is Role.STUDENT:
        _note_student(session, link, person)
    return assignment


def _note_link(session: Session, context: LtiContext, launch: Launch, assignment: Assignment) -> LtiLink:
    known = session.scalar(select(LtiLink).where(LtiLink.context_id == context.id, LtiLink.name == launch.link))
    if known is None:
        known = LtiLink(context_id=context.id, name=launch.link)
        session.add(known)
    same = known.assignment_id == assignment.id
    column = launch.line_item or (known.line_item if same else "") or ""
    if known.line_item and column != known.line_item:
        # They are in another column.
        session.execute(update(LtiScore).where(LtiScore.link_id == known.id).values(sent_at=None))
    known.assignment_id, known.line_item = assignment.id, column
    session.flush()
    return known


def _note_student(session: Session, link: LtiLink, person: Person) -> None:
    """Note that the context has this student. Courses there that share one here don't get each other's grades."""
    known = session.scalar(select(LtiScore).where(LtiScore.link_id == link.id, LtiScore.person_id == person.id))
    if known is None:
        session.add(LtiScore(link_id=link.id, person_id=person.id, points=None, most=0.0, made_at=datetime.now(UTC)))
    elif known.sent_at and session.scalar(
        select(Identity.id).where(
            Identity.person_id == person.id, Identity.issuer == link.context.platform.people,
            Identity.created_at > known.sent_at,
        )
    ):  # fmt: skip
        known.sent_at = None  # the platform has it under another name of the student


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """What a platform may do in a course; see server.lti.models.LtiContext."""

    adds_students: Annotated[bool, Asked(
        "Add students at their first launch",
        "Students of the course on the platform become students here. Instructors and assistants there don’t: add "
        "them on the roster.",
        option="--adds-students/--adds-no-students", help="Whether students there become students here.",
    )] = True
    sends_grades: Annotated[bool, Asked(
        "Send released grades", "Points that you hold back stay here.",
        option="--sends-grades/--keeps-grades", help="Whether released grades go there.",
    )] = True
# fmt: on


def connect(session: Session, course: Course, actor: Person, platform: LtiPlatform, launch: Launch) -> LtiContext:
    """Connect a course to the one from which its instructor launched. The caller checked both roles."""
    made = LtiContext(
        platform_id=platform.id, course_id=course.id, deployment=launch.deployment, name=launch.context,
        title=launch.title, members=launch.members, connected_at=datetime.now(UTC),
    )  # fmt: skip
    session.add(made)
    session.flush()
    note(
        session, actor, "lti.connected", f"course {course.slug}", course_id=course.id, platform=platform.id,
        context=made.id,
    )  # fmt: skip
    return made


def courses_to_connect(session: Session, person_id: int) -> Sequence[Course]:
    """Active courses that the person instructs, the newest first."""
    query = (
        select(Course)
        .join(Membership, Membership.course_id == Course.id)
        .where(
            Membership.person_id == person_id, Membership.role == Role.INSTRUCTOR, Membership.dropped_at.is_(None),
            Course.archived_at.is_(None),
        )
        .order_by(Course.created_at.desc(), Course.slug)
    )  # fmt: skip
    return session.scalars(query).all()


def contexts_of(session: Session, course_id: int) -> Sequence[LtiContext]:
    """The connections of a course, the oldest first."""
    return session.scalars(select(LtiContext).where(LtiContext.course_id == course_id).order_by(LtiContext.id)).all()


def delete_contexts(session: Session, *which: ColumnElement[bool]) -> None:
    """Disconnect courses from platforms. What was sent stays there."""
    links = select(LtiLink.id).join(LtiLink.context).where(*which)
    session.execute(delete(LtiScore).where(LtiScore.link_id.in_(links)))
    session.execute(delete(LtiLink).where(LtiLink.context_id.in_(select(LtiContext.id).where(*which))))
    session.execute(delete(LtiContext).where(*which))


def delete_links(session: Session, *which: ColumnElement[bool]) -> None:
    """Forget links to assignments that are deleted."""
    links = select(LtiLink.id).where(*which)
    session.execute(delete(LtiScore).where(LtiScore.link_id.in_(links)))
    session.execute(delete(LtiLink).where(*which))


def _change(_session: Session, on: Target, _actor: Person | None, given: ContextSettings) -> bool:
    was = stored(ContextSettings, on.item)
    store(given, on.item)
    return was != given


def _disconnect(session: Session, on: Target, _actor: Person | None, _: Nothing) -> bool:
    delete_contexts(session, LtiContext.id == on.item.id)
    return True


CHANGE = Act(
    asks=ContextSettings, do=_change, audit="lti.changed",
    present=lambda _session, on: stored(ContextSettings, on.item),
)  # fmt: skip
DISCONNECT = Act(asks=Nothing, do=_disconnect, audit="lti.disconnected")
