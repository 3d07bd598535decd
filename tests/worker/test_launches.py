"""Exercises with several launches in a row, on the CPU device and with the GPU's judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.exercise import ExerciseError
from kernels.facts import Diagnosed, Facts
from kernels.launch import Launch
from kernels.report.explanation import explained
from kernels.report.model import Report, launch_sentence
from kernels.verdict import CaseCheck, CaseStatus, Finding, Severity, Verdict, decide
from tests.gpu.solutions import graded_here
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made
from worker.gpu.cpu_backend import CpuBackend
from worker.gpu.judge.filled_inputs import empty
from worker.gpu.operands import POISON_WORD, Modules, place_all
from worker.gpu.timing.roofline import operand_bytes

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "exercises.md"
SUM = DOCUMENTATION.read_text("utf-8").split("### Several launches")[1].split("```toml\n")[1].split("```")[0]
TWO_PASSES = """__global__ void partialSums(const int* values, int* partial, int n) {
    __shared__ int sums[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? values[i] : 0;
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) sums[t] += sums[t + s];
    }
    if (t == 0) partial[blockIdx.x] = sums[0];
}

__global__ void addSums(const int* partial, int* sum, int count) {
    __shared__ int sums[BLOCK_SIZE];
    int t = threadIdx.x, own = 0;
    for (int i = t; i < count; i += blockDim.x) own += partial[i];
    sums[t] = own;
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) sums[t] += sums[t + s];
    }
    if (t == 0) *sum = sums[0];
}
"""
SCAN = """
title = "Scan in three launches"
operation = "solution"
kernel = "scanBlocks"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 300
parameters = [
    { type = "const int*", name = "x", operand = "x" },
    { type = "int*", name = "y", operand = "y" },
    { type = "int*", name = "sums", operand = "sums" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "x", role = "input", type = "int", rows = "n", values = { kind = "integers" } },
    { name = "y", role = "output", type = "int", rows = "n" },
    { name = "sums", role = "scratch", type = "int", rows = "ceil(n/BLOCK_SIZE)" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 700 }
cases = [{ sizes = { n = 100 } }]

[[then]]
kernel = "scanSums"
block = "(BLOCK_SIZE)"
grid = "(1)"
parameters = [
    { type = "int*", name = "sums", operand = "sums" },
    { type = "int", name = "count", value = "ceil(n/BLOCK_SIZE)" },
]

[[then]]
kernel = "addSums"
block = "(BLOCK_SIZE)"
grid = "(ceil(n/BLOCK_SIZE))"
parameters = [
    { type = "int*", name = "y", operand = "y" },
    { type = "const int*", name = "sums", operand = "sums" },
    { type = "int", name = "n", size = "n" },
]
"""
THREE_KERNELS = """__global__ void scanBlocks(const int* x, int* y, int* sums, int n) {
    int first = blockIdx.x * blockDim.x, i = first + threadIdx.x, sum = 0;
    for (int k = first; k <= i && k < n; k++) sum += x[k];
    if (i < n) y[i] = sum;
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = sum;
}

__global__ void scanSums(int* sums, int count) {
    if (threadIdx.x == 0)
        for (int k = 1; k < count; k++) sums[k] += sums[k - 1];
}

__global__ void addSums(int* y, const int* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x > 0) y[i] += sums[blockIdx.x - 1];
}
"""


def then(source: str, to: str, distance: int) -> str:
    """One more launch of the steps."""
    return f"""
[[then]]
kernel = "step"
block = "(BLOCK_SIZE)"
grid = "(ceil(n/BLOCK_SIZE))"
parameters = [
    {{ type = "const int*", name = "from", operand = "{source}" }},
    {{ type = "int*", name = "to", operand = "{to}" }},
    {{ type = "int", name = "distance", value = {distance} }},
    {{ type = "int", name = "n", size = "n" }},
]
"""


STEPS = """
title = "Sums of all pairs at growing distances"
operation = "solution"
kernel = "step"
sizes = ["n"]
metric = "time"
largest_on_cpu = 300
parameters = [
    { type = "const int*", name = "from", operand = "x" },
    { type = "int*", name = "to", operand = "a" },
    { type = "int", name = "distance", value = 1 },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "x", role = "input", type = "int", rows = "n", values = { kind = "integers" } },
    { name = "a", role = "scratch", type = "int", rows = "n" },
    { name = "y", role = "output", type = "int", rows = "n" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 700 }
