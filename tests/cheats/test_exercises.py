"""Shortcuts that need no knowledge of an exercise, tried on each; and how much precision its inputs need."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kernels.exercise import Exercise, Operation, Role, list_exercises
from kernels.exercise.values import ElementType
from kernels.judging.inputs import Matrix, make_inputs
from kernels.judging.plan import make_plan
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict
from tests.marks import linux, some_of
from tests.worker.in_process import Here
from worker.steps.grading import Job, grade

EXERCISES = list_exercises()
COMPARED = [each for each in EXERCISES if each.operation is not Operation.ANALYSIS]
SHORTCUTS = ("nothing", "zeros", "ones", "an input")
NARROW_BITS = 11
"""Significant bits of half and of TF32; bfloat16 has fewer."""


def in_source(exercise: Exercise, *roles: Role) -> list[str]:
    """The names of operands in the kernel's text."""
    return [each.symbol for each in exercise.operands if each.role in roles]


def shortcut(exercise: Exercise, name: str) -> str:
    """The solution's text with something else instead of its work."""
    text = exercise.solution.read_text(encoding="utf-8")
    if name == "nothing":
        return re.sub(rf"(\b{exercise.kernel}\([^{{]*\{{)", r"\1 return;", text, count=1)
    first = in_source(exercise, Role.INPUT, Role.INOUT)[0]
    value = {"zeros": "0", "ones": "1", "an input": f"*(const float*)&{first}[0]"}[name]
    outputs = "|".join(in_source(exercise, Role.OUTPUT, Role.INOUT))
    text, stores = re.subn(rf"(\b(?:{outputs})(?:\[[^;=]*\])+ )\+?=(?! make_)[^=;][^;]*;", rf"\1= {value};", text)
    text, updates = re.subn(rf"atomicAdd\(&?(?:{outputs})\b[^;]*;", ";", text)
    text, pairs = re.subn(rf"(&(?:{outputs})\[.*\] = make_\w+2)\(.*\);", rf"\1({value}, {value});", text)
    fragment = r"(wmma::store_matrix_sync\(.*?, (\w+),)"
    text, fragments = re.subn(fragment, rf"wmma::fill_fragment(\2, {value}), \1", text)
    assert stores + updates + pairs + fragments, exercise.name
    return text


def verdict_of(exercise: Exercise, text: str, cache) -> Verdict:
    job = Job(text.encode(), exercise, arch="sm_90", seed="5eed" * 8, cache=cache, tile=None, evidence=False)
    return grade(job, Here()).verdict


@pytest.mark.one_in(4, "a quarter of the exercises")
@linux
@pytest.mark.parametrize(
    "shortcut_of",
    some_of(
        [(exercise, name) for exercise in COMPARED for name in SHORTCUTS],
        11,
        lambda each: f"{each[0].name}-{each[1]}",
        "the short suite has every eleventh",
    ),
)
def test_cheats_26_to_28_an_exercise_accepts_no_shortcut(shortcut_of, tmp_path):
    exercise, name = shortcut_of
    assert verdict_of(exercise, shortcut(exercise, name), tmp_path) is not Verdict.ACCEPTED


@linux
def test_cheat_26_only_exercises_that_compare_nothing_accept_an_empty_kernel(tmp_path):
    """Their results are never ranked: `tests/worker/gpu/test_measured_exercises.py`."""
    unlike = [each for each in EXERCISES if each not in COMPARED]

    assert {each.name for each in unlike} == {"foo-kernel"}
    for each in unlike:
        assert verdict_of(each, shortcut(each, "nothing"), tmp_path) is Verdict.ACCEPTED


@pytest.mark.one_in(2, "every second exercise")
@pytest.mark.parametrize("exercise", COMPARED, ids=lambda each: each.name)
def test_cheat_29_each_exercise_has_an_input_that_narrower_types_round(exercise):
    source = read_source(exercise.solution.read_bytes(), exercise)
    assert isinstance(source, Source)
    plan = make_plan(exercise, source, None, "5eed")
    cases = [case for case in plan.cases if case.on_cpu]
    made = [given for case in cases for given in make_inputs(case, 7).items()]
    floats = [matrix for name, matrix in made if exercise.operand(name).type is ElementType.FLOAT]

    assert not floats or any(loses_bits(matrix) for matrix in floats)


def loses_bits(matrix: Matrix) -> bool:
    """Whether an element has more bits than half and TF32 hold."""
    fraction, _ = np.frexp(matrix.astype(np.float64))
    scaled = fraction * 2**NARROW_BITS
    return bool((scaled != np.rint(scaled)).any())
