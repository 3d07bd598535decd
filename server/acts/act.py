"""A change by course staff or operators, declared once. Its form, API route and verbs follow from the declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.field import Field, Values, changes, cleaned, fields_of, outside_limits, plain_values
from server.audit.service import note
from server.courses.models import Assignment, Course
from server.courses.service import CourseError, hold_course
from server.grades.losses import course_losses_confirmed, losses_confirmed


@dataclass(frozen=True, slots=True)
class Target:
    """What an act changes: a course, an assignment of it, what people have there, or an item of the course.

    within: None for what operators change outside courses
    """

    within: Course | None = None
    part: Assignment | None = None
    people: tuple[int, ...] = ()
    item: Any = None

    @property
    def course(self) -> Course:
        assert self.within is not None, "the act changes a course"
        return self.within

    @property
    def assignment(self) -> Assignment:
        assert self.part is not None, "the act changes an assignment"
        return self.part

    @property
    def subject(self) -> str:
        """What the audit calls it."""
        return f"course {self.course.slug}" if self.part is None else f"assignment {self.part.name}"

    @property
    def person(self) -> int:
        """The only person."""
        (person,) = self.people
        return person


def assignment_target(assignment: Assignment, *people: int) -> Target:
    """An assignment, or what these people have in it."""
    return Target(assignment.course, assignment, people)


@dataclass(frozen=True, slots=True)
class Nothing:
    """A change without further data."""


class Mistakes(CourseError):
    """Fields with invalid values, and why. Nothing changed."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        super().__init__(next(iter(by_field.values()), ""), by_field)
        self.by_field = by_field


@dataclass(frozen=True, slots=True, kw_only=True)
class Act(Generic[Values]):
    """A change by course staff, or by operators.

    asks: the class of its fields
    do: makes the change, while the transaction holds the course; returns something false if there was none
    audit: the action of its entries in the audit; "" if `do` writes them
    present: the present values; None if an act replaces everything
    wrong: mistakes by field, besides values outside their limits
    lowers: whether points can fall, which it then asks about first
    assistants: whether assistants may make it too
    revokes: whether `do` returns tickets, to revoke after the commit
    """

    asks: type[Values]
    do: Callable[[Session, Target, Person | None, Values], Any]
    audit: str = ""
    present: Callable[[Session, Target], Values] | None = None
    wrong: Callable[[Session, Target, Values], Mapping[str, str]] = lambda *_: {}
    lowers: bool = False
    assistants: bool = False
    revokes: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        return fields_of(self.asks)

    @property
    def by_name(self) -> Mapping[str, Field]:
        return {field.name: field for field in self.fields}

    def mistakes(self, session: Session, on: Target, given: Values) -> dict[str, str]:
        """Mistakes by field, in the order of the fields."""
        found = {**self.wrong(session, on, given), **dict(outside_limits(given))}
        return {field.name: found[field.name] for field in self.fields if field.name in found}

    def carry_out(
        self,
        session: Session,
        on: Target,
        actor: Person | None,
        change: Callable[[Values], Values],
        confirmed: str = "",
    ) -> Any:
        """Make the change, and return what it answers. Raises Mistakes, CourseError or UnconfirmedPoints.

        change: makes the new values from the present ones, once no one else can change them
        confirmed: as for `losses_confirmed`
        """
        if on.within is not None:
            hold_course(session, on.within.id)
        session.flush()
        session.expire_all()
        given = cleaned(change(self.values(session, on)))
        if wrong := self.mistakes(session, on, given):
            raise Mistakes(wrong)
        with self._confirmed(session, on, confirmed):
            return self.make(session, on, actor, given)

    def _confirmed(self, session: Session, on: Target, confirmed: str) -> AbstractContextManager[None]:
        if not self.lowers:
            return nullcontext()
        if on.part is None:
            return course_losses_confirmed(session, on.course, confirmed, on.person)
        return losses_confirmed(session, on.part, confirmed, on.person if len(on.people) == 1 else None)

    def make(self, session: Session, on: Target, actor: Person | None, given: Values) -> Any:
        """Make the change with its audit entries, once the course is locked and the values are checked."""
        was = self.values(session, on)
        done = self.do(session, on, actor, given)
        if done and self.audit:
            detail = plain_values(given, private=False) if self.present is None else changes(was, given)
            for person in on.people or (None,):
                about = detail if person is None else {"person": person, **detail}
                note(session, actor, self.audit, on.subject, course_id=on.course.id, **about)
        return done

    def values(self, session: Session, on: Target) -> Values:
        """The present values; the defaults if the act replaces everything."""
        return self.asks() if self.present is None else self.present(session, on)
