"""Find the memory of an access, and whether the access is allowed.

Nearly all accesses of all threads are in one variable, at aligned places. The range of the addresses alone shows this.
Other accesses are checked thread by thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from kernels.device.ptx.pointers import GENERIC_SHIFT
from kernels.device.state.accesses import Access, Kind, Part, Strength, Where
from kernels.device.state.element_names import element_name, elements_of, whole_name
from kernels.device.state.findings import Described
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.space import CLUSTER, WRITTEN, Allocation, own_address, rank_of, window_at, window_of
from kernels.device.state.values import Array, Lanes, Value
from kernels.exercise.tensor_map import MAP_TYPE
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict
from kernels.wording import plural

_GENERIC = {1: "shared", 2: "local"}
_MAX_SITES = 4096
_LARGE_RANK = 14


@dataclass(frozen=True, slots=True)
class Site:
    """An access of an instruction: number and line, state space, bytes per thread; the rest as in `Where`.

    align: the bytes of which a box's address must be a multiple; 0 for the size
    """

    pc: int
    line: int | None
    space: str
    size: int
    kind: Kind
    strength: Strength = Strength.PLAIN
    change: str = ""
    by_warp: bool = False
    align: int = 0

    @property
    def store(self) -> bool:
        return self.kind.writes

    @property
    def where(self) -> Where:
        """Return the same for the search for data races."""
        return Where(self.pc, self.kind, self.size, self.strength, self.change, self.by_warp)


@dataclass(slots=True)
class Found:
    """All threads access one variable, each at word `words + shift` (`words` None: the same word).

    readers: for each word of the access, a function that reads it for all threads
    valid: whether all of it is known to be written
    access: the access for the search for data races, if all threads take part
    known: whether nothing is left to check when all threads come here again
    """

    allocation: Allocation
    words: Lanes | None
    shift: int
    readers: tuple[Callable[[], Array], ...] = ()
    valid: bool = False
    access: Access | None = None
    known: bool = False


def locate(machine: Machine, site: Site, address: Value, displacement: int, mask: Mask | None) -> Found | None:
    """Locate an access quickly, if all threads use whole, aligned words inside one variable.

    The result is stored with the lanes, because a loop usually returns with the same addresses. If inactive threads
    have addresses out of bounds, only the addresses of active threads are checked.
    """
    address = address.integral()
    lanes = address.lanes
    if lanes is None:
        return _locate(machine, site, address, displacement, address.range())
    key = site.pc, address.offset
    # A loop whose addresses never repeat must not fill the memory.
    if lanes.sites is None or len(lanes.sites) >= _MAX_SITES:
        lanes.sites = {}
    elif key in lanes.sites:
        known: Found | None = lanes.sites[key]
        if known is not None:
            if not known.readers:
                _make_readers(site, known)
            return known
    found = lanes.sites[key] = _locate(machine, site, address, displacement, address.range())
    if found is None and mask is not None and mask.count:
        low, high = active_bounds(lanes, mask)
        found = _locate(machine, site, address, displacement, (low + address.offset, high + address.offset))
    return found


def known_place(address: Value, pc: int) -> Found | None:
    """Return the place of an instruction's access if nothing is left to check when all threads use it again."""
    sites = None if address.lanes is None else address.lanes.sites
    found: Found | None = None if sites is None else sites.get((pc, address.offset))
    return found if found is not None and found.known else None


def active_bounds(lanes: Lanes, mask: Mask) -> tuple[int, int]:
    """Return the smallest and the largest element of the active threads."""

    def bounds() -> tuple[int, int]:
        active = mask.pick(lanes.array)
        return int(active.min()), int(active.max())

    found: tuple[int, int] = lanes.derive(("active", mask.digest), bounds)
    return found


