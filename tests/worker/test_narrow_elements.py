"""Operands of 8 and 16 bits, on the CPU device and with the GPU's judge."""

from __future__ import annotations

import pytest

from kernels.exercise import ExerciseError
from kernels.verdict import Verdict, decide
from tests.gpu.solutions import graded_here
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import graded, made
from worker.gpu.operands import POISON_WORD

DEFINITION = """
title = "Threshold of an image"
operation = "solution"
kernel = "threshold"
sizes = ["m", "n"]
metric = "gbps"
largest_on_cpu = 100
parameters = [
    { type = "const unsigned char*", name = "image", operand = "image" },
    { type = "const short*", name = "shift", operand = "shift" },
    { type = "unsigned char*", name = "out", operand = "out" },
    { type = "unsigned short*", name = "sums", operand = "sums" },
    { type = "char*", name = "signs", operand = "signs" },
    { type = "int", name = "m", size = "m" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "image", role = "input", type = "unsigned char", rows = "m", cols = "n", values = { kind = "image" } },
    { name = "shift", role = "input", type = "short", rows = "n", values = { kind = "integers", low = -32768 } },
    { name = "out", role = "output", type = "unsigned char", rows = "m", cols = "n" },
    { name = "sums", role = "inout", type = "unsigned short", rows = "m", cols = "n", values = { kind = "zeros" } },
    { name = "signs", role = "output", type = "char", rows = "n" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(m*n/BLOCK_SIZE))" }
ranking = { m = 37, n = 41 }
analysis = { m = 9, n = 9 }
cases = [{ sizes = { m = 3, n = 5 }, inputs = ["random", "equal"] }]
"""
SOLUTION = """__global__ void threshold(const unsigned char* image, const short* shift, unsigned char* out,
                          unsigned short* sums, char* signs, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m * n) {
        out[i] = image[i] > 127 ? 255 : image[i] / 3;
        sums[i] += image[i] * 256 + shift[i % n];
    }
    if (i < n) signs[i] = shift[i] < 0 ? -1 : shift[i] > 0;
}
"""
CASE = "m=3 n=5 random"
MISTAKES = [
    ("/ 3", "/ 3 + (i == 14)", Verdict.WRONG_ANSWER, "`out["),
    ("* 256", "* 255", Verdict.WRONG_ANSWER, "`sums["),
    ("? -1 :", "? 1 :", Verdict.WRONG_ANSWER, "`signs["),
    ("out[i] =", "if (i == 4) ((unsigned char*)image)[i] ^= 1; out[i] =", Verdict.INPUT_MODIFIED, "`image[0][4]`"),
    ("out[i] =", "if (i == 4) ((char*)shift)[9] ^= 1; out[i] =", Verdict.INPUT_MODIFIED, "`shift[4]`"),
]
UNWRITTEN = [
    ("out[i] =", "if (i != 7) out[i] =", "`out[1][2]` was never written"),
    ("out[i] = image[i] > 127", "if (i > 3) out[i] = image[i] > 127", "`out[0][0]` was never written"),
    ("signs[i] = shift[i] < 0", "if (i != 2) signs[i] = shift[i] < 0", "`signs[2]` was never written"),
]


@pytest.fixture
def narrow(tmp_path):
    return made(tmp_path, DEFINITION, SOLUTION)


def changed(old, new):
    assert old in SOLUTION
    return SOLUTION.replace(old, new)


def on_gpu(text, exercise, cases=(CASE,)):
    return measured(request_for(text, exercise, {"m": 7, "n": 9}, cases=cases), Scripted([1.0]), real_judge=True)


@pytest.mark.one_in(3, "a third of the spellings")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("const unsigned char* image", "const uint8_t* __restrict__ image"),
        ("const short* shift", "const short int* shift"),
        ("unsigned short* sums", "uint16_t* sums"),
        ("char* signs", "signed char* signs"),
        ("char* signs", "int8_t signs[]"),
        ("__global__", 'extern "C" __global__'),
    ],
)
def test_the_solution_and_other_spellings_are_accepted(narrow, old, new):
    # Neighbouring threads write bytes of one word, which is no race.
    report = graded(narrow, SOLUTION.replace(old, new, 1))
    assert report.verdict is Verdict.ACCEPTED, report.message


