"""Short replacements for headers that only a host compiler has, and the names that they lack."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FLOATS = {
    "float": ("24", "6", "-125", "128", "1.17549435082228750796873653722224568e-38f",
              "3.40282346638528859811704183484516925e+38f", "1.19209289550781250000000000000000000e-7f", "0x7f800000",
              "0x7fc00000"),
    "double": ("53", "15", "-1021", "1024", "2.22507385850720138309023271733240406e-308",
               "1.79769313486231570814527423731704357e+308", "2.22044604925031308084726333618164062e-16",
               "0x7ff0000000000000LL", "0x7ff8000000000000LL"),
}  # fmt: skip
_INTEGERS = {
    "bool": ("1", "0", "false", "true"),
    "char": ("7", "2", "-0x7f - 1", "0x7f"),
    "signed char": ("7", "2", "-0x7f - 1", "0x7f"),
    "unsigned char": ("8", "2", "0", "0xff"),
    "short": ("15", "4", "-0x7fff - 1", "0x7fff"),
    "unsigned short": ("16", "4", "0", "0xffff"),
    "int": ("31", "9", "-0x7fffffff - 1", "0x7fffffff"),
    "unsigned int": ("32", "9", "0", "0xffffffffu"),
    "long": ("63", "18", "-0x7fffffffffffffffL - 1", "0x7fffffffffffffffL"),
    "unsigned long": ("64", "19", "0", "0xffffffffffffffffUL"),
    "long long": ("63", "18", "-0x7fffffffffffffffLL - 1", "0x7fffffffffffffffLL"),
    "unsigned long long": ("64", "19", "0", "0xffffffffffffffffULL"),
}


def _limits() -> str:
    """`std::numeric_limits` for the built-in numbers. The compiler needs 2 s for the real header."""
    lines = [
        "#ifndef TILELAB_LIMITS",
        "#define TILELAB_LIMITS",
        "namespace std {",
        "template <typename T> struct numeric_limits { static constexpr bool is_specialized = false; };",
        "template <typename T> struct numeric_limits<const T> : numeric_limits<T> {};",
    ]
    for name, (digits, digits10, low, high, least, most, epsilon, infinity, nan) in _FLOATS.items():
        members = {"min": least, "max": most, "lowest": f"-{most}", "epsilon": epsilon, "round_error": "0.5f"}
        members |= {
            which: f"__builtin_bit_cast({name}, {bits})" for which, bits in (("infinity", infinity), ("quiet_NaN", nan))
        }
        facts = {"digits": digits, "digits10": digits10, "min_exponent": low, "max_exponent": high}
        lines.append(_specialised(name, members, facts, whole=False, signed=True))
    for name, (digits, digits10, least, most) in _INTEGERS.items():
        members = {"min": least, "max": most, "lowest": least, "epsilon": "0"}
        facts = {"digits": digits, "digits10": digits10}
        signed = least.startswith("-")
        lines.append(_specialised(name, members, facts, whole=True, signed=signed))
    return "\n".join([*lines, "}", "#endif", ""])


def _specialised(name: str, members: Mapping[str, str], facts: Mapping[str, str], *, whole: bool, signed: bool) -> str:
    answers = {"is_specialized": True, "is_integer": whole, "is_exact": whole, "is_signed": signed,
               "is_iec559": not whole, "has_infinity": not whole, "has_quiet_NaN": not whole,
               "is_bounded": True}  # fmt: skip
    texts = [f"static constexpr bool {each} = {str(value).lower()};" for each, value in answers.items()]
    texts += [f"static constexpr int {each} = {value};" for each, value in facts.items()]
    texts += ["static constexpr int radix = 2;"]
    texts += [
        f"__device__ static constexpr {name} {each}() noexcept {{ return {value}; }}" for each, value in members.items()
    ]
    return f"template <> struct numeric_limits<{name}> {{ {' '.join(texts)} }};"


_WB_NOTHING = (
    "wbLog", "wbCheck", "wbAssert", "wbTime_start", "wbTime_stop", "wbSolution", "wbImport", "wbExport", "wbArg_read",
    "wbArg_getInputFile", "wbArg_getInputCount", "wbArg_getExpectedOutputFile", "wbArg_getOutputFile",
)  # fmt: skip

LIMITS = _limits()

# The pragma is for files of that course that define some of these macros.
WB = "\n".join(
    [
        "#pragma nv_diag_suppress 47",
        "#ifndef TILELAB_WB",
        "#define TILELAB_WB",
        *(f"#define {name}(...) ((void)0)" for name in _WB_NOTHING),
        "typedef struct { int argc; } wbArg_t;",
        "#endif",
        "",
    ]
)

NAMESPACES: Mapping[str, str] = {"thrust/": "thrust", "cub/": "cub"}
"""Folders of headers with only a namespace, so the compiler can name the missing members."""

THRUST = (
    "adjacent_difference.h", "binary_search.h", "complex.h", "copy.h", "count.h", "device_free.h", "device_malloc.h",
    "device_ptr.h", "device_vector.h", "execution_policy.h", "extrema.h", "fill.h", "for_each.h", "functional.h",
    "gather.h", "generate.h", "host_vector.h", "inner_product.h", "iterator/constant_iterator.h",
    "iterator/counting_iterator.h", "iterator/transform_iterator.h", "iterator/zip_iterator.h", "logical.h",
    "merge.h", "pair.h", "random.h", "reduce.h", "remove.h", "replace.h", "scan.h", "scatter.h", "sequence.h",
    "sort.h", "swap.h", "system/cuda/execution_policy.h", "transform.h", "transform_reduce.h", "transform_scan.h",
    "tuple.h", "unique.h",
)  # fmt: skip

HOST = (
    "algorithm", "any", "array", "atomic", "bitset", "builtin_types.h", "cassert", "cctype", "cerrno", "charconv",
    "chrono", "complex", "condition_variable", "cstdarg", "cstdio", "cstdlib", "cstring", "ctime", "deque",
    "exception", "filesystem", "format", "forward_list", "fstream", "functional", "future", "initializer_list",
    "iomanip", "ios", "iosfwd", "iostream", "istream", "iterator", "list", "locale", "map", "memory", "mutex", "new",
    "numeric", "optional", "ostream", "queue", "random", "ratio", "regex", "set", "span", "sstream", "stack",
    "stdexcept", "string", "string_view", "system_error", "thread", "tuple", "type_traits", "typeinfo",
    "unordered_map", "unordered_set", "utility", "valarray", "variant", "vector",
    "bits/stdc++.h",
    "climits", "cstddef", "limits.h", "math.h", "math_functions.h", "stddef.h",
    "assert.h", "conio.h", "ctype.h", "errno.h", "fcntl.h", "getopt.h", "locale.h", "malloc.h", "memory.h", "omp.h",
    "pthread.h", "signal.h", "stdarg.h", "stdbool.h", "stdio.h", "stdlib.h", "string.h", "strings.h", "sys/resource.h",
    "sys/stat.h", "sys/time.h", "sys/timeb.h", "sys/types.h", "time.h", "unistd.h", "windows.h",
    "crt/device_functions.h", "crt/host_defines.h", "cub/cub.cuh", "cublas.h", "cublas_v2.h",
    "cuda_device_runtime_api.h", "cuda_occupancy.h", "cuda_profiler_api.h", "cuda_runtime.h", "cuda_runtime_api.h",
    "curand.h", "curand_kernel.h", "cusparse.h", "device_atomic_functions.h", "device_functions.h",
    "device_launch_parameters.h", "driver_types.h", "helper_cuda.h", "helper_functions.h", "helper_image.h",
    "helper_string.h", "helper_timer.h", "host_config.h", "host_defines.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h",
    "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_intrinsics.h", "sm_35_intrinsics.h", "vector_functions.h",
)  # fmt: skip

_OF_STD = {
    "<algorithm>": "sort fill fill_n copy copy_n for_each transform find count swap min max min_element "
                   "max_element clamp reverse generate",
    "<array>": "array", "<atomic>": "atomic atomic_flag", "<bitset>": "bitset", "<complex>": "complex",
    "<deque>": "deque", "<functional>": "function plus minus multiplies less greater bind hash",
    "<list>": "list", "<map>": "map multimap", "<mutex>": "mutex lock_guard unique_lock",
    "<numeric>": "accumulate iota inner_product reduce partial_sum gcd lcm", "<optional>": "optional nullopt",
    "<queue>": "queue priority_queue", "<set>": "set multiset", "<span>": "span",
    "<stdexcept>": "runtime_error invalid_argument logic_error out_of_range exception", "<stack>": "stack",
    "<tuple>": "tuple make_tuple tie get", "<type_traits>": "is_same enable_if conditional is_same_v is_integral",
    "<unordered_map>": "unordered_map", "<unordered_set>": "unordered_set",
    "<utility>": "pair make_pair move forward", "<valarray>": "valarray", "<variant>": "variant",
    "<iostream>": "cout cerr cin endl", "<string>": "string to_string stoi", "<vector>": "vector",
    "<memory>": "unique_ptr shared_ptr make_unique make_shared", "<chrono>": "chrono", "<thread>": "thread",
    "<random>": "mt19937 random_device uniform_real_distribution uniform_int_distribution normal_distribution",
    "<limits>": "numeric_limits", "<string_view>": "string_view", "<iomanip>": "setw setprecision",
}  # fmt: skip
_HEADER_OF_STD = {name: header for header, names in _OF_STD.items() for name in names.split()}
_INSTEAD = {
    "std::min": "`min`", "std::max": "`max`", "std::swap": "a variable in between", "std::array": "a plain array",
    "std::numeric_limits": "`#include <limits>`", "std::is_same": "`<cuda/std/type_traits>`",
    "std::enable_if": "`<cuda/std/type_traits>`", "std::atomic": "`<cuda/atomic>`",
}  # fmt: skip
_PREFIXES = (
    (re.compile(r"curand[A-Z_]\w*"), "<curand_kernel.h>"),
    (re.compile(r"omp_\w+"), "<omp.h>"),
    (re.compile(r"wb[A-Z]\w*"), "<wb.h>"),
    (re.compile(r"cublas[A-Z]\w*"), "<cublas_v2.h>"),
    (re.compile(r"cusparse[A-Z]\w*"), "<cusparse.h>"),
    (re.compile(r"sdk\w+|checkCudaErrors|getLastCudaError|findCudaDevice"), "<helper_cuda.h>"),
    (re.compile(r"gettimeofday|timeval"), "<sys/time.h>"),
    (re.compile(r"s?rand|atoi|atof|exit|getenv"), "<stdlib.h>"),
    (re.compile(r"fprintf|sprintf|fopen|fclose|fscanf|scanf|getchar|stderr|stdout|FILE"), "<stdio.h>"),
    (re.compile(r"_?getch|_?kbhit"), "<conio.h>"),
    (re.compile(r"pthread_\w+"), "<pthread.h>"),
    (re.compile(r"nvtx\w+"), "<nvToolsExt.h>"),
    (re.compile(r"clock_gettime|timespec|time_t"), "<time.h>"),
)


def missing_header(name: str) -> str:
    """The header that declares a name missing in all stand-ins; "" for other names."""
    space, _, member = name.rpartition("::")
    if space == "std":
        return _HEADER_OF_STD.get(member, "")
    if space in NAMESPACES.values():
        return f"<{space}/...>"
    return next((header for pattern, header in _PREFIXES if pattern.fullmatch(name)), "")


def missing_sentence(name: str) -> str:
    """The advice for a name from a host header; "" for other names."""
    header = missing_header(name)
    if not header:
        return ""
    instead = f" Use {_INSTEAD[name]} in device code." if name in _INSTEAD else ""
    return (
        f"`{name}` comes from `{header}`. Tilelab compiles only device code, without this header.{instead} "
        "Put host code that needs it between `#ifndef TILELAB` and `#endif`."
    )