cases = [{ sizes = { n = 100 } }]
"""
STEPS += then("a", "y", 2) + then("y", "a", 4) + then("a", "y", 8)
REPEATED = """__global__ void step(const int* from, int* to, int distance, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] + (i >= distance ? from[i - distance] : 0);
}
"""
EXERCISES = {"sum": (SUM, TWO_PASSES), "scan": (SCAN, THREE_KERNELS), "steps": (STEPS, REPEATED)}


def exercise_of(tmp_path, name):
    return made(tmp_path, *EXERCISES[name])


def changed(name, *changes):
    text = EXERCISES[name][1]
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def on_gpu(exercise, text, cases=("none",)):
    request = request_for(text, exercise, {"n": 700}, cases=cases)
    return measured(request, Scripted([1.0]), real_judge=True)


def first_error(report):
    return next(finding for finding in report.findings if finding.severity is Severity.ERROR)


@pytest.mark.parametrize("name", EXERCISES)
def test_correct_kernels_are_accepted(tmp_path, name):
    report = graded(exercise_of(tmp_path, name), changed(name))
    assert report.verdict is Verdict.ACCEPTED, report.message


@pytest.mark.one_in(3, "one of three")
@linux
@pytest.mark.parametrize("name", EXERCISES)
def test_a_gpu_judges_and_times_all_launches(tmp_path, name):
    response = on_gpu(exercise_of(tmp_path, name), changed(name), cases=())
    assert response.findings == ()
    assert response.measurement is not None
    assert [check.status for check in response.checks] == [CaseStatus.PASSED] * len(response.checks)


@pytest.mark.one_in(4, "a quarter of the mistakes")
@pytest.mark.parametrize(
    ("name", "old", "new", "verdict", "launch", "line"),
    [
        ("sum", "i < count; i", "i <= count; i", Verdict.OUT_OF_BOUNDS, 2, 15),
        ("sum", "if (t == 0) partial", "if (t == 0 && blockIdx.x != 1) partial", Verdict.UNINITIALIZED_READ, 2, 15),
        ("sum", "own += partial[i];", "while (count > 1) own |= t;", Verdict.TIME_LIMIT, 2, 15),
        ("sum", "*sum = sums[0]", "sum[count] = sums[0]", Verdict.OUT_OF_BOUNDS, 2, 21),
        ("sum", "own += partial[i];", "*sum = own += partial[i];", Verdict.DATA_RACE, 2, 15),
        ("scan", "if (threadIdx.x == 0)\n", "if (threadIdx.x < 64)\n", Verdict.DATA_RACE, 2, 10),
        ("scan", "i < n && blockIdx.x > 0", "i < n && blockIdx.x > 1", Verdict.WRONG_ANSWER, 0, None),
        ("scan", "y[i] += sums[blockIdx.x - 1]", "y[i] = y[i - 1] + sums[blockIdx.x - 1]", Verdict.DATA_RACE, 3, 15),
        ("scan", "if (threadIdx.x == blockDim.x - 1) ", "if (i == n) ", Verdict.UNINITIALIZED_READ, 2, 10),
        ("scan", "sum += x[k];", "sum += x[k] + (*sums = 0);", Verdict.DATA_RACE, 1, 3),
        ("steps", "i >= distance ?", "i >= distance || distance == 4 ?", Verdict.OUT_OF_BOUNDS, 3, 3),
        ("steps", "(i < n)", "(i < n && (distance != 1 || i != 50))", Verdict.UNINITIALIZED_READ, 2, 3),
        ("steps", "from[i - distance]", "(distance == 8 ? 0 : from[i - distance])", Verdict.WRONG_ANSWER, 0, None),
    ],
)  # fmt: skip
def test_a_mistake_is_found_with_its_launch(tmp_path, name, old, new, verdict, launch, line):
    report = graded(exercise_of(tmp_path, name), changed(name, (old, new)))
    finding = first_error(report)
    assert (report.verdict, finding.kind) == (verdict, verdict), report.message
    assert (finding.example.launch, finding.line) == (launch, line)


def test_a_report_names_the_launches_and_a_message_its_launch(tmp_path):
    exercise = exercise_of(tmp_path, "scan")
    report = graded(exercise, changed("scan", ("k < count", "k <= count")))
    assert report.launches == ("scanBlocks", "scanSums", "addSums")
    assert "launch 2 of 3, `scanSums`" in report.message
    assert "first of 3 launches, `scanBlocks`" in launch_sentence(report)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("void addSums", "void addsums", 12),
        ("void addSums", "void total", 12),
        ("int* sum, int count", "int* sum, float count", 12),
        ("const int* partial, int* sum", "int* sum", 12),
        ("__global__ void addSums", "void addSums", 12),
        ("void partialSums", "void sumUp", 1),  # with several kernels, no other name fits
        ("__global__ void addSums", "template <int N> __global__ void addSums", 12),
    ],
)
def test_each_kernel_needs_its_name_and_its_parameters(tmp_path, old, new, line):
    report = graded(exercise_of(tmp_path, "sum"), changed("sum", (old, new)))
    assert (report.verdict, report.findings[0].line) == (Verdict.REJECTED, line), report.message


def test_the_compiler_checks_the_parameters_that_a_macro_hides(tmp_path):
    text = "#define COUNT short count\n" + changed("sum", ("int* sum, int count", "int* sum, COUNT"))
    report = graded(exercise_of(tmp_path, "sum"), text)
    assert (report.verdict, report.findings[0].line) == (Verdict.REJECTED, 13)


def test_both_kernels_missing_are_two_findings(tmp_path):
    report = graded(exercise_of(tmp_path, "sum"), "__global__ void other(int* x) {}\n")
    assert [finding.kind for finding in report.findings] == [Verdict.REJECTED] * 2


def test_a_later_launch_may_need_too_much_shared_memory(tmp_path):
    exercise = made(tmp_path, SUM.replace('grid = "(1)"', 'grid = "(1)"\nshared = 49_000'), TWO_PASSES)
    finding = first_error(graded(exercise, TWO_PASSES))
    assert (finding.kind, finding.example.launch) == (Verdict.RESOURCE_LIMIT, 2)


def test_a_tile_may_be_too_large_for_a_later_launch(tmp_path):
    exercise = made(tmp_path, STEPS.replace('block = "(BLOCK_SIZE)"\n', 'block = "(2*BLOCK_SIZE)"\n'), REPEATED)
    finding = first_error(graded(exercise, f"#define BLOCK_SIZE 1024\n{REPEATED}"))
    assert (finding.kind, finding.line, finding.example.launch) == (Verdict.RESOURCE_LIMIT, 1, 2)


def test_a_submission_and_the_solution_may_have_different_tiles(tmp_path):
    exercise = exercise_of(tmp_path, "sum")
    for tile in (64, 1024):
        text = f"#define BLOCK_SIZE {tile}\n{TWO_PASSES}"
        report = graded(exercise, text)
        assert (report.verdict, report.tile) == (Verdict.ACCEPTED, tile), report.message
    beyond = f"#define BLOCK_SIZE 64\n{changed('sum', ('i < count; i', 'i <= count; i'))}"
    assert graded(exercise, beyond).verdict is Verdict.OUT_OF_BOUNDS


ORDERS = """
title = "A value from all elements"
operation = "solution"
kernel = "collect"
sizes = ["n"]
metric = "time"
largest_on_cpu = 300
parameters = [
    { type = "const int*", name = "x", operand = "x" },
    { type = "int*", name = "found", operand = "found" },
    { type = "int*", name = "count", operand = "count" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "x", role = "input", type = "int", rows = "n", values = { kind = "permutation" } },
    { name = "found", role = "scratch", type = "int", rows = "n" },
    { name = "count", role = "inout", type = "int", rows = 1, values = { kind = "zeros" } },
    { name = "y", role = "output", type = "int", rows = 1 },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 700 }