@pytest.mark.one_in(4, "a quarter of the pairs of a type and a mistake")
@pytest.mark.parametrize(
    ("old", "new", "verdict", "element"),
    [
        *MISTAKES,
        *((old, new, Verdict.WRONG_ANSWER, element) for old, new, element in UNWRITTEN),
        ("i < m * n", "i <= m * n", Verdict.OUT_OF_BOUNDS, "`image[3][0]`"),
        ("i < n", "i <= n", Verdict.OUT_OF_BOUNDS, "`shift[5]`"),
        ("signs[i] =", "signs[i + 1] =", Verdict.OUT_OF_BOUNDS, "`signs[5]`"),
        ("out[i] =", "out[i] +=", Verdict.UNINITIALIZED_READ, "`out[0][0]`"),
        ("signs[i] =", "signs[0] += signs[i] =", Verdict.DATA_RACE, "`signs[0]`"),
        ("out[i] =", "out[i / 2 * 2] =", Verdict.DATA_RACE, "`out[0][0]`"),
        ("sums[i] +=", "sums[i / 2 * 2] +=", Verdict.DATA_RACE, "`sums[0][0]`"),
        ("out[i] =", "if (i < 14) ((short*)out)[i / 2] = out[i] =", Verdict.DATA_RACE, "`out["),
        ("out[i] =", "((short*)out)[i / 2] = out[i] =", Verdict.OUT_OF_BOUNDS, "`out[2][4]`, past"),
        ("const unsigned char* image", "const char* image", Verdict.REJECTED, "const unsigned char*"),
        ("const short* shift", "const int* shift", Verdict.REJECTED, "const short*"),
        ("unsigned char* out", "unsigned int* out", Verdict.REJECTED, "unsigned char*"),
    ],
)
def test_a_mistake_is_found_and_names_its_element(narrow, old, new, verdict, element):
    report = graded(narrow, changed(old, new))
    assert report.verdict is verdict, report.message
    assert element in report.message


def test_an_unwritten_byte_is_found_whatever_it_should_be(tmp_path):
    text = changed("image[i] > 127 ? 255 : image[i] / 3", f"{POISON_WORD}u >> i % 4 * 8")
    exercise = made(tmp_path, DEFINITION, text)
    assert graded(exercise, exercise.solution_text).verdict is Verdict.ACCEPTED
    report = graded(exercise, exercise.solution_text.replace("out[i] =", "if (i != 6) out[i] ="))
    assert report.verdict is Verdict.WRONG_ANSWER
    assert "`out[1][1]` was never written" in report.message
    assert report.findings[0].count == len(report.checks)


PIECES = """
title = "Pieces"
operation = "solution"
kernel = "pieces"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 100
parameters = [{ type = "unsigned char*", name = "out", operand = "out" }, { type = "int", name = "n", size = "n" }]
operands = [{ name = "out", role = "output", type = "unsigned char", rows = "n" }]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(1)" }
ranking = { n = 31 }
cases = [{ sizes = { n = 31 } }]
"""
STORES = {
    0: "*(uint4*)out = make_uint4(1, 2, 3, 4);",
    16: "*(unsigned long long*)(out + 16) = 5;",
    24: "atomicExch((unsigned*)(out + 24), 7u);",
    28: "*(uchar2*)(out + 28) = make_uchar2(8, 9);",
    30: "out[30] = 11;",
}


@pytest.mark.parametrize("missing", [None, *STORES])
def test_each_byte_of_a_wide_store_is_written(tmp_path, missing):
    def kernel(stores):
        return f"__global__ void pieces(unsigned char* out, int n) {{ if (threadIdx.x == 0) {{ {stores} }} }}"

    exercise = made(tmp_path, PIECES, kernel(" ".join(STORES.values())))
    report = graded(exercise, kernel(" ".join(text for at, text in STORES.items() if at != missing)))
    if missing is None:
        assert report.verdict is Verdict.ACCEPTED, report.message
        return
    assert report.verdict is Verdict.WRONG_ANSWER
    assert f"`out[{missing}]` was never written" in report.message


def test_a_byte_that_one_order_of_atomics_leaves_unwritten_depends_on_the_order(tmp_path):
    text = changed("out[i] =", "if (i > 0 || atomicExch(&first, 1u) == 0) out[i] =")
    text = text.replace("if (i < n)", "if (i == 1) atomicExch(&first, 1u);\n    if (i < n)")
    text = f"__device__ unsigned first;\n{text}"
    report = graded(made(tmp_path, DEFINITION, SOLUTION), text)
    assert report.verdict is Verdict.ORDER_DEPENDENT, report.message


