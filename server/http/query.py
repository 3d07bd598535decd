"""Read query parameters into a data class, by its annotations."""

from __future__ import annotations

import dataclasses
import re
import types
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from flask import request, url_for

from kernels.wire import WireError, to_plain, zoned_time
from server.fields import Range, fault_of
from server.http.problems import Refused

T = TypeVar("T")

_DIGITS = re.compile(r"[0-9]{1,18}")


def read_query(cls: type[T]) -> T:
    """The parameters of the request; missing ones keep their defaults. Raises Refused for an invalid value.

    Ignores unknown parameters.
    """
    hints = get_type_hints(cls, include_extras=True)
    given = {
        item.name: _read(hints[item.name], item.name, request.args[item.name])
        for item in dataclasses.fields(cls)  # type: ignore[arg-type]
        if item.name in request.args
    }
    return cls(**given)


def next_url(asked: object, **start: Any) -> str:
    """The URL of the next part of a list: the request's parameters, but from another start."""
    given = {name: value for name, value in to_plain(asked).items() if name not in start and value not in {None, ""}}
    return url_for(str(request.endpoint), **request.view_args or {}, **given, **start)


def _read(annotation: Any, name: str, text: str) -> Any:
    inner, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if get_origin(inner) in (Union, types.UnionType):
        (inner,) = [choice for choice in get_args(inner) if choice is not type(None)]
        return _read(Annotated[(inner, *more)] if more else inner, name, text)
    if inner == datetime:
        return _moment(name, text)
    if inner is int:
        return _number(name, text, more)
    if isinstance(inner, type) and issubclass(inner, Enum):
        return _choice(name, text, inner)
    if fault := fault_of(text, annotation):
        raise _invalid(f"`{name}` {fault}.")
    return text


def _choice(name: str, text: str, kind: type[Enum]) -> Enum:
    choices = {str(one.value): one for one in kind}
    if text not in choices:
        raise _invalid(f"`{name}` must be one of: {', '.join(choices)}.")
    return choices[text]


def _number(name: str, text: str, more: list[Any]) -> int:
    bounds = next((bound for bound in more if isinstance(bound, Range)), Range(0, 10**9))
    if not _DIGITS.fullmatch(text) or not bounds.allows(int(text)):
        raise _invalid(f"`{name}` must be {bounds}.")
    return int(text)


def _moment(name: str, text: str) -> datetime:
    try:
        return zoned_time(text)
    except WireError as error:
        raise _invalid(f"`{name}` must be {error.needed}.") from None


def _invalid(detail: str) -> Refused:
    return Refused(422, "invalid", "A parameter has an invalid value", detail)
