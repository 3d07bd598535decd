"""Data classes to plain JSON values and back, for everything that crosses a process or a file.

Incoming values are checked against the class's annotations, because a process that ran hostile source can answer
anything.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum, auto
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class WireError(ValueError):
    """The value doesn't fit the class; the text names the field."""


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


def from_plain(cls: type[T], data: object, *, lenient: bool = False, salvage: bool = False) -> T:
    """The data class whose plain form is `data`; raise WireError if it doesn't fit.

    lenient: ignore unknown fields, and give missing fields their defaults
    salvage: also drop unreadable values, each with the smallest part around it that is optional
    """
    return _Reader(lenient or salvage, salvage).read(cls, data, cls.__name__)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads plain values as `from_plain` does. where: the path of the value, for errors."""

    lenient: bool
    salvage: bool

    def read(self, annotation: Any, data: object, where: str) -> Any:
        form, inner = _form(annotation)
        if form is _Form.SCALAR:
            return _scalar(annotation, data, where)
        if form is _Form.OPTIONAL:
            return None if data is None else self.read(inner, data, where)
        if form is _Form.DATACLASS:
            return self._dataclass(annotation, data, where)
        if form is _Form.TUPLE:
            return self._tuple(inner, data, where)
        if form is _Form.MAPPING:
            if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
                raise WireError(f"{where}: an object is needed")
            return self._each([(key, inner, item, f"{where}.{key}") for key, item in data.items()])
        return _enum(annotation, data, where) if form is _Form.ENUM else data

    def _tuple(self, arguments: tuple[Any, ...], data: object, where: str) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise WireError(f"{where}: a list is needed")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            items = [(i, arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data)]
            return tuple(self._each(items).values())
        if len(arguments) != len(data):
            raise WireError(f"{where}: {len(arguments)} values are needed, not {len(data)}")
        pairs = zip(arguments, data, strict=True)
        return tuple(self.read(argument, item, f"{where}[{i}]") for i, (argument, item) in enumerate(pairs))

    def _dataclass(self, cls: Any, data: object, where: str) -> Any:
        if not isinstance(data, dict):
            raise WireError(f"{where}: an object is needed")
        hints = _hints(cls)
        if self.lenient:
            data = _defaults(cls) | {name: value for name, value in data.items() if name in hints}
        if data.keys() != hints.keys():
            raise WireError(f"{where}: fields {sorted(hints)} are needed, not {sorted(map(str, data))}")
        values = self._each([(name, hint, data[name], f"{where}.{name}") for name, hint in hints.items()])
        if self.salvage and (lost := hints.keys() - values.keys() - _defaults(cls).keys()):
            raise WireError(f"{where}: {sorted(lost)} cannot be read")
        return cls(**values)

    def _each(self, items: Iterable[tuple[Any, Any, object, str]]) -> dict[Any, Any]:
        """Values by their keys. items: key, annotation, plain value, path."""
        values = {}
        for key, annotation, data, where in items:
            try:
                values[key] = self.read(annotation, data, where)
            except WireError:
                if not self.salvage:
                    raise
        return values


class _Form(Enum):
    """How the values of an annotation are read."""

    ANY = auto()
    OPTIONAL = auto()
    TUPLE = auto()
    MAPPING = auto()
    DATACLASS = auto()
    ENUM = auto()
    SCALAR = auto()


@cache
def _form(annotation: Any) -> tuple[_Form, Any]:
    """An annotation's form, and the annotations inside it. Kept, because finding out takes longer than reading."""
    if annotation is Any:
        return _Form.ANY, None
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        # Of all unions, only `X | None` can be read back without guessing.
        (inner,) = [choice for choice in get_args(annotation) if choice is not type(None)]
        return _Form.OPTIONAL, inner
    if origin is tuple:
        return _Form.TUPLE, get_args(annotation)
    if origin is not None and issubclass(origin, Mapping):
        return _Form.MAPPING, get_args(annotation)[1]
    if is_dataclass(annotation):
        return _Form.DATACLASS, None
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _Form.ENUM, None
    return _Form.SCALAR, None


@cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def _defaults(cls: Any) -> dict[str, Any]:
    """The defaults of a class's fields, as plain values."""
    found = {}
    for field in fields(cls):
        if field.default is not MISSING:
            found[field.name] = to_plain(field.default)
        elif field.default_factory is not MISSING:
            found[field.name] = to_plain(field.default_factory())
    return found


def _enum(cls: type[Enum], data: object, where: str) -> Enum:
    try:
        return cls(data)
    except ValueError as error:
        raise WireError(f"{where}: {data!r} is not a {cls.__name__}") from error


def _scalar(cls: Any, data: object, where: str) -> Any:
    if cls is float and type(data) is int:
        return float(data)
    if type(data) is not cls:
        raise WireError(f"{where}: {getattr(cls, '__name__', cls)} is needed, not {type(data).__name__}")
    return data
