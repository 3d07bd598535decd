"""Constants that only host code would fill are named for an incorrect result."""

from __future__ import annotations

import pytest

from kernels.source.unfilled_constants import name_unfilled_constants
from kernels.verdict import Finding, Verdict

KERNEL = """__global__ void convolve(const float* image, const float* mask, float* result, int n) {
    result[threadIdx.x] = F[1][2] * image[threadIdx.x];
}
"""
WRONG = Finding(Verdict.WRONG_ANSWER, "`result[0]` is 0, not 3.")
RACE = Finding(Verdict.DATA_RACE, "Two threads race.")


def said(before: str, kernel: str = KERNEL, filled: tuple[str, ...] = ()) -> str:
    race, wrong = name_unfilled_constants((RACE, WRONG), f"{before}\n{kernel}", filled)
    assert race == RACE
    assert [each.names for each in wrong.facts.diagnoses] == ([] if wrong == WRONG else [("F",)])
    assert wrong.facts.example == (WRONG.message if wrong.facts.diagnoses else "")
    return wrong.message.removeprefix(WRONG.message)


@pytest.mark.parametrize(
    "before",
    ["__constant__ float F[3][3];", "static __constant__ float G[9], F[SIDE][SIDE];", "__device__ __constant__ int F;"],
)
def test_the_constant_and_the_unused_parameter_are_named(before):
    assert "`F` (line 1)" in said(before)
    assert "`mask`" in said(before)


@pytest.mark.parametrize(
    "before",
    ["__constant__ float F[2] = {1, 2};", "__constant__ float F[2]{1, 2};", "__device__ float F[3][3];", "#define F x"],
)
def test_other_variables_are_not_named(before):
    assert said(before) == ""


def test_a_constant_that_is_filled_or_unused_is_not_named():
    assert said("__constant__ float F[3][3];", filled=("F",)) == ""
    assert said("__constant__ float G[3][3];") == ""


def test_a_kernel_that_uses_its_parameters_gets_no_parameter():
    kernel = KERNEL.replace("F[1][2]", "F[1][2] * mask[0]")
    assert "`F` (line 1)" in said("__constant__ float F[3][3];", kernel)
    assert "`mask`" not in said("__constant__ float F[3][3];", kernel)
