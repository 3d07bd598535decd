"""Results in any order, on the CPU device and with the GPU's judge."""

from __future__ import annotations

import pytest

from kernels.exercise import ExerciseError
from kernels.verdict import Verdict, decide
from tests.gpu.solutions import Machine
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made
from worker.gpu.nvml import gpus
from worker.steps.grading import grade

DEFINITION = """
title = "Compaction"
operation = "solution"
kernel = "compact"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 200
parameters = [
    { type = "const int*", name = "x", operand = "x" },
    { type = "int*", name = "out", operand = "out" },
    { type = "int*", name = "count", operand = "count" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "x", role = "input", type = "int", rows = "n", values = { kind = "integers" } },
    { name = "out", role = "inout", type = "int", rows = "n", values = { kind = "zeros" }, order = "any" },
    { name = "count", role = "inout", type = "int", rows = 1, values = { kind = "zeros" } },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 700 }
cases = [{ sizes = { n = 100 } }]
"""
SOLUTION = """__global__ void compact(const int* x, int* out, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) out[atomicAdd(count, 1)] = x[i];
}
"""
BACKWARDS = (
    "int i = blockIdx.x * blockDim.x + threadIdx.x;",
    "int i = n - 1 - blockIdx.x * blockDim.x - threadIdx.x;",
)
GUARDED = ("i < n", "i >= 0")


def changed(*changes):
    text = SOLUTION
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def on_gpu(exercise, text):
    return measured(request_for(text, exercise, {"n": 700}, cases=["none"]), Scripted([1.0]), real_judge=True)


@linux
@pytest.mark.parametrize("text", [SOLUTION, changed(BACKWARDS, GUARDED)], ids=["solution", "backwards"])
def test_each_order_is_accepted(tmp_path, text):
    exercise = made(tmp_path, DEFINITION, SOLUTION)
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    assert on_gpu(exercise, text).findings == ()


@linux
@pytest.mark.parametrize(
    ("old", "new", "element"),
    [
        ("x[i] > 0", "x[i] > 1", "`sorted(out)["),
        ("= x[i];", "= x[i] + (i % 7 == 0);", "`sorted(out)["),
        ("= x[i];", "= 3;", "`sorted(out)["),
        ("atomicAdd(count, 1)", "atomicAdd(count, 1) * 0 + i", ""),
    ],
)
def test_other_elements_are_incorrect(tmp_path, old, new, element):
    exercise, text = made(tmp_path, DEFINITION, SOLUTION), changed((old, new))
    report, response = graded(exercise, text), on_gpu(exercise, text)
    if not element:  # the same elements at other places are correct
        assert (report.verdict, response.findings) == (Verdict.ACCEPTED, ())
        return
    assert report.verdict is decide(response.findings) is Verdict.WRONG_ANSWER
    assert element in report.message
    assert element in response.findings[0].message


def test_a_fixed_order_depends_on_the_atomics(tmp_path):
    exercise = made(tmp_path, DEFINITION.replace(', order = "any"', ""), SOLUTION)
    assert graded(exercise, SOLUTION).verdict is Verdict.ORDER_DEPENDENT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"zeros" }, order', '"zeros" }, cols = 2, order'),
        ('"integers" } }', '"integers" }, order = "any" }'),
    ],
)
def test_only_results_that_are_vectors_have_any_order(tmp_path, old, new):
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, DEFINITION.replace(old, new), SOLUTION)
    assert caught.value.field.endswith(".order")


@pytest.mark.gpu
@pytest.mark.parametrize(("added", "verdict"), [("", Verdict.ACCEPTED), (" + i / 600", Verdict.WRONG_ANSWER)])
def test_a_gpu_judges_large_sizes(tmp_path, added, verdict):
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(changed(("= x[i];", f"= x[i]{added};")), "utf-8")
    machine = Machine(gpus()[0], tmp_path)
    with machine.stages() as stages:
        report = grade(machine.job(made(tmp_path, DEFINITION, SOLUTION), kernel), stages)
    assert report.verdict is verdict, report.message
