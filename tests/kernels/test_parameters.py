"""The parameters that a kernel has once it is compiled, whatever its text looked like."""

from __future__ import annotations

import pytest

from kernels.compile.parameters import UNKNOWN, mismatch

EXPECTED = ("float*", "float*", "float*", "int")


@pytest.mark.parametrize(
    "entry", ["_Z15MatrixMulKernelPfS_S_i", "_Z1KPKfS0_Pfj", "_Z1KPfPKfS1_i", "_ZL1KPVfPVKfPfi", "_Z1KPKfPfS1_i"]
)
def test_qualifiers_and_signs_change_no_launch(entry):
    assert mismatch("", entry, EXPECTED) is None


def test_an_exercise_may_promise_not_to_write():
    assert mismatch("", "_Z1KPfS_S_i", ("const float*", "const float*", "float*", "int")) is None


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("_Z1KPdS_S_i", ("double*", "double*", "double*", "int")),
        ("_Z1KPfS_S_", ("float*", "float*", "float*")),
        ("_Z1KPfS_S_ii", ("float*", "float*", "float*", "int", "int")),
        ("_Z1KPfS_S_m", ("float*", "float*", "float*", "unsigned long")),
        ("_Z1KPPfS0_S_i", ("float**", "float**", "float*", "int")),
        ("_Z1KPKfS0_S_i", ("const float*", "const float*", "const float", "int")),
        ("_Z1K1VPS_S0_RKi", ("V", "V*", "V*", "const int&")),
        ("_Z1Kv", ()),
        ("_Z1KPFviEi", (UNKNOWN,)),
        ("_Z1KPfS9_", ("float*", UNKNOWN)),
        ("_Z1K", ()),
    ],
)
def test_other_lists_are_shown_as_they_are(entry, found):
    assert mismatch("", entry, EXPECTED) == found


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        (".param .u64 K_0, .param .u64 K_1, .param .u64 K_2, .param .u32 K_3", None),
        (".param .u64 .ptr .align 1 K_0, .param .u64 K_1, .param .u64 K_2, .param .u32 K_3", None),
        (".param .u64 K_0, .param .f64 K_1", ("8 bytes", "double")),
        (".param .align 4 .b8 K_0[8]", (UNKNOWN,)),
        ("", ()),
    ],
)
def test_of_a_c_kernel_only_the_sizes_can_be_told(parameters, found):
    assert mismatch(f".visible .entry K(\n{parameters}\n)\n{{ ret; }}", "K", EXPECTED) == found