def bound(definition, operand, name, memory):
    """The definition with a parameter's operand as a module variable."""
    parameters = [line for line in definition.splitlines() if f'operand = "{operand}"' not in line]
    return "\n".join(parameters).replace(
        f'name = "{operand}",', f'name = "{operand}", binding = "{memory}", symbol = "{name}",'
    )


@linux
def test_a_variable_of_the_file_has_bytes(tmp_path):
    sized = bound(DEFINITION, "shift", "SHIFT", "constant")
    sized = sized.replace('type = "short", rows = "n"', 'type = "short", rows = 6')
    text = "__constant__ short SHIFT[6];\n" + SOLUTION.replace("const short* shift, ", "")
    text = text.replace("shift[i % n]", "SHIFT[i % 6]").replace("shift[i]", "SHIFT[i % 6]")
    exercise = made(tmp_path, sized, text)
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    assert on_gpu(text, exercise).findings == ()
    for declared in ("int SHIFT[3]", "short SHIFT[5]", "char SHIFT[12]"):
        assert graded(exercise, text.replace("short SHIFT[6]", declared)).verdict is Verdict.REJECTED


@pytest.mark.parametrize(
    ("operand", "memory", "old", "new", "field"),
    [
        ("out", "global", "", "", "operands[2].binding"),
        ("image", "global", "", "", "operands"),  # an odd number of bytes
        ("", "", "low = -32768", "high = 32768", "operands"),
        ("", "", "low = -32768", "low = -32769", "operands"),
        ("", "", '{ kind = "image" }', '{ kind = "image", high = 256 }', "operands"),
        ("", "", '{ kind = "image" }', '{ kind = "real" }', "operands[0].values.kind"),
        ("", "", '"const unsigned char*"', '"const char*"', "parameters[0].type"),
    ],
)
def test_what_these_types_cannot_hold_is_refused(tmp_path, operand, memory, old, new, field):
    text = DEFINITION.replace(old, new, 1)
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, bound(text, operand, operand, memory) if operand else text, SOLUTION)
    assert caught.value.field == field


@linux
def test_the_gpus_judge_accepts_the_solution(narrow):
    response = on_gpu(SOLUTION, narrow)
    assert response.findings == ()
    assert response.measurement is not None
    assert response.measurement.gbps is not None


@pytest.mark.one_in(3, "a third of the mistakes")
@linux
@pytest.mark.parametrize("cases", [["none"], [CASE]])
@pytest.mark.parametrize(("old", "new", "verdict", "element"), MISTAKES)
def test_the_gpus_judge_finds_the_same_mistakes(narrow, old, new, verdict, element, cases):
    response = on_gpu(changed(old, new), narrow, cases)
    assert decide(response.findings) is verdict
    assert element in response.findings[0].message


@linux
@pytest.mark.parametrize("cases", [["none"], [CASE]])
@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("out[i] =", "if (i != 7) out[i] =", Verdict.WRONG_ANSWER),
        # The memory of an array ends with its last word. These bytes are behind the last element.
        ("i < m * n", "i <= m * n", Verdict.OUT_OF_BOUNDS),
        ("signs[i] =", "signs[i + 1] =", Verdict.OUT_OF_BOUNDS),
    ],
)
def test_the_gpus_judge_finds_bytes_without_a_mark(narrow, old, new, verdict, cases):
    assert decide(on_gpu(changed(old, new), narrow, cases).findings) is verdict


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("/ 3", "/ 3", Verdict.ACCEPTED),
        ("/ 3;", "/ 3; out[i] += i == 1500;", Verdict.WRONG_ANSWER),
        ("sums[i] +=", "if (i != 1500) sums[i] +=", Verdict.WRONG_ANSWER),
        ("out[i] =", "out[i + i / 1516] =", Verdict.OUT_OF_BOUNDS),
    ],
)
def test_a_gpu_judges_large_sizes(narrow, tmp_path, old, new, verdict):
    report = graded_here(narrow, changed(old, new), tmp_path)
    assert report.verdict is verdict, report.message
