from __future__ import annotations

import pytest

from kernels.compile import nvrtc
from kernels.compile.compilation import DEFAULT_ARCH, INCLUDE_MESSAGE, Compilation, compile_source
from kernels.exercise import find_exercise
from kernels.verdict import Finding, Severity, Verdict

SIGNATURE = "__global__ void K(float *M, float *N, float *P, int Width)"
TILED = f"""__device__ float bias[4];
{SIGNATURE} {{
  __shared__ float tile[256];
  tile[threadIdx.x] = M[threadIdx.x];
  __syncthreads();
  P[threadIdx.x] = tile[255 - threadIdx.x] * N[0] + bias[0];
}}
"""


def compiled(text, **options) -> Compilation:
    result = compile_source(text, "K", options.pop("arch", DEFAULT_ARCH), {}, options.pop("fmad", True), **options)
    assert isinstance(result, Compilation), result
    return result


def refused(text, **options) -> tuple[Finding, ...]:
    result = compile_source(text, "K", DEFAULT_ARCH, {}, True, **options)
    assert isinstance(result, tuple)
    return result


def test_one_compilation_gives_ptx_and_cubin_of_the_asked_architecture():
    made = compiled(TILED, symbols=("bias",))

    assert ".target sm_90" in made.ptx
    assert f".visible .entry {made.entry}(" in made.ptx
    assert made.cubin.startswith(b"\x7fELF")
    assert made.globals == {"bias": "bias"}


def test_the_figures_of_the_assembled_kernel():
    figures = compiled(TILED).resources

    assert figures.shared_bytes == 1024
    assert figures.barriers == 1
    assert 0 < figures.registers < 64
    assert figures.local_bytes == figures.spill_store_bytes == figures.spill_load_bytes == 0


def test_local_memory_is_counted():
    text = f"{SIGNATURE} {{ float a[1000]; for (int i = 0; i < Width; i++) a[i] = M[i]; P[0] = a[Width / 2]; }}"

    assert compiled(text).resources.local_bytes >= 4000


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_100", "sm_120", "sm_121"])
def test_every_architecture_from_75_to_121(arch):
    assert f".target {arch}" in compiled(TILED, arch=arch).ptx


@pytest.mark.parametrize("arch", ["sm_50", "sm_90 -G", "compute_90", "", "90"])
def test_an_architecture_that_the_compiler_does_not_know_is_an_error_of_the_caller(arch):
    with pytest.raises(ValueError, match="architecture"):
        compile_source(TILED, "K", arch, {}, True)


@pytest.mark.parametrize(
    ("line", "target"), [("// no wgmma here", "sm_90"), ('asm volatile("wgmma.fence.sync.aligned;");', "sm_90a")]
)
def test_only_code_with_the_instructions_of_hopper_gets_its_target(line, target):
    made = compile_source(f"__global__ void K(float* M) {{\n  {line}\n  M[0] = 1;\n}}", "K", "sm_90", {}, True)

    assert isinstance(made, Compilation)
    assert f".target {target}\n" in made.ptx


def test_no_output_names_a_directory():
    made = compiled(TILED)

    assert '.file\t1 "kernel.cu"' in made.ptx
    assert b"/home" not in made.cubin
    assert b"/tmp" not in made.cubin


def test_fusing_a_multiplication_and_an_addition_is_the_exercises_choice():
    text = f"{SIGNATURE} {{ P[0] = M[0] * N[0] + P[0]; }}"

    assert "fma.rn.f32" in compiled(text, fmad=True).ptx
    assert "fma.rn.f32" not in compiled(text, fmad=False).ptx


def test_the_registers_of_a_thread_can_be_limited():
    text = find_exercise("tiled").root.joinpath("ladder", "11_register_column.cu").read_text("utf-8")
    free, limited = (
        compile_source(text, "MatrixMulKernel", DEFAULT_ARCH, {}, True, max_registers=most) for most in (None, 32)
    )
    assert isinstance(free, Compilation)
    assert isinstance(limited, Compilation)
    assert limited.resources.registers <= 32 < free.resources.registers


def test_the_assembler_is_told_to_fuse_nothing(monkeypatch):
    """It may fuse what the PTX keeps apart, and the checked text would then not be what a GPU runs."""
    seen: list[str] = []
    real = nvrtc.run

    def listening(name, text, options, headers, expressions):
        seen.extend(options)
        return real(name, text, options, headers, expressions)

    monkeypatch.setattr("kernels.compile.compilation.nvrtc.run", listening)
    compiled(TILED)
    assert "--ptxas-options=-fmad=false" in seen


