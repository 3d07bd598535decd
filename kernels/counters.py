"""The counters of a launch in one table. JSON, text, page, goals and the comparison of submissions read it.

Reports keep the fields of Totals, in this order. DERIVED has numbers computed from those fields. An entry in either
adds a counter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from operator import attrgetter
from typing import Any


@dataclass(slots=True)
class AccessSum:
    """Sums over accesses: the rows of ACCESS_FIELDS by name, the number, the widest, and the requested bytes."""

    width: int = 0
    number: int = 0
    bytes: int = 0
    requests: int = 0
    threads: int = 0
    sectors: int = 0
    segments: int = 0
    unique_bytes: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    repeats: int = 0
    received_bytes: int = 0

    @property
    def conflicts(self) -> int:
        return self.wavefronts - self.ideal_wavefronts

    @property
    def efficiency(self) -> float:
        return self.unique_bytes / (32 * self.sectors) if self.sectors else 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """The sums of a run.

    access: the hardware's accesses by space and verb, such as ("global", "load"); ptx: the same for the PTX
    branches: conditional branches that warps reached; divergent: branches that split a warp
    tensor_flops: the operations among `flops` that tensor cores do
    tensor_work: the same, each times its time in sixteenths of an operation of half precision
    tensor_instructions: the instructions of warps for them
    product_bytes: what these read from shared memory
    async_loads: the requests of loads that are asynchronous copies
    """

    access: Mapping[tuple[str, str], AccessSum]
    ptx: Mapping[tuple[str, str], AccessSum]
    branches: int
    divergent: int
    threads: int
    warps: int
    flops: int
    tensor_flops: int = 0
    tensor_work: int = 0
    tensor_instructions: int = 0
    product_bytes: int = 0
    async_loads: int = 0

    @property
    def global_bytes(self) -> int:
        return sum(self.access["global", verb].bytes for verb in ("load", "store", "bulk load", "bulk store"))


HALF_WORK = 16
"""The tensor work of one operation with factors of half precision."""


class Kind(Enum):
    """The format of a number. LANES: a share, written as a number of a warp's 32 threads."""

    COUNT = auto()
    RATIO = auto()
    SHARE = auto()
    LANES = auto()


GLOBAL, SHARED, WORK = "Global memory", "Shared memory", "Work"
_LOADS, _STORES, _ATOMICS = (GLOBAL, "global loads"), (GLOBAL, "global stores"), (GLOBAL, "global atomics")
_BULK_LOADS, _BULK_STORES = (GLOBAL, "bulk loads"), (GLOBAL, "bulk stores")
_SHARED_LOADS, _SHARED_STORES = (SHARED, "shared loads"), (SHARED, "shared stores")
_BRANCHES, _INSTRUCTIONS, _OPERATIONS = (WORK, "branches"), (WORK, "instructions"), (WORK, "operations")


@dataclass(frozen=True, slots=True)
class Counter:
    """The words about a number. The page needs a title; the text needs a row or a title.

    section: its table on the page; meaning: explains it there
    row: its line of the text, by default a separate one
    column: its position there, 0 to 3; a line with 0 in column 0 is left out
    text: the words after the number in the text, by default the unit
    better: "less" or "more" in the comparison of submissions, which leaves out all others
    compared: its title there, if it isn't the page's
    of: its value; None for an average over nothing
    """

    title: str = ""
    unit: str = ""
    meaning: str = ""
    section: str = WORK
    row: str = ""
    column: int = 0
    text: str = ""
    kind: Kind = Kind.COUNT
    better: str = ""
    compared: str = ""
    of: Callable[[Totals], float | None] = lambda totals: None
    name: str = ""


def _kept(total: Callable[[Run], float], counter: Counter | None = None) -> Any:
    """A field of Totals. total: computes it from a run."""
    counter = counter or Counter()
    return field(default=0 if counter.kind is Kind.COUNT else 0.0, metadata={"total": total, "counter": counter})


_CONFLICTS = "passes needed only because threads requested different words of one bank"


