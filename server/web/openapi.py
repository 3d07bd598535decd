"""The API's description as OpenAPI 3.1, generated from its routes and their data classes."""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from importlib.metadata import version
from inspect import cleandoc
from typing import Annotated, Any, Union, get_args, get_origin

from flask import Blueprint, Flask, Response, current_app, jsonify
from werkzeug.routing import Rule

from server.fields import Range, Reads, Text, answered_fields
from server.http.operation import JSON, Header, Operation, operation, operation_of
from server.http.problems import MEDIA_TYPE, Problem

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
            arguments = get_args(annotation)
            if origin is not tuple or arguments[-1] is Ellipsis:
                return {"type": "array", "items": self.of(arguments[0])}
            return {
                "type": "array",
                "prefixItems": [self.of(argument) for argument in arguments],
                "minItems": len(arguments),
                "maxItems": len(arguments),
            }
        return self._class(annotation)

    def properties(self, cls: type) -> Iterator[tuple[str, Schema, bool]]:
        """The fields of a data class: name, schema with description, whether it is required."""
        meanings, missing = field_texts(cls), dataclasses.MISSING
        needed = {field.name for field in dataclasses.fields(cls) if field.default is field.default_factory is missing}
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


PREFIX = "/api/v1"
_STREAM = (
    "Server-sent events: one `state` at once and at each change, and a `beat` now and then. The stream ends "
    "after a `final` state, and after some minutes in any case: then open it again."
)
_SCHEME = "token"
_KEY = "tilelab-openapi"

description = Blueprint("api_description", __name__)

_OF_ALL: Mapping[int, str] = {
    414: "The address is too long: the limit is about 8,000 bytes with its query.",
    431: "The headers are too large: the limit is about 8,000 bytes each.",
    500: "Server error; the server's log has the details.",
    503: "The database is down; nothing was stored. Send the same request again after `Retry-After`.",
}
_OF_TOKENS: Mapping[int, str] = {
    401: "Missing or invalid token: it is unknown, expired or revoked, or its owner is disabled.",
    429: "Too many requests: wait for the seconds in `Retry-After`.",
}
_OUTSIDE = "The token may lack a scope: then the code is `missing_scope`."
_WITH_HEADERS: Mapping[int, tuple[Header, ...]] = {
    401: (Header("WWW-Authenticate", "Asks for a bearer token.", required=True),),
    429: (Header("Retry-After", "Seconds to wait.", int, required=True),),
    503: (Header("Retry-After", "Seconds to wait.", int, required=True),),
}


@description.get("/openapi.json")
@operation(dict[str, Any], token=False)
def openapi() -> Response:
    """Get this API description, for programs."""
    return jsonify(_kept(current_app))


def described(app: Flask) -> dict[str, Any]:
    """Build the document. Raises Undescribed for an API route without an `operation`."""
    schemas = Schemas()
    schemas.of(Problem)
    paths: dict[str, dict[str, Any]] = {}
    tags: set[str] = set()
    for rule, method, said in _routes(app):
        address = re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", r"{\1}", rule.rule)
        view = app.view_functions[rule.endpoint]
        tags.add(rule.endpoint.partition(".")[0])
        paths.setdefault(address, {})[method.lower()] = _operation(rule, view.__doc__, said, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tilelab",
            "version": version("tilelab"),
            "description": "Submit CUDA kernels and read their results. All times are in UTC, in ISO 8601.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in sorted(tags)],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                _SCHEME: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Create a token on your account page. Programs that use it act as you, within its "
                    "scopes. A route names the scope that it needs. Another person's work also needs `staff`.",
                }
            },
        },
    }


def _kept(app: Flask) -> dict[str, Any]:
    """Built once, because it never changes while the application runs."""
    if _KEY not in app.extensions:
        app.extensions[_KEY] = described(app)
    found: dict[str, Any] = app.extensions[_KEY]
    return found


def _routes(app: Flask) -> Iterator[tuple[Rule, str, Operation]]:
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        if not rule.rule.startswith(f"{PREFIX}/"):
            continue
        said = operation_of(app.view_functions[rule.endpoint])
        if said is None:
            raise Undescribed(f"{rule.rule} has no description: add `operation` of server/http/operation.py")
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield rule, method, said


def _operation(rule: Rule, text: str | None, said: Operation, schemas: Schemas) -> Schema:
    first, _, rest = cleandoc(text or "").partition("\n")
    found: Schema = {
        "operationId": rule.endpoint.replace(".", "_"),
        "summary": first,
        "tags": [rule.endpoint.split(".")[0]],
        "parameters": list(_parameters(rule, said, schemas)),
        "responses": _responses(said, schemas),
        "security": [{_SCHEME: [said.scope]}] if said.token else [],
    }
    if rest.strip():
        found["description"] = rest.strip()
    if said.takes is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas.body(said.takes)}}}
    if said.uploads:
        file = {"type": "string", "contentMediaType": said.uploads}
        found["requestBody"] = {"required": True, "content": {said.uploads: {"schema": file}}}
    return found


def _parameters(rule: Rule, said: Operation, schemas: Schemas) -> Iterator[Schema]:
    for name in re.findall(r"<(?:[^:<>]+:)?([^<>]+)>", rule.rule):
        yield {"name": name, "in": "path", "required": True, "schema": schemas.of(said.path[name])}
    for header in said.sends:
        yield {
            "name": header.name, "in": "header", "required": header.required, "description": header.description,
            "schema": schemas.of(header.type),
        }  # fmt: skip
    if said.query is not None:
        for name, schema, needed in schemas.properties(said.query):
            text = schema.pop("description", "")
            yield {"name": name, "in": "query", "required": needed, "description": text, "schema": schema}


def _responses(said: Operation, schemas: Schemas) -> dict[str, Schema]:
    content = schemas.of(said.answer) if said.events is None else _event(said.events, schemas)
    right: Schema = {
        "description": "Success." if said.events is None else _STREAM,
        "content": {said.media_type: {"schema": content}},
        **_headers(said.gives, schemas),
    }
    refused = {**_OF_ALL, **(_OF_TOKENS if said.token else {}), **said.refuses}
    if said.token:
        refused[403] = " ".join(filter(None, (refused.get(403), _OUTSIDE)))
    return {str(said.status): right} | {
        str(status): {
            "description": when,
            "content": {MEDIA_TYPE: {"schema": _problem(said.problems.get(status), schemas)}},
            **_headers(_WITH_HEADERS.get(status, ()), schemas),
        }
        for status, when in sorted(refused.items())
    }


def _problem(special: type | None, schemas: Schemas) -> Schema:
    usual = schemas.of(Problem)
    return usual if special is None else {"anyOf": [schemas.of(special), usual]}


def _event(events: type, schemas: Schemas) -> Schema:
    """An event of a stream. OpenAPI 3.1 can't describe streams, so this uses the form of OpenAPI 3.2."""
    told = {"type": "string", "contentMediaType": JSON, "contentSchema": schemas.of(events)}
    return {
        "description": "A server-sent event. A `beat` shows that the stream is alive; ignore its data.",
        "oneOf": [
            {"type": "object", "properties": {"event": {"const": "state"}, "data": told}},
            {"type": "object", "properties": {"event": {"const": "beat"}, "data": {"const": "{}"}}},
        ],
    }


def _headers(headers: Iterable[Header], schemas: Schemas) -> Schema:
    found = {
        header.name: {
            "description": header.description, "required": header.required, "schema": schemas.of(header.type),
        }
        for header in headers
    }  # fmt: skip
    return {"headers": found} if found else {}
