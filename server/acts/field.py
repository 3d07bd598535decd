"""A field of an act, declared once: type, limits, default, and how forms, the API and verbs ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from server.courses.local_time import read_moment
from server.fields import Range, Text
from server.text import printable, read_number, read_whole, read_yes

Values = TypeVar("Values")
"""A data class with what an act asks for. Its docstring describes the fields."""

_INPUT_MODES = {float: "decimal", int: "numeric"}


@dataclass(frozen=True, slots=True)
class Asked:
    """How an act asks for a field, for Annotated.

    label, hint: on its form
    form, json: its name there, if another
    option: of verbs, if not the name; without dashes, it is an argument
    metavar, help: of the option
    none: the word for no value in verbs
    choices: values and titles on the form; any: the title of no choice
    group: the name of a group on the form that it begins; row: whether it begins a row
    needed: whether a browser insists on a value
    private: whether the audit leaves it out
    clean: what is stored of a typed text
    """

    label: str = ""
    hint: str = ""
    form: str = ""
    json: str = ""
    option: str = ""
    metavar: str = ""
    help: str = ""
    none: str = ""
    choices: Sequence[tuple[str, str]] = ()
    any: str = ""
    group: str = ""
    row: bool = False
    needed: bool = False
    private: bool = False
    clean: Callable[[str], str] = printable


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an act.

    kind: the type of its values without None
    annotation: its type in the API
    limits: of a number; longest: of a text
    """

    name: str
    kind: type
    optional: bool
    default: Any
    asked: Asked
    annotation: Any
    limits: Range | None
    longest: int | None

    @property
    def form(self) -> str:
        return self.asked.form or self.name

    @property
    def json(self) -> str:
        return self.asked.json or self.name

    @property
    def choices(self) -> Sequence[tuple[str, str]]:
        """Values and titles; none if any value is possible."""
        if self.asked.choices or not issubclass(self.kind, Enum):
            return self.asked.choices
        return [(one.value, one.value.replace("_", " ")) for one in self.kind]

    @property
    def option(self) -> str:
        return self.asked.option or f"--{self.name.replace('_', '-')}"

    @property
    def word(self) -> str:
        """The field's name in the messages of verbs."""
        return self.option.partition("/")[0].removeprefix("--")

    @property
    def none(self) -> str:
        """The word for no value in verbs; "" if there is always a value."""
        return self.asked.none or ("none" if self.optional else "")

    @property
    def input_type(self) -> str:
        return {bool: "checkbox", datetime: "datetime-local"}.get(self.kind, "text")

    @property
    def input_mode(self) -> str:
        return _INPUT_MODES.get(self.kind, "")


def fields_of(cls: Any) -> tuple[Field, ...]:
    """The fields of a class of values, in its order."""
    return _fields_of(cls)


def read(field: Field, text: str, zone: ZoneInfo, was: Any = None) -> Any:
    """What a typed text means; raises ValueError. An empty text is no value, otherwise the default.

    was: the present value; a time that is still shown the same stays exactly
    """
    if field.kind is str:
        return text
    if not text and field.optional:
        return None
    if issubclass(field.kind, Enum):
        if text not in {each.value for each in field.kind}:
            raise ValueError(f"“{text[:40]}” is not one of the choices.")
        return field.kind(text)
    if not text:
        return field.default
    if field.kind == datetime:
        return read_moment(text, zone, was)
    if field.kind is bool:
        return read_yes(text)
    return (read_whole if field.kind is int else read_number)(text)


def stored(cls: type[Values], row: Any) -> Values:
    """The values in the columns of a row."""
    return cls(**{field.name: getattr(row, field.name) for field in fields_of(cls)})


def store(values: object, row: Any) -> None:
    """Put the values into the columns of a row."""
    for field in fields_of(type(values)):
        setattr(row, field.name, getattr(values, field.name))


def cleaned(values: Values) -> Values:
    """The values with texts as they are stored."""
    texts = [field for field in fields_of(type(values)) if field.kind is str]
    return replace(values, **{field.name: field.asked.clean(getattr(values, field.name)) for field in texts})  # type: ignore[type-var]


def outside_limits(values: object) -> Iterator[tuple[str, str]]:
    """Fields outside their limits, each with a text for people."""
    for field in fields_of(type(values)):
        value = getattr(values, field.name)
        if value is None:
            continue
        if field.limits and not field.limits.least <= value <= field.limits.most:
            text = f"{field.asked.label} must be between {field.limits.least:,} and {field.limits.most:,}."
            yield field.name, text
        elif field.longest is not None and len(value) > field.longest:
            yield field.name, f"The {field.asked.label.lower()} is too long. The limit is {field.longest:,} characters."


def changes(was: object, now: object) -> dict[str, list[Any]]:
    """Old and new JSON values of changed fields, for the audit."""
    before, after = plain_values(was, private=False), plain_values(now, private=False)
    return {name: [before[name], value] for name, value in after.items() if before[name] != value}


def plain_values(values: object, *, private: bool = True) -> dict[str, Any]:
    """The values as JSON values. private: with those that the audit leaves out."""
    every = fields_of(type(values))
    return {field.name: _plain(getattr(values, field.name)) for field in every if private or not field.asked.private}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


@cache
def _fields_of(cls: Any) -> tuple[Field, ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple(_field(each.name, each.default, hints[each.name]) for each in fields(cls))


def _field(name: str, default: Any, annotation: Any) -> Field:
    inner, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    asked = next((one for one in more if isinstance(one, Asked)), Asked())
    bounds = [one for one in more if one is not asked]
    kinds = [kind for kind in get_args(inner) if kind is not type(None)] or [inner]
    optional = kinds[0] is not inner
    return Field(
        name,
        kinds[0],
        optional,
        default,
        asked,
        Annotated[(inner, *bounds)] if bounds else inner,
        next((one for one in bounds if isinstance(one, Range)), None),
        next((one.longest for one in bounds if isinstance(one, Text)), None),
    )
