"""Random kernels with one cluster, whose threads use each other's shared memory, and what each thread does.

A kernel is a list of steps. All threads execute the steps of barriers. Some threads execute each access. Their numbers
alone choose them, so nothing depends on values.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.races.oracle import relation
from tests.races.trace import (
    BLOCK,
    DEVICE,
    Access,
    Arrival,
    Atomic,
    BlockBarrier,
    Bytes,
    ClusterArrival,
    ClusterWait,
    Fence,
    Operation,
    PhaseSeen,
    Scope,
    Thread,
    Trace,
)

THREADS = 64
_CELLS = 128

HEAD = """__device__ unsigned in_block(const void* place, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(place)), "r"(rank));
  return there;
}
#define PUT(place, r) asm volatile("st.shared::cluster.f32 [%0], %1;" \\
  ::"r"(in_block(&(place), r)), "f"(1.0f) : "memory")
#define GET(place, r) do { float v; \\
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(in_block(&(place), r)) : "memory"); kept += v; \\
} while (0)
#define ADD(place, r, scope) asm volatile("red.relaxed." scope ".shared::cluster.add.u32 [%0], %1;" \\
  ::"r"(in_block(&(place), r)), "r"(1) : "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" \\
  ::"r"((unsigned)__cvta_generic_to_shared(&(b))), "r"(n) : "memory")
#define ARRIVE_AT(b, r) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" \\
  ::"r"(in_block(&(b), r)) : "memory")
#define WAIT_FOR(b) do { int done = 0; while (!done) \\
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;}" \\
    : "=r"(done) : "r"((unsigned)__cvta_generic_to_shared(&(b))) : "memory"); } while (0)
#define ARRIVE(order) asm volatile("barrier.cluster.arrive" order ";" ::: "memory")
#define WAIT() asm volatile("barrier.cluster.wait;" ::: "memory")
"""

Number = Callable[[int, int, int], int]
"""Computed from the number of the thread, its block and the number of blocks."""

_WHO: dict[str, Callable[[int, int], bool]] = {
    "true": lambda t, b: True,
    "t == 0": lambda t, b: t == 0,
    "t < 32": lambda t, b: t < 32,
    "t >= 32": lambda t, b: t >= 32,
    "b == 0": lambda t, b: b == 0,
    "b == 1": lambda t, b: b == 1,
    "b == 1 && t == 5": lambda t, b: b == 1 and t == 5,
    "b == 0 && t < 2": lambda t, b: b == 0 and t < 2,
    "b == 1 && t >= 32": lambda t, b: b == 1 and t >= 32,
}
_RANKS: dict[str, Number] = {
    "0": lambda t, b, blocks: 0,
    "1": lambda t, b, blocks: 1,
    "b": lambda t, b, blocks: b,
    "(b + 1) % BLOCKS": lambda t, b, blocks: (b + 1) % blocks,
}
_PLACES: dict[str, Number] = {
    "t": lambda t, b, blocks: t,
    "t ^ 1": lambda t, b, blocks: t ^ 1,
    "t ^ 32": lambda t, b, blocks: t ^ 32,
    "3": lambda t, b, blocks: 3,
    "64 + b": lambda t, b, blocks: 64 + b,
}


@dataclass(frozen=True, slots=True)
class _Handoff:
    """Threads of one block arrive at a barrier of another block, or the same, where some threads wait."""

    number: int
    source: int
    target: int
    arrive: str
    wait: str


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel and its trace. remote: for each line of an access, the accessing thread and the block of the memory."""

    blocks: int
    text: str
    trace: Trace
    remote: dict[int, list[tuple[Thread, int]]]


