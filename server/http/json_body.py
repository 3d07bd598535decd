"""The JSON object in the body of a request."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, TypeVar, get_type_hints

from flask import request

from kernels.wire import WireError, from_plain
from server.fields import fault_of
from server.http.problems import Refused

T = TypeVar("T")

_WANTED = {"str": "a text", "bool": "true or false", "int": "a whole number", "float": "a number"}
_MOST_DIGITS = 20
_EXACT = 2**53
_DEEPEST = "it is nested too deeply"


def refuse_other_types() -> None:
    """Refuse anything but JSON, because a form on a foreign page can send text but not JSON."""
    if request.mimetype != "application/json":
        raise Refused(
            415, "wrong_media_type", "The body's type isn't JSON",
            "Send JSON, with the header `Content-Type: application/json`.",
        )  # fmt: skip


def json_object(body: bytes, fields: Collection[str]) -> Mapping[str, Any]:
    """Read an object with these fields and no others; raises Refused."""
    try:
        asked = json.loads(body.decode("utf-8"), parse_constant=_no_number, parse_int=_whole, parse_float=_fraction)
    except RecursionError:
        raise _unreadable(_DEEPEST) from None
    except UnicodeDecodeError as error:
        raise _unreadable(f"byte {error.start} isn't UTF-8") from None
    except ValueError as error:
        raise _unreadable(str(error)) from None
    if not isinstance(asked, dict):
        raise _unreadable("it isn't an object")
    # A misspelled field must not be ignored: `mod: check` would use an attempt.
    if unknown := sorted(set(asked) - set(fields)):
        raise invalid(f"`{_short(unknown[0])}` isn't a field. The fields are {', '.join(fields)}.")
    return asked


def read_body(cls: type[T], body: bytes, unlimited: Collection[str] = ()) -> T:
    """Read an object into a data class, by its annotations; raises Refused, naming the field.

    unlimited: fields whose limits the caller checks
    """
    asked_for: Any = cls  # mypy takes a type[T] for unhashable
    hints = _hints(asked_for)
    asked = json_object(body, tuple(hints))
    try:
        values = from_plain(cls, asked, lenient=True)
    except WireError as error:
        field = error.path.removeprefix(cls.__name__).removeprefix(".")
        if not field:
            missing = [name for name in hints if name not in asked]
            raise invalid(f"A field is missing: `{missing[0]}`.") from None
        wanted = _WANTED.get(error.needed, error.needed or error.reason)
        raise invalid(f"`{_short(field)}` must be {wanted}.") from None
    for name, hint in hints.items():
        if name not in unlimited and (fault := fault_of(getattr(values, name), hint)):
            raise invalid(f"`{name}` {fault}.")
    return values


@cache
def _hints(cls: Any) -> Mapping[str, Any]:
    return get_type_hints(cls, include_extras=True)


def invalid(detail: str) -> Refused:
    return Refused(422, "invalid", "A field has an invalid value", detail)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} isn't a JSON number")


def _whole(digits: str) -> int:
    """Python refuses numbers of thousands of digits, with a message about Python."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits; the limit is {_MOST_DIGITS}")
    return int(digits)


def _fraction(digits: str) -> float:
    """2.0 is a whole number in JSON."""
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def _short(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:40]


def _unreadable(reason: str) -> Refused:
    return Refused(400, "no_json", "The body isn't valid JSON", f"{reason}. Send one JSON object in UTF-8.")
