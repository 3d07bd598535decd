"""Declarations that nvcc provides before the first line of a file, and NVRTC doesn't.

nvcc works with a host compiler. Its headers declare integer types and overloads of mathematical functions for whole
numbers. NVRTC has neither, so `ceil(Width / TILE_WIDTH)` is ambiguous, and `uint`, `uint32_t` and `std::size_t` are
unknown. Files that nvcc accepts must compile here too. The compiler gets these declarations in memory, as a separate
header before the file. All line numbers stay the same.

The templates cover only calls that NVRTC finds ambiguous: whole numbers, and a float with a double. A student's
function of the same name isn't a template and has precedence.
"""

from __future__ import annotations

# An absolute name, so machine code doesn't depend on the compiler's directory.
NAME = "/tilelab_prelude.h"

_INTEGERS = (
    "bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int",
    "long", "unsigned long", "long long", "unsigned long long",
)  # fmt: skip
_OF_ONE = (
    "ceil", "floor", "round", "trunc", "rint", "fabs", "sqrt", "cbrt", "exp", "exp2", "log", "log2", "log10",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
)  # fmt: skip
_TYPES = {
    "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long",
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
    "uint64_t": "unsigned long long", "intptr_t": "long long", "uintptr_t": "unsigned long long",
}  # fmt: skip
_IN_STD = (*(name for name in _TYPES if name.endswith("_t")), "size_t", "ptrdiff_t")
_OF_TWO = ("pow", "fmod", "atan2", "hypot", "fmax", "fmin")


def _text() -> str:
    """The header. Its names are reserved, so macros of exercises and students don't clash with them."""
    lines = [
        "#pragma once",
        *(f"typedef {meaning} {name};" for name, meaning in _TYPES.items()),
        f"namespace std {{ {' '.join(f'using ::{name};' for name in _IN_STD)} typedef decltype(nullptr) nullptr_t; }}",
        "template <typename> struct __tilelab_whole { enum { value = 0 }; };",
        "template <bool> struct __tilelab_double {};",
        "template <> struct __tilelab_double<true> { typedef double type; };",
        "template <typename __a, typename __b>",
        "struct __tilelab_two : __tilelab_double<__tilelab_whole<__a>::value && __tilelab_whole<__b>::value> {};",
        "template <> struct __tilelab_two<float, double> : __tilelab_double<true> {};",
        "template <> struct __tilelab_two<double, float> : __tilelab_double<true> {};",
    ]
    lines += [
        f"template <> struct __tilelab_whole<{name}> {{ enum {{ value = 1 }}; }};" for name in _INTEGERS
    ]
    lines += [
        "template <typename __a> __device__ __forceinline__"
        f" typename __tilelab_double<__tilelab_whole<__a>::value>::type {name}(__a __x)"
        f" {{ return {name}((double)__x); }}"
        for name in _OF_ONE
    ]
    lines += [
        "template <typename __a, typename __b> __device__ __forceinline__"
        f" typename __tilelab_two<__a, __b>::type {name}(__a __x, __b __y)"
        f" {{ return {name}((double)__x, (double)__y); }}"
        for name in _OF_TWO
    ]
    return "\n".join([*lines, ""])


TEXT = _text()
