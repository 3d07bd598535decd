from __future__ import annotations

from pathlib import Path

import pytest

from kernels.compile import system_calls
from kernels.compile.compilation import Compilation, compile_source
from kernels.verdict import Verdict

CALLS = """__global__ void K(float *p) {
    assert(p[0] != 7);
    if (p[0] > 1) printf("%d %s\\n", (int)p[0], (char *)p);
}
"""
PIECED_TOGETHER = """#define JOIN(a, b) a##b
__global__ void K(float *p) { JOIN(pri, ntf)("%s", (char *)p); }
"""
OWN_BODY = """__global__ void K(float *p) {
    asm volatile("/*\\n.func (.param .b32 func_retval0) vprintf(\\n{ */");
    printf("a");
    p[0] = 1;
    asm volatile("/* ret;\\n}\\n */");
}
"""


def compiled(text, arch="sm_90"):
    return compile_source(text, "K", arch, {}, True, kernels=("K",))


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_what_a_kernel_prints_is_left_to_no_driver_and_known_to_the_cpu_device(arch):
    made = compiled(CALLS, arch)

    assert isinstance(made, Compilation), made
    assert system_calls.refused(made.cubin) is None
    assert made.ptx.count(".extern .func") == made.ptx.count(".func") == 2


def test_a_name_that_a_macro_pieces_together_is_found_in_the_machine_code():
    made = compiled(PIECED_TOGETHER)

    assert isinstance(made, Compilation), made
    assert not system_calls.missing(made.cubin)
    assert ".extern .func  (.param .b32 func_retval0) vprintf" in made.ptx


def test_code_between_forged_ends_of_a_definition_stays():
    made = compiled(OWN_BODY)

    assert isinstance(made, Compilation), made
    assert "st.global" in made.ptx


@pytest.mark.parametrize("name", ["vfprintf", "__cuda_syscall_anything"])
def test_other_functions_of_the_driver_are_refused_on_their_line(name):
    text = f'extern "C" __device__ int {name}(float *);\n__global__ void K(float *p) {{ {name}(p); }}\n'
    (finding,) = compiled(text)

    assert (finding.kind, finding.line) == (Verdict.REJECTED, 1)


def test_memory_of_the_device_may_be_asked_for():
    made = compiled("__global__ void K(float **p) { *p = (float *)malloc(4); free(p[1]); }")

    assert isinstance(made, Compilation), made


def test_machine_code_names_no_folder_of_this_machine():
    for text in (CALLS, "__global__ void K(float *p) { p[0] = ceil(3 + (int)p[1]); }"):
        made = compiled(text)
        assert isinstance(made, Compilation), made
        assert str(Path.cwd()).encode() not in made.cubin
