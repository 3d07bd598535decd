"""`cuda::barrier` and the instructions behind it."""

from __future__ import annotations

import pytest

from kernels.facts import Mistake
from kernels.verdict import Severity, Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Story, line, lines, only, schedules

# The real header takes seconds to compile, so only one test has it; the others have the instructions that it gives.
BARRIER = """#define INIT(b, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(&b)), "r"(n) : "memory")
#define INVAL(b) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at(&b)) : "memory")
typedef unsigned long long Token;
__device__ unsigned at(void* b) { return __cvta_generic_to_shared(b); }
__device__ Token arrive(Token& b, int n = 1) {
  Token token;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(token) : "r"(at(&b)), "r"(n) : "memory");
  return token;
}
__device__ bool over(Token& b, Token token) {
  int done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
               : "=r"(done) : "r"(at(&b)), "l"(token) : "memory");
  return done;
}
__device__ bool odd(Token& b, int parity) {
  int done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
               : "=r"(done) : "r"(at(&b)), "r"(parity) : "memory");
  return done;
}
__device__ void wait(Token& b, Token token) { while (!over(b, token)); }
__device__ void wait_for(Token& b, int parity) { while (!odd(b, parity)); }
"""


@pytest.mark.long("the short suite has the standard barrier in tests/corpus, and each of its instructions here")
@schedules
def test_the_standard_barrier(device, schedule):
    text = f"""#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
{HEAD} {{
  {THREAD}
  __shared__ Barrier barrier;
  __shared__ float tile[64];
  if (t == 0) init(&barrier, blockDim.x);
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 3; ++i) {{
    tile[t] = M[t] * i;
    barrier.arrive_and_wait();
    sum += tile[63 - t];
    auto token = barrier.arrive();
    sum += 1;
    barrier.wait(std::move(token));
  }}
  if (t >= 32) {{
    barrier.arrive_and_drop();
  }} else {{
    tile[t] = t;
    barrier.wait(barrier.arrive());
    P[t] = sum + tile[31 - t];
    barrier.wait_parity(0);
  }}
  __syncthreads();
  if (t == 0) barrier.~Barrier();
}}"""

    wanted = [3 * (63 - t) + 3 + 31 - t for t in range(32)]
    assert device.output(text, block=64, schedule=schedule) == wanted


STORIES = [
    Story("the primitives", [31 - t + 100 * (32 - t) for t in range(32)], """
  __shared__ __mbarrier_t barrier;
  __shared__ float tile[32];
  if (t == 0) __mbarrier_init(&barrier, 32);
  __syncthreads();
  tile[t] = M[t];
  __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token));
  P[t] = tile[31 - t] + 100 * __mbarrier_token_pending_count(token);
  __syncthreads();
  if (t == 0) __mbarrier_inval(&barrier);""", before="#include <cuda_awbarrier_primitives.h>"),
    Story("a count for several arrivals", [1] * 16 + list(range(16, 32)), """
  __shared__ Token barrier;
  if (t == 0) INIT(barrier, 64);
  __syncthreads();
  P[t] = t;
  arrive(barrier);
  Token token = t < 16 ? arrive(barrier, 2) : 0;
  wait_for(barrier, 0);
  if (t < 16) P[t] = over(barrier, token);""", before=BARRIER),
    Story("a wait that gives up", [100] * 32, """
  __shared__ Token barrier;
  if (t == 0) INIT(barrier, 64);
  __syncthreads();
  int tries = 0;
  while (!odd(barrier, 0) && ++tries < 100);
  P[t] = tries;""", before=BARRIER),
    Story("a wait for threads that look at memory in a loop", [32.0] * 32, """
  __shared__ Token barrier;
  __shared__ int count;
  if (t == 0) { INIT(barrier, 32); count = 0; }
  __syncthreads();
  if (t < 32) {
    wait_for(barrier, 0);
    P[t] = *(volatile int*)&count;
  } else {
    atomicAdd(&count, 1);
    while (*(volatile int*)&count < 32);
    arrive(barrier);
  }""", before=BARRIER, block=64),
    Story("a barrier that is made anew", list(range(32)), """
  __shared__ Token barrier;
  for (int i = 0; i < 3; ++i) {
    if (t == 0) INIT(barrier, 32);
    __syncthreads();
    wait(barrier, arrive(barrier));
    __syncthreads();
    if (t == 0) INVAL(barrier);
  }
  P[t] = t;""", before=BARRIER),
    Story("a barrier in memory that is used again", list(range(32)), """
  __shared__ Token barrier;
  for (int i = 0; i < 3; ++i) {
    if (t == 0) INIT(barrier, 32);
    __syncthreads();
    wait(barrier, arrive(barrier));
    __syncthreads();
    if (t == 0) *(volatile Token*)&barrier = i + 7;
  }
  P[t] = t;""", before=BARRIER),
]  # fmt: skip


@pytest.mark.one_in(3, "a third here, and tests/corpus has each mistake with barriers")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


