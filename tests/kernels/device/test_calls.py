"""Calls: the lines that a finding names in a helper function, and calls through pointers."""

from __future__ import annotations

import pytest

from kernels.device import Unsupported
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Story, line, only

TWO = """__device__ __noinline__ float one(float v) { return v + 1; }
__device__ __noinline__ float two(float v) { return v * 2; }
typedef float (*F)(float);
"""
CALL = "__device__ float operator()(float v) const { return f(v); }"
OPS = "__constant__ Op table[] = {{1, one}, {2, two}};"
SHAPES = """struct Base { __device__ virtual float f(float x) const = 0; };
struct A : Base { __device__ float f(float x) const override { return x; } };
struct B : Base { int k; __device__ B(int k) : k(k) {} __device__ float f(float x) const override { return x + k; } };
"""


STORIES = [
    Story("threads that call different functions", [(t + 1 if t > 3 else 2 * t) + 100 for t in range(32)], """
  F f = M[t] > 3 ? one : two; P[t] = f(t) + 100;""", before=TWO),
    Story("a pointer that is passed on and stored", [t + 2 if 31 - t > 3 else 4 * t for t in range(32)], """
  __shared__ F chosen[32];
  chosen[t] = M[t] > 3 ? one : two;
  __syncthreads();
  P[t] = twice(chosen[31 - t], t);""", before=f"""{TWO}
__device__ __noinline__ float twice(F f, float v) {{ return f(f(v)); }}"""),
    Story("virtual functions", [t if t > 4 else t + 7 for t in range(32)], """
  A a;
  B b(7);
  const Base* shape = M[t] > 4 ? (const Base*)&a : (const Base*)&b;
  P[t] = shape->f(t);""", before=SHAPES),
    Story("a virtual destructor that nobody calls", [t if t > 4 else t + 7 for t in range(32)], """
  A a;
  B b(7);
  const Base* shape = M[t] > 4 ? (const Base*)&a : (const Base*)&b;
  P[t] = shape->f(t);""",
          before=SHAPES.replace("= 0;", "= 0; __device__ virtual ~Base() {}")),
    Story("a barrier inside functions that are called through a pointer", [*range(63, -1, -1), *range(64)], """
  float (*f)(float) = M[blockIdx.x] == 0 ? turn : keep;
  P[blockIdx.x * 64 + t] = f(t);""", grid=2, block=64, n=128, before="""__shared__ float tile[64];
__device__ __noinline__ float turn(float v) {
  int t = threadIdx.x;
  tile[t] = v;
  __syncthreads();
  return tile[63 - t];
}
__device__ __noinline__ float keep(float v) { return v; }"""),
]  # fmt: skip


WRAPPERS = """__device__ void set(float* at, float value) {
  unsigned int to = __cvta_generic_to_shared(at);
  asm volatile("st.shared.f32 [%0], %1;" :: "r"(to), "f"(value) : "memory");
}
__device__ float get(float* at) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"((unsigned int)__cvta_generic_to_shared(at)) : "memory");
  return value;
}
"""
HELPERS = """__device__ float take(float* s, int i) {
  return 2 * get(s + i);
}
__device__ float two(float* s, int i) {
  float found = get(s + i);  //@ two
  return found < 999 ? found : get(s);
}
__device__ void both(float* s, int i) {
  unsigned int to = __cvta_generic_to_shared(s + i);
  asm volatile("st.shared.f32 [%0], %1;" :: "r"(to), "f"(1.0f) : "memory");  //@ both
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}
template <int N> __device__ void load(float* s, const float* M) {
  for (int i = 0; i < N; ++i)
    s[threadIdx.x + i * 32] = M[threadIdx.x + i * 32];  //@ load
}
__device__ __noinline__ void apart(float* s, int i) {
  s[i] = 1;  //@ apart
}
"""


@pytest.mark.one_in(3, "a third of the findings")
@pytest.mark.parametrize(
    ("body", "named", "calls"),
    [
        ("set(s + t, 1);  //@ a\n  P[t] = get(s + 63 - t);  //@ b", "ab", ""),
        ("set(s + t, 1);  //@ a\n  P[t] = take(s, 63 - t);  //@ b", "ab", ""),
        ("set(s + t, 1);  //@ a\n  P[t] = two(s, 63 - t);  //@ b", ("a", "two"), "b"),
        ("both(s, t);  //@ a\n  P[t] = get(s + 63 - t);  //@ b", ("both", "b"), "a"),
        ("load<1>(s, M);  //@ a\n  P[t] = s[63 - t];  //@ b", ("load", "b"), "a"),
        ("load<3>(s, M);  //@ a\n  __syncthreads();\n  load<1>(s, M);  //@ b\n  P[t] = s[t];", ("load", "load"), "a"),
        (
            "load<1>(s, M);  //@ a\n  P[t] = s[63 - t];  //@ b\n  __syncthreads();\n  load<1>(s, M);\n  P[t] += s[t];",
            ("load", "b"),
            "a",
        ),
        (
            (
                "auto fetch = [&](int k) {\n    __pipeline_memcpy_async(s + t, M + t + k, 4);\n"
                "    __pipeline_memcpy_async(s + 64 + t, M + n + t + k, 4);  //@ c\n    __pipeline_commit();\n  };\n"
                "  fetch(0);  //@ a\n  __pipeline_wait_prior(0);\n  P[t] = s[127 - t];  //@ b"
            ),
            "bc",
            "a",
        ),
        ("s[t] = 1;  //@ a\n  apart(s, 63 - t);  //@ b\n  P[t] = 1;", ("a", "apart"), "b"),
        ("auto own = [&](int i) { s[i] = 1; };  //@ a\n  own(t);  //@ b\n  P[t] = s[63 - t];  //@ c", "ac", "b"),
    ],
)
def test_a_finding_in_a_helper_names_the_call(device, body, named, calls):
    before = "#include <cuda_pipeline.h>\n" if "pipeline" in body else ""
    text = f"{before}{WRAPPERS}{HELPERS}{HEAD} {{\n  {THREAD}\n  __shared__ float s[128];\n  {body}\n}}"

    found = only(device.run(text, block=64, n=64, values=128))

    assert {found.other_line, found.line} == {line(text, each) for each in named}
    assert found.called_from == tuple(line(text, each) for each in calls)


