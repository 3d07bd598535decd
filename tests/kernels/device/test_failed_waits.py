"""Waits for barriers in shared memory that fail, because the phase isn't over at this time."""

from __future__ import annotations

import pytest

from kernels.device.execution.idle_loops import looks
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, line, lines, only, program, racing

BEFORE = r"""typedef unsigned long long Token;
__device__ unsigned at(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void begin(Token* b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1; fence.mbarrier_init.release.cluster;"
    :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void arrive(Token* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory");
}
__device__ bool over(Token* b, int parity) {
  int done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
    : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
  return done;
}
__device__ void wait(Token* b, int parity) { while (!over(b, parity)); }
__device__ void expect(Token* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(bytes) : "memory");
}
__device__ void load(float* to, float* from, int bytes, Token* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
    :: "r"(at(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at(b)) : "memory");
}
"""
# What one warp gives to the other, and the copies of a thread that also waits for them.
GIVERS = {
    "first": ("0", "1", "t / 32 == 0", "{ tile[k] = M[k]; arrive(bar); }  //@ write"),
    "last": ("1", "0", "t / 32 == 1", "{ tile[k] = M[k]; arrive(bar); }  //@ write"),
    "copy": ("0", "1", "t == 32", "{ expect(bar, 128); load(tile, M, 128, bar); }  //@ write"),
}


def kernel(giver: str, body: str) -> str:
    _, taker, gives, gift = GIVERS[giver]
    return f"""{BEFORE}{HEAD} {{
  {THREAD}
  __shared__ Token bar[2];
  __shared__ alignas(128) float tile[32], other[32];
  int k = t % 32;
  if (t < 32) tile[t] = -1;
  asm volatile("fence.proxy.async;" ::: "memory");
  if (t == 0) begin(bar, {1 if giver == "copy" else 32}), begin(bar + 1, 32);
  __syncthreads();
  if ({gives}) {gift}
  if (t / 32 == {taker}) {{
{body}
  }}
}}"""


LOOP = "{.reg .pred p; A: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra B; bra A; B: }"
givers = pytest.mark.parametrize(
    "giver",
    [
        "copy",
        *(pytest.param(giver, marks=pytest.mark.long("the short suite has the copy")) for giver in ("first", "last")),
    ],
)


@pytest.mark.one_in(2, "every second body")
@givers
@pytest.mark.parametrize(
    "body",
    [
        "over(bar, 0);\nP[k] = tile[31 - k];  //@ read",
        "if (!over(bar, 0)) __nanosleep(100);\nP[k] = tile[31 - k];  //@ read",
        "if (!over(bar, 0)) wait(bar, 1);\nP[k] = tile[31 - k];  //@ read",
        "bool there = over(bar, 0);\nP[k] = 0;\nif (!there && k == 5) P[5] = tile[6];  //@ read",
        "#pragma unroll 1\nfor (int i = 0; i < 50 && !over(bar, 0); ++i);\nP[k] = tile[31 - k];  //@ read",
    ],
)
def test_code_behind_a_wait_that_failed_races(device, giver, body):
    text = kernel(giver, body)

    found = {each for each in lines(device.run(text, block=64)) if each[0] != Verdict.TIME_LIMIT}

    assert {(kind, frozenset(pair)) for kind, *pair in found} == {
        (Verdict.DATA_RACE.value, frozenset({line(text, "read"), line(text, "write")}))
    }


@givers
@pytest.mark.parametrize(
    "body",
    [
        "P[k] = 0;\nif (over(bar, 0))  //@ look\nP[k] = tile[k] + 1;\nwait(bar, 0);",
        "int i = 0;\nwhile (!over(bar, 0)) ++i;  //@ look\nP[k] = i ? 0 : tile[k] + 1;",
    ],
)
def test_a_result_that_depends_on_a_wait_is_open(device, giver, body):
    text = kernel(giver, body)

    execution = device.run(text, block=64)

    assert execution.findings == ()
    both = sorted(each.values["P"].tolist() for each in (execution, *execution.others))
    assert both == [[0] * 32, list(range(1, 33))]
    assert execution.unordered is not None
    assert execution.unordered.line == line(text, "look")


