"""What a submission may not hold: host code and headers that are not on the list."""

from __future__ import annotations

import pytest

from kernels.source.headers import HEADERS, HeaderKind, header_text
from kernels.source.rules import FORBIDDEN_INCLUDE
from kernels.verdict import Severity
from tests.kernels.readings import KERNEL, only, refused, taken

# --- Host code


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("int main(void) { return 0; } __device__ int a;\n", "`main`"),
        ("__device__ void f() { float* d; cudaMalloc(&d, 4); }\n", "`cudaMalloc`"),
        ("__device__ void f() { cudaMemcpy(a, b, 4, cudaMemcpyHostToDevice); }\n", "`cudaMemcpy`"),
        ("__device__ void f() { MatrixMulKernel<<<1, 1>>>(0, 0, 0, 1); }\n", "`<<<...>>>`"),
        ('__device__ void f() { std::cout << "x"; }\n', "`std::cout`"),
        ("std::vector<float> a(3); __device__ int b;\n", "`std::vector`"),
    ],
)
def test_host_code_among_device_code_is_refused_and_says_how_to_keep_it(text, what):
    finding = only(KERNEL + text)
    assert finding.line == 2
    assert what in finding.message
    assert "#ifndef TILELAB" in finding.message


def test_what_cuda_has_of_the_standard_library_is_device_code():
    text = "__device__ void f() { cuda::std::chrono::nanoseconds t(1); }\n"
    assert taken(f"#include <cuda/std/chrono>\n{KERNEL}{text}")


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
    (remark,) = taken(KERNEL + guard.format("int main() { return 0; }\n")).warnings
    assert "`main`" in remark.message


def test_words_of_host_code_in_comments_strings_and_names_are_fine():
    taken(
        "// int main() { cudaMalloc(); } k<<<1,1>>>\n"
        '__device__ const char* s = "int main() <<<>>> cudaMalloc(";\n'
        "__device__ int main_loop, cudaMallocated;\n" + KERNEL
    )


@pytest.mark.parametrize("end", ["std", "std ::"])
def test_a_file_may_end_within_a_name(end):
    taken(KERNEL + end)


# --- Includes


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_every_listed_header_may_be_included_either_way(name):
    taken(f'#include <{name}>\n  #  include "{name}"  // why\n' + KERNEL)


@pytest.mark.parametrize(
    "include",
    [
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
        "#define S(...) #__VA_ARGS__\nconst char* s = S(\n#include <no header>\n);",
        "#if DEBUG\n#include <no header>\n#endif",
    ],
)
def test_an_include_in_an_unusual_form_gets_one_message(include):
    assert {finding.message for finding in refused(include + "\n" + KERNEL)} == {FORBIDDEN_INCLUDE}


@pytest.mark.parametrize(
    "include",
    [
        "#include </etc/passwd>",
        '#include "/etc/passwd"',
        '#include "/no/such/file"',
        "#include <my.h>",
        '#include "../stdio.h"',
        "#include <cub/block/block_reduce.cuh>",
        "#include <cuda/std/span>",
    ],
)
def test_a_header_that_is_not_on_the_list_is_named(include):
    name = include.split()[1].strip('<>"')
    assert f"`{name}` isn't on Tilelab's list" in only(include + "\n" + KERNEL).message


@pytest.mark.parametrize("name", ["uint32_t", "uint8_t", "uintptr_t"])
@pytest.mark.parametrize("include", ["", "#include <stdio.h>\n#include <cuda_fp16.h>\n"])
def test_a_type_that_nvcc_knows_only_with_a_header_gets_a_remark(name, include):
    source = taken(f"{include}__device__ {name} extra;\n{KERNEL}")
    (remark,) = source.warnings
    assert (remark.severity, remark.line) == (Severity.WARNING, include.count("\n") + 1)
    assert f"`{name}`" in remark.message


@pytest.mark.parametrize(
    "before",
    [
        "#include <stdint.h>",
        "#include <cstdint>",
        "#include <cuda/atomic>",
        "#include <iostream>",
        "typedef unsigned uint32_t;",
        "using uint32_t = unsigned;",
    ],
)
def test_no_remark_if_the_type_may_come_from_the_file(before):
    assert taken(f"{before}\n__device__ uint32_t extra;\n{KERNEL}").warnings == ()


@pytest.mark.parametrize("name", ["int32_t", "int64_t", "uint", "size_t"])
def test_no_remark_on_a_type_that_nvcc_knows(name):
    assert taken(f"__device__ {name} extra;\n{KERNEL}").warnings == ()


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


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\n#include \u201cwb.h\u201d\n" + KERNEL, "Line 2, column 10"),
        ("#include <stdio.h\uff1e\n" + KERNEL, "Line 1, column 18"),
        (KERNEL.replace("Matrix", "Matrix\u200b"), "Line 1, column 23"),
        (KERNEL.replace("Matrix", "\uff2datrix"), "Line 1, column 17"),
    ],
)
def test_a_header_or_a_kernel_with_a_character_that_looks_like_another(text, place):
    assert only(text).message.startswith(place)


def test_a_program_is_told_once_what_to_do_with_its_main():
    text = (
        KERNEL
        + "int main() {\n float* d; cudaMalloc(&d, 4); MatrixMulKernel<<<1, 1>>>(d, d, d, 1); cudaFree(d);\n"
        + "} __device__ int a;\n"
    )
    finding = only(text)
    assert finding.line == 2
    assert "Remove `main`, or put your host code between `#ifndef TILELAB` and `#endif`." in finding.message
