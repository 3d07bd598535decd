"""What files of courses include and use beside device code: it compiles, or its name and header are told."""

from __future__ import annotations

import pytest

from kernels.compile.compilation import Compilation, compile_source
from kernels.source.headers import HEADERS, HeaderKind, header_text
from kernels.verdict import Finding, Verdict

SUPPLIED = {name: header_text(name) for name, kind in HEADERS.items() if kind is HeaderKind.EMPTY}


def compiled(text: str) -> Compilation | tuple[Finding, ...]:
    return compile_source(text, "K", "sm_90", {}, True, headers=SUPPLIED)


def refused(text: str) -> tuple[Finding, ...]:
    result = compiled(text)
    assert isinstance(result, tuple)
    return result


def in_kernel(code: str, before: str = "") -> str:
    return f"{before}\n__global__ void K(float* P, int n) {{\n{code}\n}}\n"


@pytest.mark.parametrize(
    "code",
    [
        "std::size_t i = n; std::ptrdiff_t j = -1; P[i] = j;",
        "std::uint32_t i = n; std::int8_t j = -1; uint64_t k = 1; uintptr_t q = (uintptr_t)P; P[i] = j + k + q;",
        "using namespace std; size_t i = n; uint8_t j = 3; P[i] = j;",
    ],
)
def test_integer_types_need_no_header(code):
    assert isinstance(compiled(in_kernel(code)), Compilation)


def test_limits_are_those_of_the_numbers():
    code = """
    static_assert(std::numeric_limits<int>::max() == 0x7fffffff && std::numeric_limits<int>::min() == INT_MIN, "");
    static_assert(std::numeric_limits<unsigned>::max() == 0xffffffffu && !std::numeric_limits<unsigned>::is_signed, "");
    static_assert(std::numeric_limits<long long>::lowest() == LLONG_MIN, "");
    static_assert(std::numeric_limits<const float>::max() == FLT_MAX && std::numeric_limits<float>::digits == 24, "");
    static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX && std::numeric_limits<float>::min() == FLT_MIN, "");
    static_assert(std::numeric_limits<double>::epsilon() == DBL_EPSILON, "");
    static_assert(std::numeric_limits<float>::infinity() > FLT_MAX, "");
    static_assert(std::numeric_limits<char>::max() == 127 && std::numeric_limits<unsigned char>::digits == 8, "");
    float worst = -std::numeric_limits<float>::infinity();
    P[0] = fmaxf(worst, P[1]) + std::numeric_limits<float>::quiet_NaN();"""
    made = compiled(in_kernel(code, "#include <limits>\n#include <cfloat>\n#include <climits>"))
    assert isinstance(made, Compilation), made
    assert made.diagnostics == ()


@pytest.mark.one_in(3, "a third of the ways to write it")
@pytest.mark.parametrize(
    ("before", "use"),
    [
        ("constexpr int twice(int x) { return 2 * x; }", "__shared__ float a[twice(4)]; a[n] = 1; P[0] = a[0];"),
        ("constexpr int twice(int x) { return 2 * x; }", "P[0] = twice(n);"),
        ("static inline constexpr int\ntwice(int x)\n{ return 2 * x; }", "P[0] = twice(n);"),
        ("template <int N> constexpr int twice() { return 2 * N; }", "P[0] = twice<4>();"),
        ("struct S { constexpr int twice(int x) const { return 2 * x; } };", "P[0] = S().twice(n);"),
        ("constexpr int one = 1; constexpr int twice(int x) { return 2 * x; }", "P[0] = twice(one);"),
        ("constexpr int f(int x) { return x; }\nvoid host() { rand(); }", "P[0] = f(n);"),
    ],
)
def test_a_constexpr_function_needs_no_mark(before, use):
    made = compiled(in_kernel(use, before))
    assert isinstance(made, Compilation), made


def test_the_macros_of_wb_do_nothing_and_may_be_defined_again():
    text = in_kernel(
        "P[n] = 1;",
        '#include "wb.h"\n#define wbCheck(stmt) do { if (stmt) wbLog(ERROR, #stmt); } while (0)\n'
        'void run() { wbArg_t args; wbTime_start(GPU, "copy"); wbTime_stop(GPU, "copy"); wbLog(TRACE, "n", 1); }',
    )
    made = compiled(text)
    assert isinstance(made, Compilation), made
    assert made.diagnostics == ()


