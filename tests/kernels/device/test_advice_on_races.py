"""The advice on a race, with the facts that the device finds."""

from __future__ import annotations

import pytest

from kernels.launch import Launch
from kernels.report import Report
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD
from tests.kernels.device.observers.test_races_with_copies import COPY_AND_READ
from tests.kernels.explanations import advice_for

ONE_CELL = f"{HEAD} {{ {THREAD} __shared__ float cell; cell = t; __syncthreads(); P[t] = cell; }}"
NEIGHBOUR = f"{HEAD} {{ {THREAD} __shared__ float tile[64]; tile[t] = t; P[t] = tile[t ^ 1]; }}"
SQUARE = f"{HEAD} {{ P[threadIdx.y + threadIdx.x] = 1; }}"
REVERSED = NEIGHBOUR.replace("t ^ 1", "63 - t")


@pytest.mark.parametrize(
    ("text", "block", "words"),
    [
        (COPY_AND_READ.replace("WAIT", "99").replace("BARRIER", "0"), (64, 1, 1), "leaves its group open"),
        (ONE_CELL, (64, 1, 1), "in its own cell"),
        (ONE_CELL, (16, 4, 1), "`threadIdx.y`"),
        (SQUARE, (8, 8, 1), "own cell of `P`"),
        (NEIGHBOUR, (64, 1, 1), "`__syncwarp()`"),
        (REVERSED, (64, 1, 1), "`__syncthreads()`"),
    ],
    ids=["copy", "one cell", "one cell of rows", "one element", "in a warp", "across warps"],
)
def test_a_race_as_the_device_tells_it_gets_its_advice(device, text, block, words):
    found = device.run(text, block=block, n=64).findings
    launch = Launch((1, 1, 1), block, 0)
    report = Report(Verdict.DATA_RACE, "", "tiled", "cpu", "sm_90", 16, findings=found, launch=launch)
    assert words in advice_for(report, text.splitlines())
