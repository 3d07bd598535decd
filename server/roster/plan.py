"""Plan the changes of a roster import, to preview them and then apply exactly these."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.accounts.service import create_people, was_here
from server.audit.service import note
from server.courses.models import Course, CourseInvitation, Membership, Role
from server.enrolment.authority import barriers
from server.enrolment.course_invitations import Invited, invite, invited_people, needs_consent
from server.enrolment.email_confirmation import is_unconfirmed, secure_before_promotion, why_not_staff
from server.roster.csv_file import Read, Row
from server.table_file import Problem

_AT_ONCE = 500
_NO_NAME = ("=", "+", "-", "@")


class Change(StrEnum):
    """A person's change.

    new: no account yet
    added: has an account, but was never in this course; only an operator adds it, others invite
    """

    NEW = "new"
    ADDED = "added"
    INVITED = "invited"
    BACK = "taken back"
    CHANGED = "changed"
    DROPPED = "dropped"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Entry:
    """The plan for one person.

    name: the account's, or a corrected one
    was: what changes, before; line: 0 for none
    unconfirmed: whether the person becomes staff, but joined with a code, so the email isn't confirmed
    """

    change: Change
    email: str
    name: str
    role: Role
    section: str
    person_id: int | None
    was: str = ""
    line: int = 0
    unconfirmed: bool = False
    student_id: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of an import. digest: of the changes, so that what is applied is what was shown."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    digest: str

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of people with each change, in the page's order."""
        found = Counter(entry.change for entry in self.entries)
        return {change.value: found[change] for change in Change}

    @property
    def unconfirmed(self) -> int:
        return sum(entry.unconfirmed for entry in self.entries)

    @property
    def drops(self) -> int:
        return self.counts[Change.DROPPED]

    @property
    def changes(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.change is not Change.UNCHANGED)


def make_plan(
    session: Session, course: Course, read: Read, *, drop_others: bool = False, actor: Person | None = None
) -> Plan:
    """Compare a file with the course. Writes nothing.

    drop_others: drop students who aren't in the file; staff always stay
    """
    present = _present(session, course)
    by_email = _people(session, [row.email for row in read.rows if row.email])
    by_id = {member.student_id: member.person for member in present.values() if member.student_id}
    people = [by_email.get(row.email) or by_id.get(row.student_id or "") for row in read.rows]
    numbers = [person.id for person in people if person is not None]
    barred = barriers(session, actor, numbers)
    unused = _unused(session, [number for number in numbers if number in present and number not in barred])
    invited = invited_people(session, course.id) if needs_consent(actor) else None
    problems = list(read.problems)
    entries: list[Entry] = []
    lines: dict[int, int] = {}
    for row, person in zip(read.rows, people, strict=True):
        if person is None and not row.email:
            problems.append(_no_email(row, read))
            continue
        member = None if person is None else present.get(person.id)
        entry = _entry(row, person, member, renames=person is not None and person.id in unused)
        if entry.change is Change.ADDED and invited is not None:
            entry = _invitation(entry, row, invited)
        if person is not None and entry.role is not Role.STUDENT and entry.change is not Change.UNCHANGED:
            entry = replace(entry, unconfirmed=is_unconfirmed(person))
        problems += _why_not(entry, row, member, actor)
        problems += _not_alone(entry, row, by_id, lines)
        if entry.unconfirmed and entry.person_id in barred:
            problems.append(Problem(row.line, why_not_staff(entry.name), code="unconfirmed"))
        entries.append(entry)
    if drop_others and not read.rows and not problems:
        problems.append(Problem(0, "The file has no people, so all students would be dropped.", code="no_people"))
    if drop_others:
        named = {entry.person_id for entry in entries}
        entries += _dropped(session, [number for number in present if number not in named], present)
    if not _has_instructor(entries, present):
        text = "The course needs an instructor. This file would leave it without one."
        problems.append(Problem(0, text, code="no_instructor"))
    shown = tuple(sorted(entries, key=lambda entry: (list(Change).index(entry.change), entry.email)))
    return Plan(shown, tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.line)), _digest(shown))