# fmt: off
@dataclass(frozen=True, slots=True)
class Totals:
    """The whole launch. `shared_*` and `global_*` count the hardware's accesses, `ptx_*` those in the PTX.

    bulk_*: bulk copies between global and shared memory, also of tensors
    bulk_received_bytes: of bulk loads, once for each block that gets them
    cluster_copy_*: bulk copies to the shared memory of a block of the cluster
    global_bytes: bytes that threads requested from global memory: loads, stores and bulk copies
    warp_efficiency: active threads per executed warp instruction, as a share of 32
    compute_to_memory: floating-point operations per 4 bytes that threads request from global memory, whatever the type
    """

    global_load_requests: int = _kept(
        lambda run: run.access["global", "load"].requests,
        Counter("load requests", "requests", "loads of whole warps, each for up to 32 elements", *_LOADS))
    global_load_sectors: int = _kept(
        lambda run: run.access["global", "load"].sectors,
        Counter("sectors loaded", "sectors", "pieces of 32 bytes that the loads touched", *_LOADS, 1))
    global_load_segments: int = _kept(lambda run: run.access["global", "load"].segments)
    global_load_efficiency: float = _kept(
        lambda run: run.access["global", "load"].efficiency,
        Counter("load efficiency", "", "the share of loaded bytes that threads use; 100 % is best", *_LOADS, 3,
                "load efficiency", Kind.SHARE))
    global_store_requests: int = _kept(
        lambda run: run.access["global", "store"].requests,
        Counter("store requests", "requests", "stores of whole warps", *_STORES))
    global_store_sectors: int = _kept(
        lambda run: run.access["global", "store"].sectors,
        Counter("sectors stored", "sectors", "pieces of 32 bytes that the stores touched", *_STORES, 1))
    global_store_segments: int = _kept(lambda run: run.access["global", "store"].segments)
    global_store_efficiency: float = _kept(
        lambda run: run.access["global", "store"].efficiency,
        Counter("store efficiency", "", "the share of stored sectors that threads write; 100 % is best", *_STORES, 3,
                "store efficiency", Kind.SHARE))
    global_atomic_requests: int = _kept(
        lambda run: run.access["global", "atomic"].requests,
        Counter("atomic requests", "requests", "atomic updates of whole warps", *_ATOMICS))
    async_load_requests: int = _kept(
        lambda run: run.async_loads,
        Counter("asynchronous loads", "requests", "those among the loads that go to shared memory without registers",
                GLOBAL, "asynchronous loads"))
    bulk_load_requests: int = _kept(
        lambda run: run.access["global", "bulk load"].requests,
        Counter("bulk loads", "copies", "one instruction copies many bytes into shared memory, also of several blocks",
                *_BULK_LOADS))
    bulk_load_sectors: int = _kept(
        lambda run: run.access["global", "bulk load"].sectors,
        Counter("sectors of bulk loads", "sectors", "pieces of 32 bytes that the copies read", *_BULK_LOADS, 1))
    bulk_load_bytes: int = _kept(
        lambda run: run.access["global", "bulk load"].bytes,
        Counter("bytes of bulk loads", "bytes", "what is outside of a tensor isn't read", *_BULK_LOADS, 2))
    bulk_received_bytes: int = _kept(lambda run: run.access["global", "bulk load"].received_bytes)
    bulk_load_efficiency: float = _kept(
        lambda run: run.access["global", "bulk load"].efficiency,
        Counter("efficiency of bulk loads", "", "the share of read sectors that the copies need", *_BULK_LOADS, 3,
                "load efficiency", Kind.SHARE))
    bulk_store_requests: int = _kept(
        lambda run: run.access["global", "bulk store"].requests,
        Counter("bulk stores", "copies", "one instruction copies many bytes from shared memory", *_BULK_STORES))
    bulk_store_sectors: int = _kept(
        lambda run: run.access["global", "bulk store"].sectors,
        Counter("sectors of bulk stores", "sectors", "pieces of 32 bytes that the copies write", *_BULK_STORES, 1))
    bulk_store_bytes: int = _kept(
        lambda run: run.access["global", "bulk store"].bytes,
        Counter("bytes of bulk stores", "bytes", "what is outside of a tensor isn't written", *_BULK_STORES, 2))
    cluster_copies: int = _kept(
        lambda run: run.access["shared", "bulk store"].requests,
        Counter("copies to other blocks", "copies", "bulk copies to the shared memory of a block of the cluster",
                SHARED, "cluster copies"))
    cluster_copy_bytes: int = _kept(
        lambda run: run.access["shared", "bulk store"].bytes,
        Counter("bytes to other blocks", "bytes", "the bytes of these copies", SHARED, "cluster copies", 1))
    shared_load_requests: int = _kept(
        lambda run: run.access["shared", "load"].requests,
        Counter("load requests", "requests", "loads of whole warps", *_SHARED_LOADS))
    shared_store_requests: int = _kept(
        lambda run: run.access["shared", "store"].requests,
        Counter("store requests", "requests", "stores of whole warps", *_SHARED_STORES))
    shared_load_conflicts: int = _kept(
        lambda run: run.access["shared", "load"].conflicts,
        Counter("caused by conflicts", "passes", _CONFLICTS, *_SHARED_LOADS, 3, "by conflicts"))
    shared_store_conflicts: int = _kept(
        lambda run: run.access["shared", "store"].conflicts,
        Counter("caused by conflicts", "passes", _CONFLICTS, *_SHARED_STORES, 3, "by conflicts"))
    shared_load_wavefronts: int = _kept(
        lambda run: run.access["shared", "load"].wavefronts,
        Counter("load passes", "passes", "steps of the 32 banks for these loads", *_SHARED_LOADS, 1))
    shared_store_wavefronts: int = _kept(
        lambda run: run.access["shared", "store"].wavefronts,
        Counter("store passes", "passes", "steps of the 32 banks for these stores", *_SHARED_STORES, 1))
    divergent_branches: int = _kept(
        lambda run: run.divergent,
        Counter("divergent branches", "of warps", "the warp's threads took both ways, one after the other",
                *_BRANCHES, 1, "split", better="less", compared="Divergent branches"))
    branches: int = _kept(
        lambda run: run.branches,
        Counter("branches", "of warps", "conditional branches that a warp reached", *_BRANCHES))
    thread_instructions: int = _kept(
        lambda run: run.threads,
        Counter("instructions of threads", "instructions", "instructions that the threads of those warps executed",
                *_INSTRUCTIONS, 1, "of threads"))
    warp_instructions: int = _kept(
        lambda run: run.warps,
        Counter("instructions of warps", "instructions", "instructions in the PTX that the schedulers issue",
                *_INSTRUCTIONS, 0, "of warps", better="less"))
    warp_efficiency: float = _kept(
        lambda run: run.threads / (32 * run.warps) if run.warps else 0.0,
        Counter("active threads per warp", "of 32", "the mean over all instructions of warps",
                *_INSTRUCTIONS, 3, "of 32 threads active", Kind.LANES))
    flops: int = _kept(
        lambda run: run.flops,
        Counter("floating-point operations", "operations", "a fused multiply-add counts as two",
                *_OPERATIONS, 0, "flops"))
    tensor_flops: int = _kept(
        lambda run: run.tensor_flops,
        Counter("operations of tensor cores", "operations", "those among the operations that tensor cores do",
                WORK, "tensor operations", 0, "flops"))
    tensor_work: int = _kept(lambda run: run.tensor_work)
    tensor_instructions: int = _kept(
        lambda run: run.tensor_instructions,
        Counter("instructions of tensor cores", "instructions", "matrix products of warps; wgmma has four warps",
                WORK, "tensor operations", 1, "products of warps"))
    product_bytes: int = _kept(
        lambda run: run.product_bytes,
        Counter("bytes of wgmma", "bytes", "factors that tensor cores read from shared memory", SHARED, "wgmma", 0,
                "bytes from shared memory"))
    global_bytes: int = _kept(
        lambda run: run.global_bytes,
        Counter("requested bytes", "bytes", "bytes that all threads read, wrote and copied, before any cache",
                GLOBAL, "operations", 1))
    global_load_bytes: int = _kept(lambda run: run.access["global", "load"].bytes)
    global_store_bytes: int = _kept(lambda run: run.access["global", "store"].bytes)
    compute_to_memory: float = _kept(
        lambda run: run.flops / (run.global_bytes / 4) if run.global_bytes else 0.0,
        Counter("compute to memory", "per 4 bytes", "operations per 4 bytes that threads request from global memory",
                *_OPERATIONS, 3, "flops per 4 bytes", Kind.RATIO, better="more", compared="Operations per 4 bytes"))
    ptx_global_load_requests: int = _kept(lambda run: run.ptx["global", "load"].requests)
    ptx_global_load_sectors: int = _kept(lambda run: run.ptx["global", "load"].sectors)
    ptx_global_store_requests: int = _kept(lambda run: run.ptx["global", "store"].requests)
    ptx_global_store_sectors: int = _kept(lambda run: run.ptx["global", "store"].sectors)
    ptx_shared_load_requests: int = _kept(lambda run: run.ptx["shared", "load"].requests)
    ptx_shared_store_requests: int = _kept(lambda run: run.ptx["shared", "store"].requests)
    ptx_shared_load_conflicts: int = _kept(lambda run: run.ptx["shared", "load"].conflicts)
    ptx_shared_store_conflicts: int = _kept(lambda run: run.ptx["shared", "store"].conflicts)
    ptx_shared_load_wavefronts: int = _kept(lambda run: run.ptx["shared", "load"].wavefronts)
    ptx_shared_store_wavefronts: int = _kept(lambda run: run.ptx["shared", "store"].wavefronts)

    @property
    def read_bytes(self) -> int:
        """What threads read from global memory, also with bulk copies."""
        return self.global_load_bytes + self.bulk_load_bytes

    @property
    def written_bytes(self) -> int:
        return self.global_store_bytes + self.bulk_store_bytes