@givers
def test_a_wait_without_end_behind_one_that_failed(device, giver):
    text = kernel(giver, "if (!over(bar, 0)) {\nwait(bar, 0);\nwait(bar, 1);  //@ wait\n}\nP[k] = tile[k];")

    finding = only(device.run(text, block=64))

    assert (finding.kind, finding.line) == (Verdict.TIME_LIMIT, line(text, "wait"))


def test_a_wait_that_may_be_overtaken_by_two_phases(device):
    text = f"""{BEFORE}{HEAD} {{
  {THREAD}
  __shared__ Token bar[2];
  if (t == 0) begin(bar, 32), begin(bar + 1, 64);
  __syncthreads();
  if (t < 32) arrive(bar);
  wait(bar, 0);  //@ wait
  if (t < 32) arrive(bar);
  wait(bar, 1);
  over(bar + 1, 0);
  P[t] = 0;
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.kind, finding.line) == (Verdict.TIME_LIMIT, line(text, "wait"))


@pytest.mark.one_in(4, "two of seven bodies")
@givers
@pytest.mark.parametrize(
    "body",
    [
        "bool there = over(bar, 0);\nif (!there) wait(bar, 0);\nP[k] = tile[k];",
        "if (over(bar, 0)) P[k] = tile[k];\nelse P[k] = M[k];\nwait(bar, 0);",
        "float sum = 0;\nfor (int i = 1; !over(bar, 0); ++i) sum += i;\nP[k] = tile[k];\nif (sum < 0) P[k] = 0;",
        "int tries = 0;\nwhile (!over(bar, 0)) if (++tries > 1000) __trap();\nP[k] = tile[k];",
        "arrive(bar + 1);\n__syncwarp();\nif (!over(bar + 1, 0)) __trap();\nwait(bar, 0);\nP[k] = tile[k];",
        "wait(bar, 0);\nif (!over(bar, 0)) __trap();\nP[k] = tile[k];",
        """arrive(bar + 1);
bool one = false, two = false;
while (!one || !two) { one = one || over(bar, 0); two = two || over(bar + 1, 0); }
P[k] = tile[k];""",
    ],
)
def test_code_that_is_right_whether_a_wait_fails(device, giver, body):
    assert device.output(kernel(giver, body), block=64) == list(range(32))


@pytest.mark.one_in(2, "one of two arrivals, with a wait and without")
@pytest.mark.parametrize("arrival", ["noinc.shared", "shared"])
@pytest.mark.parametrize("waits", [True, False])
def test_copies_of_threads_that_are_under_way(device, arrival, waits):
    text = f"""{BEFORE}{HEAD} {{
  {THREAD}
  __shared__ Token bar;
  __shared__ alignas(16) float tile[32];
  if (t == 0) begin(&bar, {32 if arrival == "noinc.shared" else 1});
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.mbarrier.arrive.{arrival}.b64 [%2];"  //@ copy
    :: "r"(at(tile + t)), "l"(__cvta_generic_to_global(M + t)), "r"(at(&bar)) : "memory");
  __syncthreads();
  if (t == 0 && {arrival == "shared":d}) arrive(&bar);
  __syncthreads();
  if (!over(&bar, 0)) {"wait(&bar, 0)" if waits else "__nanosleep(100)"};
  P[t] = tile[31 - t];  //@ read
}}"""

    execution = device.run(text)

    assert racing(execution) == (set() if waits else {frozenset({line(text, "copy"), line(text, "read")})})


@pytest.mark.parametrize(
    ("body", "again"),
    [
        ("for (int i = 0; i < 2; ++i) wait(bar + i, i);", False),
        (f'asm volatile("{LOOP}" :: "r"(at(bar)) : "memory");', False),
        ("if (!over(bar, 0)) wait(bar, 0);", True),
        ("for (int i = 0; !over(bar, 0); ++i);", False),
        ("while (!over(bar, 0)) P[k] = 0;", True),
        ("int i = 0;\nwhile (!over(bar + i % 2, 0)) ++i;", True),
    ],
)
def test_only_waits_whose_failure_matters_run_again(device, body, again):
    assert bool(looks(program(kernel("first", body), device.arch))) is again