@pytest.mark.one_in(2, "every second")
@schedules
def test_a_producer_and_a_consumer(device, schedule):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token full[2], empty[2];
  __shared__ float tile[2][32];
  if (t < 2) {{ INIT(full[t], 32); INIT(empty[t], 32); }}
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 4; ++i) {{
    int slot = i % 2, parity = i / 2 % 2;
    if (t < 32) {{
      wait_for(empty[slot], parity ^ 1);
      tile[slot][t] = M[t] * (i + 1);
      arrive(full[slot]);
    }} else {{
      wait_for(full[slot], parity);
      sum += tile[slot][63 - t];
      arrive(empty[slot]);
    }}
  }}
  if (t >= 32) P[blockIdx.x * 32 + t - 32] = sum;
}}"""

    wanted = [10 * (31 - t) for t in range(32)] * 2
    assert device.output(text, grid=2, block=64, n=64, schedule=schedule) == wanted


# -- what goes wrong --------------------------------------------------------------------------------------------------


@schedules
def test_a_barrier_that_never_completes(device, schedule):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token barrier;
  P[t] = 0;
  if (t == 0) INIT(barrier, 64);
  __syncthreads();
  wait(barrier, arrive(barrier));  //@ wait
}}"""

    finding = only(device.run(text, budget=1_000_000_000, schedule=schedule))
    lack = finding.facts.incomplete
    at = line(text, "wait")
    assert (finding.kind, finding.line, finding.facts.mistake) == (Verdict.TIME_LIMIT, at, Mistake.MBARRIER)
    assert lack is not None
    assert (lack.expected_arrivals, lack.arrivals, lack.arrival_lines) == (64, 32, (at,))


def test_a_barrier_initialised_again_while_it_is_one(device):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token barrier;
  for (int i = 0; i < 3; ++i) {{
    if (t == 0) INIT(barrier, 32);  //@ init
    __syncthreads();
    wait(barrier, arrive(barrier));
    __syncthreads();
  }}
  P[t] = t;
}}"""

    finding = only(device.run(text))
    assert (finding.kind, finding.line, finding.severity) == (
        Verdict.BARRIER_DIVERGENCE, line(text, "init"), Severity.WARNING,
    )  # fmt: skip
    assert finding.facts.mistake is Mistake.STILL_BARRIER


def test_an_arrival_too_many_while_only_bytes_are_missing(device):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token barrier;
  if (t > 0) return;
  INIT(barrier, 1);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 64;" :: "r"(at(&barrier)) : "memory");
  arrive(barrier);  //@ second
}}"""

    finding = only(device.run(text))
    assert (finding.kind, finding.line) == (Verdict.BARRIER_DIVERGENCE, line(text, "second"))
    assert "only for bytes" in finding.message


def test_no_wait_orders_nothing(device):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token barrier;
  __shared__ float tile[64];
  if (t == 0) INIT(barrier, 64);
  __syncthreads();
  tile[t] = M[t];  //@ write
  arrive(barrier);
  P[t] = tile[63 - t];  //@ read
}}"""

    assert lines(device.run(text, block=64, n=64)) == [(Verdict.DATA_RACE, line(text, "read"), line(text, "write"))]


@pytest.mark.parametrize(
    ("arrival", "wait"),
    [("arrive.relaxed.cta", "try_wait"), ("arrive", "try_wait.relaxed.cta"), ("arrive", "try_wait")],
)
def test_a_relaxed_use_orders_nothing(device, arrival, wait):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token barrier;
  __shared__ float tile[64];
  if (t == 0) INIT(barrier, 64);
  __syncthreads();
  tile[t] = M[t];  //@ write
  Token token;
  int done = 0;
  asm volatile("mbarrier.{arrival}.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(at(&barrier)) : "memory");
  while (!done)
    asm volatile("{{.reg .pred p; mbarrier.{wait}.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}}"
                 : "=r"(done) : "r"(at(&barrier)), "l"(token) : "memory");
  P[t] = tile[63 - t];  //@ read
}}"""

    race = (Verdict.DATA_RACE, line(text, "read"), line(text, "write"))
    assert lines(device.run(text, block=64, n=64)) == ([race] if "relaxed" in arrival + wait else [])


def test_nobody_is_told_that_the_barrier_is_ready(device):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token barrier;
  P[t] = 0;
  if (t == 0) INIT(barrier, 64);
  wait(barrier, arrive(barrier));
}}"""

    assert {finding.kind for finding in device.run(text, block=64, n=64).findings} == {Verdict.DATA_RACE}


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("arrive(barrier); arrive(barrier);", Verdict.BARRIER_DIVERGENCE),
        ("arrive(barrier, 2);", Verdict.BARRIER_DIVERGENCE),
        ("arrive(barrier, 0);", Verdict.RUNTIME_ERROR),
        ("wait(barrier, 1ULL << 60);", Verdict.RUNTIME_ERROR),
        (
            "Token a = arrive(barrier); for (int i : {0, 1}) wait_for(barrier, i), arrive(barrier); wait(barrier, a);",
            Verdict.RUNTIME_ERROR,
        ),
        ("__syncthreads();\n  INIT(barrier, 0);", Verdict.RUNTIME_ERROR),
        ("__syncthreads();\n  barrier = 5;\n  __syncthreads();\n  arrive(barrier);", Verdict.RUNTIME_ERROR),
        ("__shared__ Token other; arrive(other);", Verdict.UNINITIALIZED_READ),
    ],
)
def test_a_use_that_is_wrong(device, way, kind):
    text = f"""{BARRIER}{HEAD} {{
  {THREAD}
  __shared__ Token barrier;
  P[t] = 0;
  if (t == 0) INIT(barrier, 32);
  __syncthreads();
  {way}
}}"""

    found = [each for each in device.run(text).findings if each.kind != Verdict.DATA_RACE]

    assert [each.kind for each in found] == [kind]
    assert found[0].line is not None
