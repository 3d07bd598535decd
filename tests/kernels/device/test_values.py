"""What kernels compute: types, spaces, functions and launches, through the real compiler."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.device.kernels import HEAD, THREAD, Device, Story, compiled, only

RANGE = range(32)


@pytest.mark.one_in(3, "a third of the types")
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("long long v = (1LL << 30) + t; P[t] = (float)((v * v >> 30) - (1LL << 30));", lambda t: 2 * t),
        ("unsigned long long v = ~0ULL / (t + 1); P[t] = (float)(v >> 40);", lambda t: (2**64 - 1) // (t + 1) >> 40),
        ("long long v = -1000000000000LL * t; P[t] = (float)(v / 1000000000LL % 7);", lambda t: -(1000 * t % 7)),
        ("unsigned v = 0x80000000u + t; long long w = v; P[t] = (float)(w >> 8);", lambda t: 2**23),
        ("int v = -t; long long w = v; P[t] = (float)(w * 3);", lambda t: -3 * t),
        ("double d = t / 3.0; P[t] = (float)(d * 3.0 - t + d);", lambda t: np.float32(t / 3.0)),
        ("unsigned char c = 250 + t; signed char s = 120 + t; P[t] = c + s;",
         lambda t: (250 + t) % 256 + (120 + t if t < 8 else t - 136)),
        ("short s = 32760 + t; unsigned short u = 65530 + t; P[t] = s + u;",
         lambda t: (32760 + t if t < 8 else t - 32776) + (65530 + t) % 65536),
        ("P[t] = t / 7 * 100 + t % 7 + (-t) / 5;", lambda t: t // 7 * 100 + t % 7 - t // 5),
        ("P[t] = fminf(M[t], 9) + fmaxf(M[t], 20) - fabsf(-M[t]) + floorf(M[t] / 4);",
         lambda t: min(t, 9) + max(t, 20) - t + t // 4),
        ("bool b = t > 3 && !(t % 2) || t == 31; P[t] = b ? 1 : -1;",
         lambda t: 1 if (t > 3 and t % 2 == 0) or t == 31 else -1),
        ("P[t] = __popc(t) + 10 * __clz(t + 1) + 1000 * __ffs(t);",
         lambda t: t.bit_count() + 10 * (32 - (t + 1).bit_length()) + 1000 * ((t & -t).bit_length())),
    ],
)  # fmt: skip
def test_types(device, body, wanted):
    assert device.output(f"{HEAD} {{ {THREAD} {body} }}") == [wanted(t) for t in RANGE]


STORIES = [
    Story("four floats at once", [31 - t for t in RANGE], """
  __shared__ float4 tile[8];
  if (t < 8) {
    float4 v = reinterpret_cast<float4*>(M)[t];
    tile[7 - t] = make_float4(v.w, v.z, v.y, v.x);
  }
  __syncthreads();
  if (t < 8) reinterpret_cast<float4*>(P)[t] = tile[t];"""),
    Story("two doubles at once from a pointer of unknown space", [31.5 - t for t in RANGE], """
  __shared__ double2 tile[32];
  tile[t] = make_double2(t, 0.5);
  __syncthreads();
  double2 v = get(tile, 31 - t);
  P[t] = v.x + v.y;""", before="__device__ __noinline__ double2 get(const double2* where, int t) { return where[t]; }"),
    Story(
        "a pointer that means another space in each thread",
        [(t, 100 + t, 200 + t + t % 4)[t % 3] for t in RANGE], """
  __shared__ float tile[32];
  float own[4];
  tile[t] = 100 + t;
  for (int i = 0; i < 4; ++i) own[i] = 200 + M[t] + i;
  const float* where = t % 3 == 0 ? M + t : t % 3 == 1 ? tile + t : own + (t & 3);
  P[t] = get(where);""", before="__device__ __noinline__ float get(const float* where) { return *where; }"),
    Story(
        "a large structure goes into a function and another comes out",
        [t % 3 - 1 + 100 * (t + 2) + 1 + 1000 * t for t in RANGE], """
  Box box = {{M[t], M[t] + 1, M[t] + 2}, t, 0.25};
  Box grown = grow(grow(box, t), 1);
  P[t] = grown.low[t % 3] + 100 * grown.count + (float)grown.weight + 1000 * box.count;""",
          before="""struct Box { float low[3]; int count; double weight; };
