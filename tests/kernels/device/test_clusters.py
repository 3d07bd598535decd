"""Thread block clusters: their registers, their barrier, and the shared memory of other blocks."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.analysis.hardware import as_executed
from kernels.device import Budget, Buffer, Options, Schedule, run
from kernels.launch import Launch
from kernels.verdict import Severity, Verdict
from tests.kernels.device.kernels import Found, Race, Story, line, lines, only, program, schedules

CLUSTER = """
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned in(const void* p, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
  return there;
}
__device__ unsigned rank() { unsigned r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
#define ARRIVE(order) asm volatile("barrier.cluster.arrive" order ";" ::: "memory")
#define WAIT() asm volatile("barrier.cluster.wait;" ::: "memory")
#define SYNC() ARRIVE(); WAIT()
#define STORE(place, r, value) \\
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(in(&(place), r)), "f"((float)(value)) : "memory")
#define LOAD_AT(to, there) do { \\
  float v; asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory"); to = v; } while (0)
#define LOAD(to, place, r) LOAD_AT(to, in(&(place), r))
#define GENERIC(there, p, r) \\
  unsigned long long there; asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"((unsigned long long)(p)), "r"(r))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&b)), "r"(n) : "memory")
#define ARRIVE_AT(b, r) \\
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in(&b, r)) : "memory")
__device__ void wait_for(unsigned long long& b, int parity) {
  int done = 0;
  while (!done)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(at(&b)), "r"(parity) : "memory");
}
"""
PAIR = {"grid": 2, "cluster": 2, "n": 64}
EXCHANGE = """
  __shared__ float s[32];
  int i = blockIdx.x * 32 + t;
  s[t] = M[i];  //@ store
  SYNC();  //@ begin
  LOAD(P[i], s[31 - t], rank() ^ 1);  //@ load
  SYNC();  //@ end
"""
SWAPPED = [63 - t for t in range(64)]


def without(mark: str, body: str = EXCHANGE, instead: str = "") -> str:
    """The body with other text in a marked line."""
    return "\n".join(f"{instead}  //@ {mark}" if each.endswith(f"//@ {mark}") else each for each in body.split("\n"))


def story(name: str, wanted: object, body: str, **launch: object) -> Story:
    return Story(name, wanted, body, before=CLUSTER, **{**PAIR, **launch})  # type: ignore[arg-type]


RIGHT = [
    story("blocks exchange what they loaded", SWAPPED, EXCHANGE),
    story("without the cluster's release, fences order what was stored", SWAPPED, without(
        "begin", instead='asm volatile("fence.acq_rel.cluster;" ::: "memory"); ARRIVE(".relaxed"); WAIT();')),
    story("the wait is over when the others have arrived, however late a thread comes to it", SWAPPED, without(
        "begin", instead="ARRIVE(); if (t < 16) { WAIT(); } else { __nanosleep(5); WAIT(); }")),
    story("threads that have returned aren't waited for", [float(t) for t in range(64)], """
  int i = blockIdx.x * 32 + t;
  P[i] = M[i];
  if (t >= 16) return;
  SYNC();
"""),
    story("a flag in global memory orders the blocks, too", [7.0] * 32 + [1.0] * 32, """
  __shared__ float s[32];
  volatile int* flag = (volatile int*)P;
  s[t] = 7;
  __syncthreads();
  if (rank() == 1) {
    if (t == 0) {
      __threadfence();
      atomicExch((int*)P + 64, 1);
      while (atomicAdd((int*)P + 65, 0) == 0);
      __threadfence();
    }
    __syncthreads();
    P[32 + t] = 1;
    return;
  }
  if (t == 0) { while (atomicAdd((int*)P + 64, 0) == 0); __threadfence(); }
  __syncthreads();
  LOAD(P[t], s[t], 1);
  __threadfence();
  __syncthreads();
  if (t == 0) atomicExch((int*)P + 65, 1);
