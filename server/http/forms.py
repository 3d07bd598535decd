"""A form on a page: what was typed, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flask import request

from server.http.problems import Refused

LONGEST = 10_000
"""Of one field; a source comes by a reader of its own."""

_MOST_DIGITS = 18


@dataclass(slots=True)
class Form:
    """values: by name, as they are shown again; mistakes: by the name of their field, in the order of the page."""

    values: dict[str, str] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "").strip()

    def checked(self, name: str) -> bool:
        return bool(self.values.get(name))

    def mistake(self, name: str, text: str) -> None:
        """Say what is wrong with a field; the first one said of it stays."""
        self.mistakes.setdefault(name, text)

    def choose(self, name: str, offered: Iterable[tuple[str, str]]) -> None:
        """Note a mistake where a field holds none of the values that are offered, each with its title."""
        if self[name] not in {value for value, _ in offered}:
            self.mistake(name, f"“{self[name]}” is not one of the choices.")

    @property
    def right(self) -> bool:
        return not self.mistakes


def sent(*names: str) -> Form:
    """What was sent of these fields; what was not, and anything else, is as if it were empty.

    No database keeps the character 0, and nobody can type it: it is left out.
    """
    return Form({name: request.form.get(name, "").replace("\0", "")[:LONGEST] for name in names})


def filled(values: Mapping[str, str]) -> Form:
    """A form as it stands before anybody typed."""
    return Form(dict(values))


def number_of(given: Mapping[str, str], name: str) -> int | None:
    """A number that a page put into an address or a form; None for none.

    One that cannot be read is refused: without it, there would be more than was asked for.
    """
    text = given.get(name, "")
    if text and not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise Refused(
            422, "invalid", "Invalid ID",
            f"“{name}” is not a valid ID. Go back, reload the page, and try again.",
        )  # fmt: skip
    return int(text) if text else None