__device__ __noinline__ Box grow(Box box, int by) {
  for (int i = 0; i < 3; ++i) box.low[i] -= by;
  box.count += 1;
  box.weight *= 2;
  return box;
}"""),
    Story("a function that writes to its callers variables", [t // 5 * 10 + t % 5 for t in RANGE], """
  int quotient, rest;
  divide(t, 5, &quotient, &rest);
  P[t] = quotient * 10 + rest;""",
          before="""__device__ __noinline__ void divide(int a, int b, int* quotient, int* rest) {
  *quotient = a / b;
  *rest = a % b;
}"""),
    Story("constant memory", [(10, 25, -30, 0)[t % 4] + ((1, 2, 3), (4, 5, 6))[t % 2][t % 3] + 1 for t in RANGE], """
  P[t] = weights[t % 4] * 10 + steps[t % 2][t % 3] + (nothing == nullptr);""",
          before="""__constant__ float weights[4] = {1, 2.5f, -3, 0};
__constant__ int steps[2][3] = {{1, 2, 3}, {4, 5, 6}};
__constant__ float* const nothing = nullptr;"""),
    Story("a module variable that points at another", [((5, 6, 7), (2, 3, 4))[t % 2][t % 3] for t in RANGE], """
  P[t] = tables[t % 2][t % 3];""", before="""__device__ float first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
