"""Declarations that nvcc provides before the first line of a file, and NVRTC doesn't.

nvcc works with a host compiler. Its headers declare integer types and overloads of mathematical functions for whole
numbers. NVRTC has neither, so `ceil(Width / TILE_WIDTH)` is ambiguous, and `uint`, `uint32_t` and `std::size_t` are
unknown. The macros of `math.h`, `stdlib.h` and `limits.h` are missing too.

Files that nvcc accepts must compile here too. The compiler gets these declarations in memory, as a separate header
before the file. All line numbers stay the same.

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

# Integers are spelled as in CUDA's own headers, so a file may include both without a redefinition.
_MACROS = {
    "CHAR_BIT": "8", "SCHAR_MIN": "(-128)", "SCHAR_MAX": "127", "UCHAR_MAX": "255",
    "CHAR_MIN": "SCHAR_MIN", "CHAR_MAX": "SCHAR_MAX",
    "SHRT_MIN": "(-SHRT_MAX - 1)", "SHRT_MAX": "0x7fff", "USHRT_MAX": "0xffff",
    "INT_MIN": "(-INT_MAX - 1)", "INT_MAX": "0x7fffffff", "UINT_MAX": "0xffffffff",
    "LONG_MIN": "(-LONG_MAX - 1)", "LONG_MAX": "LLONG_MAX", "ULONG_MAX": "ULLONG_MAX",
    "LLONG_MIN": "(-LLONG_MAX - 1)", "LLONG_MAX": "0x7fffffffffffffffLL", "ULLONG_MAX": "0xffffffffffffffffUL",
    "INFINITY": "__builtin_bit_cast(float, 0x7f800000)", "NAN": "__builtin_bit_cast(float, 0x7fffffff)",
    "HUGE_VALF": "__builtin_bit_cast(float, 0x7f800000)",
    "HUGE_VAL": "((double)__builtin_bit_cast(float, 0x7f800000))", "MAXFLOAT": "3.40282347e+38F",
    "FP_NAN": "0", "FP_INFINITE": "1", "FP_ZERO": "2", "FP_SUBNORMAL": "3", "FP_NORMAL": "4",
    "M_E": "2.7182818284590452354", "M_LOG2E": "1.4426950408889634074", "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942", "M_LN10": "2.30258509299404568402", "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923", "M_PI_4": "0.78539816339744830962", "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308", "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880", "M_SQRT1_2": "0.70710678118654752440",
    "RAND_MAX": "2147483647", "EXIT_SUCCESS": "0", "EXIT_FAILURE": "1", "CLOCKS_PER_SEC": "((clock_t)1000000)",
    "offsetof(type, member)": "__builtin_offsetof(type, member)",
}  # fmt: skip
MACROS = frozenset(name.partition("(")[0] for name in _MACROS)


def _text() -> str:
    """The header. Its names are reserved, so macros of exercises and students don't clash with them."""
    lines = [
        "#pragma once",
        *(f"#define {name} {meaning}" for name, meaning in _MACROS.items()),
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
    lines += [f"template <> struct __tilelab_whole<{name}> {{ enum {{ value = 1 }}; }};" for name in _INTEGERS]
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
