"""Theoretical occupancy: how many blocks of a kernel one multiprocessor holds at once, and what limits it.

The limits are from the tables of the CUDA Programming Guide. Shared memory is assumed at a multiprocessor's largest
carve-out, as the driver does by default. L1 gets the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

WARP = 32
STATIC_SHARED = 48 * 1024
"""Bytes of shared memory per block without an opt-in by the host code."""

_MOST_THREADS = 1024
_MOST_REGISTERS = 255
_MOST_BARRIERS = 16
_REGISTER_UNIT = 256  # the registers of a warp are allocated in units of this size
_PARTITIONS = 4
_KB = 1024


class Resource(StrEnum):
    """The resources of a multiprocessor that can limit occupancy."""

    WARPS = "warps"
    BLOCKS = "blocks"
    REGISTERS = "registers"
    SHARED = "shared"
    BARRIERS = "barriers"


def resource_title(resource: str) -> str:
    return "shared memory" if resource == Resource.SHARED else resource


class UnknownCapability(ValueError):
    """A compute capability that isn't in the table. The text lists all that are."""

    def __init__(self, cc: str) -> None:
        super().__init__(f"compute capability {cc!r} is not known; known are {', '.join(LIMITS)}")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one multiprocessor of a compute capability.

    shared: bytes for all blocks; block_shared: for one block, with opt-in
    reserved: bytes of shared memory that the system uses in every block
    shared_unit: a block's shared memory is rounded up to a multiple of these bytes
    partitions: the parts of the register file; all registers of a warp are in one part
    barriers: for all blocks; None if blocks don't share them
    """

    cc: str
    warps: int
    blocks: int
    shared: int
    block_shared: int
    block_registers: int = 64 * 1024
    registers: int = 64 * 1024
    reserved: int = 0
    shared_unit: int = 256
    partitions: int = _PARTITIONS
    barriers: int | None = None

    @property
    def threads(self) -> int:
        """The most threads at once."""
        return self.warps * WARP


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Theoretical occupancy on one compute capability, and its limit.

    share: of the warps that a multiprocessor can hold
    limit: the first of `limiting`; if nothing can be launched, the resource of which a block needs too much
    limiting: every resource that allows no more blocks
    limits: resource -> the blocks that it alone allows; only resources that set a limit
    shared_bytes: per block, static and dynamic
    simple_share: from the limits on blocks and threads alone, without registers and shared memory
    formula_share: from the lab's formula, unchanged; None if the number of multiprocessors is unknown
    refused: a sentence on why a block can't be launched at all; "" if it can
    """

    blocks_per_sm: int
    warps_per_sm: int
    share: float
    limit: str
    limiting: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    threads: int = 0
    registers: int = 0
    shared_bytes: int = 0
    max_warps: int = 0
    cc: str = ""
    simple_share: float = 0.0
    formula_share: float | None = None
    refused: str = ""


def _maxwell(cc: str, shared: int, block_registers: int = 64, partitions: int = _PARTITIONS) -> Limits:
    return Limits(cc, 64, 32, shared * _KB, STATIC_SHARED, block_registers * _KB, partitions=partitions)


def _volta(cc: str, warps: int, blocks: int, shared: int) -> Limits:
    return Limits(cc, warps, blocks, shared * _KB, shared * _KB)


def _ampere(cc: str, warps: int, blocks: int, shared: int, barriers: int | None = None) -> Limits:
    return Limits(cc, warps, blocks, shared * _KB, (shared - 1) * _KB, reserved=_KB, shared_unit=128, barriers=barriers)


LIMITS: Mapping[str, Limits] = {
    limits.cc: limits
    for limits in (
        _maxwell("5.0", 64),
        _maxwell("5.2", 96),
        _maxwell("5.3", 64, block_registers=32),
        _maxwell("6.0", 64, partitions=2),
        _maxwell("6.1", 96),
        _maxwell("6.2", 64, block_registers=32),
        _volta("7.0", 64, 32, 96),
        _volta("7.2", 64, 32, 96),
        _volta("7.5", 32, 16, 64),
        _ampere("8.0", 64, 32, 164),
        _ampere("8.6", 48, 16, 100),
        _ampere("8.7", 48, 16, 164),
        _ampere("8.9", 48, 24, 100),
        _ampere("9.0", 64, 32, 228, barriers=64),
        _ampere("10.0", 64, 32, 228, barriers=64),
        _ampere("10.3", 64, 32, 228, barriers=32),
        _ampere("11.0", 48, 24, 228, barriers=24),
        _ampere("12.0", 48, 24, 100, barriers=24),
        _ampere("12.1", 48, 24, 100, barriers=24),
    )
}


def limits_of(cc: str) -> Limits:
    """Return the limits of a compute capability such as "8.6". Raise UnknownCapability."""
    if cc not in LIMITS:
        raise UnknownCapability(cc)
    return LIMITS[cc]


