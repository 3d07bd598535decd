"""The operation `solution`: the values of its operands, and outputs compared with the exercise's own solution's."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from kernels.compile.diagnostics import Resources
from kernels.device import Execution
from kernels.exercise import ExerciseError, find_exercise, read_exercise
from kernels.exercise.schema import definition_in, without_solution
from kernels.facts import Element
from kernels.judging.compare import Mismatch
from kernels.judging.inputs import make_inputs
from kernels.judging.judge import arguments, buffers, full_budget, judge
from kernels.judging.operations import work
from kernels.judging.outcomes import value_text
from kernels.judging.plan import make_plan, with_solution
from kernels.report import message_for
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict

SEED = "5eed"
TEXT = """
title = "Any kernel"
operation = "solution"
kernel = "any"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 1000
parameters = [
    { type = "const unsigned int*", name = "a", operand = "a" },
    { type = "float*", name = "b", operand = "b" },
    { type = "int*", name = "c", operand = "c" },
    { type = "int", name = "n", size = "n" },
    { type = "float", name = "scale", value = 0.5 },
    { type = "unsigned int", name = "twice", value = "2*n" },
]
operands = [
    { name = "a", role = "input", type = "unsigned", rows = "n", values = { kind = "permutation" } },
    { name = "b", role = "output", planes = 2, rows = 3, cols = "n" },
    { name = "c", role = "inout", type = "int", rows = "n", values = { kind = "integers", low = "-n", high = -1 } },
]
tile = { name = "TILE_WIDTH", default = 16, allowed = [8, 16], largest = 32 }
launch = { block = "(TILE_WIDTH)", grid = "(n)" }
ranking = { n = 4096 }
cases = [{ sizes = { n = 4 } }]
"""


def exercise(text=TEXT, **values):
    for old, new in values.items():
        assert old in text
        text = text.replace(old, new)
    return read_exercise("any", text)


def case_of(found=None):
    return make_plan(found or exercise(), None, None, SEED).cases[0]


def with_values(values, kind="float", **other):
    """The values of the first operand, for any size."""
    text = TEXT.replace("const unsigned int*", f"const {kind if kind != 'unsigned' else 'unsigned int'}*")
    text = text.replace('type = "unsigned", rows = "n", values = { kind = "permutation" }',
                        f'type = "{kind}", rows = "n", values = {{ {values} }}')  # fmt: skip
    inputs = other.get("inputs", "random")
    case = case_of(exercise(text.replace("n = 4 } }", f"n = {other.get('n', 500)} }}, inputs = ['{inputs}'] }}")))
    return make_inputs(case, other.get("seed", 1))["a"].ravel()


# -- reading -----------------------------------------------------------------------------------------------------------


def test_arguments_are_pointers_sizes_and_other_numbers():
    assert arguments(case_of()) == ["a", "b", "c", 4, 0.5, 8]


def test_an_element_of_three_indices_is_named_by_all_of_them():
    (b,) = (matrix for matrix in case_of().matrices if matrix.name == "b")
    assert (b.rows, b.columns, str(b.element(4, 2))) == (6, 4, "b[1][1][2]")
    (placed,) = (buffer for buffer in buffers(case_of(), make_inputs(case_of(), 1)) if buffer.name == "b")
    assert (placed.planes, placed.columns, placed.values.size) == (2, 4, 24)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (', values = { kind = "permutation" }', "", "operands[0].values"),
        ('kind = "permutation"', 'kind = "real"', "operands[0].values.kind"),
        ('kind = "permutation"', 'kind = "row_columns", rows = "b", columns = 3', "operands[0].values.rows"),
        ('type = "unsigned"', 'type = "bool"', "operands[0].type"),
        ('type = "unsigned", rows = "n"', 'type = "unsigned", rows = "TILE_WIDTH"', "operands[0].rows"),
        ('role = "output", planes', 'role = "output", values = { kind = "zeros" }, planes', "operands[1].values"),
        ('cols = "n"', 'cols = "n", layout = "row_major"', "operands[1].layout"),
        ('"const unsigned int*"', '"const int*"', "parameters[0].type"),
        ("value = 0.5", 'value = 0.5, size = "n"', "parameters[4].operand"),
        ('type = "unsigned int", name = "twice", value = "2*n"',
         'type = "unsigned int", name = "twice", value = 1.5', "parameters[5].value"),
        ('low = "-n", high = -1', "low = 1, high = 0", "operands"),
        ('low = "-n", high = -1', 'low = 0, high = "1 << 31"', "operands"),
        ('kind = "permutation"', 'kind = "image", low = 0, high = "1 << 25"', "operands"),
        ('cols = "n"', 'cols = "n << 40"', "operands"),
        ('metric = "gbps"', 'metric = "gflops"', "work.flops"),
        ("ranking = {", 'work = { elements = "TILE_WIDTH" }\nranking = {', "work.elements"),
    ],
)  # fmt: skip
def test_contradictions_are_refused_with_their_field(old, new, field):
    with pytest.raises(ExerciseError) as caught:
        exercise(**{old: new})
    assert caught.value.field == field


def test_other_operations_have_neither_tolerance_nor_work_nor_solution():
    text = definition_in(find_exercise("tiled").root)
    for added in ("[tolerance]\nulps = 1\n", "[work]\nflops = 1\n"):
        with pytest.raises(ExerciseError, match="only the operation"):
            read_exercise("tiled", f"{text}\n{added}")
    with pytest.raises(ExerciseError, match="only the operation"):
        read_exercise("tiled", f'solution = "x"\n{text}')


def test_the_solution_is_part_of_the_text_and_of_the_digest():
    found = find_exercise("vector-addition")
    text = definition_in(found.root)
    assert read_exercise("vector-addition", text, found.digest).solution_text == found.solution.read_text("utf-8")
    assert "C[i] = A[i] + B[i]" not in without_solution(text)
    assert read_exercise("vector-addition", without_solution(text)).digest != found.digest


# -- values ------------------------------------------------------------------------------------------------------------


def test_integers_fill_their_range_and_a_seed_determines_them():
    values = with_values('kind = "integers", low = -3, high = 2', "int")
    assert set(values.tolist()) == {-3, -2, -1, 0, 1, 2}
    assert values.dtype == np.int32
    assert np.array_equal(values, with_values('kind = "integers", low = -3, high = 2', "int"))
    assert not np.array_equal(values, with_values('kind = "integers", low = -3, high = 2', "int", seed=2))


def test_unsigned_integers_may_use_all_bits():
    values = with_values('kind = "integers", low = 0, high = "(1 << 32) - 1"', "unsigned")
    assert values.dtype == np.uint32
    assert values.max() > 1 << 31


@pytest.mark.parametrize("kind", ["float", "int", "unsigned"])
def test_a_permutation_has_each_number_once(kind):
    values = with_values('kind = "permutation"', kind)
    assert sorted(values.tolist()) == list(range(500))
    assert values.tolist() != sorted(values.tolist())


def test_sorted_values_ascend():
    values = with_values('kind = "sorted", low = 0, high = 90', "int")
    assert (np.diff(values) >= 0).all()
    assert len(set(values.tolist())) > 50


@pytest.mark.parametrize("drawn", ["integers", "real", "mantissas", "image"])
def test_inputs_may_be_equal_ordered_or_tied(drawn):
    made = {
        kind: with_values(f'kind = "{drawn}"', inputs=kind) for kind in ("equal", "ascending", "descending", "ties")
    }
    assert len(set(made["equal"].tolist())) == 1
    assert 2 <= len(set(made["ties"].tolist())) <= 4
    assert (np.diff(made["ascending"]) >= 0).all()
    assert (np.diff(made["descending"]) <= 0).all()
    assert len(set(made["descending"].tolist())) > 10


def test_arranged_inputs_keep_what_their_values_promise():
    assert sorted(with_values('kind = "permutation"', "int", inputs="ties").tolist()) == list(range(500))
    assert with_values('kind = "permutation"', "int", inputs="descending").tolist() == [*range(499, -1, -1)]
    tied = with_values('kind = "sorted"', inputs="ties")
    assert (np.diff(tied) >= 0).all()
    assert len(set(tied.tolist())) <= 4
    assert (np.diff(with_values('kind = "sorted"', inputs="descending")) >= 0).all()
    assert not with_values('kind = "zeros"', inputs="descending").any()


def test_one_element_may_be_tied():
    assert with_values('kind = "integers"', inputs="ties", n=1).size == 1


def test_given_numbers_repeat():
    assert with_values('kind = "given", numbers = [3, -1, 0.5]', n=5).tolist() == [3, -1, 0.5, 3, -1]
    assert with_values('kind = "given", numbers = [4294967295]', "unsigned", n=2).tolist() == [2**32 - 1] * 2
    assert with_values('kind = "given", numbers = [3, 2, 1]', inputs="ascending", n=3).tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ("[]", "float"), ("[1e39]", "float"), ("[true]", "float"), ("[nan]", "float"), ('["1"]', "float"), ("7", "int"),
        ("[0.5]", "int"), ("[-1]", "unsigned"), ("[2147483648]", "int"),
    ],
)  # fmt: skip
def test_numbers_that_the_type_does_not_hold_are_refused(numbers, kind):
    with pytest.raises(ExerciseError):
        with_values(f'kind = "given", numbers = {numbers}', kind)


def test_an_image_has_whole_brightness():
    values = with_values('kind = "image"')
    assert (values == np.rint(values)).all()
    assert 0 <= values.min() < 60
    assert 200 < values.max() <= 255


def test_mantissas_are_full_and_zeros_are_zero():
    mantissas = with_values('kind = "mantissas"').astype(np.int64)
    assert (mantissas % 2 != 0).all()
    assert (np.abs(mantissas) >> 23 == 1).all()
    assert not with_values('kind = "zeros"', "unsigned").any()


@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 3, 21), (90, 200, 1000), (5, 1000, 4)])
def test_sparse_rows_have_ascending_columns_and_all_entries(sizes):
    rows, cols, entries = sizes
    found = find_exercise("sparse-matrix-vector")
    text = definition_in(found.root)
    given = f"sizes = {{ rows = {rows}, cols = {cols}, entries = {entries} }}"
    text = text.replace("sizes = { rows = 3, cols = 40, entries = 25 }", given)
    name = f"rows={rows} cols={cols} entries={entries} random"
    plan = make_plan(read_exercise("sparse-matrix-vector", text), None, None, SEED)
    (case,) = (case for case in plan.cases if case.name == name)
    inputs = make_inputs(case, 3)
    starts, columns = inputs["rowStarts"].ravel(), inputs["columns"].ravel()
    assert (starts[0], starts[-1], starts.size, columns.size) == (0, entries, rows + 1, entries)
    for start, end in itertools.pairwise(starts):
        row = columns[start:end]
        assert (np.diff(row) > 0).all()
        assert not row.size or 0 <= row[0] <= row[-1] < cols


# -- judging -----------------------------------------------------------------------------------------------------------

NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)


KERNEL = """__global__ void any(const unsigned int* a, float* b, int* c, int n, float scale, unsigned int twice) {}"""


def judged(found, change):
    """Judge a kernel whose outputs differ from the solution's as `change` makes them."""
    source = read_source(KERNEL.encode(), found)
    assert isinstance(source, Source)
    plan = make_plan(found, source, None, SEED)
    cases = tuple(with_solution(found, source, case) for case in plan.cases)
    right = {"b": np.linspace(1, 2, 24, dtype=np.float32), "c": np.arange(4, dtype=np.int32).view(np.float32)}

    def solve(case, memory):
        return {buffer.name: right.get(buffer.name, buffer.values) for buffer in memory}

    def run(case, memory, schedule, budget):
        values = {name: values.copy() for name, values in solve(case, memory).items()}
        change(values)
        return Execution((), values, "", 0)

    return judge(replace(plan, cases=cases), run, [NOTHING], solve)


