"""The roster: list, add, change, drop and restore members. No person is ever deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from kernels.csv_tables import written
from server.accounts.limits import LONGEST_EMAIL
from server.accounts.models import Person
from server.accounts.service import create_person, find_person, normal_name, was_here
from server.audit.service import note
from server.courses.models import LONGEST_STUDENT_ID, Assignment, Course, Membership, Role
from server.courses.service import CourseError, hold_course, id_holder
from server.enrolment.codes import new_code
from server.enrolment.course_invitations import Invited, invite, needs_consent
from server.enrolment.email_confirmation import secure_before_promotion
from server.fields import INTERNAL, JsonName, Text
from server.roster.csv_file import COLUMNS, LONGEST_SECTION, one_line
from server.submissions.models import Submission
from server.text import composed

SEARCHED = Annotated[str, Text(longest=200)]
STATES = (("here", "In the course"), ("code", "Joined with a code"), ("dropped", "Dropped"), ("all", "All"))


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a course.

    person_id: the ID; use it in other requests
    dropped_at: None for a present member
    has_password: whether the person ever set a password
    came_with_code: whether the person joined with a code, and the email isn't confirmed
    was_here: whether the person ever signed in or used a token
    student_id: the university's number of the person; "" for none
    """

    person_id: Annotated[int, JsonName("person")]
    name: str
    email: str
    role: Role
    section: str
    joined_at: datetime
    dropped_at: datetime | None
    has_password: Annotated[bool, INTERNAL]
    came_with_code: bool
    was_here: bool
    student_id: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The part of a roster to return.

    text: a part of a name, an email or a student ID
    state: here for present members (the default), dropped, code for members who joined with a code, or all
    """

    text: SEARCHED = ""
    role: Role | None = None
    section: SEARCHED = ""
    state: Annotated[str, Text("|".join(value for value, _ in STATES))] = "here"


def roster(session: Session, course_id: int, wanted: Wanted | None = None) -> list[Member]:
    """Staff first, then by name, without erased people."""
    found = [Member(*row) for row in session.execute(_members(course_id))]
    given = wanted or Wanted(state="all")
    return sorted((one for one in found if is_wanted(one, given)), key=place)


def find_member(session: Session, course_id: int, person_id: int) -> Member | None:
    """One member, even if dropped; None for a person who isn't in the course or is erased."""
    row = session.execute(_members(course_id).where(Person.id == person_id)).one_or_none()
    return None if row is None else Member(*row)


def _members(course_id: int) -> Select[*tuple[Any, ...]]:
    return (
        select(
            Person.id, Person.name, Person.email, Membership.role, Membership.section, Membership.created_at,
            Membership.dropped_at, Person.password.is_not(None), Person.proven_at.is_(None),
            was_here(), Membership.student_id,
        )
        .join(Person, Person.id == Membership.person_id)
        .where(Membership.course_id == course_id, Person.erased_at.is_(None))
    )  # fmt: skip


def last_submissions(session: Session, course_id: int, members: Sequence[Member]) -> Mapping[int, datetime]:
    """The time of each member's last submission to this course, by person ID."""
    query = (
        select(Submission.person_id, func.max(Submission.created_at))
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .where(Assignment.course_id == course_id, Submission.person_id.in_([one.person_id for one in members]))
        .group_by(Submission.person_id)
    )
    return dict(session.execute(query).all())


def sections(session: Session, course_id: int) -> list[str]:
    """The names of all sections."""
    query = select(Membership.section).where(Membership.course_id == course_id, Membership.section != "")
    return sorted(set(session.scalars(query)))


def roster_csv(members: Sequence[Member]) -> str:
    """The roster as CSV, for importing it again, without dropped people."""
    rows = (
        [one.email, one.name, one.role.value, one.section, one.student_id] for one in members if one.dropped_at is None
    )
    return written(COLUMNS, rows)


def membership_of(session: Session, course: Course, person_id: int) -> Membership:
    """A person's membership in the course, even if dropped; raises CourseError."""
    found = session.scalar(
        select(Membership)
        .join(Membership.person)
        .where(Membership.course_id == course.id, Membership.person_id == person_id, Person.erased_at.is_(None))
        .with_for_update()
    )
    if found is None:
        raise CourseError("This person isn’t in the course.")
    return found


