"""Fences between accesses of threads and of the async proxy."""

from __future__ import annotations

import re

from kernels.device.memory.access import Step
from kernels.device.state.accesses import HALF_FENCE
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask

_FENCE = re.compile(
    r"fence\.proxy\.async(?:\.(?P<space>global|shared::c(?:ta|luster))"
    r"|::generic\.(?P<half>acquire|release)\.sync_restrict::shared::c(?:ta|luster)\.cluster)?"
)


def proxy_fence_step(opcode: str) -> Step | None:
    """Return the step of a fence; None for another opcode."""
    if opcode == "fence.mbarrier_init.release.cluster":
        return _fence_barriers
    fence = _FENCE.fullmatch(opcode)
    if fence is None:
        return None
    if fence["half"] == "acquire":
        return lambda machine, mask: machine.races.acquire_proxy(mask, "shared")
    proxies = (HALF_FENCE,) if fence["half"] else ("global", "shared")
    if fence["space"]:
        proxies = (fence["space"].partition(":")[0],)

    def run(machine: Machine, mask: Mask | None) -> None:
        machine.races.fence_proxy(mask, proxies)
        if proxies != ("global",):
            _show_barriers(machine, mask)

    return run


def _fence_barriers(machine: Machine, mask: Mask | None) -> None:
    machine.races.fence_begin(mask)
    _show_barriers(machine, mask)


def _show_barriers(machine: Machine, mask: Mask | None) -> None:
    """Note that these threads' blocks showed their initialised barriers to the async proxy."""
    for blocks in machine.fresh.values():
        blocks[machine.active(mask) % machine.shape.blocks] = False