def test_one_thread_may_execute_twice_what_the_solution_needs():
    case = case_of()
    assert full_budget(case, 10_000).alone == 40_000
    assert full_budget(case, 200_000).alone == 400_000
    assert full_budget(case, 10**9).alone == 1_000_000
    assert full_budget(case).needed == 10 * work(case)


def test_equal_outputs_pass():
    assert not judged(exercise(), lambda values: None).findings


def test_the_second_output_is_compared_too():
    def change(values):
        values["c"].view(np.int32)[2] = -7

    (finding,) = judged(exercise(), change).findings
    assert finding.kind is Verdict.WRONG_ANSWER
    assert finding.message.startswith("`c[2]` is -7, not 2 (n=4).")


def test_the_smallest_difference_of_a_float_counts_without_a_tolerance():
    def change(values):
        values["b"][17] = np.nextafter(values["b"][17], np.float32(9))

    (finding,) = judged(exercise(), change).findings
    assert finding.example.element == "b[1][1][1]"
    # rows and tiles say nothing about three indices
    assert "Incorrect elements" not in finding.message


@pytest.mark.parametrize(("ulps", "passes"), [(1, True), (4, False)])
def test_a_tolerance_is_a_bound_that_findings_and_cases_name(ulps, passes):
    bounded = exercise(TEXT + "tolerance = { ulps = 2 }\n")

    def change(values):
        values["b"][0] += np.float32(ulps * 2.0**-23)

    found = judged(bounded, change)
    assert (not found.findings) == passes
    assert found.checks[0].case == "n=4 bound=2ulp random"
    if passes:
        assert message_for(Verdict.ACCEPTED, (), found.checks[:1]).endswith("within 2ulp of the exercise's solution.")
    else:
        assert "not 1 (± 2ulp)" in found.findings[0].message


def test_not_a_number_never_passes():
    bounded = exercise(TEXT + "tolerance = { absolute = 1000 }\n")

    def change(values):
        values["b"][3] = np.nan

    assert judged(bounded, change).findings[0].kind is Verdict.WRONG_ANSWER


def test_the_solution_keeps_its_own_launch_and_tile():
    found = exercise()
    source = read_source(f"//!tilelab block=(7)\n{KERNEL}".encode(), found)
    assert isinstance(source, Source)
    case = with_solution(found, source, make_plan(found, None, 8, SEED).cases[0])
    assert case.launch is not None
    assert case.solution is not None
    assert (case.launch.block[0], case.solution.launch.block[0]) == (8, 7)


def test_a_nan_of_the_solution_is_its_own_and_not_the_kernels():
    text = value_text(Mismatch(1, 1, Element("sums", (0,)), "NaN", "NaN"))
    assert "solution computed NaN" in text
    assert "not NaN" not in text
