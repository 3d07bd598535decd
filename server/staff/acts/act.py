"""A change by course staff, declared once. Its form, its API route and its verbs follow from the declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.courses.models import Assignment
from server.courses.service import CourseError
from server.staff.losses import losses_confirmed

Fields = TypeVar("Fields")
"""A data class with what an act asks for. Its docstring describes the fields."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How people are asked for a field, for Annotated.

    json: its name in the API, if another
    argument: its name as an argument of verbs, which otherwise have an option
    option: that option, if not the name; metavar, help: of the option
    label, hint: on a page
    choices: values and titles on a page; any: the title of no choice
    """

    json: str = ""
    argument: str = ""
    option: str = ""
    metavar: str = ""
    help: str = ""
    label: str = ""
    hint: str = ""
    any: str = ""
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A field that people are asked for.

    kind: the type of its values without None; annotation: without how it is asked for
    """

    name: str
    kind: type
    optional: bool
    default: Any
    asked: Asked
    annotation: Any

    @property
    def json(self) -> str:
        return self.asked.json or self.name

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Its values and their titles; none if any value is possible."""
        if self.asked.choices or not issubclass(self.kind, Enum):
            return self.asked.choices
        return tuple((one.value, one.value.replace("_", " ")) for one in self.kind)


@dataclass(frozen=True, slots=True)
class Target:
    """A student's part of an assignment."""

    assignment: Assignment
    person_id: int


class Mistakes(CourseError):
    """Fields with invalid values, and why. Nothing changed."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        super().__init__(next(iter(by_field.values())), by_field)


@dataclass(frozen=True, slots=True)
class Act(Generic[Fields]):
    """A change of what one student has in an assignment, by instructors. It may lower points.

    asks: the class of its fields
    present: their present values
    wrong: mistakes by field
    do: makes the change, with its audit entry
    lowers: the fields that can lower points
    """

    asks: type[Fields]
    present: Callable[[Session, Assignment, int], Fields]
    wrong: Callable[[Fields], Mapping[str, str]]
    do: Callable[[Session, Assignment, Person | None, int, Fields], object]
    lowers: frozenset[str]

    @property
    def fields(self) -> tuple[Field, ...]:
        return fields_of(self.asks)

    def carry_out(
        self, session: Session, on: Target, actor: Person | None, confirmed: str, change: Callable[[Fields], Fields]
    ) -> None:
        """Change the present values. Raises Mistakes, CourseError or UnconfirmedPoints.

        confirmed: as for `losses_confirmed`
        change: makes the new values from the present ones, once no one else can change them
        """
        with losses_confirmed(session, on.assignment, confirmed, on.person_id):
            given = change(self.present(session, on.assignment, on.person_id))
            if wrong := self.wrong(given):
                raise Mistakes(wrong)
            self.do(session, on.assignment, actor, on.person_id, given)


def fields_of(cls: Any) -> tuple[Field, ...]:
    """The fields that a data class declares."""
    return tuple(_fields(cls))


def _fields(cls: Any) -> Iterator[Field]:
    hints = get_type_hints(cls, include_extras=True)
    for each in fields(cls):
        annotation = hints[each.name]
        inner, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        asked = next((one for one in more if isinstance(one, Asked)), Asked())
        kinds = [kind for kind in get_args(inner) if kind is not type(None)] or [inner]
        bounds = [one for one in more if one is not asked]
        plain = Annotated[(inner, *bounds)] if bounds else inner
        yield Field(each.name, kinds[0], inner is not kinds[0], each.default, asked, plain)
