"""Addresses in the shared memory of a cluster's blocks: `mapa`, `getctarank` and `isspacep`."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.access import Step, grid_of
from kernels.device.ptx.pointers import GENERIC_SHIFT
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.space import LOCAL_BASE, SHARED_BASE, in_block, rank_of
from kernels.device.state.values import INTEGER, from_array

ADDRESS = re.compile(r"(?P<verb>mapa|getctarank)(?P<space>\.shared::cluster)?\.u(?P<bits>32|64)")
IN_SPACE = re.compile(r"isspacep\.(?P<space>global|local|shared(?:::cta|::cluster)?)")
_LOCAL, _SHARED = LOCAL_BASE >> GENERIC_SHIFT, SHARED_BASE >> GENERIC_SHIFT


def _addresses(machine: Machine, register: int) -> NDArray[np.int64]:
    value = machine.registers[register]
    found: NDArray[np.int64] = value.dense(np.dtype(f"u{value.bits // 8}")).astype(np.int64)
    return found


def _check_shared(machine: Machine, line: int | None, addresses: NDArray[np.int64], mask: Mask | None) -> None:
    """Stop the kernel if an active thread's generic address isn't in shared memory."""
    other = np.broadcast_to(addresses >> GENERIC_SHIFT != _SHARED, grid_of(machine)).reshape(-1)
    lanes = machine.active(mask)
    if (bad := lanes[other[lanes]]).size:
        stop(machine, line, int(bad[0]), len(bad), "it asks for a block's copy of an address outside shared memory")


def map_step(line: int | None, target: int | None, source: int, rank: int, bits: int, *, generic: bool) -> Step:
    """Return the step that finds the same place in the shared memory of another block of the cluster."""

    def run(machine: Machine, mask: Mask | None) -> None:
        addresses = _addresses(machine, source)
        if generic:
            _check_shared(machine, line, addresses, mask)
        ranks = machine.registers[rank].dense(np.dtype(np.int32)).astype(np.int64)
        if target is not None:
            machine.write(target, from_array(in_block(addresses, ranks).astype(INTEGER[bits])), mask, keep=True)

    return run


def rank_step(line: int | None, target: int | None, source: int, *, generic: bool) -> Step:
    """Return the step that finds the rank of the block that owns an address in shared memory."""

    def run(machine: Machine, mask: Mask | None) -> None:
        addresses = _addresses(machine, source)
        if generic:
            _check_shared(machine, line, addresses, mask)
        ranks = rank_of(addresses)
        ranks = np.where(ranks < 0, _own_ranks(machine), ranks)
        if target is not None:
            machine.write(target, from_array(ranks.astype(np.int32)), mask, keep=True)

    return run


def _own_ranks(machine: Machine) -> NDArray[np.int64]:
    return np.arange(machine.shape.blocks, dtype=np.int64).reshape(1, -1) % machine.launch.cluster_blocks


def in_space_step(space: str, target: int, source: int) -> Step:
    """Return the step that tests whether a generic address is in a space. Shared memory is the thread's own block's."""

    def run(machine: Machine, mask: Mask | None) -> None:
        addresses = _addresses(machine, source)
        windows, ranks = addresses >> GENERIC_SHIFT, rank_of(addresses)
        if space == "local":
            holds = windows == _LOCAL
        elif space == "global":
            holds = ~np.isin(windows, [_LOCAL, _SHARED])
        else:
            own = (ranks < 0) | (ranks == _own_ranks(machine))
            holds = (windows == _SHARED) & (own | (space == "shared::cluster"))
        machine.write(target, from_array(holds), mask, keep=True)

    return run
