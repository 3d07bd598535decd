"""An exercise at the sizes and macros of one point, read and as a text."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernels.exercise import AnalysisRule, Exercise, Layout
from kernels.exercise.sizes import steps
from kernels.experiment.roles import FLAGS, Change, matrix_of
from kernels.source.source_file import Source
from kernels.toml_text import read_toml


def point_exercise(exercise: Exercise, change: Change) -> Exercise:
    """The exercise that `point_text` describes, with the digest of the original."""
    return replace(
        exercise,
        ranking=dict(change.sizes),
        analysis=AnalysisRule(dict(change.sizes), None),
        macros={**exercise.macros, **change.macros},
        curve=False,
        phases=None,
        goals=(),
    )


def point_text(definition: str, change: Change, case: int | None = None) -> str:
    """The definition that measures and counts at the sizes of one point, and at no others.

    case: the number of the only case to run, with one kind of input; None for all cases
    """
    data = dict(_parsed(definition))
    data |= {"ranking": dict(change.sizes), "analysis": dict(change.sizes), "curve": False}
    for name, value in change.flags.items():
        if name in FLAGS:
            field, values = FLAGS[name]
            data[field] = bool(value) if len(values) == 2 else value
        else:
            data["operands"] = [_laid_out(each, name, value) for each in data["operands"]]
    if change.macros:
        data["macros"] = {
            name: {**entry, "default": change.macros.get(name, entry["default"])}
            for name, entry in data["macros"].items()
        }
    if case is not None:
        only = data["cases"][case]
        data["cases"] = [{**only, "inputs": only["inputs"][:1]} if "inputs" in only else only]
    for key in ("phases", "goals"):
        data.pop(key, None)
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in data.items())


def _laid_out(operand: Mapping[str, Any], flag: str, value: int) -> Mapping[str, Any]:
    """The operand, with another layout if the flag is its own."""
    layout = Layout.COLUMN_MAJOR if value else Layout.ROW_MAJOR
    return {**operand, "layout": layout.value} if operand["name"] == matrix_of(flag) else operand


def small_case(exercise: Exercise, source: Source, tile: int) -> int | None:
    """The number of a small case; None without one.

    It's enough for a text that passed all cases at another size. Its sizes are the steps of the exercise's sizes.
    """
    wanted = steps(exercise, tile, source.macros)
    names = {**exercise.macros, **source.macros, exercise.tile_name: tile}
    for number, rule in enumerate(exercise.case_rules):
        if {name: value.evaluate(names) for name, value in rule.sizes.items()} == wanted:
            return number
    return None


@functools.lru_cache(maxsize=8)
def _parsed(definition: str) -> Mapping[str, Any]:
    return read_toml(definition)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
