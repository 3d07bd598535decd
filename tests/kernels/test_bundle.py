from __future__ import annotations

import pytest

from kernels.compile.bundle import header_folder, header_texts
from kernels.compile.compilation import DEFAULT_ARCH, Compilation, compile_source
from kernels.source.headers import HEADERS, HeaderKind
from tests.marks import some_of

KERNEL = "__global__ void K(float *P) { P[threadIdx.x] = 1; }\n"
# These take seconds each to compile; two of them stand for the rest, which share their headers.
SLOW = tuple(name for name in HEADERS if name.startswith(("cuda/", "cooperative_groups")))
QUICK = tuple(name for name in HEADERS if name not in SLOW)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def compiles(text, cache) -> bool:
    return isinstance(compile_source(text, "K", DEFAULT_ARCH, {}, True, headers=header_texts(text, cache)), Compilation)


@pytest.mark.one_in(4, "a quarter of those that are quick")
@pytest.mark.parametrize(
    "name", some_of([*QUICK, "cuda/barrier", "cooperative_groups.h"], 6, str, "the short suite has one of six headers")
)
def test_every_allowed_header_can_be_included(name, cache):
    assert compiles(f"#include <{name}>\n{KERNEL}", cache)


@pytest.mark.long("the short suite includes them one by one")
def test_all_allowed_headers_together(cache):
    assert compiles("".join(f'#include "{name}"\n' for name in HEADERS) + KERNEL, cache)


def test_device_code_of_a_real_header_works(cache):
    text = "#include <cuda_fp16.h>\n__global__ void K(float *P) { P[0] = __half2float(__float2half(P[1])); }\n"

    assert compiles(text, cache)


def test_a_source_that_needs_no_real_header_leaves_the_cache_alone(tmp_path):
    texts = header_texts('#include <stdio.h>\n#include "cuda_runtime.h"\n', tmp_path)

    assert {"stdio.h", "cuda_runtime.h"} <= set(texts)
    assert not list(tmp_path.iterdir())


def test_the_headers_are_unpacked_once(cache):
    folder = header_folder(cache)
    before = (folder / "cuda_fp16.h").stat().st_mtime_ns

    assert header_folder(cache) == folder
    assert (folder / "cuda_fp16.h").stat().st_mtime_ns == before


@pytest.mark.long("the short suite includes some of them")
def test_every_real_header_is_in_the_bundle(cache):
    for name, kind in HEADERS.items():
        if kind is HeaderKind.REAL:
            assert header_texts(f"#include <{name}>", cache)[name]
