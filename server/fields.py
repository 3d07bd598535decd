"""What a field of a data class says of its values, for Annotated: their limits, and their JSON in the API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, get_type_hints

from kernels.wire import to_plain


@dataclass(frozen=True, slots=True)
class Text:
    """The allowed strings. pattern: of the whole string; shortest, longest: in characters."""

    pattern: str = ""
    shortest: int = 0
    longest: int | None = None

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
    found = []
    for each in fields(cls):
        hint = hints[each.name]
        marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, JsonName)]
        found.append((each.name, marks[0].name if marks else each.name, hint))
    return [each for each in found if each[1]]


def answer_json(value: object) -> Any:
    """The JSON of a value that isn't JSON itself, for `default` of an encoder."""
    if is_dataclass(value) and not isinstance(value, type):
        return {json: getattr(value, name) for name, json, _ in answered_fields(type(value))}
    return to_plain(value)
