"""The API's description as OpenAPI 3.1, generated from its routes.

Addresses come from the URL map, fields from the answers' data classes, texts from docstrings. An API route without an
`operation` is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from inspect import cleandoc
from typing import Any

from flask import Blueprint, Flask, Response, current_app, jsonify
from werkzeug.routing import Rule

from server.http.operation import JSON, Header, Operation, operation, operation_of
from server.http.problems import MEDIA_TYPE, Problem
from server.web.schemas import Schema, Schemas, Undescribed

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