def carry_out(session: Session, course: Course, plan: Plan, actor: Person | None, now: datetime | None = None) -> None:
    """Apply the plan in the caller's transaction, which locked the course before planning."""
    assert not plan.problems, "a plan with problems can't be applied"
    moment = now or datetime.now(UTC)
    numbers = _made(session, course, plan, actor, moment)
    present = _present(session, course)
    for entry in plan.changes:
        number = numbers[entry.email] if entry.person_id is None else entry.person_id
        if entry.change is Change.INVITED:
            assert actor is not None, "the command line adds people"
            given = Invited(
                email=entry.email, name=entry.name, role=entry.role, section=entry.section, student_id=entry.student_id
            )  # fmt: skip
            invite(session, course, actor, session.get_one(Person, number), given, moment)
            continue
        if entry.change in _REACH_FURTHER and entry.role is not Role.STUDENT:
            person = session.get_one(Person, number)
            secure_before_promotion(session, person, actor, course_id=course.id, now=moment)
        was = present.get(number)
        detail = _detail(entry, was)
        if was is None:
            was = Membership(course_id=course.id, person_id=number, created_at=moment)
            session.add(was)
        elif entry.name != was.person.name:
            was.person.name = entry.name
        was.role, was.section, was.student_id = entry.role, entry.section, entry.student_id
        was.dropped_at = moment if entry.change is Change.DROPPED else None
        action = _ACTIONS[entry.change]
        note(session, actor, action, f"person {number}", now=moment, course_id=course.id, **detail)
    counts = {change: count for change, count in plan.counts.items() if count}
    note(session, actor, "roster.imported", f"course {course.slug}", now=moment, course_id=course.id, **counts)
    session.flush()


_ACTIONS = {
    Change.NEW: "member.added",
    Change.ADDED: "member.added",
    Change.BACK: "member.taken_back",
    Change.CHANGED: "member.changed",
    Change.DROPPED: "member.dropped",
}


_REACH_FURTHER = frozenset({Change.ADDED, Change.BACK, Change.CHANGED})


def _made(session: Session, course: Course, plan: Plan, actor: Person | None, now: datetime) -> Mapping[str, int]:
    """Create all missing accounts at once; returns their IDs by email."""
    new = [(entry.email, entry.name) for entry in plan.entries if entry.change is Change.NEW]
    people = create_people(session, new, now=now)
    for person in people:
        note(session, actor, "person.created", f"person {person.id}", now=now, course_id=course.id)
    return {person.email: person.id for person in people}


def _detail(entry: Entry, was: Membership | None) -> dict[str, Any]:
    """An audit entry's detail: old and new values of a change, otherwise as for a single person."""
    if entry.change is Change.DROPPED:
        return {}
    if was is None:
        return {"role": entry.role.value, "section": entry.section}
    pairs = {"role": (was.role.value, entry.role.value), "section": (was.section, entry.section)}
    changed: dict[str, Any] = {name: [old, new] for name, (old, new) in pairs.items() if old != new}
    # The audit outlives names and student IDs, so it has none.
    if entry.name != was.person.name:
        changed["name"] = "corrected"
    if entry.student_id != was.student_id:
        changed["student_id"] = "changed"
    return changed


def _present(session: Session, course: Course) -> Mapping[int, Membership]:
    """Present and former members, by ID."""
    joined = select(Membership).options(joinedload(Membership.person))
    query = joined.where(Membership.course_id == course.id)
    return {member.person_id: member for member in session.scalars(query)}


def _unused(session: Session, people: Sequence[int]) -> frozenset[int]:
    """Which of these accounts nobody has used."""
    found: set[int] = set()
    for start in range(0, len(people), _AT_ONCE):
        some = people[start : start + _AT_ONCE]
        query = select(Person.id).where(Person.id.in_(some), Person.password.is_(None), ~was_here())
        found |= set(session.scalars(query))
    return frozenset(found)


def _people(session: Session, emails: Sequence[str]) -> dict[str, Person]:
    """People by email, with few queries."""
    found: dict[str, Person] = {}
    for start in range(0, len(emails), _AT_ONCE):
        some = emails[start : start + _AT_ONCE]
        query = select(Person).where(Person.email.in_(some), Person.erased_at.is_(None))
        found |= {person.email: person for person in session.scalars(query)}
    return found


