"""The headers that a submission may include, and their text when Tilelab compiles it.

Course starter files include headers that only a host compiler has. Tilelab supplies short texts for them, so a file
that works with nvcc works here. Headers for device code come from the compiler's bundle. The source rules refuse all
other files with one message, which doesn't reveal the files on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from kernels.source.stand_ins import HOST, LIMITS, THRUST, WB


class HeaderKind(StrEnum):
    """The origin of an allowed header's text."""

    REAL = "real"  # in the compiler's bundle
    EMPTY = "empty"  # supplied by `header_text`: empty, or the few names that device code may use


_REAL = (
    "cooperative_groups.h",
    "cooperative_groups/memcpy_async.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cuComplex.h",
    "cuda/atomic",
    "cuda/barrier",
    "cuda/pipeline",
    "cuda/ptx",
    "cuda/std/array",
    "cuda/std/chrono",
    "cuda/std/cstddef",
    "cuda/std/cstdint",
    "cuda/std/limits",
    "cuda/std/type_traits",
    "cuda/std/utility",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_fp8.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "math_constants.h",
    "mma.h",
    "vector_types.h",
)

# Spelled as in the compiler's bundle, so a file may include both without a redefinition.
_INTEGER_TYPES = """#ifndef INT32_MAX
#define INT32_MAX INT_MAX
#define INT32_MIN INT_MIN
#define UINT32_MAX UINT_MAX
#define INT64_MAX LLONG_MAX
#define INT64_MIN LLONG_MIN
#define UINT64_MAX ULLONG_MAX
#define SIZE_MAX UINT64_MAX
#endif
"""

_FLOAT = """#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MAX 3.40282346638528859811704183484516925e+38f
#define FLT_MIN 1.17549435082228750796873653722224568e-38f
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MAX 1.79769313486231570814527423731704357e+308
#define DBL_MIN 2.22507385850720138309023271733240406e-308
#define DBL_EPSILON 2.22044604925031308084726333618164062e-16
#endif
"""

_CMATH = """#ifndef TILELAB_CMATH
#define TILELAB_CMATH
namespace std {
using ::abs; using ::fabs; using ::sqrt; using ::fma; using ::pow; using ::exp; using ::log;
using ::floor; using ::ceil; using ::sin; using ::cos;
}
#endif
"""

# The driver alone knows what the bytes of a tensor map mean.
_TENSOR_MAP = """#ifndef TILELAB_TENSOR_MAP
#define TILELAB_TENSOR_MAP
typedef struct CUtensorMap_st { alignas(64) unsigned long long opaque[16]; } CUtensorMap;
#endif
"""

_TEXTS = {
    "stdint.h": _INTEGER_TYPES,
    "cstdint": _INTEGER_TYPES,
    "inttypes.h": _INTEGER_TYPES,
    "float.h": _FLOAT,
    "cfloat": _FLOAT,
    "cmath": _CMATH,
    "cuda.h": _TENSOR_MAP,
    "cudaTypedefs.h": _TENSOR_MAP,
    "limits": LIMITS,
    "bits/stdc++.h": LIMITS + _INTEGER_TYPES + _CMATH,
    "wb.h": WB,
    **{f"thrust/{name}": "namespace thrust {}\n" for name in THRUST},
    "cub/cub.cuh": "namespace cub {}\n",
}

_CUDA_NUMBER = re.compile(r"CUDART_(?!VERSION|CB)[A-Z0-9_]+")
_DEFINING = ("float.h", "stdint.h", "cuda.h")

HEADERS: Mapping[str, HeaderKind] = MappingProxyType(
    dict.fromkeys(_REAL, HeaderKind.REAL) | dict.fromkeys((*HOST, *_TEXTS), HeaderKind.EMPTY)
)


def header_text(name: str) -> str:
    """The text of an allowed header of kind EMPTY for the compiler; usually it is empty."""
    if HEADERS.get(name) is not HeaderKind.EMPTY:
        raise KeyError(name)
    return _TEXTS.get(name, "")


def header_of(name: str) -> str:
    """The header that defines a macro or a type, such as `float.h` for `FLT_MAX`; "" for other names."""
    if _CUDA_NUMBER.fullmatch(name):
        return "math_constants.h"
    defined = re.compile(rf"^(?:#define {re.escape(name)}\b|typedef .*\b{re.escape(name)};$)", re.MULTILINE)
    return next((header for header in _DEFINING if defined.search(_TEXTS[header])), "") if name else ""
