"""Random kernels with one cluster, whose threads use each other's shared memory, and what each thread does.

A kernel is a list of steps. All threads execute the steps of barriers. Some threads execute each access. Their numbers
alone choose them, so nothing depends on values.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.races.trace import (
    BLOCK,
    DEVICE,
    Access,
    Atomic,
    BlockBarrier,
    ClusterArrival,
    ClusterWait,
    Fence,
    Operation,
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
        self.everyone("__syncthreads();", BlockBarrier(0))
        self.uses["block"] = 1


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
    found = set()
    for line, uses in program.remote.items():
        for thread, owner in uses:
            operations = program.trace.threads[thread]
            at = next(i for i, each in enumerate(operations) if isinstance(each, Access | Atomic) and each.line == line)
            begun = any(isinstance(each, ClusterWait) for each in operations[:at])
            # Only barriers of the cluster lead to a thread of the other block, in which it then returns.
            fences = [i for i, each in enumerate(operations) if isinstance(each, Fence) and each.scope == DEVICE]
            ends = any(
                isinstance(each, ClusterArrival) and (each.releases or any(at < fence < i for fence in fences))
                for i, each in enumerate(operations)
                if i > at
            )
            if not (begun and (ends or _through_block(program, thread, at, owner))):
                found.add(line)
    return found


def _through_block(program: Program, thread: Thread, at: int, owner: int) -> bool:
    """Whether a barrier of its block leads an access to another thread's fence or arrival."""
    operations = program.trace.threads[thread]
    after = [i for i, each in enumerate(operations) if i > at and isinstance(each, BlockBarrier)]
    return bool(after) and any(isinstance(each, ClusterArrival) and each.releases for each in operations[after[0] :])