def _each(amount: int, requests: int) -> float | None:
    return amount / requests if requests else None


DERIVED: Mapping[str, Counter] = {
    "global_load_sectors_per_request": Counter(
        "sectors per load", "sectors each", "4 for a warp that reads 32 neighbouring floats, 32 at worst", *_LOADS, 2,
        "each", Kind.RATIO, "less", of=lambda t: _each(t.global_load_sectors, t.global_load_requests)),
    "global_store_sectors_per_request": Counter("", "", "", *_STORES, 2, "each", Kind.RATIO,
        of=lambda t: _each(t.global_store_sectors, t.global_store_requests)),
    "shared_load_wavefronts_per_request": Counter("", "", "", *_SHARED_LOADS, 2, "each", Kind.RATIO,
        of=lambda t: _each(t.shared_load_wavefronts, t.shared_load_requests)),
    "shared_store_wavefronts_per_request": Counter("", "", "", *_SHARED_STORES, 2, "each", Kind.RATIO,
        of=lambda t: _each(t.shared_store_wavefronts, t.shared_store_requests)),
    "shared_wavefronts_per_request": Counter(
        of=lambda t: _each(t.shared_load_wavefronts + t.shared_store_wavefronts,
                           t.shared_load_requests + t.shared_store_requests)),
    "read_sectors": Counter(better="less", compared="Sectors read from global memory",
        of=lambda t: t.global_load_sectors + t.bulk_load_sectors),
    "shared_conflicts": Counter(better="less", compared="Bank conflicts",
        of=lambda t: t.shared_load_conflicts + t.shared_store_conflicts),
}
# fmt: on


def _table() -> dict[str, Counter]:
    """All counters by name, in the order of the text."""
    kept = [replace(field.metadata["counter"], of=attrgetter(field.name), name=field.name) for field in fields(Totals)]
    found = [*kept, *(replace(each, name=name) for name, each in DERIVED.items())]
    found = [replace(each, row=each.row or each.title) for each in found]
    rows = list(dict.fromkeys(each.row for each in found))
    return {each.name: each for each in sorted(found, key=lambda each: (rows.index(each.row), each.column))}


COUNTERS: Mapping[str, Counter] = _table()


def totals_of(run: Run) -> Totals:
    return Totals(**{field.name: field.metadata["total"](run) for field in fields(Totals)})


def number(name: str, totals: Totals) -> float:
    """The value of a counter; 0 for an average over nothing."""
    return float(COUNTERS[name].of(totals) or 0)


def by_ptx(counter: Counter, totals: Totals) -> float | None:
    """The counter in the PTX, before the assembler merged accesses; None if the assembler can't change it."""
    found = COUNTERS.get(f"ptx_{counter.name}")
    return None if found is None else found.of(totals)