def test_defines_are_seen_and_tilelab_is_always_one_of_them():
    text = f"#ifndef TILELAB\n#error no\n#endif\n{SIGNATURE} {{ P[0] = TILE_WIDTH; }}"

    result = compile_source(text, "K", DEFAULT_ARCH, {"TILE_WIDTH": "16"}, True)

    assert isinstance(result, Compilation)


def test_warnings_stay_on_the_students_lines():
    made = compiled(f"{SIGNATURE} {{\n  int unused;\n  P[0] = 1;\n}}\n")

    (warning,) = made.diagnostics
    assert (warning.line, warning.column, warning.severity) == (2, 7, Severity.WARNING)


def test_a_shared_barrier_gets_no_warning_and_another_object_gets_one():
    barrier = "namespace cuda { struct barrier { __device__ barrier() {} }; }\n"
    own = "struct Own { int x; __device__ Own() : x(1) {} };\n"
    body = "  __shared__ cuda::barrier b;\n  __shared__ Own own;\n  P[0] = own.x + sizeof(b);\n"
    (warning,) = compiled(f"{barrier}{own}{SIGNATURE} {{\n{body}}}\n").diagnostics
    assert (warning.line, warning.severity) == (5, Severity.WARNING)


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("\n  int x = 3\n  P[0] = x;\n", 2, "`;` is missing"),
        ("\n  syncthreads();\n", 2, "Did you mean `__syncthreads`?"),
        ("\n\n  P[0] = TILE_WIDTH;\n", 3, "#define TILE_WIDTH 16"),
        ("\n  P[0] = A[0];\n", 2, "or use the parameter `M` or `N`."),
        ("\n  P[0] = TILE[0];\n", 2, "or use the parameter `M` or `N`."),
        ("\n  P[0] = M[0] * N[ROWS];\n", 2, "or use the parameter `Width`."),
        ("\n  P[Width] = M[0] * N[ROWS];\n", 2, "must be declared before this line."),
        ("\n  P[threadidx.x] = 1;\n", 2, "Did you mean `threadIdx`?"),
        ("\n  cudaMalloc(&P, 4);\n", 2, "Tilelab has the host code"),
        ("\n  int a; int a;\n", 2, "Rename one"),
        ("\n  P[0] = FLT_MAX;\n", 2, "Add `#include <float.h>`."),
        ("\n  P[0] = UINT32_MAX;\n", 2, "Add `#include <stdint.h>`."),
        ("\n  __syncthread();\n", 2, "Did you mean `__syncthreads`?"),
        ("\n  float Pvalue = 0;\n  P[0] = Pvaleu;\n", 3, "Did you mean `Pvalue`?"),
        ("\n  int Row = 0;\n  P[0] = row;\n", 3, "Did you mean `Row`?"),
        ("\n  float v[Width][Width];\n", 2, "`Width` is known only at run time"),
        ("\n  int T = 8;\n  float v[T];\n", 3, "`const int T = 8;`"),
        ("\n  __shared__ float s[4] = {0};\n", 2, "__shared__ variable. Let"),
        ("\n  if (Width > 1) {\n", 1, "Count the braces"),
    ],
)
def test_a_compile_error_names_the_line_and_what_to_try(body, line, words):
    first, *more = refused(f"{SIGNATURE} {{{body}}}\n")

    assert (first.line, first.message) not in {(each.line, each.message) for each in more}
    assert first.kind is Verdict.COMPILE_ERROR
    assert first.line == line
    assert words in first.message


@pytest.mark.parametrize(
    ("before", "value", "line", "words"),
    [
        ("int T = 8;", "T", 1, "`const int T = 8;`"),
        ("texture<float, 1> t;", "tex1Dfetch(t, 0)", 1, "no longer has texture references"),
        ("#define Width 8", "1", 2, "`Width` is already a macro (line 1)"),
    ],
)
def test_a_declaration_that_cant_be_compiled_is_explained(before, value, line, words):
    first = refused(f"{before}\n{SIGNATURE} {{ P[0] = {value}; }}\n")[0]

    assert (first.kind, first.line) == (Verdict.COMPILE_ERROR, line)
    assert words in first.message


