"""Open questions of a course: who answers each of them, taken, given to another, or released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked
from server.audit.service import note
from server.courses.models import Assignment, Membership, Role
from server.courses.service import CourseError, is_staff, role_in
from server.fields import Text
from server.submissions.models import Submission
from server.talk.models import Comment

LONGEST_EMAIL = 254
_STAFF = (Role.ASSISTANT, Role.INSTRUCTOR)


class Whose(StrEnum):
    """Which open questions: all, those that the reader answers, or those that no one answers."""

    ALL = ""
    MINE = "mine"
    UNASSIGNED = "unassigned"


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A thread that waits for course staff. last: its newest comment; answerer: who took it, None for nobody."""

    first: Comment
    last: Comment
    answerer: Person | None


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """Questions that wait for an answer, the longest waiting first. numbers: how many there are, by `Whose`."""

    questions: Sequence[OpenQuestion]
    numbers: Mapping[Whose, int]


def open_questions(
    session: Session, course_id: int, limit: int, whose: Whose = Whose.ALL, reader: int | None = None
) -> OpenQuestions:
    """The threads of a course that wait for an answer. reader: None for the command line."""
    by_whose = {
        Whose.ALL: (),
        Whose.MINE: (Comment.answerer_id == reader, _answers()),
        Whose.UNASSIGNED: (~_answers(),),
    }
    waiting = select(Comment).where(*_waiting(course_id), *by_whose[whose])
    found = session.execute(
        waiting.add_columns(_answers())
        .join(Comment.submission)
        .join(Submission.assignment)
        .options(
            joinedload(Comment.submission).joinedload(Submission.assignment),
            joinedload(Comment.submission).joinedload(Submission.person),
            joinedload(Comment.answerer),
        )
        .order_by(Comment.waits_since, Comment.id)
        .limit(limit)
    ).all()
    last = _last_of(session, [first.id for first, _ in found])
    counted = [func.count().filter(*conditions) if conditions else func.count() for conditions in by_whose.values()]
    numbers = session.execute(
        select(*counted)
        .select_from(Comment)
        .join(Comment.submission)
        .join(Submission.assignment)
        .where(*_waiting(course_id))
    ).one()
    questions = [
        OpenQuestion(first, last.get(first.id, first), first.answerer if answers else None) for first, answers in found
    ]
    return OpenQuestions(questions, dict(zip(by_whose, numbers, strict=True)))


def count_open(session: Session, course_id: int) -> int:
    """How many questions of a course wait for an answer."""
    query = select(func.count()).select_from(Comment).join(Comment.submission).join(Submission.assignment)
    return session.scalar(query.where(*_waiting(course_id))) or 0


def question_of(session: Session, course_id: int, number: int) -> Comment | None:
    """The first comment of a thread in this course; None for none."""
    return session.scalar(
        select(Comment)
        .join(Comment.submission)
        .join(Submission.assignment)
        .where(Comment.id == number, Comment.thread_id.is_(None), Assignment.course_id == course_id)
        .options(joinedload(Comment.submission).joinedload(Submission.assignment))
    )


def _waiting(course_id: int) -> tuple[ColumnElement[bool], ...]:
    return Comment.waits_since.is_not(None), Assignment.course_id == course_id


def _answers() -> ColumnElement[bool]:
    """Whether someone took the question, and still is course staff."""
    member = exists().where(
        Membership.person_id == Comment.answerer_id,
        Membership.course_id == Assignment.course_id,
        Membership.role.in_(_STAFF),
        Membership.dropped_at.is_(None),
    )
    operator = exists().where(Person.id == Comment.answerer_id, Person.admin)
    here = exists().where(Person.id == Comment.answerer_id, Person.erased_at.is_(None))
    return and_(here, or_(member, operator))


def _last_of(session: Session, threads: Sequence[int]) -> Mapping[int, Comment]:
    thread = func.coalesce(Comment.thread_id, Comment.id)
    newest = (
        select(func.max(Comment.id))
        .where(or_(Comment.id.in_(threads), Comment.thread_id.in_(threads)), Comment.removed_at.is_(None))
        .group_by(thread)
    )
    found = session.scalars(select(Comment).where(Comment.id.in_(newest)))
    return {each.thread_id or each.id: each for each in found}


def _email(text: str) -> str:
    return text.strip().casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Who answers a question.

    answerer: the email of course staff; "" for nobody
    """

    answerer: Annotated[str, Text(longest=LONGEST_EMAIL), Asked(
        "Assigned to", clean=_email, metavar="EMAIL", none="none", help="Email of course staff, or none.",
    )] = ""  # fmt: skip


def _take(session: Session, on: Target, actor: Person | None, _: Nothing) -> bool:
    question: Comment = on.item
    if actor is None:
        raise CourseError("Only a person can take a question. Give it to someone.")
    holder = None if question.answerer_id is None else session.get_one(Person, question.answerer_id)
    if holder is not None and holder.id != actor.id and _still_staff(session, on, holder):
        raise CourseError(f"{holder.name} answers this question. To answer it yourself, give it to yourself.")
    return _set(session, on, actor, actor)


def _give(session: Session, on: Target, actor: Person | None, given: Answerer) -> bool:
    return _set(session, on, actor, _found(session, given))


def _wrong(session: Session, on: Target, given: Answerer) -> dict[str, str]:
    found = _found(session, given)
    if given.answerer and (found is None or not _still_staff(session, on, found)):
        return {"answerer": "This person isn’t course staff. Choose someone who is."}
    return {}


def _found(session: Session, given: Answerer) -> Person | None:
    return session.scalar(select(Person).where(Person.email == given.answerer)) if given.answerer else None


def _still_staff(session: Session, on: Target, person: Person) -> bool:
    return answers_in(session, person, on.course.id)


def answers_in(session: Session, person: Person, course_id: int) -> bool:
    """Whether this person is course staff, so can answer a question."""
    return person.erased_at is None and is_staff(role_in(session, person.id, course_id))


def _set(session: Session, on: Target, actor: Person | None, answerer: Person | None) -> bool:
    question: Comment = on.item
    number = None if answerer is None else answerer.id
    if question.answerer_id == number:
        return False
    question.answerer_id = number
    session.flush()
    session.expire(question, ["answerer"])
    about: dict[str, Any] = {} if number is None else {"person": number}
    what = "comment.released" if number is None else "comment.assigned"
    subject = f"submission {question.submission.public_id}"
    note(session, actor, what, subject, course_id=on.course.id, comment=question.id, **about)
    return True


def _now(_session: Session, on: Target) -> Answerer:
    person: Person | None = on.item.answerer
    return Answerer(answerer="" if person is None else person.email)


TAKE = Act(asks=Nothing, do=_take, assistants=True)
GIVE = Act(asks=Answerer, do=_give, present=_now, wrong=_wrong, assistants=True)
"""Acts on an open question; the target's item is the first comment of its thread."""
