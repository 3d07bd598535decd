"""Data classes to plain JSON values and back, for everything that crosses a process or a file.

Incoming values are checked against the class's annotations, because a process that ran hostile source can answer
anything.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class WireError(ValueError):
    """The value doesn't fit the class; the text names the field.

    path: of the value, as in `[0].name`
    needed: the kind of value that fits, as in `int` or `a list`; "" if the text says more
    """

    def __init__(self, reason: str, path: str = "", needed: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason, self.path, self.needed = reason, path, needed

    def within(self, place: str) -> WireError:
        return WireError(self.reason, place + self.path, self.needed)


def _needed(what: str, instead: str = "") -> WireError:
    return WireError(f"{what} is needed{instead}", needed=what)


def to_plain(value: object) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
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
    try:
        root: Any = cls
        return _Reader(lenient or salvage, salvage).read(_shape(root), data)  # type: ignore[no-any-return]
    except WireError as error:
        raise error.within(cls.__name__) from None


class _Form(Enum):
    ANY = auto()
    OPTIONAL = auto()
    LIST = auto()
    TUPLE = auto()
    MAPPING = auto()
    DATACLASS = auto()
    ENUM = auto()
    SCALAR = auto()


@dataclass(frozen=True, slots=True)
class _Shape:
    """An annotation, taken apart once.

    kind: of a data class or enum, its class
    inner: the annotations inside it
    scalar: the class of a scalar, whose values don't change
    """

    form: _Form
    kind: Any = None
    inner: tuple[_Shape, ...] = ()
    scalar: type | None = None


_LARGEST_WHOLE = 2**63
"""JSON has whole numbers of any size, and not each is a float."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads plain values as `from_plain` does. An error has the path of the value."""

    lenient: bool
    salvage: bool

    def read(self, shape: _Shape, data: object) -> Any:
        form = shape.form
        if form is _Form.SCALAR:
            cls = shape.scalar
            if cls == datetime:
                return zoned_time(data)
            if cls is float and type(data) is int:
                if abs(data) > _LARGEST_WHOLE:
                    raise _needed("a smaller number")
                return float(data)
            if type(data) is not cls:
                raise _needed(getattr(cls, "__name__", str(cls)), f", not {type(data).__name__}")
            return data
        if form is _Form.OPTIONAL:
            return None if data is None else self.read(shape.inner[0], data)
        if form is _Form.DATACLASS:
            return self._dataclass(shape.kind, data)
        if form in (_Form.LIST, _Form.TUPLE):
            return self._tuple(shape, data)
        if form is _Form.MAPPING:
            if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
                raise _needed("an object")
            return self._each(((key, shape.inner[0], item) for key, item in data.items()), ".{}")
        return _enum(shape.kind, data) if form is _Form.ENUM else data

    def _tuple(self, shape: _Shape, data: object) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise _needed("a list")
        if shape.form is _Form.LIST:
            (inner,) = shape.inner
            return tuple(self._each(((i, inner, item) for i, item in enumerate(data)), "[{}]").values())
        if len(shape.inner) != len(data):
            raise WireError(f"{len(shape.inner)} values are needed, not {len(data)}")
        values = self._each(zip(range(len(data)), shape.inner, data, strict=True), "[{}]")
        if len(values) < len(data):
            raise WireError("a value cannot be read")
        return tuple(values.values())

    def _dataclass(self, cls: Any, data: object) -> Any:
        if not isinstance(data, dict):
            raise _needed("an object")
        shapes = _shapes(cls)
        if self.lenient and data.keys() != shapes.keys():
            data = _defaults(cls) | {name: value for name, value in data.items() if name in shapes}
        if data.keys() != shapes.keys():
            raise WireError(f"fields {sorted(shapes)} are needed, not {sorted(map(str, data))}")
        values = self._each(((name, shape, data[name]) for name, shape in shapes.items()), ".{}")
        if self.salvage and (lost := shapes.keys() - values.keys() - _defaults(cls).keys()):
            raise WireError(f"{sorted(lost)} cannot be read")
        return cls(**values)

    def _each(self, items: Iterable[tuple[Any, _Shape, object]], place: str) -> dict[Any, Any]:
        """Values by their keys. place: of a key in the path."""
        values = {}
        for key, shape, data in items:
            try:
                values[key] = data if type(data) is shape.scalar else self.read(shape, data)
            except WireError as error:
                if not self.salvage:
                    raise error.within(place.format(key)) from None
        return values


@cache
def _shape(annotation: Any) -> _Shape:
    """Kept, because finding out takes longer than reading."""
    if annotation is Any:
        return _Shape(_Form.ANY)
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        # Of all unions, only `X | None` can be read back without guessing.
        (inner,) = [choice for choice in get_args(annotation) if choice is not type(None)]
        return _Shape(_Form.OPTIONAL, inner=(_shape(inner),))
    if origin is tuple:
        inside = get_args(annotation)
        any_number = len(inside) == 2 and inside[1] is Ellipsis
        shapes = tuple(map(_shape, inside[:1] if any_number else inside))
        return _Shape(_Form.LIST if any_number else _Form.TUPLE, inner=shapes)
    if origin is not None and issubclass(origin, Mapping):
        return _Shape(_Form.MAPPING, inner=(_shape(get_args(annotation)[1]),))
    if is_dataclass(annotation):
        return _Shape(_Form.DATACLASS, annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _Shape(_Form.ENUM, annotation)
    return _Shape(_Form.SCALAR, scalar=annotation)


@cache
def _shapes(cls: Any) -> dict[str, _Shape]:
    """The fields of a class. Not a part of its shape, because classes can contain each other."""
    hints = get_type_hints(cls)
    return {field.name: _shape(hints[field.name]) for field in fields(cls)}


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


def _enum(cls: type[Enum], data: object) -> Enum:
    try:
        return cls(data)
    except ValueError:
        choices = ", ".join(str(member.value) for member in cls)
        raise WireError(f"{data!r} is not a {cls.__name__}", needed=f"one of: {choices}") from None


def zoned_time(data: object) -> datetime:
    """A time in ISO 8601 with its zone, in UTC; raise WireError."""
    try:
        moment = datetime.fromisoformat(data)  # type: ignore[arg-type]
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise _needed("a time with its zone, such as 2027-01-31T12:00:00Z")