class _Draft:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.blocks = self.random.choice((2, 2, 4))
        self.lines = HEAD.splitlines()
        self.lines.append("__global__ void K(float* M, float* P, int n) {")
        self.lines.append(f"  __shared__ float s[{_CELLS}]; __shared__ unsigned u[{_CELLS}];")
        self.lines.append(f"  const int t = threadIdx.x, b = blockIdx.x, BLOCKS = {self.blocks}; float kept = 0;")
        # Otherwise the compiler deletes stores that no thread of the own block reads.
        self.lines.append('  asm volatile("" ::"l"(s), "l"(u) : "memory");')
        self.operations: dict[Thread, list[Operation]] = defaultdict(list)
        self.remote: dict[int, list[tuple[Thread, int]]] = {}
        self.uses = {"block": 0, "cluster": 0}
        everyone = [who for who in _WHO if "b" not in who]
        number = self.random.randrange
        choose = self.random.choice
        self.handoffs = [
            _Handoff(each, number(self.blocks), number(self.blocks), choose(everyone), choose(everyone))
            for each in range(2)
        ]

    def threads(self) -> Iterator[Thread]:
        return ((b, t) for b in range(self.blocks) for t in range(THREADS))

    def everyone(self, text: str, operation: Operation) -> None:
        self.lines.append(f"  {text}")
        for thread in self.threads():
            self.operations[thread].append(operation)

    def access(self) -> None:
        choose = self.random.choice
        who, rank, place = choose(list(_WHO)), choose(list(_RANKS)), choose(list(_PLACES))
        kind, scope = choose(("put", "get", "own_put", "own_get", "add")), choose(("cta", "cluster"))
        line = len(self.lines) + 1
        does = {
            "put": f"PUT(s[{place}], {rank});",
            "get": f"GET(s[{place}], {rank});",
            "own_put": f's[{place}] = 1; asm volatile("" ::: "memory");',
            "own_get": f"kept += *(volatile float*)&s[{place}];",
            "add": f'ADD(u[{place}], {rank}, "{scope}");',
        }[kind]
        self.lines.append(f"  if ({who}) {does}")
        self.remote[line] = []
        for thread in self.threads():
            b, t = thread
            if not _WHO[who](t, b):
                continue
            owner = b if kind.startswith("own") else _RANKS[rank](t, b, self.blocks)
            cell = 4 * _PLACES[place](t, b, self.blocks)
            if kind == "add":
                within: Scope = BLOCK if scope == "cta" else DEVICE
                self.operations[thread].append(Atomic(line, (f"u{owner}", cell, 4), within, looks=False))
            else:
                writes = kind.endswith("put")
                self.operations[thread].append(Access(line, (f"s{owner}", cell, 4), writes, kind == "own_get"))
            if owner != b:
                self.remote[line].append((thread, owner))

    def barrier(self) -> None:
        kind = self.random.choice(("block", "sync", "sync", "split", "relaxed"))
        if kind == "block":
            self.everyone("__syncthreads();", BlockBarrier(self.uses["block"]))
            self.uses["block"] += 1
            return
        use = self.uses["cluster"]
        self.uses["cluster"] += 1
        if kind == "relaxed":
            fence = self.random.choice(("", "cta", "cluster", "gpu"))
            if fence:
                scope: Scope = BLOCK if fence == "cta" else DEVICE
                self.everyone(f'asm volatile("fence.acq_rel.{fence};" ::: "memory");', Fence(scope))
        self.everyone(f'ARRIVE("{".relaxed" * (kind == "relaxed")}");', ClusterArrival(use, kind != "relaxed"))
        if kind == "split":
            self.access()
        self.everyone("WAIT();", ClusterWait(use))

    def clear(self) -> None:
        """Let every thread clear a part of its block's arrays, so that no read finds an unset value."""
        for array in "su":
            for shift in range(0, _CELLS, THREADS):
                line = len(self.lines) + 1
                self.lines.append(f"  {array}[t + {shift}] = 0;")
                for b, t in self.threads():
                    self.operations[b, t].append(Access(line, (f"{array}{b}", 4 * (t + shift), 4), writes=True))
        self.lines.append("  __shared__ unsigned long long bars[2];")
        for each in self.handoffs:
            count = sum(_WHO[each.arrive](t, 0) for t in range(THREADS))
            line = len(self.lines) + 1
            self.lines.append(f"  if (t == 0) INIT(bars[{each.number}], {count});")
            for b in range(self.blocks):
                self.operations[b, 0].append(Access(line, self.barrier_at(each, b), writes=True))
        self.everyone("__syncthreads();", BlockBarrier(0))
        self.uses["block"] = 1

    @staticmethod
    def barrier_at(handoff: _Handoff, block: int) -> Bytes:
        return f"bars{block}", 8 * handoff.number, 8

    def hand_off(self) -> None:
        each = self.handoffs.pop()
        place, name = self.barrier_at(each, each.target), f"{each.number} of {each.target}"
        line = len(self.lines) + 1
        self.lines.append(f"  if (b == {each.source} && {each.arrive}) ARRIVE_AT(bars[{each.number}], {each.target});")
        self.lines.append(f"  if (b == {each.target} && {each.wait}) WAIT_FOR(bars[{each.number}]);")
        arriving = [(each.source, t) for t in range(THREADS) if _WHO[each.arrive](t, 0)]
        for thread in arriving:
            self.operations[thread] += [Atomic(line, place, looks=False), Arrival(name, 0)]
        if each.source != each.target:
            self.remote[line] = [(thread, each.target) for thread in arriving]
        for t in range(THREADS):
            if _WHO[each.wait](t, 0):
                self.operations[each.target, t] += [Atomic(line + 1, place, writes=False), PhaseSeen(name, 0)]


def generate(seed: int) -> Program:
    draft = _Draft(seed)
    draft.clear()
    if draft.random.random() < 0.8:
        draft.everyone("ARRIVE();", ClusterArrival(0))
        draft.everyone("WAIT();", ClusterWait(0))
        draft.uses["cluster"] = 1
    for _ in range(draft.random.randint(2, 6)):
        if draft.random.random() < 0.5:
            draft.barrier()
        elif draft.handoffs and draft.random.random() < 0.4:
            draft.hand_off()
        draft.access()
    if draft.random.random() < 0.6:
        use = draft.uses["cluster"]
        draft.everyone("ARRIVE();", ClusterArrival(use))
        draft.everyone("WAIT();", ClusterWait(use))
    draft.lines.append("  P[b * blockDim.x + t] = kept;")
    draft.lines.append("}")
    return Program(draft.blocks, "\n".join(draft.lines), Trace(dict(draft.operations)), draft.remote)


def outlived(program: Program) -> set[int]:
    """The lines of accesses to memory of blocks that may not have started, or may have returned."""
    known, found = relation(program.trace), set()
    nodes = defaultdict(list)
    for use in known.uses:
        nodes[use.access.line, use.thread].append(use.node)
    for line, uses in program.remote.items():
        for thread, owner in uses:
            (node,) = nodes[line, thread]
            starts, ends = ([of((owner, t)) for t in range(THREADS)] for of in (known.starts.__getitem__, known.end))
            operations = program.trace.threads[thread]
            at = next(i for i, each in enumerate(operations) if isinstance(each, Access | Atomic) and each.line == line)
            # A relaxed arrival shows the start, too.
            waited = any(isinstance(each, ClusterWait) for each in operations[:at])
            begun = waited or any(known.before[node] >> start & 1 for start in starts)
            if not (begun and any(known.after[node] >> end & 1 for end in ends)):
                found.add(line)
    return found