""", n=66),
    story("threads wait for a volatile flag in another block", [5.0] * 32 + [1.0] * 32, """
  __shared__ volatile int flag;
  __shared__ float s[32];
  if (t == 0) flag = 0;
  if (rank() == 1) s[t] = 5;
  SYNC();
  GENERIC(there, &flag, 1);
  P[blockIdx.x * 32 + t] = 1;
  if (rank() == 1 && t == 0) flag = 1;
  if (rank() == 0) {
    while (*(volatile int*)there == 0);
    LOAD(P[t], s[t], 1);
  }
  SYNC();
"""),
    story("an address that no thread uses may have any rank", [1.0] * 64, """
  unsigned there = in(&P, 5);
  P[blockIdx.x * 32 + t] = 1;
  if (n < 0) LOAD_AT(P[0], there);
"""),
]  # fmt: skip


@pytest.mark.parametrize("kernel", [each for each in RIGHT if "flag" not in each.name], ids=str)
def test_what_is_correct(device, kernel):
    kernel.check(device)


def test_a_flag_in_global_memory_shows_that_a_block_has_started_and_may_return(device):
    kernel = next(each for each in RIGHT if "flag" in each.name)
    buffers = (
        Buffer("M", np.zeros(64, np.float32), initialised=True),
        Buffer("P", np.zeros(66, np.float32), initialised=True),
    )
    launch = Launch((2, 1, 1), (32, 1, 1), 0, (2, 1, 1))

    ran = run(program(kernel.text, device.arch), launch, ("M", "P", 66), buffers, Options(budget=Budget(100_000)))

    assert ran.findings == ()
    assert ran.values["P"][:64].tolist() == kernel.wanted


@schedules
def test_every_order_of_blocks_gives_the_same_values(device, schedule):
    assert device.output(RIGHT[0].text, **PAIR, schedule=schedule) == SWAPPED


FIRST_COME = story("who comes first", None, """
  __shared__ unsigned count;
  if (t == 0) count = 0;
  SYNC();
  unsigned old = 0;
  if (t == 0)
    asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(old) : "r"(in(&count, 0)));
  P[blockIdx.x * 32 + t] = old;
  SYNC();
""")  # fmt: skip


@pytest.mark.parametrize(
    ("schedule", "second"),
    [(Schedule.WARP_SERIAL, 32), (Schedule.WARP_SERIAL_REVERSED, 0), (Schedule.THREAD_SERIAL_REVERSED, 0)],
)
def test_in_a_serial_schedule_the_blocks_of_a_cluster_take_turns(device, schedule, second):
    ran = device.run(FIRST_COME.text, **PAIR, schedule=schedule, races=False)

    assert np.flatnonzero(ran.values["P"]).tolist() == [second]


def test_the_order_of_blocks_in_a_cluster_is_open(device):
    ran = device.run(FIRST_COME.text, **PAIR)

    assert ran.others
    assert {other.values["P"][0] for other in ran.others} == {1}


REGISTERS = """
  unsigned v[8];
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[0]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[1]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[2]));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[3]));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[4]));
  asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[5]));
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[6]));
  asm("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(v[7]));
  if (t == 0)
    for (int each = 0; each < 8; ++each) P[8 * (blockIdx.y * gridDim.x + blockIdx.x) + each] = v[each];
"""


def test_the_registers_of_a_cluster_in_two_dimensions(device):
    text = Story("", None, REGISTERS).text
    wanted = [[x // 2, y // 2, 3, x % 2, y % 2, 2, x % 2 + 2 * (y % 2), 1] for y in range(4) for x in range(6)]

    assert device.output(text, grid=(6, 4), cluster=(2, 2), n=8 * 24) == [each for block in wanted for each in block]


def test_a_launch_without_clusters_has_clusters_of_one_block(device):
    text = Story("", None, REGISTERS).text

    wanted = [[x, y, 3, 0, 0, 1, 0, 0] for y in range(2) for x in range(3)]

    assert device.output(text, grid=(3, 2), n=8 * 6) == [each for block in wanted for each in block]


def test_addresses_in_other_blocks(device):
    text = Story("", None, """
  __shared__ float s[2];
  if (t < 2) s[t] = 1;
  SYNC();
  unsigned long long there, shared = (unsigned long long)s, global = (unsigned long long)P;
  unsigned of_generic, of_shared, of_own;
  asm("mapa.u64 %0, %1, 1;" : "=l"(there) : "l"(shared));
  asm("getctarank.u64 %0, %1;" : "=r"(of_generic) : "l"(there));
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of_shared) : "r"(in(s, 0)));
  asm("getctarank.u64 %0, %1;" : "=r"(of_own) : "l"(shared));
  int in_space[5], at = 0;