HOST = """#include <stdlib.h>
float hostM[16];  // on the host
static int calls = 0, more;

void MatrixMulOnHost(float* M, float* N, float* P, int Width)
{
    for (int i = 0; i < Width; i++) {
        P[i] = M[i] * N[i] + rand();  /* what a device has not */
        #pragma unroll
        for (;;) { calls++; break; }
    }
}
namespace mine {
__host__ static inline double
now() { struct timeval t; gettimeofday(&t, 0); return t.tv_sec; }
template <class T> T twice(T x) { return 2 * x; }
}
extern "C" {
void show(float*, int n);
}
"""


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ("int i = threadIdx.x\nM[i] = 1;", [(2, 20)]),
        ("int i = 0   // first\n// a comment\n\n#define ONE 1\nM[i] = ONE;", [(2, 10)]),
        ("\tint i = /* \u00e4 */ 3 int k;", [(2, 19)]),
        ("int i = \\\n3\nM[i] = 1;", [(3, 2)]),
        ("M[0] = N[0]\nM[1] = N[1];\nM[2] = N[2]", [(2, 12), (4, 12)]),
        ("int i = 0\n__shared__ float s[9];", [(2, 10)]),
    ],
    ids=["previous-line", "comments-between", "same-line", "spliced-line", "several", "before-a-specifier"],
)
def test_a_missing_semicolon_is_marked_where_it_belongs(body, places):
    found = refused(f"{SIGNATURE} {{\n{body}\n}}\n")
    assert [(each.line, each.column) for each in found] == places


def test_a_compiler_error_has_its_column_in_characters_also_after_tabs():
    (found,) = refused(f"{SIGNATURE} {{\n\t/* \u00e4\U0001f600 */\tM[0] = unknown;\n}}\n")
    assert (found.line, found.column) == (2, 18)


def test_host_functions_that_the_kernel_does_not_need_are_left_out():
    made = compiled(HOST + TILED, headers={"stdlib.h": ""})

    assert made.entry == "_Z1KPfS_S_i"
    assert f".loc\t1 {HOST.count(chr(10)) + 4} " in made.ptx


@pytest.mark.parametrize(
    ("helper", "use", "line"),
    [
        ("float\nhelper(float x) { return x; }", "helper(M[0])", 2),
        ("template <int T> float helper(float x) { return x + T; }", "helper<3>(M[0])", 1),
        ("\nfloat table[4], other;", "table[1]", 2),
        ("void unused() {}\nfloat n = 3;", "n", 2),
        ("__host__ float helper(float x) { return x; }", "helper(M[0])", 1),
    ],
)
def test_a_host_declaration_that_the_kernel_needs_is_an_error_where_it_stands(helper, use, line):
    (finding,) = refused(f"{helper}\n{SIGNATURE} {{\n P[0] = {use};\n}}\n")

    assert (finding.kind, finding.line) == (Verdict.COMPILE_ERROR, line)
    assert "Tilelab compiles only device code" in finding.message
    assert "`__device__`" in finding.message
    assert "#ifndef TILELAB" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        f"void f() {{}} {SIGNATURE} {{ P[0] = 1; }}",
        f"struct Timer {{\n  void start() {{}}\n}};\n{SIGNATURE} {{ P[0] = 1; }}",
        f"void f() {{\n#define COUNT 3\n}}\n{SIGNATURE} {{ P[0] = COUNT; }}",
        f"void f() {{\n}} /* a\n */ {SIGNATURE} {{ P[0] = 1; }}",
    ],
)
def test_a_host_function_that_cannot_be_taken_out_says_what_to_do(text):
    (finding,) = refused(text)

    assert "put it between `#ifndef TILELAB` and `#endif`" in finding.message


def test_what_is_no_declaration_is_not_taken_for_the_hosts():
    first = refused(f"note this\nfoo;\n{SIGNATURE} {{ P[0] = 1; }}")[0]

    assert (first.kind, first.line) == (Verdict.COMPILE_ERROR, 1)


def test_other_errors_stand_on_their_lines_beside_host_functions():
    (finding,) = refused(f"void f()\n{{\n  rand();\n}}\n{SIGNATURE} {{\n  P[0] = undeclared;\n}}\n")

    assert (finding.line, "undeclared" in finding.message) == (6, True)


def test_a_message_before_a_list_of_candidates_ends_without_its_colon():
    source = "struct H { __device__ operator float() const; __device__ operator double() const; };\n"
    source += SIGNATURE + " { H h; P[0] += h * P[1]; }"
    (first, *_) = refused(source)

    assert first.message.endswith(" applies.")


def test_an_error_in_inline_assembly_says_so():
    (first, *_) = refused(f'{SIGNATURE} {{ asm("foo.bar;"); }}')

    assert first.kind is Verdict.COMPILE_ERROR
    assert "assembly" in first.message.lower()


