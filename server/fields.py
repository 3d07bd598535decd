"""What a field of a data class says of its values, for Annotated: their limits, and their JSON in the API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from kernels.wire import to_plain


@dataclass(frozen=True, slots=True)
class Text:
    """The allowed strings. pattern: of the whole string; shortest, longest: in characters; says: them in words."""

    pattern: str = ""
    shortest: int = 0
    longest: int | None = None
    says: str = ""

    def allows(self, text: str) -> bool:
        longest = len(text) if self.longest is None else self.longest
        return self.shortest <= len(text) <= longest and bool(re.fullmatch(self.pattern or "(?s:.*)", text))


@dataclass(frozen=True, slots=True)
class Range:
    """The allowed whole numbers."""

    least: int
    most: int

    def allows(self, number: int) -> bool:
        return self.least <= number <= self.most

    def __str__(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"


def marks_of(annotation: Any) -> Sequence[Any]:
    """What an annotation says of its values, `Annotated[...] | None` too."""
    choices = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return [mark for choice in choices for mark in getattr(choice, "__metadata__", ())]


def fault_of(value: object, annotation: Any) -> str:
    """What is wrong with a value of the right type, as the rest of a sentence about its field; "" if nothing is."""
    for mark in marks_of(annotation):
        if isinstance(mark, Text) and isinstance(value, str) and not mark.allows(value):
            return f"must be {mark.says}" if mark.says else "has an invalid value"
        if isinstance(mark, Range) and isinstance(value, int) and not mark.allows(value):
            return f"must be {mark}"
    return ""


@dataclass(frozen=True, slots=True)
class Reads:
    """The class whose JSON form this value has: the code passes that JSON on unchanged."""

    type: Any


@dataclass(frozen=True, slots=True)
class JsonName:
    """The field's name in answers, if it isn't its own; "" for a field that answers leave out."""

    name: str


INTERNAL = JsonName("")


@cache
def answered_fields(cls: Any) -> Sequence[tuple[str, str, Any]]:
    """The fields of a class that its answer has, each with its name there and its annotation."""
    hints = get_type_hints(cls, include_extras=True)
    answered = []
    for name, hint in ((field.name, hints[field.name]) for field in fields(cls)):
        names = [mark.name for mark in marks_of(hint) if isinstance(mark, JsonName)] or [name]
        if names[0]:
            answered.append((name, names[0], hint))
    return answered


def answer_json(value: object) -> Any:
    """The JSON of a value that isn't JSON itself, for `default` of an encoder."""
    if is_dataclass(value) and not isinstance(value, type):
        return {json: getattr(value, name) for name, json, _ in answered_fields(type(value))}
    return to_plain(value)
