"""Results in any order, on the CPU device and with the GPU's judge."""

from __future__ import annotations

import pytest

from kernels.exercise import ExerciseError
from kernels.verdict import Verdict, decide
from tests.gpu.solutions import graded_here
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made

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
BACKWARDS = ("int i = blockIdx.x * blockDim.x + threadIdx.x;", "int i = n - 1 - blockIdx.x * blockDim.x - threadIdx.x;")
GUARDED = ("i < n", "i >= 0")


def changed(*changes):
    text = SOLUTION
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def on_gpu(exercise, text):
    return measured(request_for(text, exercise, {"n": 700}, cases=["none"]), Scripted([1.0]), real_judge=True)


@pytest.mark.one_in(2, "one of two orders")
@linux
@pytest.mark.parametrize("text", [SOLUTION, changed(BACKWARDS, GUARDED)], ids=["solution", "backwards"])
def test_each_order_is_accepted(tmp_path, text):
    exercise = made(tmp_path, DEFINITION, SOLUTION)
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    assert on_gpu(exercise, text).findings == ()


@pytest.mark.one_in(2, "every second mistake")
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
        ('order = "any"', 'order = "x"'),
        ('order = "any"', 'order = "out"'),
        ('order = "any"', 'order = "count"'),
        ('order = "any"', 'order = "some"'),
        ('"zeros" } },\n]', '"zeros" }, order = "out" },\n]'),  # another number of rows
    ],
)
def test_only_results_that_are_vectors_have_any_order(tmp_path, old, new):
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, DEFINITION.replace(old, new), SOLUTION)
    assert caught.value.field.endswith(".order")


PAIRS = """
title = "Sort by key"
operation = "solution"
kernel = "sort"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 200
parameters = [
    { type = "const int*", name = "key", operand = "key" },
    { type = "const int*", name = "value", operand = "value" },
    { type = "int*", name = "keys", operand = "keys" },
    { type = "int*", name = "values", operand = "values" },
    { type = "short*", name = "places", operand = "places" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "key", role = "input", type = "int", rows = "n", values = { kind = "integers", low = 0, high = 4 } },
    { name = "value", role = "input", type = "int", rows = "n", values = { kind = "integers", low = 0, high = 2 } },
    { name = "keys", role = "output", type = "int", rows = "n" },
    { name = "values", role = "output", type = "int", rows = "n", order = "keys" },
    { name = "places", role = "output", type = "short", rows = "n", order = "keys" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 300 }
cases = [{ sizes = { n = 50 }, inputs = ["random", "ties"] }]
"""
SORT = """__global__ void sort(const int* key, const int* value, int* keys, int* values, short* places, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = 0;
    for (int j = 0; j < n; j++) at += key[j] < key[i] || (key[j] == key[i] && j < i);
    keys[at] = key[i];
    values[at] = value[i];
    places[at] = i;
}
"""
UNSTABLE = ("j < i", "j > i")
DESCENDING = ("key[j] < key[i]", "key[j] > key[i]")


BACKWARDS_IN_TIES = """int last = 0;
    for (int j = 0; j < n; j++) last += key[j] < key[i] || (key[j] == key[i] && j > i);
    places[last] = i"""


def sorting(*changes):
    text = SORT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def sorted_on_gpu(exercise, text, cases=("none",)):
    request = request_for(text, exercise, {"n": 70}, cases=cases)
    return measured(request, Scripted([1.0]), real_judge=True)


@pytest.mark.one_in(2, "one of two")
@linux
@pytest.mark.parametrize("text", [SORT, sorting(UNSTABLE)], ids=["stable", "unstable"])
def test_a_sort_by_key_needs_no_stability(tmp_path, text):
    exercise = made(tmp_path, PAIRS, SORT)
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    assert sorted_on_gpu(exercise, text, ()).findings == ()


@pytest.mark.one_in(3, "a third of the mistakes")
@linux
@pytest.mark.parametrize(
    ("old", "new", "element"),
    [
        (*DESCENDING, "`keys["),
        ("keys[at] = key[i]", "keys[at] = key[i] + (i == 40)", "`keys["),
        ("values[at] = value[i]", "values[i] = value[i]", "].values` is"),
        ("values[at] = value[i]", "values[at] = value[i] + (i == 40)", "].values` is"),
        ("places[at] = i", "places[i] = i", "`sorted(keys, values, places)["),
        ("places[at] = i", "places[at] = i - i % 2", "].places` is"),
        # Each pair of two columns is right, and only the rows of three aren't.
        ("places[at] = i", BACKWARDS_IN_TIES, "].places` is"),
    ],
)
def test_other_rows_are_incorrect(tmp_path, old, new, element):
    exercise, text = made(tmp_path, PAIRS, SORT), sorting((old, new))
    report, response = graded(exercise, text), sorted_on_gpu(exercise, text)
    assert report.verdict is decide(response.findings) is Verdict.WRONG_ANSWER
    assert element in report.message
    assert element in response.findings[0].message


def test_an_unwritten_element_of_a_row_is_found(tmp_path):
    report = graded(made(tmp_path, PAIRS, SORT), sorting(("places[at] =", "if (i != 40) places[at] =")))
    assert report.verdict is Verdict.WRONG_ANSWER


@pytest.mark.long("the short suite has other rows, and elements in any order")
@linux
def test_rows_may_have_any_order_as_a_whole(tmp_path):
    first = '{ name = "keys", role = "output", type = "int", rows = "n"'
    exercise = made(tmp_path, PAIRS.replace(first, f'{first}, order = "any"'), SORT)
    turned = sorting(DESCENDING)
    assert graded(exercise, turned).verdict is Verdict.ACCEPTED
    assert sorted_on_gpu(exercise, turned).findings == ()
    text = sorting(DESCENDING, ("values[at] =", "values[n - 1 - at] ="))
    assert graded(exercise, text).verdict is Verdict.WRONG_ANSWER
    assert decide(sorted_on_gpu(exercise, text).findings) is Verdict.WRONG_ANSWER


def test_rows_of_floats_have_no_tolerance_before_their_last_column(tmp_path):
    floats = PAIRS.replace('int*", name = "keys"', 'float*", name = "keys"').replace(
        'type = "int", rows = "n" },', 'type = "float", rows = "n" },'
    )
    assert made(tmp_path, floats, SORT)
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, floats + "tolerance = { ulps = 1 }\n", SORT)
    assert caught.value.field == "operands[3].order"


@pytest.mark.gpu
@pytest.mark.parametrize(("added", "verdict"), [("", Verdict.ACCEPTED), (" + i / 600", Verdict.WRONG_ANSWER)])
def test_a_gpu_judges_large_sizes(tmp_path, added, verdict):
    compaction = changed(("= x[i];", f"= x[i]{added};"))
    pairs = sorting(UNSTABLE, ("= value[i];", f"= value[i]{added.replace('600', '299')};"))
    for definition, solution, text in ((DEFINITION, SOLUTION, compaction), (PAIRS, SORT, pairs)):
        report = graded_here(made(tmp_path, definition, solution), text, tmp_path)
        assert report.verdict is verdict, report.message