def add(
    session: Session,
    course: Course,
    actor: Person | None,
    *,
    email: str,
    name: str,
    role: Role,
    section: str = "",
    student_id: str = "",
    now: datetime | None = None,
) -> Membership | None:
    """Add a person to the course, with a new account if needed; raises CourseError, AccountError.

    An account that was never in the course is only invited, unless an operator adds it. The answer is then None.
    """
    moment = now or datetime.now(UTC)
    person = find_person(session, email)
    new = person is None
    if person is None:
        person = create_person(session, email=email, name=name, now=moment)
        _note(session, actor, "person.created", person.id, course, moment)
    found = session.scalar(
        select(Membership).where(Membership.course_id == course.id, Membership.person_id == person.id)
    )
    if found is not None and found.dropped_at is None:
        raise CourseError(f"{person.email} is already in the course, as {found.role.value}.")
    if found is None and not new and actor is not None and needs_consent(actor):
        number = _student_id(session, course, student_id, person.id)
        given = Invited(
            email=person.email, name=normal_name(name), role=role, section=_section(section), student_id=number
        )  # fmt: skip
        invite(session, course, actor, person, given, moment)
        return None
    if role is not Role.STUDENT:
        secure_before_promotion(session, person, actor, course_id=course.id, now=moment)
    if found is None:
        found = Membership(course_id=course.id, person_id=person.id, created_at=moment)
        session.add(found)
    found.role, found.section, found.dropped_at = role, _section(section), None
    if student_id:
        found.student_id = _student_id(session, course, student_id, person.id)
    session.flush()
    _note(session, actor, "member.added", person.id, course, moment, role=role.value, section=found.section)
    return found


def change(
    session: Session,
    course: Course,
    actor: Person | None,
    person_id: int,
    *,
    role: Role,
    section: str,
    student_id: str | None = None,
    now: datetime | None = None,
) -> bool:
    """Change a member's role, section or student ID; returns whether anything changed.

    student_id: None for no change
    """
    hold_course(session, course.id)
    member = membership_of(session, course, person_id)
    to = _section(section)
    number = member.student_id if student_id is None else _student_id(session, course, student_id, person_id)
    changed: dict[str, Any] = {
        name: [old, new]
        for name, old, new in (("role", member.role.value, role.value), ("section", member.section, to))
        if old != new
    }
    if number != member.student_id:
        changed["student_id"] = "changed"  # the audit outlives student IDs, so it has none
    if not changed:
        return False
    if member.role is Role.INSTRUCTOR and role is not Role.INSTRUCTOR:
        keep_an_instructor(session, course, person_id)
    if role not in {member.role, Role.STUDENT}:
        secure_before_promotion(session, member.person, actor, course_id=course.id, now=now)
    member.role, member.section, member.student_id = role, to, number
    session.flush()
    _note(session, actor, "member.changed", person_id, course, now or datetime.now(UTC), **changed)
    return True


def drop(session: Session, course: Course, actor: Person | None, person_id: int, now: datetime | None = None) -> None:
    """Drop a person from the course. The person's work stays, and the person can be restored."""
    moment = now or datetime.now(UTC)
    hold_course(session, course.id)
    member = membership_of(session, course, person_id)
    if member.dropped_at is not None:
        return
    if member.role is Role.INSTRUCTOR:
        keep_an_instructor(session, course, person_id)
    member.dropped_at = moment
    session.flush()
    _note(session, actor, "member.dropped", person_id, course, moment)


def take_back(
    session: Session, course: Course, actor: Person | None, person_id: int, now: datetime | None = None
) -> None:
    """Restore a dropped person with the earlier role."""
    member = membership_of(session, course, person_id)
    if member.dropped_at is None:
        return
    if member.role is not Role.STUDENT:
        secure_before_promotion(session, member.person, actor, course_id=course.id, now=now)
    member.dropped_at = None
    session.flush()
    _note(session, actor, "member.taken_back", person_id, course, now or datetime.now(UTC))