#define ASK(space, place) \\
  asm("{.reg .pred p; isspacep." space " p, %1; selp.s32 %0, 1, 0, p;}" : "=r"(in_space[at++]) : "l"(place))
  ASK("shared::cta", there); ASK("shared::cluster", there); ASK("shared", shared); ASK("global", there);
  ASK("global", global);
  float* out = P + 8 * blockIdx.x;
  if (t == 0) {
    out[0] = of_generic; out[1] = of_shared; out[2] = of_own;
    for (int each = 0; each < 5; ++each) out[3 + each] = in_space[each];
  }
""", before=CLUSTER).text  # fmt: skip

    assert device.output(text, grid=2, cluster=2, n=16) == [1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1]


def test_some_blocks_run_with_the_rest_of_their_clusters(device):
    ran = device.run(RIGHT[0].text, grid=6, cluster=2, n=192, values=192, blocks=[3])

    assert ran.findings == ()
    assert ran.values["P"][64:128].tolist() == [127 - t for t in range(64)]
    assert np.isnan(ran.values["P"][[0, 63, 128, 191]]).all()


def test_counts_of_blocks_that_use_each_others_memory(device):
    ran = device.run(RIGHT[0].text, grid=4, cluster=2, n=128, values=128, count=True)

    assert ran.findings == ()
    assert ran.counts is not None
    assert sorted(ran.counts.blocks) == [0, 1, 2, 3]


LIFETIME = "shared memory may"
WRONG = [
    story("no barrier before the first access", Found(Verdict.DATA_RACE, line="load", says=LIFETIME), """
  __shared__ float s[32];
  P[blockIdx.x * 32 + t] = 0;
  STORE(s[t], rank() ^ 1, t);  //@ load
  SYNC();
"""),
    story("a block may return while another one reads", Found(Verdict.DATA_RACE, line="load", says="may have returned"),
          without("end")),
    story("a relaxed arrival orders nothing", Race("store", "load"), without(
        "begin", instead='ARRIVE(".relaxed"); WAIT();')),
    story("a relaxed arrival at the end", Found(Verdict.DATA_RACE, line="load", says="may have returned"), without(
        "end", instead='ARRIVE(".relaxed"); WAIT();')),
    story("a fence of the block's scope isn't enough", Race("store", "load"), without(
        "begin", instead='asm volatile("fence.acq_rel.cta;" ::: "memory"); ARRIVE(".relaxed"); WAIT();')),
    story("the fence for new barriers shows nothing else", Race("store", "load"), without(
        "begin", instead='asm volatile("fence.mbarrier_init.release.cluster;"); ARRIVE(".relaxed"); WAIT();')),
    story("a write after the arrival", Race("late", "load"), EXCHANGE.replace(
        "SYNC();  //@ begin", "ARRIVE();\n  s[t] = 2 * M[i];  //@ late\n  WAIT();")),
    story("what a thread that has returned wrote isn't ordered", Race("store", "load"), EXCHANGE.replace(
        "SYNC();  //@ begin", "if (t >= 16) { P[i] = 0; return; }\n  SYNC();").replace("31 - t", "16 + t")),
    story("two blocks write to one place", Race("both", "both"), """
  __shared__ float s;
  SYNC();
  if (t == 0) STORE(s, 0, blockIdx.x);  //@ both
  SYNC();
  P[blockIdx.x * 32 + t] = 0;
