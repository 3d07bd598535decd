"""Let requests that could be right mostly name what is there; made up at random, they would all meet a 404."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import schemathesis

_THERE = json.loads(os.environ.get("TILELAB_FUZZ_THERE", '{"ids": ["none"]}'))
_MOSTLY = 0.7
_dice = random.Random(os.environ.get("TILELAB_FUZZ_SEED", ""))


def _mostly() -> bool:
    return _dice.random() < _MOSTLY


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    if isinstance(path_parameters, dict) and _mostly():
        named = {"course": "gpu", "assignment": "tiled", "device_class": "h200"}
        for name in path_parameters:
            if name == "public_id":
                path_parameters[name] = _dice.choice(_THERE["ids"])
            elif name in named:
                path_parameters[name] = named[name]
    return path_parameters


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    if isinstance(query, dict):
        if "assignment" in query and isinstance(query["assignment"], str) and _mostly():
            query["assignment"] = "gpu/tiled"
        if "before" in query and isinstance(query["before"], str) and _mostly():
            query["before"] = _dice.choice(_THERE["ids"])
    return query


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("assignment"), str) and _mostly():
        body["assignment"] = "gpu/tiled"
    # which classes there are is no matter of the description: that of the assignment, and no worker is there
    if isinstance(body.get("device_class"), str) and _right(body["device_class"]):
        body["device_class"] = "h200"
    return body


def _right(name: str) -> bool:
    return name.isascii() and name.replace("-", "").isalnum() and name.islower()
