"""Data classes to plain JSON values and back, for everything that crosses a process or a file.

What comes back is checked against the class's own annotations: a process that ran hostile source may answer anything.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class WireError(ValueError):
    """The value does not fit the class; the text names the place."""


def to_plain(value: object) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no plain form")


def from_plain(cls: type[T], data: object) -> T:
    """The data class whose plain form is `data`; raises WireError where it does not fit."""
    return _read(cls, data, cls.__name__)  # type: ignore[no-any-return]


def _read(annotation: Any, data: object, where: str) -> Any:
    if annotation is Any:
        return data
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return _read_optional(annotation, data, where)
    if origin is tuple:
        return _read_tuple(get_args(annotation), data, where)
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping(get_args(annotation)[1], data, where)
    if is_dataclass(annotation):
        return _read_dataclass(annotation, data, where)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _read_enum(annotation, data, where)
    return _read_scalar(annotation, data, where)


def _read_optional(annotation: Any, data: object, where: str) -> Any:
    """Of unions, only `X | None` has a plain form that can be read back without guessing."""
    if data is None:
        return None
    (inner,) = [choice for choice in get_args(annotation) if choice is not type(None)]
    return _read(inner, data, where)


def _read_tuple(arguments: tuple[Any, ...], data: object, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise WireError(f"{where}: a list is needed")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = (arguments[0],) * len(data)
    if len(arguments) != len(data):
        raise WireError(f"{where}: {len(arguments)} values are needed, not {len(data)}")
    pairs = zip(arguments, data, strict=True)
    return tuple(_read(argument, item, f"{where}[{i}]") for i, (argument, item) in enumerate(pairs))


def _read_mapping(inner: Any, data: object, where: str) -> dict[str, Any]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise WireError(f"{where}: an object is needed")
    return {key: _read(inner, item, f"{where}.{key}") for key, item in data.items()}


def _read_dataclass(cls: Any, data: object, where: str) -> Any:
    if not isinstance(data, dict):
        raise WireError(f"{where}: an object is needed")
    hints = _hints(cls)
    if set(data) != set(hints):
        raise WireError(f"{where}: fields {sorted(hints)} are needed, not {sorted(map(str, data))}")
    return cls(**{name: _read(hints[name], data[name], f"{where}.{name}") for name in hints})


@cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _read_enum(cls: type[Enum], data: object, where: str) -> Enum:
    try:
        return cls(data)
    except ValueError as error:
        raise WireError(f"{where}: {data!r} is not a {cls.__name__}") from error


def _read_scalar(cls: Any, data: object, where: str) -> Any:
    if cls is float and type(data) is int:
        return float(data)
    if type(data) is not cls:
        raise WireError(f"{where}: {getattr(cls, '__name__', cls)} is needed, not {type(data).__name__}")
    return data