def enrol(session: Session, course: Course, actor: Person | None, person: Person, role: Role) -> None:
    """Add or restore a person with this role, or change a member's role; raises CourseError."""
    found = session.scalar(
        select(Membership).where(Membership.course_id == course.id, Membership.person_id == person.id)
    )
    if found is None:
        add(session, course, actor, email=person.email, name=person.name, role=role)
        return
    take_back(session, course, actor, person.id)
    change(session, course, actor, person.id, role=role, section=found.section)


def make_code(session: Session, course: Course, actor: Person | None) -> str:
    """Create an enrolment code; the old one stops working."""
    course.enrolment_code = new_code()
    session.flush()
    note(session, actor, "course.code_made", f"course {course.slug}", course_id=course.id)
    return course.enrolment_code


def withdraw_code(session: Session, course: Course, actor: Person | None) -> None:
    """Withdraw the enrolment code: students can't join by themselves any more."""
    if course.enrolment_code is None:
        return
    course.enrolment_code = None
    session.flush()
    note(session, actor, "course.code_withdrawn", f"course {course.slug}", course_id=course.id)


def keep_an_instructor(session: Session, course: Course, but: int) -> None:
    """Raise CourseError if no other instructor remains. The caller must have locked the course."""
    others = session.scalar(
        select(func.count())
        .select_from(Membership)
        .where(
            Membership.course_id == course.id,
            Membership.role == Role.INSTRUCTOR,
            Membership.dropped_at.is_(None),
            Membership.person_id != but,
        )
    )
    if not others:
        raise CourseError("A course needs at least one instructor. Make another person an instructor first.")


def _note(
    session: Session, actor: Person | None, action: str, person_id: int, course: Course, now: datetime, **detail: object
) -> None:
    note(session, actor, action, f"person {person_id}", now=now, course_id=course.id, **detail)


def _section(text: str) -> str:
    section = one_line(text)
    if len(section) > LONGEST_SECTION or (section and not section.isprintable()):
        text = f"A section must be one line of at most {LONGEST_SECTION} characters."
        raise CourseError(text, ["section"])
    return section


def _student_id(session: Session, course: Course, text: str, person_id: int) -> str:
    number = one_line(text)
    if len(number) > LONGEST_STUDENT_ID or (number and not number.isprintable()):
        wrong = f"A student ID must be one line of at most {LONGEST_STUDENT_ID} characters."
        raise CourseError(wrong, ["student_id"])
    holder = id_holder(session, course.id, number)
    if holder is not None and holder.person_id != person_id:
        raise CourseError(f"{holder.person.email} has this student ID.", ["student_id"])
    return number


_RANK: Mapping[Role, int] = {Role.INSTRUCTOR: 0, Role.ASSISTANT: 1, Role.STUDENT: 2}


def place(member: Member) -> tuple[int, str, str]:
    """The member's place in the roster, for comparison."""
    return _RANK[member.role], member.name.casefold(), member.email


def by_surname(member: Member) -> tuple[str, str, str]:
    """The member's place in a list by surname: what is before a comma, otherwise the last word of the name."""
    before, comma, _ = member.name.partition(",")
    surname = before if comma else member.name.rpartition(" ")[2]
    return surname.casefold(), member.name.casefold(), member.email


def is_wanted(member: Member, wanted: Wanted) -> bool:
    """Whether this part of the roster contains this line."""
    return (
        is_called(wanted.text, member.name, member.email, member.student_id)
        and wanted.role in {None, member.role}
        and wanted.section in {"", member.section}
        and (wanted.state == "all" or (member.dropped_at is not None) == (wanted.state == "dropped"))
        and (wanted.state != "code" or member.came_with_code)
    )


def is_called(text: str, *names: str) -> bool:
    """Whether a name, an email or a student ID contains the text, ignoring case."""
    wanted = _folded(text)
    return any(wanted in name.casefold() for name in names)


@lru_cache(maxsize=16)
def _folded(text: str) -> str:
    return composed(text, LONGEST_EMAIL).casefold()