__device__ float* tables[2] = {second, first + 1};"""),
    Story("decimal numbers in inline assembly", [1500 * t + 98.0 for t in RANGE], """
  double wide;
  float v;
  asm("{.reg .f32 f; mov.f32 f, 0.5; fma.rn.f32 %0, %1, 1.5e3, f; add.f32 %0, %0, -2.5;}" : "=f"(v) : "f"(M[t]));
  asm("{.reg .f64 d; mov.f64 d, 1E2; add.f64 %0, d, 0.;}" : "=d"(wide));
  P[t] = v + (float)wide;"""),
    Story("policies of the cache change nothing", [3 * t for t in RANGE], """
  __shared__ alignas(16) float tile[32];
  unsigned long long last, first;
  unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
  float v;
  asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(last));
  asm("createpolicy.range.L2::evict_first.L2::evict_unchanged.b64 %0, [%1], 64, 128;" : "=l"(first) : "l"(M));
  asm("ld.global.nc.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(M + t), "l"(last));
  asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, %2;" :: "r"(to), "l"(M + t), "l"(first));
  asm volatile("cp.async.wait_all;");
  asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" :: "l"(P + t), "f"(v), "l"(first) : "memory");
  asm volatile("red.global.add.L2::cache_hint.f32 [%0], %1, %2;" :: "l"(P + t), "f"(2 * tile[t]), "l"(last));"""),
    Story("all dynamic arrays are one", [31 - t + 2 * t for t in RANGE], """
  int* counts = reinterpret_cast<int*>(tile + 32);
  tile[t] = M[t];
  counts[t] = 2 * t;
  __syncthreads();
  P[t] = tile[31 - t] + counts[t];""", shared=256, before="extern __shared__ float tile[];"),
]  # fmt: skip


@pytest.mark.one_in(3, "a third here; each operation has tests of its own")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_functions_called_by_some_threads_at_several_places(device):
    text = f"""__device__ __noinline__ float sum(const float* M, int k) {{
  if (k > 20) return -1;
  float v = 0;
  for (int i = 0; i < k; ++i) v += M[i];
  return v;
}}
{HEAD} {{
  {THREAD}
  float v = 0;
  if (t % 2) v = sum(M, t);
  else if (t > 10) v = sum(M, t / 2) + sum(M, 3);
  P[t] = v;
}}"""

    def sums(k: int) -> int:
        return -1 if k > 20 else k * (k - 1) // 2

    assert device.output(text) == [sums(t) if t % 2 else sums(t // 2) + 3 if t > 10 else 0 for t in RANGE]


@pytest.mark.parametrize("observe", [True, False])
def test_module_variables_live_on_from_launch_to_launch(device, observe):
    text = f"""__device__ int launches;
__device__ float kept[32] = {{7}};
{HEAD} {{
  {THREAD}
  P[t] = kept[t] + 100 * launches;
  __syncthreads();
  kept[t] = M[t];
  if (t == 0) launches += 1;
}}"""

    first = device.run(text, observe=observe)
    second = device.run(text, state=first.state, observe=observe)

    assert first.values["P"].tolist() == [7] + [0] * 31
    assert second.values["P"].tolist() == [100 + t for t in RANGE]
    assert device.run(text).values["P"].tolist() == first.values["P"].tolist()


def test_a_module_variable_that_is_an_operand():
    text = f"__device__ float A[32], B[32]; {HEAD} {{ B[threadIdx.x] = A[n - 1] + M[2]; P[0] = 1; }}"
    names = compiled(text, "sm_90", "", ("A", "B")).globals

    execution = Device("sm_90").run(text, block=1, n=1, symbols={names["A"]: "M", names["B"]: "M"})

    assert execution.findings == ()
    assert execution.values["M"][0] == 0 + 2


def test_three_dimensional_grids_and_blocks(device):
    text = f"""{HEAD} {{
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  P[block * 24 + thread] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x
      + 10000 * blockIdx.y + 100000 * blockIdx.z;
}}"""

    got = device.output(text, grid=(2, 3, 2), block=(4, 3, 2), n=12 * 24)

    assert got == [
        x + 10 * y + 100 * z + 1000 * bx + 10000 * by + 100000 * bz
        for bz in range(2) for by in range(3) for bx in range(2)
        for z in range(2) for y in range(3) for x in range(4)
    ]  # fmt: skip


@pytest.mark.parametrize("threads", [1, 7, 33, 100, 1024])
def test_blocks_of_any_size(device, threads):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[1024];
  tile[t] = t;
  __syncthreads();
  P[blockIdx.x * blockDim.x + t] = tile[blockDim.x - 1 - t] + __popc(__ballot_sync(__activemask(), 1));
}}"""

    warps = [min(32, threads - t // 32 * 32) for t in range(threads)]
    assert (
        device.output(text, grid=2, block=threads, n=2 * threads)
        == [threads - 1 - t + warps[t] for t in range(threads)] * 2
    )


def test_a_block_larger_than_the_kernel_allows(device):
    text = f"__global__ void __launch_bounds__(64) K(float* M, float* P, int n) {{ {THREAD} P[t] = t; }}"

    assert device.output(text, block=64, n=64) == list(range(64))
    finding = only(device.run(text, block=65, n=65))
    assert (finding.kind.value, finding.line) == ("resource_limit", None)
    assert "blocks of 64 threads" in finding.message
    assert "has 65" in finding.message


WRITES_ALL = f"{HEAD} {{ {THREAD} P[blockIdx.x * blockDim.x + t] = 1; }}"


@pytest.mark.parametrize(
    ("attribute", "grid", "block", "words"),
    [
        ("__block_size__((64, 1, 1))", 2, 32, "demands blocks of 64 x 1 x 1"),
        ("__cluster_dims__(2, 1, 1)", 3, 32, "a multiple of the cluster"),
        ("__cluster_dims__(16, 1, 1)", 16, 32, "at most 8 blocks"),
        ("__cluster_dims__()", 2, 32, "Add `cluster=`"),
    ],
)
def test_a_launch_that_the_kernels_attributes_rule_out(device, attribute, grid, block, words):
    text = WRITES_ALL.replace("void K", f"void {attribute} K")

    finding = only(device.run(text, grid=grid, block=block, n=grid * block))
    assert finding.kind.value == "resource_limit"
    assert words in finding.message


@pytest.mark.parametrize(
    "attribute",
    ["__block_size__((32, 1, 1))", "__cluster_dims__(2, 1, 1)", "__launch_bounds__(32, 2, 4)", "__maxnreg__(32)"],
)
def test_attributes_that_fit_the_launch_change_nothing(device, attribute):
    text = WRITES_ALL.replace("void K", f"void {attribute} K")

    assert device.output(text, grid=2, block=32, n=64) == [1] * 64
