"""What counts as agreement between two devices, and what is reported where there is none."""

from __future__ import annotations

import datetime as dt
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from kernels.compile.diagnostics import Resources
from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from tests.gpu.agreement import Comparison, CPUSide, compare_outputs, order_dependent, row_of, runs_of
from tests.gpu.inputs import Kind
from tests.gpu.page import page, problems
from tests.gpu.prepare import CORPUS, Prepared
from tests.gpu.result import Machine

RESOURCES = Resources(32, 0, 0, 0, 0, 0, 0)


def floats(*values):
    return np.array(values, np.float32)


@pytest.fixture(scope="module")
def kernel():
    plan = make_plan(find_exercise("naive"), None, 16, "0")
    small = tuple(case for case in plan.cases if case.sizes["Width"] <= 2)
    return Prepared("some_kernel", "some_kernel-16", "entry", replace(plan, cases=small), {}, RESOURCES)


def outputs(kernel):
    return [np.ones(case.sizes["Width"] ** 2, np.float32) for case, _ in runs_of(kernel)]


def spoilt(kernel, kind):
    """The outputs with the last element of every run of that kind one bit off."""
    made = outputs(kernel)
    for output, (_, each) in zip(made, runs_of(kernel), strict=True):
        if each is kind:
            output.view(np.uint32)[-1] += 1
    return made


def row(kernel, gpu, order=None, approximate=(), objections=()):
    return row_of(kernel, CPUSide(tuple(outputs(kernel)), approximate, objections), gpu, order)


def test_all_nan_are_one_but_zeros_of_two_signs_are_not():
    quiet = np.array([0x7FC00000, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert compare_outputs(quiet, quiet[::-1].copy()).differing == 0
    assert compare_outputs(floats(1, 0), floats(1, -0.0)) == Comparison(2, 1, (1, 0, 0x80000000))


def test_a_number_is_not_nan_and_one_bit_is_a_difference():
    assert compare_outputs(floats(1, np.nan), floats(1, 2)).differing == 1
    assert compare_outputs(floats(1), np.nextafter(floats(1), floats(2))).differing == 1


def test_equal_outputs_agree(kernel):
    made = row(kernel, outputs(kernel))
    assert made.agrees
    assert made.runs == 2 * len(Kind)
    assert made.elements == 5 * len(Kind)
    assert not problems([made])


def test_a_difference_is_named_by_element_size_and_values(kernel):
    made = row(kernel, spoilt(kernel, Kind.TINY))
    assert not made.agrees
    assert made.differing == 2
    (line,) = problems([made])
    assert "P[0][0] at Width=1 with tiny values: CPU device 1.0 (0x3f800000), GPU 1.0000001" in line


def test_a_sum_in_any_order_is_held_to_whole_numbers(kernel):
    assert row(kernel, spoilt(kernel, Kind.WIDE), order="atomics").agrees
    assert row(kernel, spoilt(kernel, Kind.WIDE), order="atomics").excused == 2
    assert not row(kernel, spoilt(kernel, Kind.WHOLE), order="atomics").agrees


def test_approximate_instructions_excuse_differences_and_are_named(kernel):
    made = row(kernel, spoilt(kernel, Kind.WIDE), approximate=("ex2.approx.f32",))
    assert made.agrees
    assert "approximate: `ex2.approx.f32`" in shown(made)


def test_what_the_cpu_device_objects_to_is_no_agreement(kernel):
    made = row(kernel, outputs(kernel), objections=("data_race, line 3: two threads",))
    assert not made.agrees
    assert "data_race" in problems([made])[0]


def test_a_kernel_that_the_cpu_device_cannot_run_is_no_agreement(kernel):
    assert not row_of(kernel, CPUSide((), (), ("an instruction is not known",)), outputs(kernel), None).agrees


def test_the_page_names_the_machine_and_every_difference(kernel):
    text = shown(row(kernel, outputs(kernel)), row(kernel, spoilt(kernel, Kind.TINY)))
    assert "2026-01-02" in text
    assert "Some GPU, driver 1.2, kernels compiled for sm_90" in text
    assert "1 of 2 compilations" in text
    assert "**no**: 2 differ" in text


def shown(*rows):
    return page(rows, Machine("Some GPU", "1.2", "sm_90", "13.5"), dt.date(2026, 1, 2))


def test_kernels_whose_order_shows_are_kernels_of_the_corpus():
    corpus = tomllib.loads((CORPUS / "right.toml").read_text(encoding="utf-8"))["kernel"]
    assert set(order_dependent()) <= {entry["name"] for entry in corpus}
