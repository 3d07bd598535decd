"""What nvcc lets a kernel write, and NVRTC alone would not."""

from __future__ import annotations

import pytest

from kernels.compile import nvrtc, prelude
from kernels.compile.compilation import Compilation, compile_source
from kernels.verdict import Finding, Verdict

PLAIN = """__global__ void K(float *p, int a) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = p[a];
  __syncthreads();
  p[threadIdx.x] = sqrtf(tile[0]) + fmax(p[1], a);
}
"""


def kernel(expression: str) -> str:
    return f"__global__ void K(float *p, int a, unsigned b, float f, double d) {{\n  p[0] = {expression};\n}}\n"


def compiled(text: str, headers: dict[str, str] | None = None) -> Compilation | tuple[Finding, ...]:
    return compile_source(text, "K", "sm_90", {"TILE_WIDTH": "16"}, True, headers=headers)


@pytest.mark.one_in(3, "a third of the functions")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ceil(a / TILE_WIDTH)", "ceil((double)(a / TILE_WIDTH))"),
        ("floor(b)", "floor((double)b)"),
        ("sqrt(a)", "sqrt((double)a)"),
        ("fabs(a)", "fabs((double)a)"),
        ("pow(a, 2)", "pow((double)a, 2.0)"),
        ("pow(f, d)", "pow((double)f, d)"),
        ("fmax(a, 0)", "fmax((double)a, 0.0)"),
    ],
)
def test_whole_numbers_are_taken_as_doubles_as_in_cpp(written, meant):
    found, expected = compiled(kernel(written)), compiled(kernel(meant))
    assert isinstance(found, Compilation), found
    assert isinstance(expected, Compilation)
    assert found.resources == expected.resources
    assert _instructions(found.ptx) == _instructions(expected.ptx)


def _instructions(ptx: str) -> list[str]:
    """What the kernel does, without where in the source it stands."""
    code = ptx[ptx.index(".entry") : ptx.index("\n}")].splitlines()
    lines = (line.strip().split("//")[0].rstrip() for line in code)
    return [line for line in lines if line and not line.startswith((".loc", "$L"))]


@pytest.mark.parametrize("name", ["uint", "ushort", "ulong"])
def test_the_short_names_of_the_unsigned_types(name):
    assert isinstance(compiled(kernel(f"({name})a")), Compilation)


@pytest.mark.parametrize("own", ["typedef unsigned int uint;", "using uint = unsigned;", "#define uint unsigned"])
def test_a_file_may_name_them_itself(own):
    assert isinstance(compiled(f"{own}\n{kernel('(uint)a')}"), Compilation)


def test_a_function_of_the_students_own_comes_first():
    own = "__device__ int pow(int x, int n) { return n == 0 ? 1 : x * pow(x, n - 1); }\n"
    made = compiled(own + kernel("pow(a, 3)"))
    assert isinstance(made, Compilation), made
    assert not any(line.startswith("cvt.rn.f64") for line in _instructions(made.ptx))


def test_the_code_of_a_kernel_that_needs_none_of_it_is_the_same_to_the_last_byte():
    options = ["-arch=sm_90", "-lineinfo", "-std=c++17"]
    alone = nvrtc.run("/kernel.cu", PLAIN, options, {}, [])
    beside = nvrtc.run(
        "/kernel.cu", PLAIN, [*options, f"--pre-include={prelude.NAME}"], {prelude.NAME: prelude.TEXT}, []
    )
    assert alone.ok
    assert (alone.ptx, alone.cubin) == (beside.ptx, beside.cubin)


def test_lines_of_the_file_stay_where_they_are():
    refused = compiled(kernel("ceil(a) + nothing"))
    assert isinstance(refused, tuple)
    (error,) = refused
    assert (error.kind, error.line) == (Verdict.COMPILE_ERROR, 2)
    made = compiled(kernel("ceil(a)"))
    assert isinstance(made, Compilation)
    assert '.file\t1 "kernel.cu"' in made.ptx
    assert ".loc\t1 2" in made.ptx


LIMITS = "INT_MIN INT_MAX UINT_MAX SHRT_MAX LONG_MIN LONG_MAX ULONG_MAX LLONG_MAX ULLONG_MAX CHAR_BIT UCHAR_MAX"
REAL = "INFINITY NAN HUGE_VALF HUGE_VAL M_PI M_PI_2 M_E M_LN2 M_SQRT2 M_SQRT1_2 MAXFLOAT FP_NAN RAND_MAX CLOCKS_PER_SEC"


@pytest.mark.one_in(4, "a quarter of the names")
@pytest.mark.parametrize("name", [*LIMITS.split(), *REAL.split(), "(p == NULL)", "offsetof(float4, y)"])
def test_nvcc_knows_these_names_without_an_include(name):
    made = compiled(kernel(name))
    assert isinstance(made, Compilation), made


def test_infinity_is_a_constant():
    made = compiled(f"constexpr float least = -INFINITY;\n__constant__ float most = NAN;\n{kernel('least + most')}")
    assert isinstance(made, Compilation), made
    assert "0fFF800000" in made.ptx


def test_a_file_may_define_these_macros_itself():
    made, meant = (compiled(f"#define M_PI 2.0f\n#define INT_MAX 7\n{kernel('M_PI + INT_MAX')}"), compiled(kernel("9")))
    assert isinstance(made, Compilation), made
    assert isinstance(meant, Compilation)
    assert made.diagnostics == ()
    assert _instructions(made.ptx) == _instructions(meant.ptx)


def test_a_variable_with_the_name_of_such_a_macro_is_named():
    refused = compiled("__global__ void K(float *p) {\n  const float INFINITY = 1e9f;\n  p[0] = INFINITY;\n}\n")
    assert isinstance(refused, tuple)
    assert (refused[0].kind, refused[0].line) == (Verdict.COMPILE_ERROR, 2)
    assert "Rename yours" in refused[0].message


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("FLT_MAX", "float.h"),
        ("UINT32_MAX", "stdint.h"),
        ("CUDART_INF_F", "math_constants.h"),
        ("CUtensorMap{}.opaque[0]", "cuda.h"),
    ],
)
def test_a_name_that_nvcc_refuses_is_refused_with_its_header(name, header):
    refused = compiled(kernel(name))
    assert isinstance(refused, tuple)
    assert f"`#include <{header}>`" in refused[0].message