def occupancy(
    limits: Limits,
    threads: int,
    registers: int,
    shared_static: int,
    shared_dynamic: int = 0,
    *,
    barriers: int = 1,
    multiprocessors: int | None = None,
) -> Occupancy:
    """Return the blocks that one multiprocessor holds at once.

    threads: per block; registers: per thread; shared_static, shared_dynamic: bytes per block
    barriers: per block, as the compiler reports them
    multiprocessors: of the device, for the lab's formula
    """
    shared = shared_static + shared_dynamic
    warps = -(-threads // WARP)
    refused = _refused(limits, threads, registers, shared_static, shared_dynamic, barriers)
    if refused is None:
        allowed = _allowed(limits, warps, registers, shared, barriers)
        blocks = min(allowed.values())
        limiting = tuple(resource.value for resource, number in allowed.items() if number == blocks)
        by_name = {resource.value: number for resource, number in allowed.items()}
    else:
        blocks, limiting, by_name = 0, (refused[0].value,), {refused[0].value: 0}
    formula = formula_share(limits, threads, multiprocessors) if multiprocessors else None
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        share=blocks * warps / limits.warps,
        limit=limiting[0],
        limiting=limiting,
        limits=by_name,
        threads=threads,
        registers=registers,
        shared_bytes=shared,
        max_warps=limits.warps,
        cc=limits.cc,
        simple_share=simple_share(limits, threads),
        formula_share=formula,
        refused=refused[1] if refused else "",
    )


def blocks_per_multiprocessor(
    limits: Limits, threads: int, registers: int, shared_static: int, shared_dynamic: int = 0, *, barriers: int = 1
) -> int:
    """Return only the number of blocks; 0 if a block can't be launched."""
    if _refused(limits, threads, registers, shared_static, shared_dynamic, barriers) is not None:
        return 0
    shared = shared_static + shared_dynamic
    return min(_allowed(limits, -(-threads // WARP), registers, shared, barriers).values())


def taken(
    limits: Limits, threads: int, registers: int, shared: int, *, barriers: int = 1
) -> dict[Resource, tuple[int, int]]:
    """Return how much of each resource a block uses, and how much a multiprocessor has.

    Resources that set no limit are left out.
    """
    warps = -(-threads // WARP)
    found = {Resource.WARPS: (warps, limits.warps), Resource.BLOCKS: (1, limits.blocks)}
    if registers:
        found[Resource.REGISTERS] = (_warp_registers(registers) * warps, limits.registers)
    if bytes_taken := _up(shared + limits.reserved, limits.shared_unit):
        found[Resource.SHARED] = (bytes_taken, limits.shared)
    if limits.barriers is not None and barriers:
        found[Resource.BARRIERS] = (barriers, limits.barriers)
    return found


def formula_share(limits: Limits, threads: int, multiprocessors: int) -> float:
    """Return the lab's formula exactly as printed.

    It divides the threads of one multiprocessor by the threads of the whole device. It also assumes the most blocks
    that the hardware can ever hold, whatever they use.
    """
    return limits.blocks * threads / (limits.threads * multiprocessors)


def simple_share(limits: Limits, threads: int) -> float:
    """Return the lab's formula corrected for one multiprocessor: with all blocks that its two limits allow."""
    return min(limits.blocks, limits.threads // threads) * threads / limits.threads if threads > 0 else 0.0


def _refused(
    limits: Limits, threads: int, registers: int, static: int, dynamic: int, barriers: int
) -> tuple[Resource, str] | None:
    """Return why a block fits on no multiprocessor, even an empty one: the resource and a sentence."""
    if not 1 <= threads <= _MOST_THREADS:
        return Resource.WARPS, f"A block has 1 to {_MOST_THREADS} threads, not {threads}."
    if not 0 <= registers <= _MOST_REGISTERS:
        return Resource.REGISTERS, f"A thread has at most {_MOST_REGISTERS} registers, not {registers}."
    if not 0 <= barriers <= _MOST_BARRIERS:
        return Resource.BARRIERS, f"A block has at most {_MOST_BARRIERS} barriers, not {barriers}."
    if static > STATIC_SHARED:
        return (
            Resource.SHARED,
            f"Arrays of fixed size may use {STATIC_SHARED:,} bytes of shared memory, not {static:,}.",
        )
    if static + dynamic > limits.block_shared:
        return (
            Resource.SHARED,
            f"A block has at most {limits.block_shared:,} bytes of shared memory, not {static + dynamic:,}.",
        )
    return _registers_refused(limits, threads, registers)


def _registers_refused(limits: Limits, threads: int, registers: int) -> tuple[Resource, str] | None:
    warps = -(-threads // WARP)
    # even compute capability 6.0 launches only blocks that fit a register file in four parts
    rounded = _warp_registers(registers) * _up(warps, _PARTITIONS)
    fits = registers == 0 or _register_blocks(limits.registers, _PARTITIONS, warps, registers) > 0
    if fits and rounded <= limits.block_registers:
        return None
    message = (
        f"A block of {threads} threads needs {rounded:,} registers ({registers} per thread, rounded up);"
        f" it can have {limits.block_registers:,}."
    )
    return Resource.REGISTERS, message


def _allowed(limits: Limits, warps: int, registers: int, shared: int, barriers: int) -> dict[Resource, int]:
    """Return, for every resource that sets a limit, the blocks that it alone allows."""
    allowed = {Resource.WARPS: limits.warps // warps, Resource.BLOCKS: limits.blocks}
    if registers:
        allowed[Resource.REGISTERS] = _register_blocks(limits.registers, limits.partitions, warps, registers)
    if taken := _up(shared + limits.reserved, limits.shared_unit):
        allowed[Resource.SHARED] = limits.shared // taken
    if limits.barriers is not None and barriers:
        allowed[Resource.BARRIERS] = limits.barriers // barriers
    return allowed


def _register_blocks(total: int, partitions: int, warps: int, registers: int) -> int:
    """Return the blocks that registers allow. Whole warps fill the parts of the register file."""
    return total // partitions // _warp_registers(registers) * partitions // warps


def _warp_registers(registers: int) -> int:
    return _up(registers * WARP, _REGISTER_UNIT)


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
