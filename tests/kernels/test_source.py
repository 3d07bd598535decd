"""What is taken as a submission: the file, its kernel, and that any text at all is read or refused."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.exercise import find_exercise, list_exercises
from kernels.source.paste.decoding import LARGEST_SOURCE
from kernels.source.source_file import Source, read_source
from kernels.verdict import Severity
from tests.kernels.readings import BODY, KERNEL, TILED, only, taken


@pytest.mark.parametrize("exercise", list_exercises(), ids=lambda exercise: exercise.name)
def test_every_solution_is_taken(exercise):
    assert isinstance(read_source(exercise.solution.read_bytes(), exercise), Source)


@pytest.mark.parametrize("name", ["naive", "tiled"])
def test_a_starter_without_blanks_is_taken(name):
    exercise = find_exercise(name)
    assert isinstance(read_source(exercise.starter.read_bytes(), exercise), Source)


def test_a_starter_with_blanks_asks_to_fill_them_in():
    exercise = find_exercise("tiled-square")
    result = read_source(exercise.starter.read_bytes(), exercise)
    assert isinstance(result, list)
    assert [(finding.line, finding.count) for finding in result] == [(13, 11)]
    assert "Blanks left: 11." in result[0].message


def test_a_blank_in_a_macro_asks_to_fill_it_in():
    finding = only("#define TILE_WIDTH ____\n" + KERNEL)
    assert (finding.line, finding.count) == (1, 1)


# --- The file


def test_byte_order_mark_crlf_and_other_alphabets_are_fine():
    source = taken(b"\xef\xbb\xbf// \xc3\xa4 \xe6\x96\x87 \xf0\x9f\x98\x80\r\n" + KERNEL.encode())
    assert source.text == "// ä 文 😀\n" + KERNEL


def test_lines_stay_where_they_were():
    assert taken("// a\r\n// b\r// c\u2028still c\x0bstill c\n" + KERNEL).text.split("\n")[3] == KERNEL.strip()


def test_the_longest_file_is_taken_and_one_byte_more_is_not():
    padding = "/" * (LARGEST_SOURCE - len(KERNEL))
    taken(KERNEL + padding)
    assert "65,536 bytes" in only(KERNEL + padding + "/").message


@pytest.mark.parametrize("text", [b"", b" \n\t\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_an_empty_file_is_refused(text):
    assert "empty" in only(text).message


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x01\x00", b"\xff\xfea\0\0", b"a\n\0"])
def test_a_binary_file_is_refused(data):
    assert "zero bytes" in only(data).message


def test_a_file_that_is_not_utf8_is_refused_with_the_place():
    finding = only(b"int a;\n// caf\xe9\n" + KERNEL.encode())
    assert finding.line == 2
    assert "byte 0xe9 at offset 13 in line 2" in finding.message


# --- The kernel


@pytest.mark.parametrize(
    "signature",
    [
        "__global__ void MatrixMulKernel(const float* __restrict__ A, const float *__restrict__ B, float *C, int n)",
        "__global__ void MatrixMulKernel(float M[], float N[], float P[], const int Width)",
        "__global__ void MatrixMulKernel(float* const M, float const* N, float* P, unsigned int Width)",
        "__global__ void MatrixMulKernel(float (*M), float* N, float* P, unsigned Width)",
        "__global__ void MatrixMulKernel(float *, float *, float *, int)",
        'extern "C" __global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)',
        "static void __global__ MatrixMulKernel(float* M, float* N, float* P, int Width)",
        "__global__ void __launch_bounds__(256, 2) MatrixMulKernel(float* M, float* N, float* P, int Width)",
        "__global__ __launch_bounds__((TILE_WIDTH*(2))) void MatrixMulKernel(float* M,float* N,float* P,int Width)",
        "[[maybe_unused]] __global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)",
        "__global__ void\nMatrixMulKernel(\n  float* M, // left\n  float* N, /* , int x */\n  float* P,\n  int Width)",
        "typedef float real;\n__global__ void MatrixMulKernel(real* M, real* N, real* P, int Width)",
        "#define IN const float*\n__global__ void MatrixMulKernel(IN M, IN N, float* P, int Width)",
        "#define ARGS float*M,float*N,float*P,int Width\n__global__ void MatrixMulKernel(ARGS)",
        "#define KERNEL(n) __global__ void n(float*M,float*N,float*P,int Width)\nKERNEL(MatrixMulKernel)",
        "using namespace std;\n__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)",
        "namespace a { __device__ int f() { return 1; } }\n" + KERNEL.split("{", maxsplit=1)[0],
    ],
)
def test_the_kernel_may_be_written_in_many_ways(signature):
    taken(signature + BODY)


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("float* M, float* N, float* P", "(float* M, float* N, float* P)"),
        ("float* M, float* N, float* P, int Width, int K", "int Width, int K"),
        ("double* M, double* N, double* P, int Width", "double* M"),
        ("float** M, float* N, float* P, int Width", "float** M"),
        ("float* M, float* N, float P, int Width", "float P"),
        ("float* M, float* N, float* P, size_t Width", "size_t Width"),
        ("float* M, float* N, float* P, long Width", "long Width"),
        ("float* M, float* N, float* P, int* Width", "int* Width"),
        ("int Width, float* M, float* N, float* P", "(int Width, float* M"),
        ("float& M, float* N, float* P, int Width", "float & M"),
        ("", "Found: ()"),
        ("void", "Found: (void)"),
    ],
)
def test_other_parameters_are_refused_with_both_lists(parameters, found):
    finding = only(f"// one line\n__global__ void MatrixMulKernel({parameters}) {{}}\n")
    assert finding.line == 2
    assert "Expected: (float* M, float* N, float* P, int Width)" in finding.message
    assert found in finding.message


def test_a_declaration_before_the_definition_is_fine():
    taken("__global__ void MatrixMulKernel(float*, float*, float*, int);\n" + KERNEL)


EXPECTED = "float* M, float* N, float* P, int Width"
OTHER = "template <int T> __global__ void {}() {{}}\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("int a;\n", None, "The file has no kernel"),
        ("/* " + KERNEL, None, "The file has no kernel"),
        ('const char* s = "' + KERNEL.strip() + '";\n', None, "The file has no kernel"),
        ("#if 0\n" + KERNEL + "#endif\n", None, "The file has no kernel"),
        ("#ifndef TILELAB\n" + KERNEL + "#endif\n", None, "The file has no kernel"),
        (OTHER.format("matrixMulKernel") + OTHER.format("foo"), 1, "Did you mean `matrixMulKernel`?"),
        (OTHER.format("foo") + OTHER.format("MatrixMultKernel"), 2, "Did you mean `MatrixMultKernel`?"),
        (OTHER.format("foo") + OTHER.format("bar"), None, "Kernels found: `foo` (line 1), `bar` (line 2)."),
        (OTHER.format("foo") + OTHER.format("bar"), None, f"None has the parameters ({EXPECTED})."),
        (KERNEL.replace("MatrixMulKernel", "foo").replace("int", "long"), 1, f"Expected: ({EXPECTED})."),
        (KERNEL.replace("__global__ ", ""), 1, "Write `__global__` before its `void`"),
        ("__global__ void MatrixMulKernel(float*, float*, float*, int);\n", 1, "has no body"),
        ("template <int T>\n" + KERNEL, 2, "is a template"),
        ("namespace course {\n" + KERNEL + "}\n", 2, "inside a namespace"),
    ],
)
def test_a_missing_kernel_is_explained(text, line, message):
    finding = only(text)
    assert finding.line == line
    assert message in finding.message


FOO = KERNEL.replace("MatrixMulKernel", "{}").replace("{ P[0]", "{{ P[0]").replace("; }", "; }}")


@pytest.mark.parametrize(
    ("names", "rest", "taken_name", "reason"),
    [
        (["foo"], "", "foo", ""),
        (["foo", "matrixMulKernel", "bar"], "", "matrixMulKernel", "closest name"),
        (["foo", "bar"], "int main() { foo<<<1, 1>>>(); }\n", "foo", "launched by your host code"),
        (["foo", "bar"], "int main() { foo<<<1, 1>>>(); bar<<<1, 1>>>(); }\n", "bar", "the last one"),
    ],
)
def test_a_kernel_with_the_parameters_is_taken_under_any_name(names, rest, taken_name, reason):
    source = taken("".join(map(FOO.format, names)) + "template <int T> __global__ void t() {}\n" + rest)
    assert source.kernel == taken_name
    remark = source.warnings[-1]
    assert (remark.severity, remark.line) == (Severity.WARNING, names.index(taken_name) + 1)
    assert f"`{taken_name}`" in remark.message
    assert reason in remark.message


def test_a_kernel_of_the_right_name_comes_before_any_other():
    source = taken(KERNEL + FOO.format("foo") + "int main() { foo<<<1, 1>>>(); }\n")
    assert (source.kernel, len(source.warnings)) == ("MatrixMulKernel", 1)
    assert "has different parameters" in only(FOO.format("foo") + KERNEL.replace("int", "long")).message


def test_all_kernels_of_the_file_are_named():
    text = "__global__ void a(){}\ntemplate <int T> __global__ void b(){}\n"
    assert taken(text + KERNEL).kernels == ("a", "b", "MatrixMulKernel")
    assert "`a` (line 1), `b` (line 2)" in only(text).message


# --- Anything at all

PIECES = [
    *re.findall(r"\w+|\W", TILED.solution.read_text()),
    "#", "%:", "\\\n", '"', "'", 'R"(', ')"', "/*", "*/", "//!tilelab ", "<<<", "{", "}", "template<", "enum {",
    "namespace a {", "#if ", "#else\n", "#elif 1\n", "#endif\n", "#ifndef TILELAB\n", "defined", "&&", "||", "!",
    "#define A A B\n", "#define B A A\n", "#include <", "const int ", "=", "\r", "\ufeff", "é", "\0", "block=",
    "grid=(",
    "__global__", "MatrixMulKernel", "[[", "]]", "__launch_bounds__(", "1'000", "0x", "tile=", "$", "\u2028",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=120))
@example(["#", "\n"])
@example(["#"])
@example(["__global__"])
@example(["#define"])
def test_any_pieces_are_read_or_refused(pieces):
    check_read("".join(pieces).encode("utf-8", "surrogatepass"))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_change_to_a_solution_is_read_or_refused(data):
    text = bytearray(TILED.solution.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 40))
        text[start : start + length] = data.draw(st.sampled_from(PIECES)).encode()
    check_read(bytes(text))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data):
    check_read(data)


def check_read(data: bytes) -> None:
    result = read_source(data, TILED)
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    if isinstance(result, list):
        assert result
        assert all(finding.line is None or 1 <= finding.line <= lines for finding in result)


_LONG = pytest.mark.long("takes seconds; the short suite has other text that opens what never ends")


@pytest.mark.one_in(4, "a quarter of the things")
@pytest.mark.parametrize(
    "unit",
    [
        "#if A\n", "template <", "{", "\\\n", '"', "/*", 'R"(', "#define A\n", "//!tilelab block=(1\n",
        "a,", "blockIdx.x*TILE ", "const int TILE{", "\u00a0", "TILE_WIDTH ", "<<<",
        *(
            pytest.param(unit, marks=_LONG)
            for unit in (
                "#ifndef A\n", "const int ", "__global__ ", "(", "'", "!tilelab", "#include <a>\n",
                "#define TILE 1\n", "void f(){TILE_WIDTH;}", "__global__ void __launch_bounds__(", "\r",
                "enum {", "namespace {", "const int a=",
            )
        ),
    ],
)  # fmt: skip
def test_a_file_full_of_one_thing_is_read_in_time(unit):
    start = process_time()
    check_read((unit * (LARGEST_SOURCE // len(unit))).encode())
    assert process_time() - start < 10


def test_macros_that_multiply_each_other_are_read_in_time():
    chain = "".join(f"#define A{i} A{i + 1} A{i + 1} A{i + 1}\n" for i in range(1000))
    deep = "".join(f"#define B{i} B{i + 1}\n" for i in range(1500))
    start = process_time()
    assert taken(chain + deep + KERNEL).macros == {}
    assert process_time() - start < 10
