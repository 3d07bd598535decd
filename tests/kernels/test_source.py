"""The source rules: what is taken, what is refused, and what the student is told."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.exercise import find_exercise, list_exercises
from kernels.source import HEADERS, LARGEST_SOURCE, HeaderKind, Source, header_text, read_source
from kernels.source_rules import FORBIDDEN_INCLUDE
from kernels.verdict import Verdict

TILED = find_exercise("tiled")
BODY = "{ P[0] = Width; }\n"
KERNEL = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) " + BODY


def taken(text: str | bytes) -> Source:
    result = read_source(text.encode() if isinstance(text, str) else text, TILED)
    assert isinstance(result, Source), result
    return result


def refused(text: str | bytes):
    result = read_source(text.encode() if isinstance(text, str) else text, TILED)
    assert isinstance(result, list)
    assert result
    assert {finding.kind for finding in result} == {Verdict.REJECTED}
    return result


def only(text: str | bytes):
    findings = refused(text)
    assert len(findings) == 1, findings
    return findings[0]


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


# --- The file


def test_byte_order_mark_crlf_and_other_alphabets_are_fine():
    source = taken(b"\xef\xbb\xbf// \xc3\xa4 \xe6\x96\x87 \xf0\x9f\x98\x80\r\n" + KERNEL.encode())
    assert source.text == "// ä 文 😀\n" + KERNEL


def test_lines_stay_where_they_were():
    assert (
        taken("// a\r\n// b\r// c\u2028still c\x0bstill c\n" + KERNEL).text.split("\n")[3] == KERNEL.strip()
    )


def test_the_longest_file_is_taken_and_one_byte_more_is_not():
    padding = "/" * (LARGEST_SOURCE - len(KERNEL))
    taken(KERNEL + padding)
    assert "65537 bytes" in only(KERNEL + padding + "/").message


@pytest.mark.parametrize("text", [b"", b" \n\t\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_an_empty_file_is_refused(text):
    assert "empty" in only(text).message


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x01\x00", "int a;\n".encode("utf-16"), b"a\n\0"])
def test_a_binary_file_is_refused(data):
    assert "zero bytes" in only(data).message


def test_a_file_that_is_not_utf8_is_refused_with_the_place():
    finding = only(b"int a;\n// caf\xe9\n" + KERNEL.encode())
    assert finding.line == 2
    assert "byte 0xe9 at offset 13, line 2" in finding.message


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


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("int a;\n", None, "No kernel was found"),
        ("/* " + KERNEL, None, "No kernel was found"),
        ('const char* s = "' + KERNEL.strip() + '";\n', None, "No kernel was found"),
        ("#if 0\n" + KERNEL + "#endif\n", None, "No kernel was found"),
        ("#ifndef TILELAB\n" + KERNEL + "#endif\n", None, "No kernel was found"),
        (KERNEL.replace("MatrixMulKernel", "matrixMulKernel"), 1, "Is `matrixMulKernel` meant?"),
        (KERNEL.replace("MatrixMulKernel", "MatrixMultKernel"), 1, "Is `MatrixMultKernel` meant?"),
        (KERNEL.replace("MatrixMulKernel", "foo"), None, "Kernels found: `foo` (line 1)."),
        (KERNEL.replace("__global__ ", ""), 1, "write `__global__` before its `void`"),
        ("__global__ void MatrixMulKernel(float*, float*, float*, int);\n", 1, "has no body"),
        ("template <int T>\n" + KERNEL, 2, "is a template"),
        ("namespace course {\n" + KERNEL + "}\n", 2, "inside a namespace"),
    ],
)
def test_a_missing_kernel_is_explained(text, line, message):
    finding = only(text)
    assert finding.line == line
    assert message in finding.message


def test_all_kernels_of_the_file_are_named():
    text = "__global__ void a(){}\ntemplate <int T> __global__ void b(){}\n"
    assert taken(text + KERNEL).kernels == ("a", "b", "MatrixMulKernel")
    assert "`a` (line 1), `b` (line 2)" in only(text).message


# --- Host code


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("int main(void) { return 0; }\n", "`main`"),
        ("void f() { float* d; cudaMalloc(&d, 4); }\n", "`cudaMalloc`"),
        ("void f() { cudaMemcpy(a, b, 4, cudaMemcpyHostToDevice); }\n", "`cudaMemcpy`"),
        ("void f() { MatrixMulKernel<<<1, 1>>>(0, 0, 0, 1); }\n", "`<<<...>>>`"),
        ('void f() { std::cout << "x"; }\n', "`std::cout`"),
        ("std::vector<float> a(3);\n", "`std::vector`"),
    ],
)
def test_host_code_is_refused_and_says_how_to_keep_it(text, what):
    finding = only(KERNEL + text)
    assert finding.line == 2
    assert what in finding.message
    assert "#ifndef TILELAB" in finding.message


@pytest.mark.parametrize(
    "guard",
    [
        "#ifndef TILELAB\n{}#endif\n",
        "#ifdef TILELAB\n#else\n{}#endif\n",
        "#if !defined(TILELAB)\n{}#endif\n",
        "#if !TILELAB && 1\n{}#endif\n",
        "#  ifndef TILELAB // mine\n#ifdef DEBUG\n{}#endif\n#endif\n",
        "#if 0\n{}#endif\n",
        "#ifdef TILELAB\n#elif defined(DEBUG)\n{}#endif\n",
        "#ifndef __CUDACC_RTC__\n{}#endif\n",
        "#ifdef __INTELLISENSE__\n{}#endif\n",
    ],
)
def test_a_students_own_harness_is_skipped(guard):
    harness = "#include <vector>\n#include <my_timer.h>\nint main() { cudaMalloc(0, 1); k<<<1, 1>>>(); }\n"
    taken(KERNEL + guard.format(harness))


@pytest.mark.parametrize(
    "guard",
    [
        "#ifdef TILELAB\n{}#endif\n",
        "#ifndef DEBUG\n{}#endif\n",
        "#if DEBUG > 2\n{}#endif\n",
        "#ifndef TILELAB\n#else\n{}#endif\n",
        "#if defined(TILELAB) || defined(DEBUG)\n{}#endif\n",
        "#undef TILELAB\n#ifndef TILELAB\n{}#endif\n",
        "#if 0\n#else\n{}#endif\n",
    ],
)
def test_a_harness_that_may_be_compiled_is_not_skipped(guard):
    assert "`main`" in only(KERNEL + guard.format("int main() { return 0; }\n")).message


def test_words_of_host_code_in_comments_strings_and_names_are_fine():
    taken(
        "// int main() { cudaMalloc(); } k<<<1,1>>>\n"
        '__device__ const char* s = "int main() <<<>>> cudaMalloc(";\n'
        "__device__ int main_loop, cudaMallocated;\n" + KERNEL,
    )


# --- Includes


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_every_listed_header_may_be_included_either_way(name):
    taken(f'#include <{name}>\n  #  include "{name}"  // why\n' + KERNEL)


@pytest.mark.parametrize(
    "include",
    [
        "#include </etc/passwd>",
        '#include "/etc/passwd"',
        '#include "/no/such/file"',
        "#include <my.h>",
        '#include "../stdio.h"',
        "#include <cuda_runtime.h",
        "#include X",
        "#include",
        "#include <>",
        "#include_next <stdio.h>",
        "#import <stdio.h>",
        "#embed <stdio.h>",
        "%:include <stdio.h>",
        "#include /**/ <stdio.h>",
        "/**/ #include <stdio.h>",
        "#inc\\\nlude <stdio.h>",
        "#include <std\\\nio.h>",
        "#\\\ninclude </etc/passwd>",
        "#include <stdio.h> </etc/passwd>",
        "#if __has_include(<stdio.h>)\n#endif".replace("#if ", "#define A "),
        "int a = __has_include(</etc/passwd>);",
        "#define S(...) #__VA_ARGS__\nconst char* s = S(\n#include </etc/passwd>\n);",
        "#if DEBUG\n#include </etc/passwd>\n#endif",
    ],
)
def test_any_other_include_gets_one_and_the_same_message(include):
    assert {finding.message for finding in refused(include + "\n" + KERNEL)} == {FORBIDDEN_INCLUDE}


def test_a_probe_for_headers_in_a_condition_is_refused():
    assert only("#if __has_include(</etc/passwd>)\n#endif\n" + KERNEL).message == FORBIDDEN_INCLUDE


def test_each_forbidden_include_is_shown_on_its_line():
    findings = refused("#include <stdio.h>\n#include <a.h>\n\n#include <b.h>\n" + KERNEL)
    assert [finding.line for finding in findings] == [2, 4]


@pytest.mark.parametrize("directive", ['#line 100 "other.cu"', "# 100", "#line 7"])
def test_renumbering_lines_is_refused(directive):
    finding = only(KERNEL + directive + "\n")
    assert finding.line == 2
    assert "#line" in finding.message


def test_only_supplied_headers_have_a_text():
    for name, kind in HEADERS.items():
        if kind is HeaderKind.EMPTY:
            assert "#include" not in header_text(name)
        else:
            with pytest.raises(KeyError):
                header_text(name)


# --- The tile


@pytest.mark.parametrize(
    ("declaration", "own"),
    [
        ("#define TILE_WIDTH 32\n", 32),
        ("#define TILE_WIDTH (1 << 3)\n", 8),
        ("#define B 8\n#define TILE_WIDTH (2*B)\n", 16),
        ("#define TILE_WIDTH B*2\n#define B 2+1\n", 4),
        ("#undef TILE_WIDTH\n#define TILE_WIDTH 32\n", 32),
        ("const int TILE_WIDTH = 32;\n", 32),
        ("constexpr int A = 4, TILE_WIDTH = A * 4;\n", 16),
        ("static const unsigned int TILE_WIDTH = 8u;\n", 8),
        ("enum { TILE_WIDTH = 8 };\n", 8),
        ("enum Sizes : int { ONE = 1, TWO, TILE_WIDTH = 30, NEXT };\n", 30),
        ("template <int TILE_WIDTH> __device__ int f() { return TILE_WIDTH; }\n", None),
        ("__device__ int f() { int TILE_WIDTH = blockDim.x; return TILE_WIDTH; }\n", None),
        ("__device__ int f(int TILE_WIDTH);\n", None),
        ("#if FAST\n#define TILE_WIDTH 32\n#else\n#define TILE_WIDTH 16\n#endif\n", None),
        ("#define TILE_WIDTH (int)(16.0)\n", None),
    ],
)
def test_a_file_that_declares_the_tile_keeps_its_own(declaration, own):
    source = taken(declaration + KERNEL)
    assert source.declares_tile
    assert source.own_tile == own
    assert source.tile(TILED, 8) == (own or 8)
    assert source.tile(TILED) == (own or 16)
    assert source.defines(TILED, 8, {"Width": 3}) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#ifndef TILE_WIDTH\n#define TILE_WIDTH 32\n#endif\n",
        "#if !defined(TILE_WIDTH)\n#define TILE_WIDTH 32\n#endif\n",
        "#ifdef TILE_WIDTH\n#else\n#define TILE_WIDTH 32\n#endif\n",
        "__shared__ float a[TILE_WIDTH][TILE_WIDTH];\n",
        "__device__ int f() { return TILE_WIDTH == 16; }\n",
        "#define BLOCK (TILE_WIDTH * 2)\n",
        "#ifndef TILELAB\n#define TILE_WIDTH 32\n#endif\n",
        "// #define TILE_WIDTH 32\n",
    ],
)
def test_a_file_that_leaves_the_tile_open_is_given_one(text):
    source = taken(text + KERNEL)
    assert not source.declares_tile
    assert source.own_tile is None
    assert source.tile(TILED, 8) == 8
    assert source.defines(TILED, 8, {"Width": 3}) == {"TILE_WIDTH": "8"}


@pytest.mark.parametrize("value", ["0", "-1", "129", "1000000"])
def test_a_tile_that_no_case_can_be_built_around_is_refused(value):
    finding = only(f"\n#define TILE_WIDTH {value}\n" + KERNEL)
    assert finding.line == 2
    assert f"The tile is {value} here" in finding.message


# --- Constants and the launch comment


def test_integer_macros_and_constants_are_known_to_the_launch_comment():
    source = taken(
        "#define BX 32 // threads along x\n#define BY (BX / 4)\n#define F(x) x\n#define PI 3.14f\n"
        "constexpr int COARSE = 4;\nenum { A, B = 7, C };\n"
        "//!tilelab block=(BX, BY) grid=(ceil(Width/(BX*COARSE)), ceil(Width/BY)) shared=BX*4\n" + KERNEL,
    )
    assert source.macros == {"BX": 32, "BY": 8, "COARSE": 4, "A": 0, "B": 7, "C": 8}
    names = source.launch_names(TILED, 16, {"Width": 130})
    launch = TILED.launch.override(source.launch).resolve(names)
    assert (launch.grid, launch.block, launch.shared) == ((2, 17, 1), (32, 8, 1), 128)


def test_a_name_with_two_values_is_not_known():
    text = "#if X\n#define BX 32\n#else\n#define BX 16\n#endif\n//!tilelab block=(BX,1)\n"
    finding = only(text + KERNEL)
    assert finding.line == 6
    assert "`BX`, which is not known" in finding.message
    assert "TILE_WIDTH, Width." in finding.message


def test_a_launch_comment_may_name_the_tile():
    source = taken("#define BLOCK 32\n//!tilelab tile=BLOCK\n" + KERNEL)
    assert source.own_tile == 32
    assert source.tile(TILED, 8) == 32
    assert source.launch_names(TILED, 32, {"Width": 3})["TILE_WIDTH"] == 32


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "//!tilelab block=(8,8)\n//!tilelab grid=(1,1)\n",
            2,
            "second launch comment here; the first is on line 1",
        ),
        ("\n\n//!tilelab blok=(8,8)\n", 3, "`blok` is not one of"),
        ("//!tilelab tile=Width\n", 1, "tile has no value: `Width` is not known"),
        ("//!tilelab tile=500\n", 1, "The tile is 500 here"),
    ],
)
def test_a_bad_launch_comment_is_refused_on_its_line(text, line, message):
    finding = only(text + KERNEL)
    assert finding.line == line
    assert message in finding.message


def test_a_launch_comment_in_a_string_a_block_comment_or_a_skipped_part_is_none():
    text = 'const char* s = "//!tilelab x";\n/* //!tilelab x */\n#ifndef TILELAB\n//!tilelab x\n#endif\n'
    assert taken("__device__ " + text + KERNEL).launch is None


def test_sizes_that_come_as_macros_must_not_be_fixed_by_the_file(tmp_path):
    folder = tmp_path / "sized"
    folder.mkdir()
    for file in ("handout.md", "starter.cu", "solution.cu"):
        (folder / file).write_text("")
    text = (TILED.root / "exercise.toml").read_text()
    (folder / "exercise.toml").write_text('size_macros = { WIDTH = "Width" }\n' + text)
    exercise = find_exercise(str(folder))
    result = read_source(("#define WIDTH 8\n" + KERNEL).encode(), exercise)
    assert isinstance(result, list)
    assert (result[0].line, "`WIDTH` is set anew for every case" in result[0].message) == (1, True)
    source = read_source(("#ifndef WIDTH\n#define WIDTH 8\n#endif\n" + KERNEL).encode(), exercise)
    assert isinstance(source, Source)
    assert source.defines(exercise, 16, {"Width": 5}) == {"TILE_WIDTH": "16", "WIDTH": "5"}
    assert source.launch_names(exercise, 16, {"Width": 5})["WIDTH"] == 5


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


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        "#if A\n", "#ifndef A\n", "enum {", "const int ", "const int a=", "__global__ ", "template <", "(", "{", "\\\n",
        '"', "'", "/*", 'R"(', "#define A\n", "!tilelab", "//!tilelab block=(1\n", "namespace {",
        "a,", "#include <a>\n", "__global__ void __launch_bounds__(", "\r", "TILE_WIDTH ", "<<<",
    ],
)  # fmt: skip
def test_a_file_full_of_one_thing_is_read_in_time(unit):
    check_read((unit * (LARGEST_SOURCE // len(unit))).encode())


@pytest.mark.timeout(20)
def test_macros_that_multiply_each_other_are_read_in_time():
    chain = "".join(f"#define A{i} A{i + 1} A{i + 1} A{i + 1}\n" for i in range(1000))
    deep = "".join(f"#define B{i} B{i + 1}\n" for i in range(1500))
    assert taken(chain + deep + KERNEL).macros == {}