def test_a_comment_like_the_compilers_inside_of_assembly(device):
    texts = [f'asm volatile("// {word} inline asm\\n ld.shared.f32 %0, [%1];"' for word in ("begin", "end")]
    wrappers = [WRAPPERS.replace('asm volatile("ld.shared.f32 %0, [%1];"', text) for text in texts]
    body = f"{THREAD}\n  __shared__ float s[64];\n  s[t] = 1;  //@ a\n  P[t] = get(s + 63 - t);  //@ b"

    for each in wrappers:
        found = only(device.run(f"{each}{HEAD} {{\n  {body}\n}}", block=64, n=64))

        assert found.count == 64


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


@pytest.mark.parametrize(
    "table",
    [
        "__constant__ F table[] = {one, two};",
        "__device__ F table[] = {one, two};",
        f"struct Op {{ int kind; F f; {CALL} }};\n{OPS}",
        f"#pragma pack(1)\nstruct Op {{ char kind; F f; {CALL} }};\n{OPS}",
    ],
)
def test_tables_of_functions(device, table):
    text = f"{TWO}{table}\n{HEAD} {{ {THREAD} P[t] = table[t % 2](t); }}"

    assert device.output(text) == [2 * t if t % 2 else t + 1 for t in range(32)]


def test_functions_of_another_shape_are_not_meant(device):
    text = f"""{TWO}
struct V {{ float x, y, z; }};
__device__ __noinline__ V left(V v, int n) {{ v.x += n; return v; }}
__device__ __noinline__ V right(V v, int n) {{ v.y += n; return v; }}
__device__ __noinline__ void add(float* p) {{ *p += 1; }}
__device__ void (*act)(float*) = add;
{HEAD} {{
  {THREAD}
  F f = t & 1 ? one : two;
  V (*g)(V, int) = t & 2 ? left : right;
  V v = g(V{{1, 2, 3}}, t);
  P[t] = f(v.x * 100 + v.y);
  act(P + t);
}}"""

    def wanted(t: int) -> float:
        value = (1 + t) * 100 + 2 if t & 2 else 100 + 2 + t
        return (value + 1 if t & 1 else value * 2) + 1

    assert device.output(text) == [wanted(t) for t in range(32)]


# -- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("(F)(M[t] > 3 ? (size_t)one : 0)", "null pointer"),
        ("(F)(M[t] > 3 ? (size_t)two : (size_t)P)", "holds no function"),
        ("(F)(M[t] > 3 ? (size_t)two : (size_t)none)", "another type"),
    ],
)
def test_a_pointer_that_holds_no_function(device, value, words):
    text = f"""{TWO}
__device__ __noinline__ void none() {{ __nanosleep(1); }}
{HEAD} {{
  {THREAD}
  P[t] = 0;
  F f = {value};
  P[t] = f(t);  //@ call
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (Verdict.RUNTIME_ERROR, line(text, "call"), 4)
    assert words in finding.message


def test_a_pointer_that_nobody_has_set(device):
    text = f"""{TWO}{HEAD} {{
  {THREAD}
  __shared__ F chosen[33];
  chosen[t] = t ? one : two;
  P[t] = 0;
  __syncthreads();
  P[t] = chosen[t + 1](t);  //@ call
}}"""

    found = {finding.kind: finding.line for finding in device.run(text).findings}

    assert found == dict.fromkeys((Verdict.UNINITIALIZED_READ, Verdict.RUNTIME_ERROR), line(text, "call"))


RECURSION = f"""struct Node {{ Node* next; __device__ virtual float f(float x) {{
  return next ? next->f(x) + 1 : x;  //@ call
}} }};
{HEAD} {{
  {THREAD}
  Node nodes[3];
  for (int i = 0; i < 3; ++i) nodes[i].next = i + 1 < 3 && i < DEPTH ? nodes + i + 1 : nullptr;
  Node* p = nodes + (int)M[0];
  P[t] = p->f(t);
}}"""


def test_recursion_through_a_pointer_is_refused_where_it_happens(device):
    text = RECURSION.replace("DEPTH", "(int)M[2]")

    with pytest.raises(Unsupported, match="recursion") as caught:
        device.run(text)
    assert caught.value.line == line(text, "call")


def test_recursion_that_does_not_happen(device):
    assert device.output(RECURSION.replace("DEPTH", "(int)M[0]")) == list(range(32))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("float* p = new float[2]; p[t & 1] = M[t]; P[t] = p[0];", "new"),
        ("float* p = (float*)malloc(8); if (p) P[t] = p[0];", "malloc"),
    ],
)
def test_memory_of_the_kernels_own_is_refused_by_its_name(device, body, words):
    text = f"{HEAD} {{ {THREAD}\n  {body}  //@ memory\n}}"

    with pytest.raises(Unsupported, match=words) as caught:
        device.run(text)
    assert caught.value.line == line(text, "memory")
