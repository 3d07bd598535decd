"""JSON Schemas of data classes, from their annotations and docstrings."""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from inspect import cleandoc
from typing import Annotated, Any, Union, get_args, get_origin

from server.fields import Range, Reads, Text, answered_fields

Schema = dict[str, Any]

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"}, bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
}  # fmt: skip
_SUFFIX = "Answer"
_NAMES = re.compile(r"(?<![a-z_])([a-z_]++(?:, [a-z_]++){0,16}+): ")
_WORDS = {"None": "null", "True": "true", "False": "false"}


class Undescribed(TypeError):
    """A type without a schema; the text names it."""


class Schemas:
    """Schemas of types. Each data class becomes one component."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._classes: dict[str, type] = {}

    def of(self, annotation: Any) -> Schema:
        """The schema of an annotation; raises Undescribed."""
        origin = get_origin(annotation)
        if annotation is Any:
            return {}
        if annotation in _SCALARS:
            return dict(_SCALARS[annotation])
        if origin is Annotated:
            inner, *more = get_args(annotation)
            return self._bounded(inner, more)
        if origin in (Union, types.UnionType):
            return self._union(get_args(annotation))
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(get_args(annotation)[1])}
        if origin is not None and issubclass(origin, Sequence):
            return self._sequence(get_args(annotation), origin)
        return self._class(annotation)

    def properties(self, cls: type) -> Iterator[tuple[str, Schema, bool]]:
        """The fields of a data class: name, schema with description, whether it is required."""
        meanings, missing = field_texts(cls), dataclasses.MISSING
        needed = {each.name for each in dataclasses.fields(cls) if each.default is each.default_factory is missing}
        for name, json, annotation in answered_fields(cls):
            schema = self.of(annotation)
            if meaning := meanings.get(name):
                schema = {**schema, "description": meaning}
            yield json, schema, name in needed

    def body(self, cls: type) -> Schema:
        """The schema of a request: a field with a default is optional, and no other fields are allowed."""
        found = {name: (schema, needed) for name, schema, needed in self.properties(cls)}
        return {
            "type": "object",
            "description": summary(cls),
            "properties": {name: schema for name, (schema, _) in found.items()},
            "required": [name for name, (_, needed) in found.items() if needed],
            "additionalProperties": False,
            **getattr(cls, "SCHEMA", {}),
        }

    def _class(self, cls: Any) -> Schema:
        if isinstance(cls, type) and issubclass(cls, Enum):
            return {"type": "string", "enum": [member.value for member in cls]}
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise Undescribed(f"{cls!r} has no schema")
        name = cls.__name__.removesuffix(_SUFFIX)
        if self._classes.setdefault(name, cls) is not cls:
            raise Undescribed(f"two classes are called {name}: {cls!r} and {self._classes[name]!r}")
        if name not in self.components:
            self.components[name] = {}  # it may hold itself
            found = {name: schema for name, schema, _ in self.properties(cls)}
            # an answer has all its fields, always
            self.components[name] = {
                "type": "object", "description": summary(cls), "properties": found, "required": list(found),
            }  # fmt: skip
        return {"$ref": f"#/components/schemas/{name}"}

    def _bounded(self, inner: Any, more: Sequence[Any]) -> Schema:
        for each in more:
            if isinstance(each, Reads):
                return self.of(each.type)
            if isinstance(each, Range):
                return {**self.of(inner), "minimum": each.least, "maximum": each.most}
            if isinstance(each, Text):
                return _narrowed(self.of(inner), each)
        return self.of(inner)

    def _union(self, choices: Sequence[Any]) -> Schema:
        schemas = [self.of(choice) for choice in choices if choice is not type(None)]
        if type(None) not in choices:
            return {"anyOf": schemas}
        (schema,) = schemas
        if isinstance(schema.get("type"), str) and "enum" not in schema:
            return {**schema, "type": [schema["type"], "null"]}
        return {"anyOf": [schema, {"type": "null"}]}

    def _sequence(self, arguments: Sequence[Any], origin: type) -> Schema:
        if origin is not tuple or arguments[-1] is Ellipsis:
            return {"type": "array", "items": self.of(arguments[0])}
        return {
            "type": "array",
            "prefixItems": [self.of(argument) for argument in arguments],
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }


def summary(cls: Any) -> str:
    """A docstring's text before its fields."""
    lines = cleandoc(cls.__doc__ or "").splitlines()
    names = {field.name for field in dataclasses.fields(cls)}
    before = []
    for line in lines:
        if _named(line, names):
            break
        before.append(line)
    text = " ".join("\n".join(before).split())
    # a short class says all in one line: "A step. state: its progress."
    match = next((found for found in _NAMES.finditer(text) if _all_in(found[1], names)), None)
    return plain(text[: match.start()] if match else text)


def field_texts(cls: Any) -> dict[str, str]:
    """The docstrings' text for each field, also inherited ones: `name: meaning` or `one, other: meaning`."""
    bases = (base for base in reversed(cls.__mro__) if dataclasses.is_dataclass(base))
    return {name: text for base in bases for name, text in _own_texts(base).items()}


def _own_texts(cls: Any) -> dict[str, str]:
    names = {field.name for field in dataclasses.fields(cls)}
    text = " ".join(cleandoc(cls.__doc__ or "").split())
    marks = [mark for mark in _NAMES.finditer(text) if _all_in(mark[1], names)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    if not marks:
        return {}
    return {
        name: plain(text[mark.end() : end].rstrip(" ;"))
        for mark, end in zip(marks, ends, strict=True)
        for name in mark[1].split(", ")
    }


def plain(text: str) -> str:
    """The text with Python's words replaced by JSON's."""
    return re.sub(r"\b(None|True|False)\b", lambda found: _WORDS[found[0]], text.strip())


def _named(line: str, names: set[str]) -> bool:
    found = _NAMES.match(line)
    return found is not None and _all_in(found[1], names)


def _all_in(words: str, names: set[str]) -> bool:
    return set(words.split(", ")) <= names


def _narrowed(schema: Schema, text: Text) -> Schema:
    more: Schema = {}
    if text.pattern:
        more["pattern"] = f"^(?:{text.pattern})$"
    if text.shortest:
        more["minLength"] = text.shortest
    if text.longest is not None:
        more["maxLength"] = text.longest
    return {**schema, **more}
