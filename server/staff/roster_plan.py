"""What importing a roster would change, told before anything is changed, and done exactly as it was told."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.accounts.proving import before_reaching_further, must_prove
from server.accounts.service import create_person
from server.audit.service import note
from server.courses.models import Course, Membership, Role
from server.staff.roster_csv import Problem, Read, Row

_AT_ONCE = 500
_NO_NAME = ("=", "+", "-", "@")


class Change(StrEnum):
    """What becomes of one person. new: has no account yet; added: has one, and was never in this course."""

    NEW = "new"
    ADDED = "added"
    BACK = "taken back"
    CHANGED = "changed"
    DROPPED = "dropped"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is planned for one person.

    was: role and section before, where they change; line: 0 for none
    must_prove: whether the account was made with a code, for an email that anybody can type, and is to be staff
    """

    change: Change
    email: str
    name: str
    role: Role
    section: str
    person_id: int | None
    was: str = ""
    line: int = 0
    must_prove: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """All that an import does. digest: of it, so that what is done is what was shown."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    digest: str

    @property
    def counts(self) -> Mapping[str, int]:
        """How many of each, in the order of the page."""
        found = Counter(entry.change for entry in self.entries)
        return {change.value: found[change] for change in Change}

    @property
    def must_prove(self) -> int:
        """How many need an invitation anew."""
        return sum(entry.must_prove for entry in self.entries)

    @property
    def changes(self) -> tuple[Entry, ...]:
        """Those of whom something changes."""
        return tuple(entry for entry in self.entries if entry.change is not Change.UNCHANGED)


def make_plan(
    session: Session, course: Course, read: Read, *, drop_others: bool = False, actor_id: int | None = None
) -> Plan:
    """Compare a file with the course. Nothing is written.

    drop_others: students who are not in the file drop; staff stay, whatever it holds
    """
    people = _people(session, [row.email for row in read.rows])
    present = {
        member.person_id: member
        for member in session.scalars(select(Membership).where(Membership.course_id == course.id))
    }
    problems = list(read.problems)
    entries: list[Entry] = []
    for row in read.rows:
        person = people.get(row.email)
        member = None if person is None else present.get(person.id)
        entry = _entry(row, person, member)
        if person is not None and entry.role is not Role.STUDENT and entry.change is not Change.UNCHANGED:
            entry = replace(entry, must_prove=must_prove(person))
        why = _why_not(entry, row, member, actor_id)
        if why:
            problems.append(Problem(row.line, why))
        entries.append(entry)
    if drop_others:
        named = {entry.person_id for entry in entries}
        entries += _dropped(session, [number for number in present if number not in named], present)
    if not _has_instructor(entries, present):
        problems.append(Problem(0, "Nobody would be the course's instructor any more."))
    shown = tuple(sorted(entries, key=lambda entry: (list(Change).index(entry.change), entry.email)))
    return Plan(shown, tuple(sorted(problems, key=lambda problem: problem.line)), _digest(shown))


def carry_out(
    session: Session, course: Course, plan: Plan, actor: Person | None, now: datetime | None = None
) -> None:
    """Do all that is planned, in the caller's transaction."""
    assert not plan.problems, "a plan with a problem is for looking at"
    moment = now or datetime.now(UTC)
    for entry in plan.changes:
        number = entry.person_id
        if number is None:
            number = create_person(session, email=entry.email, name=entry.name, now=moment).id
        elif entry.role is not Role.STUDENT and entry.change is not Change.DROPPED:
            person = session.get_one(Person, number)
            before_reaching_further(session, person, actor, course_id=course.id, now=moment)
        _put(session, course, number, entry, moment)
        detail: dict[str, Any] = {"role": entry.role.value, "section": entry.section}
        action = _ACTIONS[entry.change]
        note(session, actor, action, f"person {number}", now=moment, course_id=course.id, **detail)
    session.flush()
    counts = {change: count for change, count in plan.counts.items() if count}
    note(
        session, actor, "roster.imported", f"course {course.slug}", now=moment, course_id=course.id, **counts
    )