"""),
    story("threads of one block write to one place of another", Race("both", "both"), """
  __shared__ float s;
  SYNC();
  if (rank() == 1) STORE(s, 0, t);  //@ both
  SYNC();
  P[blockIdx.x * 32 + t] = 0;
"""),
    story("atomics of the block's scope in another block", Found(Verdict.DATA_RACE, line="add"), """
  __shared__ float s;
  if (t == 0) s = 0;
  SYNC();
  asm volatile("red.relaxed.cta.shared::cluster.add.f32 [%0], %1;" ::"r"(in(&s, 0)), "f"(1.0f) : "memory");  //@ add
  SYNC();
  P[blockIdx.x * 32 + t] = 0;
"""),
    story("an arrival before the barrier is made", Found(Verdict.DATA_RACE, pair=("init", "arrive")), """
  __shared__ unsigned long long bar;
  ARRIVE(".relaxed"); WAIT();
  if (t == 0) INIT(bar, 1);  //@ init
  if (t == 0) ARRIVE_AT(bar, rank() ^ 1);  //@ arrive
  P[blockIdx.x * 32 + t] = 0;
  SYNC();
"""),
    story("an element after another block's array", Found(Verdict.OUT_OF_BOUNDS, line="load"), """
  __shared__ float s[32];
  s[t] = 0;
  SYNC();
  LOAD(P[blockIdx.x * 32 + t], s[t + 1], 1);  //@ load
  SYNC();
"""),
    story("a rank beyond the cluster", Found(Verdict.OUT_OF_BOUNDS, line="load", says="its last rank is 1"), """
  __shared__ float s[32];
  s[t] = 0;
  SYNC();
  LOAD(P[blockIdx.x * 32 + t], s[t], 2);  //@ load
  SYNC();
"""),
    story("a load from another block as if from the own", Found(Verdict.OUT_OF_BOUNDS, line="load"), """
  __shared__ float s[32];
  s[t] = 0;
  SYNC();
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(in(&s[t], 1)) : "memory");  //@ load
  P[blockIdx.x * 32 + t] = value;
  SYNC();
"""),
    story("a value that the other block never set", Found(Verdict.UNINITIALIZED_READ, line="load"), """
  __shared__ float s[32];
  if (rank() == 0) s[t] = 0;
  SYNC();
  LOAD(P[blockIdx.x * 32 + t], s[t], rank() ^ 1);  //@ load
  SYNC();
"""),
    story("a wait at another block's barrier", Found(Verdict.RUNTIME_ERROR, line="wait", says="another block's"), """
  __shared__ unsigned long long bar;
  if (t == 0) INIT(bar, 1);
  SYNC();
  GENERIC(there, &bar, 1);
  if (t == 0 && rank() == 0)
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.b64 p, [%0], 1;}" ::"l"(there) : "memory");  //@ wait
  P[blockIdx.x * 32 + t] = 0;
  SYNC();
"""),
    story("a copy of a global address", Found(Verdict.RUNTIME_ERROR, line="map", says="outside shared memory"), """
  GENERIC(there, P, 1);  //@ map
  P[blockIdx.x * 32 + t] = 0;
"""),
    story("a second arrival before the wait", Found(Verdict.BARRIER_DIVERGENCE, line="again"), """
  P[blockIdx.x * 32 + t] = 0;
  ARRIVE();
  ARRIVE();  //@ again
  WAIT();
"""),
    story("a wait without an arrival", Found(Verdict.BARRIER_DIVERGENCE, line="wait", count=32), """
  P[blockIdx.x * 32 + t] = 0;
  if (t % 2 == 0) ARRIVE();
  WAIT();  //@ wait
"""),
    story("a warp at two aligned barriers", Found(Verdict.BARRIER_DIVERGENCE, line="wait", says="its warp"), """
  P[blockIdx.x * 32 + t] = 0;
  if (t < 16) ARRIVE(".aligned"); else { __nanosleep(1); ARRIVE(".aligned"); }
  WAIT();  //@ wait
