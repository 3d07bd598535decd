"""Graph kernels with and without races, after the patterns of the Indigo suite that HiRace was measured with.

`python -m tests.races.indigo` judges all of them: each pattern with each traversal, schedule, condition and mistake. It
prints how many are racy, how many of these are found, and which correct ones are accused.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Budget, Buffer, Options, load_program, run
from kernels.launch import Launch
from kernels.verdict import Severity, Verdict

_COLUMNS = ("racy", "found", "correct", "accused")
VERTICES, _NEIGHBOURS, _THREADS = 24, 5, 64
_FEW_BLOCKS = 3

# The work for one neighbour `nei` at place `j`, right and with each mistake.
_WORK = {
    "vertex": {"": "atomicAdd(data, 1);", "atomic": "data[0] += 1;"},
    "edge": {
        "": "if (atomicAdd(data, 0) < value[nei]) atomicMax(data, value[nei]);",
        "guard": "if (data[0] < value[nei]) atomicMax(data, value[nei]);",
        "atomic": "if (atomicAdd(data, 0) < value[nei]) data[0] = max(data[0], value[nei]);",
        "guard atomic": "if (data[0] < value[nei]) data[0] = max(data[0], value[nei]);",
    },
    "push": {"": "atomicMin(&data[nei], value[i]);", "atomic": "data[nei] = min(data[nei], value[i]);"},
    "worklist": {
        "": "list[atomicAdd(data, 1)] = j;",
        "atomic": "int place = data[0]; data[0] = place + 1; list[place] = j;",
    },
}
_CONDITIONS = {"vertex": "i < nei", "edge": "i < nei", "push": "i < nei", "worklist": "i < nei", "pull": "i < nei"}
_ORDERS = {
    "first": "int j = beg; if (j < end) ",
    "last": "int j = end - 1; if (j >= beg) ",
    "forward": "for (int j = beg + lane; j < end; j += width) ",
    "reverse": "for (int j = end - 1 - lane; j >= beg; j -= width) ",
}
# Sums of a warp or a block for `pull`, and of a block for one update of a common number.
_SHUFFLES = "for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);"
_CARRY = (
    "__shared__ int carry[2];\n    {shuffles}\n    if (threadIdx.x % 32 == 0) carry[threadIdx.x / 32] = sum;\n"
    "    {sync}\n    if (threadIdx.x == 0) {{ sum = carry[0] + carry[1]; {store} }}\n    {sync}"
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One kernel. mistake: what is wrong with it; "" for nothing"""

    pattern: str
    schedule: str
    persistent: bool
    order: str
    condition: bool
    mistake: str
    leaves: bool = False

    @property
    def name(self) -> str:
        parts = (self.pattern, self.schedule, self.order, "persistent" * self.persistent, "if" * self.condition)
        return "_".join(filter(None, (*parts, "break" * self.leaves, *self.mistake.split())))

    @property
    def blocks(self) -> int:
        if self.persistent:
            return _FEW_BLOCKS
        workers = {"thread": 1, "warp": 32, "block": _THREADS}[self.schedule]
        return -(-VERTICES * workers // _THREADS)

    @property
    def text(self) -> str:
        """The source of the kernel."""
        number = {
            "thread": "blockIdx.x * blockDim.x + threadIdx.x",
            "warp": "(blockIdx.x * blockDim.x + threadIdx.x) / 32",
            "block": "blockIdx.x",
        }[self.schedule]
        lane, width = {"thread": ("0", 1), "warp": ("threadIdx.x % 32", 32), "block": ("threadIdx.x", _THREADS)}[
            self.schedule
        ]
        workers = f"{_FEW_BLOCKS * _THREADS // width}"
        walk = f"int i = {number};\n  if (i < n)"
        if self.persistent:
            walk = f"for (int i = {number}; i < n; i += {workers})"
        return (
            "__global__ void K(const int* first, const int* edges, int* data, const int* value, int* list, int n) {\n"
            f"  int lane = {lane}, width = {width};\n  {walk} {{\n"
            f"    int beg = first[i], end = first[i + 1];\n    {self._body}\n  }}\n}}\n"
        )

    @property
    def _body(self) -> str:
        if self.pattern == "compression":
            if self.mistake:
                return "int v = i; while (v > data[v]) v = data[v]; data[i] = v;"
            return "int v = i, up; while (v > (up = atomicAdd(&data[v], 0))) v = up; atomicExch(&data[i], v);"
        guard = f"if ({_CONDITIONS[self.pattern]}) " if self.condition else ""
        leave = " break;" if self.leaves else ""
        if self.pattern != "pull":
            work = _WORK[self.pattern][self.mistake]
            return f"{_ORDERS[self.order]}{{ int nei = edges[j]; {guard}{{ {work}{leave} }} }}"
        work = f"int nei = edges[j]; {guard}{{ sum += value[nei];{leave} }}"
        summed = f"int sum = 0;\n    {_ORDERS[self.order]}{{ {work} }}"
        store = "data[i] += sum;"
        if self.schedule == "thread":
            return f"{summed}\n    {store}"
        if self.schedule == "warp":
            return f"{summed}\n    {_SHUFFLES}\n    if (lane == 0) {store}"
        sync = "" if self.mistake == "sync" else "__syncthreads();"
        return f"{summed}\n    {_CARRY.format(shuffles=_SHUFFLES, sync=sync, store=store)}"


def variants() -> Iterator[Variant]:
    """All kernels, in a fixed order."""
    for persistent, mistake in itertools.product((False, True), ("", "race")):
        yield Variant("compression", "thread", persistent, "", False, mistake)
    for pattern, schedule, persistent, condition in itertools.product(
        _CONDITIONS, ("thread", "warp", "block"), (False, True), (False, True)
    ):
        mistakes = list(_WORK.get(pattern, {"": "", "sync": ""} if schedule == "block" else {"": ""}))
        orders = _ORDERS if schedule == "thread" else ("forward", "reverse")
        for order, mistake in itertools.product(orders, mistakes):
            yield Variant(pattern, schedule, persistent, order, condition, mistake)
            if schedule == "thread" and order in {"forward", "reverse"}:
                yield Variant(pattern, schedule, persistent, order, condition, mistake, leaves=True)


def races(variant: Variant) -> bool:
    """Whether the CPU device finds a data race.

    raise (RuntimeError): it finds another error
    """
    made = compile_source(variant.text, "K", "sm_90", {}, True)
    assert isinstance(made, Compilation), made
    rng = np.random.default_rng(5)
    # Each vertex has an edge to its neighbours and to two that all have in common.
    edges = (np.arange(VERTICES)[:, np.newaxis] + rng.integers(1, 6, (VERTICES, _NEIGHBOURS))) % VERTICES
    edges[:, 1], edges[:, -1], edges[:, 0] = VERTICES - 2, VERTICES - 1, VERTICES - 1
    parents = np.maximum(np.arange(VERTICES) - 1, 0) if variant.pattern == "compression" else np.zeros(VERTICES)
    arrays = {
        "first": np.arange(0, VERTICES * _NEIGHBOURS + 1, _NEIGHBOURS),
        "edges": edges.reshape(-1),
        "data": parents,
        "value": rng.integers(1, 100, VERTICES),
        "list": np.zeros(VERTICES * _NEIGHBOURS),
    }
    buffers = [
        Buffer(name, array.astype(np.int32).view(np.float32), initialised=True) for name, array in arrays.items()
    ]
    launch = Launch((variant.blocks, 1, 1), (_THREADS, 1, 1), 0)
    execution = run(
        load_program(made.ptx, made.entry), launch, (*arrays, VERTICES), buffers, Options(budget=Budget(100_000))
    )
    errors = [finding for finding in execution.findings if finding.severity is Severity.ERROR]
    if others := [finding for finding in errors if finding.kind is not Verdict.DATA_RACE]:
        raise RuntimeError(f"{variant.name}: {others[0].message}\n{variant.text}")
    return bool(errors)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the kernels, and print the sums. The exit code is 1 if one of them is judged incorrectly."""
    parser = argparse.ArgumentParser(prog="python -m tests.races.indigo", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only each n-th of them")
    chosen = list(variants())[:: parser.parse_args(arguments).every]
    counts, wrong = Counter[tuple[str, bool, bool]](), []
    for variant in chosen:
        racy, found = bool(variant.mistake), races(variant)
        counts[variant.pattern, racy, found] += 1
        if racy is not found:
            wrong.append(variant)
    print(f"| pattern | {' | '.join(_COLUMNS)} |\n|---|---:|---:|---:|---:|")
    for pattern in ("compression", *_CONDITIONS, ""):
        sums = Counter[str]()
        for (name, racy, found), count in counts.items():
            if pattern in {"", name}:
                sums["racy" if racy else "correct"] += count
                sums["found" if racy else "accused"] += count * found
        print(f"| {pattern or '**all**'} | {' | '.join(str(sums[each]) for each in _COLUMNS)} |")
    for each in wrong:
        print(f"\n{'missed' if each.mistake else 'accused'}: {each.name}\n{each.text}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