@pytest.mark.one_in(3, "a third of the names")
@pytest.mark.parametrize(
    ("code", "name", "header"),
    [
        ("P[0] = std::accumulate(P, P + n, 0.0f);", "std::accumulate", "<numeric>"),
        ("std::array<float, 4> a; P[0] = a[0];", "std::array", "<array>"),
        ("P[0] = std::max(n, 1);", "std::max", "<algorithm>"),
        ("std::function<int(int)> f; P[0] = f(1);", "std::function", "<functional>"),
        ("curandState state; curand_init(1, 2, 3, &state);", "curandState", "<curand_kernel.h>"),
        ("P[0] = omp_get_thread_num();", "omp_get_thread_num", "<omp.h>"),
        ("thrust::fill(P, P + n, 0);", "thrust::fill", "<thrust/...>"),
        ("wbFile_open(P);", "wbFile_open", "<wb.h>"),
        ("checkCudaErrors(n);", "checkCudaErrors", "<helper_cuda.h>"),
    ],
)
def test_what_a_stand_in_lacks_is_named_with_its_header(code, name, header):
    first, *_ = refused(in_kernel(code, "#include <bits/stdc++.h>\n#include <thrust/fill.h>"))
    assert (first.kind, first.line) == (Verdict.COMPILE_ERROR, 4)
    assert f"`{name}` comes from `{header}`" in first.message


@pytest.mark.one_in(3, "a third of the functions")
@pytest.mark.parametrize("name", ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__any", "__all", "__ballot"])
def test_a_function_of_a_warp_without_mask_is_named_with_its_successor(name):
    arguments = "n" if name in {"__any", "__all", "__ballot"} else "n, 1"
    first, *_ = refused(in_kernel(f"P[0] = {name}({arguments});"))
    assert f"`{name}_sync(0xffffffff, ...)`" in first.message


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(
    ("before", "use", "name", "line"),
    [
        ("\n__device__ float helper(float);", "P[0] = helper(P[0]);", "helper", 2),
        ("template <int T>\n__device__ float helper(float);", "P[0] = helper<3>(P[0]);", "helper", 2),
        ("namespace a { __device__ float helper(); }", "P[0] = a::helper();", "helper", 1),
        ('extern "C" __device__ float helper();', "P[0] = helper();", "helper", 1),
        ("struct S {\n__device__ float helper(); };", "S s; P[0] = s.helper();", "helper", 2),
        ("extern __device__ float table[];", "P[0] = table[n];", "table", 1),
    ],
)
def test_what_is_declared_and_never_defined_is_named_with_its_line(before, use, name, line):
    (finding,) = refused(in_kernel(use, before))
    assert (finding.kind, finding.line) == (Verdict.COMPILE_ERROR, line)
    assert f"`{name}` is declared at line {line} but never defined" in finding.message


@pytest.mark.parametrize(
    ("code", "place", "words"),
    [
        ("int\u00a0i = 0; P[i] = 1;", "Line 3, column 4", ("no-break space (U+00A0)", "ordinary space")),
        ("int i\u200b = 0; P[i] = 1;", "Line 3, column 6", ("zero-width space (U+200B)", "Delete")),
        ("printf(\u201chello\u201d);", "Line 3, column 8", ("quotation mark (U+201C)", '`"`')),
        ("/* \u2013 */ P[0] = 1 \u2013 2;", "Line 3, column 18", ("en dash (U+2013)", "`-`")),
        ("P[0] = 1\uff1b", "Line 3, column 9", ("full-width `;` (U+FF1B)", "Type `;`")),
        ("P[0] = \\\n 1 \u00d7 2;", "Line 4, column 4", ("multiplication sign", "`*`")),
        ("int h\u00f6he = 1; P[0] = 2;", "Line 3, column 6", ("small letter o with diaeresis", "letters a to z")),
    ],
)
def test_a_character_that_no_compiler_reads_is_named_with_its_place(code, place, words):
    (finding,) = refused(in_kernel(code))
    assert finding.kind is Verdict.COMPILE_ERROR
    assert finding.message.startswith(place)
    assert f"line {finding.line}," in finding.message.lower()
    assert all(each in finding.message for each in words), finding.message
