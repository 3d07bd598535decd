"""The headers that Tilelab supplies: a starter file may include all of them, and gets the names it counts on."""

from __future__ import annotations

import pytest

from kernels.compile import bundle, nvrtc
from kernels.compile.compilation import Compilation, compile_source
from kernels.source.headers import HEADERS, HeaderKind, header_text
from tests.marks import some_of

SUPPLIED = {name: header_text(name) for name, kind in HEADERS.items() if kind is HeaderKind.EMPTY}
OWN = ["cuda_fp16.h", "cuda_pipeline.h", "mma.h", "cuda/std/cstdint"]
INCLUDES = "".join(f'#include <{name}>\n#include "{name}"\n' for name in SUPPLIED)
USES = """
__global__ void k(float* P, int n) {
    uint8_t small = 255; int64_t big = INT64_MAX; uintptr_t address = (uintptr_t)P; size_t size = SIZE_MAX;
    static_assert(INT_MIN + INT_MAX == -1 && UINT_MAX == 0xffffffffu && UINT32_MAX == UINT_MAX, "limits");
    static_assert(sizeof(int32_t) == 4 && sizeof(uint64_t) == 8 && CHAR_BIT == 8, "widths");
    static_assert(offsetof(float4, y) == 4, "offset");
    assert(n > 0);
    if (n < 0) printf("%d\\n", n);
    bool positive = true;
    P[0] = FLT_MAX + FLT_EPSILON + M_PI + INFINITY + NAN + std::sqrt(P[1]) + std::abs(n) + fmaxf(P[2], P[3]);
    P[1] = small + big + address + size + positive + std::fma(P[0], P[1], P[2]) + (P == NULL);
}
"""


@pytest.fixture(autouse=True)
def compiler():
    try:
        nvrtc.installed_version()
    except nvrtc.NVRTCUnavailable as error:
        pytest.skip(str(error))


def compiled(text, headers):
    result = compile_source(text, "k", "sm_90", {}, fmad=True, headers=headers)
    assert isinstance(result, Compilation), result
    return result


def test_the_supplied_headers_go_together_and_give_the_names_that_device_code_uses():
    assert compiled(INCLUDES + USES, SUPPLIED).diagnostics == ()


@pytest.mark.one_in(3, "a third, and all together")
@pytest.mark.parametrize("name", some_of(SUPPLIED, 10, str, "the short suite has a tenth, and all together"))
def test_each_supplied_header_stands_alone(name):
    text = f"#include <{name}>\n__global__ void k(float* P) {{ P[0] = 1; }}\n"
    assert compiled(text, {name: SUPPLIED[name]}).diagnostics == ()


@pytest.mark.parametrize("name", some_of(OWN, 2, str, "the short suite has every second"))
def test_supplied_headers_go_together_with_the_compilers_own(name, tmp_path):
    text = f"{INCLUDES}#include <{name}>\n{INCLUDES}{USES}"
    assert compiled(text, bundle.header_texts(text, tmp_path)).diagnostics == ()


def test_cudas_headers_unroll_their_type_lists_as_with_nvcc(tmp_path):
    text = (
        "#include <cuda/std/type_traits>\n"
        'static_assert(_CCCL_META_UNROLL_LIMIT <= 10, "the longest list that nvcc unrolls");\n'
        "__global__ void k(float* P) { P[0] = 1; }\n"
    )
    assert compiled(text, bundle.header_texts(text, tmp_path)).diagnostics == ()