cases = [{ sizes = { n = 100 } }]
then = [{ kernel = "use", block = "(1)", grid = "(1)", parameters = [
    { type = "const int*", name = "found", operand = "found" },
    { type = "const int*", name = "count", operand = "count" },
    { type = "int*", name = "y", operand = "y" },
] }]
"""
COLLECT = """__device__ int last;
__global__ void collect(const int* x, int* found, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] % 3) return;
    int place = atomicAdd(count, 1);
    found[place] = x[i];
    if (place == 0) last = x[i];
}
__global__ void use(const int* found, const int* count, int* y) {
    int sum = 0;
    for (int k = 0; k < *count; k++) sum += found[k];
    *y = sum;
}
"""


@pytest.mark.one_in(3, "two of five")
@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ("sum", Verdict.ACCEPTED),
        ("sum + 0 * found[0]", Verdict.ACCEPTED),
        ("sum + found[0]", Verdict.ORDER_DEPENDENT),
        ("sum + last", Verdict.ORDER_DEPENDENT),
        ("sum + (found[0] != 60 ? found[100] : 0)", Verdict.OUT_OF_BOUNDS),
    ],
)
def test_other_orders_of_one_launch_change_what_follows(tmp_path, new, verdict):
    text = COLLECT.replace("*y = sum", f"*y = {new}")
    # as its own solution, it is correct in the usual order, in which `found[0]` is 60
    report = graded(made(tmp_path, ORDERS, text), text)
    assert report.verdict is verdict, report.message


def test_a_variable_of_the_file_alone_may_depend_on_an_order(tmp_path):
    text = COLLECT.replace("    found[place] = x[i];\n", "").replace("*y = sum", "*y = last")
    text = text.replace("sum += found[k]", "sum += k")
    assert graded(made(tmp_path, ORDERS, text), text).verdict is Verdict.ORDER_DEPENDENT


def test_only_a_race_lets_later_launches_run(tmp_path):
    text = changed("scan", ("if (i < n) y[i] = sum;", "if (i < n) y[i] = sum;\n    y[0] += i + 1;"))
    report = graded(exercise_of(tmp_path, "scan"), text.replace("k < count", "k <= count"))
    places = {(finding.kind, finding.example.launch) for finding in report.findings if finding.example}
    assert places >= {(Verdict.DATA_RACE, 1), (Verdict.OUT_OF_BOUNDS, 2)}
    assert 3 not in {launch for _, launch in places}
    # the third launch didn't run, so an order of warps proves nothing about the outputs
    assert {finding.message.rpartition(" ")[2] for finding in report.findings} == {"`scanBlocks`.", "`scanSums`."}


def test_the_warps_of_a_race_are_those_of_its_launch(tmp_path):
    definition = ORDERS.replace('launch = { block = "(BLOCK_SIZE)"', 'launch = { block = "(2)"')
    definition = definition.replace('block = "(1)"', 'block = "(8, 8)"').replace("(ceil(n/BLOCK_SIZE))", "(ceil(n/2))")
    head = COLLECT.partition("__global__ void use")[0]
    use = """__global__ void use(const int* found, const int* count, int* y) {
    int own = threadIdx.x == 0 && threadIdx.y % 4 == 0;
    if (own && threadIdx.y == 0) *y = 0;
    __syncthreads();
    if (own) *y += 1;
}
"""
    right = use.replace("if (own) *y += 1", "if (own && threadIdx.y) *y += 3")
    report = graded(made(tmp_path, definition, head + right), head + use)
    assert report.verdict is Verdict.DATA_RACE
    assert not report.message.endswith("`use`.")  # the value in another order follows


def test_the_first_launch_is_no_clue_about_another_one():
    unwritten = Facts(diagnoses=(Diagnosed("partly_written", "Elements of `y` are unwritten."),))
    one = Report(
        verdict=Verdict.WRONG_ANSWER,
        message="",
        exercise="steps",
        device="cpu",
        arch="sm_90",
        tile=32,
        findings=(Finding(Verdict.WRONG_ANSWER, "", facts=unwritten),),
        checks=(CaseCheck("n=100 random", CaseStatus.FAILED, "", incorrect=4, elements=100),),
        launch=Launch((3, 1, 1), (32, 1, 1), 0),
        launch_sizes={"n": 100},
    )
    assert "96 threads" in explained(one, ()).step
    assert "96 threads" not in explained(replace(one, launches=("step",) * 4), ()).step


def test_the_solution_gets_the_numbers_of_its_own_tile(tmp_path):
    definition = SUM.replace(
        '    { type = "int", name = "n", size = "n" },\n]',
        '    { type = "int", name = "n", size = "n" },\n'
        '    { type = "int", name = "blocks", value = "ceil(n/BLOCK_SIZE)" },\n]',
    )
    text = changed("sum", ("int n)", "int n, int blocks)"), ("i < n ?", "i < n && gridDim.x == blocks ?"))
    report = graded(made(tmp_path, definition, text), f"#define BLOCK_SIZE 64\n{text}")
    assert report.verdict is Verdict.ACCEPTED


@linux
def test_a_gpu_empties_scratch_and_counts_no_bytes_of_it(tmp_path):
    request = request_for(REPEATED, exercise_of(tmp_path, "steps"), {"n": 700}, cases=("none",))
    case, backend = request.ranking, CpuBackend()
    assert case is not None
    assert operand_bytes(case) == 2 * 4 * 700
    operands = place_all(backend, Modules(backend, request.modules), Modules(backend, request.solution), case)
    empty(backend, operands)
    assert set(backend.read(operands.memories["a"]).tolist()) == {POISON_WORD}


@pytest.mark.one_in(4, "one width")
@linux
@pytest.mark.parametrize("kind", ["char", "short", "long long", "double"])
def test_scratch_of_any_width_is_unset_at_first(tmp_path, kind):
    definition = STEPS.replace('"a", role = "scratch", type = "int"', f'"a", role = "scratch", type = "{kind}"')
    for old in ('"int*", name = "to", operand = "a"', '"const int*", name = "from", operand = "a"'):
        definition = definition.replace(old, old.replace("int", kind, 1))
    back = f"const {kind}* from, int* to, int distance, int n) {{"
    definition = definition.replace('kernel = "step"', 'kernel = "forth"')
    for step in definition.split("[[then]]")[1::2]:
        definition = definition.replace(step, step.replace("forth", "back"))
    body = REPEATED.partition("{")[2]
    text = (
        f"__global__ void forth(const int* from, {kind}* to, int distance, int n) {{{body}"
        f"__global__ void back({back}{body}"
    )
    exercise = made(tmp_path, definition, text)
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    assert on_gpu(exercise, text).findings == ()
    gap = text.replace("(i < n)", "(i < n && (distance != 1 || i != 51))", 1)
    finding = first_error(graded(exercise, gap))
    assert (finding.kind, finding.example.launch) == (Verdict.UNINITIALIZED_READ, 2)


@linux
def test_scratch_may_be_a_variable_of_the_file(tmp_path):
    definition = SUM.replace('rows = "ceil(n/BLOCK_SIZE)"', 'rows = 64, binding = "global", symbol = "kept"')
    definition = definition.replace('    { type = "int*", name = "partial", operand = "partial" },\n', "")
    definition = definition.replace('    { type = "const int*", name = "partial", operand = "partial" },\n', "")
    text = TWO_PASSES.replace("const int* partial, ", "").replace("int* partial, ", "").replace("partial[", "kept[")
    text = f"__device__ int kept[64];\n{text}"
    exercise = made(tmp_path, definition, text)
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    gap = text.replace("if (t == 0) kept", "if (t == 0 && blockIdx.x != 2) kept")
    assert graded(exercise, gap).verdict is Verdict.UNINITIALIZED_READ


@pytest.mark.one_in(3, "one of three")
@linux
@pytest.mark.parametrize(
    ("name", "old", "new", "verdict"),
    [
        ("sum", "own += partial[i];", "own += partial[i] + (i == 4);", Verdict.WRONG_ANSWER),
        ("scan", "blockIdx.x > 0)", "blockIdx.x > 0 && i < 690)", Verdict.WRONG_ANSWER),
        ("steps", "to[i] =", "if (distance == 8) to[i - 20000] = 1; else to[i] =", Verdict.OUT_OF_BOUNDS),
    ],
)
def test_a_gpu_finds_a_mistake_in_a_later_launch(tmp_path, name, old, new, verdict):
    response = on_gpu(exercise_of(tmp_path, name), changed(name, (old, new)))
    assert decide(response.findings) is verdict


@linux
def test_a_time_is_that_of_all_launches(tmp_path):
    request = request_for(REPEATED, exercise_of(tmp_path, "steps"), {"n": 700}, cases=("none",))
    response = measured(request, CpuBackend(clock=lambda launch: 0.25), real_judge=True)
    assert response.measurement is not None
    assert response.measurement.ms_median == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('operand = "sum" }', 'operand = "partial" }', "then[0].parameters"),
        ('operand = "sum" }', 'operand = "other" }', "then[0].parameters"),
        ('name = "count", value', 'name = "count", size', "then[0].parameters[2].size"),
        ('"int*", name = "sum", operand', '"float*", name = "sum", operand', "then[0].parameters[1].type"),
        ('    { type = "int*", name = "sum", operand = "sum" },\n', "", "parameters"),
        ('grid = "(1)"', 'grid = "(1)"\nsurprise = 1', "then[0].surprise"),
        ('grid = "(1)"', 'grid = "(0)"', "launch"),
        ('role = "scratch"', 'role = "scratch", values = { kind = "zeros" }', "operands[1].values"),
        ('role = "scratch"', 'role = "scratch", order = "any"', "operands[1].order"),
        ('role = "output"', 'role = "scratch"', "operands"),
        ('metric = "gbps"', 'metric = "gbps"\nsize_macros = { N = "n" }', "then"),
    ],
)  # fmt: skip
def test_a_contradiction_is_refused_with_its_field(tmp_path, old, new, field):
    assert SUM.count(old) == 1
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, SUM.replace(old, new), TWO_PASSES)
    assert caught.value.field == field


def test_launches_of_one_kernel_have_the_same_types(tmp_path):
    last = '{ type = "int", name = "distance", value = 8 },'
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, STEPS.replace(last, last.replace('"int"', '"float"')), REPEATED)
    assert caught.value.field == "then[2].parameters"


def test_only_a_solution_judges_several_launches(tmp_path):
    text = SUM.replace('[work]\nbytes = "4*n"\n', "").replace("n = 1 }", 'n = 1 }\ninputs = ["integers"]')
    text = text.replace('BLOCK_SIZE + 1" }', 'BLOCK_SIZE + 1" }\ninputs = ["integers"]')
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, text.replace('"solution"', '"analysis"'))
    assert caught.value.field == "then"


def test_launches_have_a_limit(tmp_path):
    head, one, *_ = STEPS.split("[[then]]")
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, head + f"[[then]]{one}" * 32, REPEATED)
    assert caught.value.field == "then"


@pytest.mark.gpu
@pytest.mark.parametrize("name", EXERCISES)
def test_a_real_gpu_judges_all_launches(tmp_path, name):
    exercise, text = exercise_of(tmp_path, name), changed(name)
    assert graded_here(exercise, text, tmp_path).verdict is Verdict.ACCEPTED
    assert graded_here(exercise, text.replace("n) ", "n - 1) "), tmp_path).verdict is not Verdict.ACCEPTED