def test_too_much_shared_memory_is_a_limit_in_plain_numbers():
    text = f"{SIGNATURE} {{ __shared__ float s[20000]; s[Width] = 1; __syncthreads(); P[0] = s[0]; }}"

    (finding,) = refused(text)

    assert finding.kind is Verdict.RESOURCE_LIMIT
    assert "80,000 bytes of shared memory" in finding.message
    assert "49,152" in finding.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__global__ void Other(float *P) {}", "no kernel `K`"),
        ("namespace a { __global__ void K(float *P) {} }", "no kernel `K`"),
        ("__global__ void K(float *P) {}\n__global__ void K(float *P, int n) {}", "several functions `K`"),
        ("template <int T> __global__ void K(float *P) {}", "is a template"),
    ],
)
def test_a_kernel_that_cannot_be_found_by_name(text, words):
    (finding,) = refused(text)

    assert finding.kind is Verdict.COMPILE_ERROR
    assert words in finding.message


def test_a_module_global_that_is_not_there_is_named():
    (finding,) = refused(TILED, symbols=("offset",))

    assert "global variable `offset`" in finding.message


def test_an_instance_of_a_template_can_be_asked_for():
    text = "template <int T> __global__ void K(float *P) { P[0] = T; }"

    result = compile_source(text, "K<16>", DEFAULT_ARCH, {}, True)

    assert isinstance(result, Compilation)
    assert result.entry.startswith("_Z1KILi16E")


def test_an_include_that_was_not_handed_over_is_refused_on_its_line():
    (finding,) = refused(f'\n#include "nothing.h"\n{SIGNATURE} {{}}')

    assert (finding.kind, finding.message, finding.line) == (Verdict.REJECTED, INCLUDE_MESSAGE, 2)


def test_another_kernel_in_the_file_must_be_a_declared_one():
    text = f"__global__ void Other(float *P) {{ P[0] = 1; }}\n{SIGNATURE} {{ P[0] = 2; }}"

    assert refused(text)[0].kind is Verdict.REJECTED
    assert compiled(text, kernels=("K", "Other")).entry == "_Z1KPfS_S_i"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("typedef double real;\n#define ARGS real* M, real* N, real* P, int W\n__global__ void K(ARGS) {}", "double*"),
        ("typedef long T;\n\n__global__ void K(float* M, float* N, float* P, T Width) {}", "float*, long)"),
        ("#define ARGS float* M\n\n__global__ void K(ARGS) {}", "(float*)"),
        ('#define T long\n\nextern "C" __global__ void K(float* M, float* N, float* P, T W) {}', "8 bytes, 8 bytes)"),
    ],
)
def test_parameters_that_macros_and_typedefs_hide_are_found_out(text, found):
    (finding,) = refused(text, parameters=("float*", "float*", "float*", "int"))

    assert (finding.kind, finding.line) == (Verdict.REJECTED, 3)
    assert "Expected: (float*, float*, float*, int)." in finding.message
    assert found in finding.message


@pytest.mark.parametrize(
    "text", [TILED, 'extern "C" ' + SIGNATURE + "{}", SIGNATURE.replace("float *M", "const float *M") + "{}"]
)
def test_the_right_parameters_pass(text):
    assert compiled(text, parameters=("float*", "float*", "float*", "int"))


@pytest.mark.parametrize("text", ["\0", f"{SIGNATURE} {{}}\0}}", "\ud800"])
def test_what_is_not_text_never_reaches_the_compiler(text):
    assert refused(text)[0].kind is Verdict.REJECTED


def test_a_line_directive_cannot_claim_a_line_that_the_file_has_not():
    for claimed in ("#line 7000\n", '#line 1 "other.cu"\n'):
        first = refused(f"{claimed}{SIGNATURE} {{ P[0] = undeclared; }}\n")[0]
        assert first.line is None


@pytest.mark.parametrize(
    ("declaration", "name"),
    [
        ("__device__ int vprintf(const char* format, void* values) { return 0; }", "vprintf"),
        ("__device__ int vprintf;", "vprintf"),
        ("typedef unsigned char uint;", "uint"),
        ("struct uint32_t { int x; };", "uint32_t"),
    ],
)
def test_a_name_that_we_declare_ourselves_is_reserved(declaration, name):
    (finding,) = refused(f'\n{declaration}\n{SIGNATURE} {{ printf("%d", Width); }} // vprintf')

    assert (finding.kind, finding.line) == (Verdict.COMPILE_ERROR, 2)
    assert f"reserves the name `{name}`" in finding.message