"""),
    story("lanes that arrive at two aligned barriers and wait apart",
          Found(Verdict.BARRIER_DIVERGENCE, line="wait", says="another place"), """
  P[blockIdx.x * 32 + t] = 0;
  if (t < 16) {
    ARRIVE(".aligned");
    WAIT();  //@ wait
  } else {
    __nanosleep(1);
    ARRIVE(".aligned");
    WAIT();
  }
"""),
    story("one block waits for the cluster, the other for itself",
          Found(Verdict.BARRIER_DIVERGENCE, pair=("cluster", "block")), """
  P[blockIdx.x * 32 + t] = 0;
  if (rank() == 0) { ARRIVE(); WAIT(); }  //@ cluster
  else asm volatile("bar.sync 1, 64;");  //@ block
"""),
]  # fmt: skip


@pytest.mark.one_in(3, "a third here, and tests/corpus has clusters")
@pytest.mark.parametrize("kernel", WRONG, ids=str)
def test_what_is_incorrect(device, kernel):
    kernel.check(device)


@pytest.mark.parametrize(
    ("scope", "across", "found"),
    [("cluster", False, []), ("cluster", True, ["data_race"]), ("gpu", True, []), ("cta", False, ["data_race"])],
)
def test_the_scope_of_atomics_lies_between_block_and_device(device, scope, across, found):
    text = Story("", None, f"""
  int other = blockIdx.x / {2 if not across else 4};
  asm volatile("red.relaxed.{scope}.global.add.f32 [%0], %1;" ::"l"(P + other), "f"(1.0f) : "memory");  //@ add
""", before=CLUSTER).text  # fmt: skip
    buffers = tuple(Buffer(name, np.zeros(64, np.float32), initialised=True) for name in "MP")
    launch = Launch((4, 1, 1), (32, 1, 1), 0, (2, 1, 1))

    ran = run(program(text, device.arch), launch, ("M", "P", 64), buffers, Options(budget=Budget(100_000)))

    assert [kind for kind, _, _ in lines(ran)] == found


ARRIVALS = story("arrivals of another block", [float(32 + t) for t in range(32)] + [0.0] * 32, """
  __shared__ unsigned long long bar;
  __shared__ float s[32];
  P[blockIdx.x * 32 + t] = 0;
  if (t == 0) INIT(bar, 32);
  asm volatile("fence.mbarrier_init.release.cluster;");
  ARRIVE(".relaxed"); WAIT();  //@ begin
  if (rank() == 1) {
    STORE(s[t], 0, M[32 + t]);
    ARRIVE_AT(bar, 0);
    return;
  }
  wait_for(bar, 0);
  P[t] = s[t];
""")  # fmt: skip


def test_an_arrival_at_another_blocks_barrier_lets_its_block_return(device):
    ARRIVALS.check(device)


def test_a_new_barrier_needs_its_fence_if_the_arrival_is_relaxed(device):
    text = ARRIVALS.text.replace('  asm volatile("fence.mbarrier_init.release.cluster;");\n', "")

    found = device.run(text, **PAIR).findings

    assert {finding.kind for finding in found} == {Verdict.DATA_RACE}
    assert {finding.facts.relaxed_arrivals for finding in found if finding.facts.between_blocks} == {
        (line(text, "begin"),)
    }


def test_bytes_that_another_block_expects_and_brings(device):
    text = story("", None, """
  __shared__ unsigned long long bar;
  __shared__ float s;
  P[blockIdx.x * 32 + t] = 0;
  if (t == 0) INIT(bar, 1);
  SYNC();
  if (t == 0 && rank() == 1) {
    asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 4;" ::"r"(in(&bar, 0)) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(in(&s, 0)), "r"(t),
                 "r"(in(&bar, 0)) : "memory");
    ARRIVE_AT(bar, 0);
  }
  if (rank() == 0) wait_for(bar, 0);
  P[blockIdx.x * 32 + t] = 1;