_ACTIONS = {
    Change.NEW: "member.added",
    Change.ADDED: "member.added",
    Change.BACK: "member.taken_back",
    Change.CHANGED: "member.changed",
    Change.DROPPED: "member.dropped",
}


def _put(session: Session, course: Course, person_id: int, entry: Entry, now: datetime) -> None:
    which = (Membership.course_id == course.id, Membership.person_id == person_id)
    member = session.scalar(select(Membership).where(*which))
    if member is None:
        member = Membership(course_id=course.id, person_id=person_id, created_at=now)
        session.add(member)
    if entry.change is Change.DROPPED:
        member.dropped_at = now
        return
    member.role, member.section, member.dropped_at = entry.role, entry.section, None


def _people(session: Session, emails: Sequence[str]) -> dict[str, Person]:
    """By email, with few queries however many they are."""
    found: dict[str, Person] = {}
    for start in range(0, len(emails), _AT_ONCE):
        some = emails[start : start + _AT_ONCE]
        query = select(Person).where(Person.email.in_(some), Person.erased_at.is_(None))
        found |= {person.email: person for person in session.scalars(query)}
    return found


def _entry(row: Row, person: Person | None, member: Membership | None) -> Entry:
    if person is None or member is None:
        name = row.name if person is None else person.name
        change = Change.NEW if person is None else Change.ADDED
        number = None if person is None else person.id
        return Entry(
            change, row.email, name, row.role or Role.STUDENT, row.section or "", number, "", row.line
        )
    role = row.role or member.role
    section = member.section if row.section is None else row.section
    if member.dropped_at is not None:
        change = Change.BACK
    else:
        same = role is member.role and section == member.section
        change = Change.UNCHANGED if same else Change.CHANGED
    was = _what(member) if change is Change.CHANGED else ""
    # a name is its owner's: who has an account keeps it, however a file spells it
    return Entry(change, row.email, person.name, role, section, person.id, was, row.line)


def _why_not(entry: Entry, row: Row, member: Membership | None, actor_id: int | None) -> str:
    if entry.change is Change.NEW and row.name.startswith(_NO_NAME):
        return f"No name begins with “{row.name[0]}”."
    if member is not None and member.person_id == actor_id and entry.role is not member.role:
        return "This would change your own role; somebody else has to do that."
    return ""


def _dropped(session: Session, numbers: Sequence[int], present: Mapping[int, Membership]) -> Iterator[Entry]:
    leaving = [
        number
        for number in numbers
        if present[number].dropped_at is None and present[number].role is Role.STUDENT
    ]
    for start in range(0, len(leaving), _AT_ONCE):
        some = leaving[start : start + _AT_ONCE]
        for person in session.scalars(select(Person).where(Person.id.in_(some), Person.erased_at.is_(None))):
            member = present[person.id]
            yield Entry(Change.DROPPED, person.email, person.name, member.role, member.section, person.id)


def _has_instructor(entries: Sequence[Entry], present: Mapping[int, Membership]) -> bool:
    """Whether one is left; a course that has none before the import may go on without."""
    before = {
        number
        for number, member in present.items()
        if member.role is Role.INSTRUCTOR and member.dropped_at is None
    }
    changed = {entry.person_id: entry.role for entry in entries}
    after = any(entry.role is Role.INSTRUCTOR for entry in entries)
    return not before or after or any(number not in changed for number in before)


def _what(member: Membership) -> str:
    return f"{member.role.value}, section {member.section}" if member.section else member.role.value


def _digest(entries: Sequence[Entry]) -> str:
    told = [
        [
            entry.change,
            entry.email,
            entry.name,
            entry.role,
            entry.section,
            entry.person_id,
            entry.was,
            entry.must_prove,
        ]
        for entry in entries
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
