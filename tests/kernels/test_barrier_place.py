"""The line after which a missing barrier belongs."""

from __future__ import annotations

import pytest

from kernels.report import Report
from kernels.report.advice import next_step
from kernels.verdict import Verdict
from tests.kernels.test_next_steps import lines_of, race, step

PHASES = """
__global__ void mul(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[16][16], Ns[16][16];
    for (int ph = 0; ph < Width / 16; ++ph) {
        Ms[ty][tx] = M[ph];
        if (tx < Width)
            Ns[ty][tx] =
                N[ph];
        else
            Ns[ty][tx] = 0;

        #pragma unroll
        for (int k = 0; k < 16; ++k)
            if (k < Width)
                sum += Ms[ty][k]
                     * Ns[k][tx];
        sum += Ms[ty][0];
    }
    if (tx < 8) {
        Ms[0][tx] = sum;
    } else {
        sum = Ms[0][tx];
    }
    Ms[1][tx] = sum;
    if (tx == 9) return;
    sum = Ms[1][0];
}
"""


@pytest.mark.parametrize(
    ("races", "place"),
    [
        # Both tiles are complete after the `else`, and the pragma stays at its loop.
        ([(14, 4)], "after line 9."),
        ([(15, 6)], "after line 9."),
        ([(16, 4)], "after line 15."),
        # The next phase must wait for all uses, also for those of another finding.
        ([(4, 14)], "after line 15."),
        ([(4, 14), (4, 16)], "after line 16."),
        # A thread that skipped line 23 may come first. After a `return`, a barrier is too late.
        ([(23, 25)], "after line 23."),
        # In two branches of one `if`, no line is between them.
        ([(21, 19)], "after line 19, before line 21"),
        ([(4, 4)], "between the two"),
    ],
)
def test_the_line_before_a_missing_barrier_is_named(races, place):
    found = tuple(race(line, other, "Ms[0][0]") for line, other in races)
    report = Report(Verdict.DATA_RACE, "", "tiled", "cpu", "sm_90", 16, findings=found)
    assert f"Put `__syncthreads()` {place}" in next_step(report, lines_of(PHASES)).text


@pytest.mark.parametrize(("head", "braces"), [("for (int i = 0; i < n; ++i)", True), ("if (t < n)", False)])
def test_a_loop_without_braces_gets_them_for_its_barriers(head, braces):
    kernel = f"__shared__ float s[32];\n__global__ void turn(int n) {{\n    {head}\n        s[t] = s[31 - t];\n}}"
    assert ("line 3 braces." in step(race(4, 4, "s[1]"), kernel)[0]) is braces
