"""Host code and size macros are left out of what is compiled, line for line."""

from __future__ import annotations

import pytest

from kernels.source.paste.left_out import leave_out
from kernels.verdict import Severity
from tests.kernels.readings import KERNEL, taken

MAIN = "int main() {\n  k<<<1, 1>>>();\n}\n"


def lines_left_out(text: str, *sizes: str) -> list[int]:
    rest = leave_out(text, sizes)
    pairs = list(zip(text.split("\n"), rest.text.split("\n"), strict=True))
    assert all(new in {old, ""} for old, new in pairs)
    return [number for number, (old, new) in enumerate(pairs, 1) if old != new]


@pytest.mark.parametrize(
    "text",
    [
        "int main(void) { return 0; }",
        "main() { return 0; }",
        "void f() { float* d; cudaMalloc(&d, 4); }",
        "void f() { cudaMemcpy(a, b, 4, cudaMemcpyHostToDevice); }",
        "void f() { MatrixMulKernel<<<1, 1>>>(0, 0, 0, 1); }",
        'void f() { std::cout << "x"; }',
        "std::vector<float> a(3);",
        "using std::cout;",
        "static void check(cudaError_t e) { if (e) printf(1); }",
        "template <typename T> void check(T e) { if (e != cudaSuccess) exit(1); }",
        "struct Timer { cudaEvent_t start; void go() { cudaEventRecord(start); } };",
        "void launch(cudaStream_t stream);",
        'extern "C" int main() { return 0; }',
    ],
)
def test_a_host_declaration_is_left_out_with_a_remark(text):
    source = taken(f"{text}\n{KERNEL}")
    assert source.text == f"\n{KERNEL}"
    (remark,) = source.warnings
    assert (remark.line, remark.severity) == (1, Severity.WARNING)
    assert "in line 1 isn't graded" in remark.message


def test_the_remark_has_the_lines_of_all_host_code():
    check = "void check(cudaError_t e) {\n}\n"
    (remark,) = taken(check + KERNEL + MAIN).warnings
    assert remark.message.startswith("Host code in lines 1 to 2 and 4 to 6 isn't graded.")
    (remark,) = taken(KERNEL + MAIN).warnings
    assert remark.message.startswith("`main` in lines 2 to 4 isn't graded.")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("int main() {\n#if DEBUG\n  f();\n#else\n  g();\n#endif\n#pragma unroll\n}\n", range(1, 9)),
        ("int a;\n/* one\n two */\nint main() {\n  /* three\n */\n}\nint b;\n", range(4, 8)),
        ("#define CHECK(x) \\\n  x \\\n  y\n// done\nint main() {\n}\n", range(5, 7)),
        ("#ifdef A\nint main() {\n}\n#endif\n", range(2, 4)),
        ("namespace n {\nint main() {\n}\n}\n", range(2, 4)),
        ('int main() {\n  puts("{ /* ");  // }\n}\nint b;\n', range(1, 4)),
        ("int main() {\n  char c = '}';\n  s = R\"(\n}\n)\";\n}\nint b;\n", range(1, 7)),
    ],
)
def test_what_a_declaration_holds_goes_with_it(text, lines):
    assert lines_left_out(text) == list(lines)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("int main() { } int b;\n", id="another declaration on its line"),
        pytest.param("int main() {\n} /* more\n */\n", id="a comment that goes on"),
        pytest.param("/*\n*/ int main() {\n}\n", id="a comment that ends there"),
        pytest.param("int main() {\n} \\\n\n", id="a joined line"),
        pytest.param("int main() {\n#define N 4\n}\n", id="a macro"),
        pytest.param("int main() {\n#include <stdio.h>\n}\n", id="an include"),
        pytest.param("#if A\nint main() {\n#else\nint main(int n) {\n#endif\n}\n", id="two heads"),
        pytest.param("int main() {\n#if A\n}\n#else\n}\n#endif\n", id="two ends"),
        pytest.param("#if A\nint main() {\n#endif\n}\n", id="a condition that ends there"),
        pytest.param("int main() {\n  f(\n", id="no end"),
        pytest.param("__device__ void f() {\n  cudaMalloc();\n}\n", id="device code"),
        pytest.param("#define GPU __device__\nGPU void f() {\n  cudaMalloc();\n}\n", id="device code of a macro"),
        pytest.param("#define A __global__\n#define B A\nB void main() {\n}\n", id="device code of two macros"),
        pytest.param("// int main() { }\n", id="a comment"),
        pytest.param('const char* s = "int main() { cudaMalloc(); }";\n', id="a string"),
        pytest.param("#if 0\nint main() { }\n#endif\n", id="skipped code"),
        pytest.param("void plain(float* a) {\n  a[0] = 1;\n}\n", id="a plain function"),
        pytest.param("const int cudaTile = 16;\n", id="an own name"),
    ],
)
def test_only_whole_declarations_of_host_code_are_left_out(text):
    assert lines_left_out(text) == []


def test_the_rules_hold_for_the_text_that_is_left():
    text = 'int main() {\n  puts("/*");\n}\n#include "/etc/passwd"\n'
    assert lines_left_out(text) == [1, 2, 3]
    assert leave_out(text, ()).text.split("\n")[3] == '#include "/etc/passwd"'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("#define N 4\n#define M 5\nint a = N;\n", [1]),
        ("#ifdef A\n#define N 4\n#else\n#  define N 5 // five\n#endif\n", [2, 4]),
        ("#ifndef N\n#define N 4\n#endif\n", []),
        ("#define N 4 \\\n + 3\n", []),
        ("#define N 4 /*\n*/\n", []),
        ("constexpr int N = 4;\nconst int K = N, L = 3;\n", [1]),
        ("const int N = 4, K = 3;\n", []),
        ("int N = 4;\n", []),
        ("enum { N = 4 };\n", []),
    ],
)
def test_size_macros_are_left_out_line_by_line(text, lines):
    assert lines_left_out(text, "N") == lines