def _make_readers(site: Site, found: Found) -> None:
    allocation, words = found.allocation, found.words
    assert words is not None
    found.readers = tuple(allocation.reader(words, found.shift + piece) for piece in range(site.size // 4))
    if allocation.space != "local":
        found.access = Access(site.where, allocation, None, words, found.shift)


def _locate(machine: Machine, site: Site, address: Value, displacement: int, bounds: tuple[int, int]) -> Found | None:
    low, high = bounds[0] + displacement, bounds[1] + displacement
    space = site.space
    if space == "generic":
        space = _GENERIC.get(low >> GENERIC_SHIFT, "global")
        if space != "global":
            base = low >> GENERIC_SHIFT << GENERIC_SHIFT
            low, high, displacement = low - base, high - base, displacement - base
    # Addresses in other blocks' memory have a rank, so they are in no window here.
    allocation = machine.memory.find("shared" if space == CLUSTER else space, low)
    if allocation is None or low < allocation.start or high + site.size > allocation.start + allocation.size:
        return None
    offset = address.offset + displacement - allocation.start
    if site.store and not allocation.writable:
        return None
    if address.lanes is None:
        return None if offset % site.size else Found(allocation, None, offset >> 2)
    lanes = address.lanes
    # One test for all lanes: any set low bit means that some address may not be aligned.
    if (lanes.low_bits | offset) & (site.size - 1):
        return None
    words: Lanes = lanes.derive("words", lambda: Lanes((lanes.array >> 2).astype(np.intp)))
    return Found(allocation, words, offset >> 2)


def split(machine: Machine, site: Site, address: Value, displacement: int, mask: Mask | None) -> Iterator[Part]:
    """Locate an access slowly: yield each accessed variable with its threads. Report and skip forbidden accesses."""
    lanes = machine.active(mask)
    dense = address.dense(np.dtype(f"i{address.bits // 8}")).astype(np.int64)
    if address.bits == 32:
        dense &= 0xFFFF_FFFF
    whole = np.broadcast_to(dense, (machine.shape.threads, machine.shape.blocks)).reshape(-1)
    addresses = whole[lanes] + displacement
    for space, chosen, base in _spaces(site, addresses):
        places, threads = addresses[chosen] - base, lanes[chosen]
        if space == "shared" and ((ranks := rank_of(places)) >= 0).any():
            yield from _in_cluster(machine, site, places, threads, ranks)
        else:
            yield from _windows(machine, site, space, places, threads)


def _in_cluster(
    machine: Machine, site: Site, places: NDArray[np.int64], lanes: NDArray[np.intp], ranks: NDArray[np.int64]
) -> Iterator[Part]:
    """Locate accesses to the shared memory of blocks of a cluster; without a rank, of the thread's own block."""
    refused = (ranks >= 0) & (site.space == "shared")
    missing = ranks >= machine.launch.cluster_blocks
    for bad, report in ((refused, _report_unreachable), (missing & ~refused, _report_no_block)):
        if bad.any():
            report(machine, site, places[bad], lanes[bad], ranks[bad])
    good = ~(refused | missing)
    if good.any():
        owners = columns_of(machine, lanes[good], ranks[good])
        yield from _windows(machine, site, "shared", own_address(places[good]), lanes[good], owners)


def columns_of(machine: Machine, lanes: NDArray[np.intp], ranks: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the columns of the blocks with these ranks in the clusters of some threads; -1 is a thread's own block."""
    own = lanes % machine.shape.blocks
    first = own - own % machine.launch.cluster_blocks
    found: NDArray[np.intp] = np.where(ranks < 0, own, first + ranks)
    return found


def in_block_of(machine: Machine, part: Part, rank: int | None) -> Part:
    """Return the same places in the block of each thread's cluster with this rank; None changes nothing."""
    if rank is None:
        return part
    return replace(part, owners=columns_of(machine, part.lanes, np.full(len(part.lanes), rank)))


def _spaces(site: Site, addresses: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.bool_], int]]:
    if site.space != "generic":
        yield "shared" if site.space == CLUSTER else site.space, np.ones(addresses.shape, np.bool_), 0
        return
    windows = addresses >> GENERIC_SHIFT
    for number, space in _GENERIC.items():
        chosen = windows == number
        if chosen.any():
            yield space, chosen, number << GENERIC_SHIFT
    chosen = ~np.isin(windows, list(_GENERIC))
    if chosen.any():
        yield "global", chosen, 0


def _windows(
    machine: Machine,
    site: Site,
    space: str,
    addresses: NDArray[np.int64],
    lanes: NDArray[np.intp],
    owners: NDArray[np.intp] | None = None,
) -> Iterator[Part]:
    windows = window_of(space, addresses)
    alike = (windows == windows[:1]).all()
    for number in windows[:1] if alike else np.unique(windows):
        chosen = slice(None) if alike else windows == number
        address, lane = addresses[chosen], lanes[chosen]
        allocation = machine.memory.find(space, int(address[0]))
        if allocation is None:
            _report_nowhere(machine, site, space, address, lane)
            continue
        if allocation.tensor is not None:
            _stop_at_map(machine, site, lane)
        part = Part(allocation, address - allocation.start, lane, None if owners is None else owners[chosen])
        inside = (part.offsets >= 0) & (part.offsets + site.size <= allocation.size)
        if not inside.all():
            outside = part.some(~inside)
            report_outside(machine, site, outside)
            if site.store and site.align:
                _count_as_written(machine, site, outside)
            part = part.some(inside)
        aligned = (address[inside] % site.align if site.align else part.offsets % site.size) == 0
        if not aligned.all():
            refused = part.some(~aligned)
            _report_misaligned(machine, site, refused)
            if site.store:
                _count_as_written(machine, site, refused)
            part = part.some(aligned)
        if site.store and not allocation.writable and part.lanes.size:
            _report_refused(machine, site, part, ("writes", "which is a constant"), Facts())
            continue
        if part.lanes.size:
            yield part


def _count_as_written(machine: Machine, site: Site, part: Part) -> None:
    """Count what a refused store would have written as written. Otherwise its readers would be accused, too."""
    allocation = part.allocation
    if allocation.flat_valid is None:
        return
    thread, block = part.copies(machine.shape)
    for piece in range(site.size // 4 + 1):
        words = (part.offsets >> 2) + piece
        inside = (words >= 0) & (words < allocation.size // 4)
        at = allocation.position(words[inside].astype(np.intp), thread[inside], block[inside], machine.shape)
        allocation.flat_valid[at] = WRITTEN


def _verb(site: Site) -> str:
    return "writes" if site.store else "reads"


def _report_nowhere(
    machine: Machine, site: Site, space: str, addresses: NDArray[np.int64], lanes: NDArray[np.intp]
) -> None:
    def describe() -> tuple[Example, str]:
        block, thread = machine.geometry.who(int(lanes[0]))
        null = space == "global" and window_at(space, int(addresses[0])) == 0
        where = "through a null pointer" if null else f"{space} memory outside any variable"
        return Example(block, (thread,), None), f"{machine.geometry.lane_name(int(lanes[0]))} {_verb(site)} {where}."

    machine.findings.add(Verdict.OUT_OF_BOUNDS, site.line, len(lanes), describe)


def _stop_at_map(machine: Machine, site: Site, lanes: NDArray[np.intp]) -> NoReturn:
    why = (
        "it accesses the bytes of a tensor map, but a copy of them isn't a tensor map. Declare the parameter as"
        f" `{MAP_TYPE}`, and use only its address"
    )
    stop(machine, site.line, int(lanes[0]), len(lanes), why, Mistake.TENSOR_MAP)


def _report_unreachable(
    machine: Machine, site: Site, places: NDArray[np.int64], lanes: NDArray[np.intp], ranks: NDArray[np.int64]
) -> None:
    message = (
        f"{machine.geometry.lane_name(int(lanes[0]))} {_verb(site)} the shared memory of the block with rank"
        f" {int(ranks[0])} in its cluster, with an instruction for its own block's. Use `.shared::cluster` there, or a"
        " generic address."
    )
    _report_cluster(machine, site, lanes, message)


def _report_no_block(
    machine: Machine, site: Site, places: NDArray[np.int64], lanes: NDArray[np.intp], ranks: NDArray[np.int64]
) -> None:
    blocks = machine.launch.cluster_blocks
    rank = f"rank {int(ranks[0])}" if ranks[0] < _LARGE_RANK else "a rank that no cluster has"
    message = (
        f"{machine.geometry.lane_name(int(lanes[0]))} {_verb(site)} the shared memory of the block with {rank} in its"
        f" cluster. The cluster has {plural(blocks, 'block')}, so its last rank is {blocks - 1}."
    )
    _report_cluster(machine, site, lanes, message)


def _report_cluster(machine: Machine, site: Site, lanes: NDArray[np.intp], message: str) -> None:
    def describe() -> Described:
        block, thread = machine.geometry.who(int(lanes[0]))
        return Example(block, (thread,), None), message, Facts(Mistake.CLUSTER_ADDRESS, stores=site.store)

    machine.findings.add(Verdict.OUT_OF_BOUNDS, site.line, len(lanes), describe)


def report_outside(machine: Machine, site: Site, part: Part) -> None:
    allocation, offsets, lanes = part.allocation, part.offsets, part.lanes

    def describe() -> Described:
        block, thread = machine.geometry.who(int(lanes[0]))
        offset = int(offsets[0])
        element = element_name(allocation, offset)
        side = "before the start" if offset < 0 else "past the end"
        wide = f"{site.size} bytes from " if 0 <= offset < allocation.size else ""
        message = (
            f"{machine.geometry.lane_name(int(lanes[0]))} {_verb(site)} {wide}`{element}`, {side} of"
            f" {whole_name(allocation, machine.findings.sizes)}."
        )
        return (
            Example.at(element, block, (thread,)),
            message,
            Facts(elements=elements_of(allocation), stores=site.store),
        )

    machine.findings.add(Verdict.OUT_OF_BOUNDS, site.line, len(lanes), describe)


def _report_misaligned(machine: Machine, site: Site, part: Part) -> None:
    what = f"{_verb(site)} {site.size:,} bytes at"
    advice = "A wide access must be aligned to its size"
    if site.align:
        advice = f"Declare the array with `alignas({site.align})`, and copy to multiples of it"
    why = f"which isn't at a multiple of {site.align or site.size} bytes. {advice}"
    facts = Facts(Mistake.MISALIGNED, stores=site.store)
    _report_refused(machine, site, part, (what, why), facts)


def _report_refused(machine: Machine, site: Site, part: Part, words: tuple[str, str], facts: Facts) -> None:
    """Report an access inside its variable that the hardware stops.

    words: the text before and after the element's name
    """
    lanes = part.lanes

    def describe() -> Described:
        block, thread = machine.geometry.who(int(lanes[0]))
        element = element_name(part.allocation, int(part.offsets[0]))
        message = f"{machine.geometry.lane_name(int(lanes[0]))} {words[0]} `{element}`, {words[1]}."
        return Example.at(element, block, (thread,)), message, facts

    machine.findings.add(Verdict.RUNTIME_ERROR, site.line, len(lanes), describe)