""").text  # fmt: skip

    assert device.output(text, **PAIR) == [1] * 64


def test_a_kernel_that_allows_only_smaller_clusters(device):
    text = RIGHT[0].text.replace("void K", "void __launch_bounds__(32, 1, 1) K")

    finding = only(device.run(text, **PAIR))
    assert finding.kind is Verdict.RESOURCE_LIMIT


# Both blocks load half of each part for both of them. Warp 0 loads, warp 1 adds up.
PIPELINE = story("a pipeline whose copies go to both blocks", None, """
  __shared__ alignas(16) float buffer[2][64];
  __shared__ unsigned long long full[2], empty[2];
  int r = rank();
  if (t == 0) {
    for (int s = 0; s < 2; ++s) { INIT(full[s], 1); INIT(empty[s], 64); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  ARRIVE(".relaxed.aligned"); WAIT();
  if (t == 0) {
    for (int i = 0; i < 6; ++i) {
      int s = i % 2;
      if (i >= 2) wait_for(empty[s], (i / 2 - 1) % 2);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(at(&full[s])) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                   " [%0], [%1], 128, [%2], %3;" ::"r"(at(&buffer[s][32 * r])), "l"(M + 64 * i + 32 * r),
                   "r"(at(&full[s])), "h"((short)3) : "memory");
    }
    wait_for(empty[0], 0); wait_for(empty[1], 0);
  }
  if (t < 32) return;
  float sum = 0;
  for (int i = 0; i < 6; ++i) {
    wait_for(full[i % 2], i / 2 % 2);
    sum += buffer[i % 2][t - 32] + 2 * buffer[i % 2][t];
    ARRIVE_AT(empty[i % 2], 0); ARRIVE_AT(empty[i % 2], 1);
  }
  P[blockIdx.x * 32 + t - 32] = sum;
""", block=64, values=384)  # fmt: skip


def test_a_pipeline_whose_copies_go_to_both_blocks(device):
    parts = np.arange(384).reshape(6, 64)
    wanted = (parts[:, :32] + 2 * parts[:, 32:]).sum(axis=0).tolist()

    run = device.run(PIPELINE.text, **PIPELINE.launch, count=True)
    assert (run.findings, run.values["P"].tolist()) == ((), wanted * 2)
    assert run.counts is not None
    totals = as_executed(run.counts, None).totals
    assert (totals.bulk_load_requests, totals.bulk_load_bytes) == (12, 2 * 6 * 128)
    assert totals.bulk_received_bytes == 2 * totals.bulk_load_bytes


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(
    ("changed", "instead", "kind"),
    [
        ("wait_for(empty[0], 0); wait_for(empty[1], 0);", "", Verdict.DATA_RACE),
        ("ARRIVE_AT(empty[i % 2], 1);", "ARRIVE_AT(empty[i % 2], 0);", Verdict.BARRIER_DIVERGENCE),
        ("if (i >= 2) wait_for(empty[s], (i / 2 - 1) % 2);", "", Verdict.BARRIER_DIVERGENCE),
        (' asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");', "", Verdict.DATA_RACE),
    ],
    ids=["the producer returns too early", "only one block hears", "no wait for empty", "no fence for new barriers"],
)
def test_mistakes_in_such_a_pipeline(device, changed, instead, kind):
    assert changed in PIPELINE.text
    found = device.run(PIPELINE.text.replace(changed, instead), **PIPELINE.launch).findings

    assert kind in {finding.kind for finding in found if finding.severity is Severity.ERROR}


def test_arrivals_in_the_own_block_do_not_free_the_other_blocks_buffer(device):
    text = PIPELINE.text.replace("INIT(empty[s], 64)", "INIT(empty[s], 32)")
    text = text.replace("ARRIVE_AT(empty[i % 2], 0); ARRIVE_AT(empty[i % 2], 1);", "ARRIVE_AT(empty[i % 2], r);")

    assert Verdict.DATA_RACE in {finding.kind for finding in device.run(text, **PIPELINE.launch).findings}
