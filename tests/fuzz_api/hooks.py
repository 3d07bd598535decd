"""Let requests that could be right mostly name what is there; made up at random, they would all meet a 404."""

from __future__ import annotations

import json
import os
import random
import re
from typing import Any

import schemathesis

_THERE = json.loads(os.environ.get("TILELAB_FUZZ_THERE", '{"ids": ["none"]}'))
_MOSTLY = 0.7
_dice = random.Random(os.environ.get("TILELAB_FUZZ_SEED", ""))


_NAME = r"[a-z0-9][a-z0-9._\-]{0,59}"
_PATTERNS = {
    "course": _NAME,
    "assignment": _NAME,
    "name": _NAME,
    "device_class": _NAME,
    "public_id": "[0-9a-zA-Z]{1,32}",
    "before": "[0-9a-zA-Z]{1,32}",
    "COURSE/ASSIGNMENT": f"{_NAME}/{_NAME}",
}


def _right(kind: str, value: object) -> bool:
    """Whether the description allows it: what is wrong on purpose has to stay wrong."""
    pattern = _PATTERNS.get(kind)
    return pattern is not None and isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _mostly() -> bool:
    return _dice.random() < _MOSTLY


@schemathesis.serializer("application/zip")
def zip_file(context: Any, value: Any) -> Any:
    return {"data": value if isinstance(value, bytes) else str(value).encode()}


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    if isinstance(path_parameters, dict) and _mostly():
        there = {"course": "gpu", "assignment": "tiled", "device_class": "h200", "name": "tiled"}
        there["public_id"] = _dice.choice(_THERE["ids"])
        for name, value in path_parameters.items():
            if _right(name, value):
                path_parameters[name] = there[name]
    return path_parameters


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    if isinstance(query, dict):
        if _right("COURSE/ASSIGNMENT", query.get("assignment")) and _mostly():
            query["assignment"] = "gpu/tiled"
        if _right("before", query.get("before")) and _mostly():
            query["before"] = _dice.choice(_THERE["ids"])
    return query


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    if isinstance(body, dict):
        if _right("COURSE/ASSIGNMENT", body.get("assignment")) and _mostly():
            body["assignment"] = "gpu/tiled"
        # which classes there are is no matter of the description: that of the assignment, for no worker is there
        if _right("device_class", body.get("device_class")):
            body["device_class"] = "h200"
    return body
