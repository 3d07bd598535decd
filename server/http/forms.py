"""A form on a page: its values and its mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlencode

from flask import request

from server.http.problems import Refused
from server.text import read_number, read_whole, storable

N = TypeVar("N", int, float)

LONGEST = 10_000
"""Of one field; source files have a limit of their own."""

_MOST_DIGITS = 18


@dataclass(slots=True)
class Form:
    """values: by field name, to show again; mistakes: by field name, in the order of the page."""

    values: dict[str, str] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "").strip()

    def checked(self, name: str) -> bool:
        return bool(self.values.get(name))

    def mistake(self, name: str, text: str) -> None:
        """Add a field's mistake; the first one of a field stays."""
        self.mistakes.setdefault(name, text)

    def choose(self, name: str, offered: Iterable[tuple[str, str]]) -> None:
        """Add a mistake if the field has none of these (value, title) choices."""
        if self[name] not in {value for value, _ in offered}:
            self.mistake(name, f"“{self[name]}” is not one of the choices.")

    def number(self, name: str) -> float:
        """Read a number; an empty one is 0. Adds a mistake to an invalid one, as `whole` does."""
        return self._read(name, read_number, 0.0)

    def whole(self, name: str) -> int:
        """Read a whole number; an empty one is 0."""
        return self._read(name, read_whole, 0)

    def _read(self, name: str, read: Callable[[str], N], nothing: N) -> N:
        try:
            return read(self[name]) if self[name] else nothing
        except ValueError as error:
            self.mistake(name, str(error))
            return nothing

    @property
    def right(self) -> bool:
        return not self.mistakes

    @property
    def query(self) -> str:
        """The values that aren't empty, for an address."""
        return urlencode({name: value for name, value in self.values.items() if value})


def sent(*names: str) -> Form:
    """The sent values of these fields, storable; "" for a missing field. Other fields are ignored.

    A field that was sent several times, such as the chosen ones of a list, has all values, with spaces between them.
    """
    return Form({name: storable(" ".join(request.form.getlist(name)))[:LONGEST] for name in names})


def filled(values: Mapping[str, str]) -> Form:
    return Form(dict(values))


def number_of(given: Mapping[str, str], name: str) -> int | None:
    """An ID from an address or a hidden field; None if absent.

    Refuses an unreadable one: without this filter, the page would show more than was asked for.
    """
    text = given.get(name, "")
    if text and not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise Refused(
            422, "invalid", "Invalid ID",
            f"“{name}” is not a valid ID. Go back, reload the page, and try again.",
        )  # fmt: skip
    return int(text) if text else None
