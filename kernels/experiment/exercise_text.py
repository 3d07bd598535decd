"""An exercise's definition with other sizes and macros, as the worker that grades a point needs it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from kernels.exercise import Exercise
from kernels.exercise.sizes import steps
from kernels.experiment.roles import Change
from kernels.source import Source


def point_text(definition: str, wanted: Change) -> str:
    """The definition that measures and counts at the sizes of one point, and at no others."""
    data = tomllib.loads(definition)
    data |= {"ranking": dict(wanted.sizes), "analysis": dict(wanted.sizes), "curve": False}
    for name, value in wanted.macros.items():
        data["macros"][name] = {**data["macros"][name], "default": value}
    for key in ("phases", "goals"):
        data.pop(key, None)
    return _toml(data)


def shortened(definition: str, exercise: Exercise, source: Source, tile: int) -> str:
    """The definition with one small case: for a text that already passed all cases at another size.

    The case's sizes are the steps that the exercise's sizes are made of. Without such a case, all stay.
    """
    data = tomllib.loads(definition)
    wanted = steps(exercise, tile, source.macros)
    names = {**exercise.macros, **source.macros, exercise.tile_name: tile}
    for rule, case in zip(exercise.case_rules, data["cases"], strict=True):
        if {name: value.evaluate(names) for name, value in rule.sizes.items()} == wanted:
            data["cases"] = [{**case, "inputs": case["inputs"][:1]}]
            return _toml(data)
    return definition


def _toml(data: Mapping[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in data.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