def _entry(row: Row, person: Person | None, member: Membership | None, *, renames: bool) -> Entry:
    """renames: whether the file may correct the name. People own their names once they use their accounts."""
    if person is None or member is None:
        name = row.name if person is None else person.name
        change = Change.NEW if person is None else Change.ADDED
        number = None if person is None else person.id
        return Entry(
            change, row.email, name, row.role or Role.STUDENT, row.section or "", number, "", row.line,
            student_id=row.student_id or "",
        )  # fmt: skip
    to = Entry(
        Change.UNCHANGED, person.email, row.name if renames else person.name, row.role or member.role,
        member.section if row.section is None else row.section, person.id, "", row.line,
        student_id=row.student_id or member.student_id,
    )  # fmt: skip
    now = Entry(
        Change.UNCHANGED, person.email, person.name, member.role, member.section, person.id, "", row.line,
        student_id=member.student_id,
    )  # fmt: skip
    if member.dropped_at is not None:
        return replace(to, change=Change.BACK, was=_what(now, to))
    return to if to == now else replace(to, change=Change.CHANGED, was=_what(now, to))


def _invitation(entry: Entry, row: Row, invited: Mapping[int, CourseInvitation]) -> Entry:
    """The entry of an invitation: with the typed name, because the account's own is not the course's to see."""
    found = None if entry.person_id is None else invited.get(entry.person_id)
    same = found is not None and (
        found.refused_at is not None
        or (found.role, found.section, found.student_id) == (entry.role, entry.section, entry.student_id)
    )
    return replace(entry, change=Change.UNCHANGED if same else Change.INVITED, name=row.name)


def _why_not(entry: Entry, row: Row, member: Membership | None, actor: Person | None) -> Iterator[Problem]:
    renamed = member is not None and entry.name != member.person.name
    if (renamed or entry.change in {Change.NEW, Change.INVITED}) and row.name.startswith(_NO_NAME):
        yield Problem(row.line, f"A name can’t begin with “{row.name[0]}”.", "name", "formula")
    own = member if actor is not None and member is not None and member.person_id == actor.id else None
    if own is not None and entry.role is not own.role:
        text = "This would change your own role. Ask another instructor to change it."
        yield Problem(row.line, text, "role", "own_role")


def _not_alone(entry: Entry, row: Row, by_id: Mapping[str, Person], lines: dict[int, int]) -> Iterator[Problem]:
    """A student ID of another member, or a second line of the same person. lines: the first ones, by person."""
    owner = by_id.get(row.student_id or "")
    if owner is not None and owner.id != entry.person_id:
        text = f"The student ID {row.student_id} belongs to {owner.email}. Correct one of them on the roster first."
        yield Problem(row.line, text, "student_id", "taken")
    first = row.line if entry.person_id is None else lines.setdefault(entry.person_id, row.line)
    if first != row.line:
        yield Problem(row.line, f"{entry.email} is already in line {first}.", "student_id", "twice")


def _no_email(row: Row, read: Read) -> Problem:
    if read.has_emails:
        return Problem(row.line, f"{row.name} isn’t in the course yet, so the email is needed.", "email", "missing")
    text = "The file has no emails. Give the domain of the logins, or add a column “email”."
    return Problem(0, text, "domain", "no_email")


def _dropped(session: Session, numbers: Sequence[int], present: Mapping[int, Membership]) -> Iterator[Entry]:
    leaving = [
        number for number in numbers if present[number].dropped_at is None and present[number].role is Role.STUDENT
    ]
    for start in range(0, len(leaving), _AT_ONCE):
        some = leaving[start : start + _AT_ONCE]
        for person in session.scalars(select(Person).where(Person.id.in_(some), Person.erased_at.is_(None))):
            member = present[person.id]
            yield Entry(
                Change.DROPPED, person.email, person.name, member.role, member.section, person.id,
                student_id=member.student_id,
            )  # fmt: skip


def _has_instructor(entries: Sequence[Entry], present: Mapping[int, Membership]) -> bool:
    """Whether an instructor stays. A course that has none before the import may go on without one."""
    before = {
        number for number, member in present.items() if member.role is Role.INSTRUCTOR and member.dropped_at is None
    }
    changed = {entry.person_id: entry.role for entry in entries}
    there = {Change.NEW, Change.ADDED}
    after = any(
        entry.role is Role.INSTRUCTOR for entry in entries if entry.change in there or entry.person_id in present
    )
    return not before or after or any(number not in changed for number in before)


def _what(now: Entry, to: Entry) -> str:
    """The present name and student ID if they change; the role and the section."""
    parts = [
        now.name if now.name != to.name else "", now.role.value, f"section {now.section}" if now.section else "",
        (f"ID {now.student_id}" if now.student_id else "no ID") if now.student_id != to.student_id else "",
    ]  # fmt: skip
    return ", ".join(filter(None, parts))


def _digest(entries: Sequence[Entry]) -> str:
    told = [astuple(replace(entry, line=0)) for entry in entries]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
