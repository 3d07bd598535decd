"""A kept report as the data class of this version, also where an older or a newer one wrote it.

What is missing gets its default, what is unknown is passed over, and what cannot be read is left out with the smallest
thing around it that may be: a page shows what there is.
"""

from __future__ import annotations

import logging
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from kernels.report import Report, from_json
from kernels.verdict import Verdict
from kernels.wire import WireError

logger = logging.getLogger(__name__)


class _Unfit(ValueError):
    """Nothing can be made of a value."""


def read_report(plain: Mapping[str, Any], verdict: Verdict) -> Report:
    """The report. verdict: as the database has it, which counts whatever the report says."""
    try:
        report = from_json(plain)
    except WireError as error:
        logger.info("a report of another version is read as far as that goes: %s", error)
    else:
        if report.verdict is verdict:
            return report
    needed = {
        "message": "", "exercise": "", "device": "cpu", "arch": "", "tile": 0,
    } | dict(plain) | {"verdict": verdict.value}  # fmt: skip
    for name in ("message", "exercise", "device", "arch"):
        if not isinstance(needed[name], str):
            needed[name] = ""
    if not isinstance(needed["tile"], int):
        needed["tile"] = 0
    found: Report = _read(Report, needed)
    return found


def _read(annotation: Any, data: object) -> Any:
    """The value as far as it can be read; raises _Unfit."""
    if annotation is Any:
        return data
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        (inner,) = [choice for choice in get_args(annotation) if choice is not type(None)]
        return None if data is None else _read(inner, data)
    if origin is tuple:
        return _read_tuple(get_args(annotation), data)
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping(get_args(annotation)[1], data)
    if is_dataclass(annotation):
        return _read_dataclass(annotation, data)
    return _read_plain(annotation, data)


def _read_tuple(arguments: tuple[Any, ...], data: object) -> tuple[Any, ...]:
    """Of a list of any length, the items that can be read."""
    if not isinstance(data, list):
        raise _Unfit
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(value for value in (_or_none(arguments[0], item) for item in data) if value is not None)
    if len(arguments) != len(data):
        raise _Unfit
    return tuple(_read(argument, item) for argument, item in zip(arguments, data, strict=True))


def _read_mapping(inner: Any, data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _Unfit
    found = {key: _or_none(inner, item) for key, item in data.items() if isinstance(key, str)}
    return {key: value for key, value in found.items() if value is not None}


def _or_none(annotation: Any, data: object) -> Any:
    try:
        return _read(annotation, data)
    except _Unfit:
        return None


def _read_dataclass(cls: Any, data: object) -> Any:
    if not isinstance(data, dict):
        raise _Unfit
    hints = get_type_hints(cls)
    return cls(**{field.name: _read_field(field, hints[field.name], data) for field in fields(cls)})


def _read_field(field: Field[Any], annotation: Any, data: Mapping[str, Any]) -> Any:
    if field.name in data:
        try:
            return _read(annotation, data[field.name])
        except _Unfit:
            pass
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    raise _Unfit


def _read_plain(cls: Any, data: object) -> Any:
    if isinstance(cls, type) and issubclass(cls, Enum):
        try:
            return cls(data)
        except ValueError as error:
            raise _Unfit from error
    if cls is float and type(data) is int:
        return float(data)
    if type(data) is not cls:
        raise _Unfit
    return data
