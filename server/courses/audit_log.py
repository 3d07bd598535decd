"""Read the audit log of a course, or of the whole server."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.assignments.settings import SETTINGS
from server.audit.models import AuditEvent
from server.courses.models import Membership, Role
from server.grading.models import Job
from server.submissions.models import Submission

PAGE = 50
_TITLES = {
    "access ended": "account access ended", "admin appointed": "operator appointed",
    "admin dismissed": "operator removed", "assignment deadline moved": "deadline moved",
    "course assignments ordered": "assignments ordered", "course changed": "course settings changed",
    "course code made": "enrolment code created",
    "course code withdrawn": "enrolment code withdrawn", "course joined": "joined the course",
    "course creator added": "may create courses", "course creator removed": "may no longer create courses",
    "extension for all": "accommodation changed",
    "extension withdrawn": "extension removed", "grades rubric changed": "rubric changed",
    "grades rubric given": "graded by the rubric", "grades split": "grading split",
    "job cancelled": "grading cancelled",
    "job retried": "grading retried", "member taken back": "member restored",
    "member uninvited": "invitation withdrawn",
    "password set by link": "password set with a link", "person password set": "password set by an operator",
    "reset created": "password link created", "submission pair looked at": "similar pair looked at",
    "submission case exported": "similar case exported",
    "submission pair taken back": "similar pair listed again", "submission chosen": "submission chosen to count",
    "worker contradicted": "worker contradicted by another",
}  # fmt: skip
_WORDS = {field.name: field.asked.label.lower() for field in SETTINGS.fields} | {
    "students_at_work": "students with submissions"
}
_PERSON = re.compile(r"person (\d{1,18})")
_JOB = re.compile(r"job (\d{1,18})")
_SUBMISSION = re.compile(r"submission ([0-9a-f]{1,32})")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the audit log.

    by: None for the command line or the system; detail: texts, one for each part
    submission: the public ID of the affected submission; "" for none
    students: the IDs of students of the course in this entry, under "by", "subject" and "person"
    """

    number: int
    at: datetime
    by: str | None
    action: str
    subject: str
    detail: tuple[str, ...]
    submission: str
    students: Mapping[str, int]

    @property
    def details(self) -> tuple[str, ...]:
        """The detail as pages name it; programs read `detail`."""
        return tuple(_renamed(part) for part in self.detail)

    @property
    def title(self) -> str:
        """The action as pages name it; programs read `action`."""
        return _TITLES.get(self.action, self.action)


@dataclass(frozen=True, slots=True)
class Entries:
    """A page of entries, newest first. before: the argument for the next page; 0 on the last page."""

    rows: tuple[Entry, ...]
    before: int


def read_entries(
    session: Session,
    course_id: int | None,
    *,
    area: str = "",
    actor: int | None = None,
    subject: str = "",
    before: int = 0,
    limit: int = PAGE,
) -> Entries:
    """Read a page of entries, newest first.

    course_id: None for entries outside courses
    area: the first word of actions; actor: the person's ID; subject: what the action changed
    """
    query = (
        select(AuditEvent, Person.name)
        .outerjoin(Person, Person.id == AuditEvent.actor_id)
        .where(AuditEvent.course_id == course_id)
    )
    if area:
        query = query.where(AuditEvent.action.startswith(f"{area}.", autoescape=True))
    if actor is not None:
        query = query.where(AuditEvent.actor_id == actor)
    if subject:
        query = query.where(or_(AuditEvent.subject == subject, AuditEvent.subject.contains(subject, autoescape=True)))
    if before:
        query = query.where(AuditEvent.id < before)
    found = session.execute(query.order_by(AuditEvent.id.desc()).limit(limit + 1)).all()
    events = [(event, name) for event, name in found[:limit]]
    people = [_people(event) for event, _ in events]
    names, students = _names(session, course_id, {number for each in people for number in each.values()})
    submissions = _submissions(session, (event for event, _ in events))
    rows = tuple(
        _entry(
            event, by, names, submissions.get(event.subject, ""),
            {place: number for place, number in mentioned.items() if number in students},
        )
        for (event, by), mentioned in zip(events, people, strict=True)
    )  # fmt: skip
    return Entries(rows, rows[-1].number if len(found) > limit else 0)


def actors(session: Session, course_id: int) -> list[tuple[int, str]]:
    """People with entries in the course, by name."""
    query = (
        select(Person.id, Person.name)
        .where(Person.id.in_(select(AuditEvent.actor_id).where(AuditEvent.course_id == course_id).distinct()))
        .order_by(Person.name)
    )
    return [(number, name) for number, name in session.execute(query)]


def _people(event: AuditEvent) -> Mapping[str, int]:
    """The IDs of the people in an entry, by their place in it."""
    found = {} if event.actor_id is None else {"by": event.actor_id}
    if matched := _PERSON.fullmatch(event.subject):
        found["subject"] = int(matched[1])
    if isinstance(event.detail.get("person"), int):
        found["person"] = event.detail["person"]
    return found


def _names(
    session: Session, course_id: int | None, people: Collection[int]
) -> tuple[Mapping[int, str], Collection[int]]:
    """The names of these people, and which of them have a student's page in the course."""
    is_student = and_(
        Membership.course_id == course_id,
        Membership.person_id == Person.id,
        Membership.role == Role.STUDENT,
        Person.erased_at.is_(None),
    )
    query = select(Person.id, Person.name, Membership.id).outerjoin(Membership, is_student)
    rows = session.execute(query.where(Person.id.in_(people))).all()
    return {number: name for number, name, _ in rows}, {number for number, _, member in rows if member}


def _submissions(session: Session, events: Iterable[AuditEvent]) -> Mapping[str, str]:
    """The affected submissions' public IDs, by subject; also for jobs that grade a submission."""
    found: dict[str, str] = {}
    jobs: set[int] = set()
    for event in events:
        if matched := _SUBMISSION.fullmatch(event.subject):
            found[event.subject] = matched[1]
        elif matched := _JOB.fullmatch(event.subject):
            jobs.add(int(matched[1]))
    query = select(Job.id, Submission.public_id).join(Submission, Submission.id == Job.submission_id)
    for number, public_id in session.execute(query.where(Job.id.in_(jobs))):
        found[f"job {number}"] = public_id
    return found


def _entry(
    event: AuditEvent, by: str | None, names: Mapping[int, str], submission: str, students: Mapping[str, int]
) -> Entry:
    matched = _PERSON.fullmatch(event.subject)
    subject = names.get(int(matched[1]), event.subject) if matched else event.subject
    parts = tuple(
        f"{_word(name)}: {_value(name, value, names)}"
        for name, value in event.detail.items()
        if value not in (None, "")
    )
    return Entry(event.id, event.at, by, _action(event.action), subject, parts, submission, students)


def _action(text: str) -> str:
    area, _, what = text.partition(".")
    return f"{area} {_word(what)}" if what else text


def _word(text: str) -> str:
    return text.replace("_", " ")


def _renamed(part: str) -> str:
    name, colon, value = part.partition(":")
    return _WORDS.get(name.replace(" ", "_"), name) + colon + value


def _value(name: str, value: Any, names: Mapping[int, str]) -> str:
    if name == "person" and isinstance(value, int):
        return names.get(value, f"person {value}")
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return f"{_plain(value[0])} → {_plain(value[1])}"
    return _plain(value)


def _plain(value: Any) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*", value):
        return f"{value[:10]} {value[11:16]} UTC"
    return str(value)
