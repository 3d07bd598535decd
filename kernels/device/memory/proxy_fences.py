"""Fences between accesses of threads and of the async proxy."""

from __future__ import annotations

import re

from kernels.device.memory.access import Step
from kernels.device.state.accesses import HALF_FENCE

_FENCE = re.compile(
    r"fence\.proxy\.async(?:\.(?P<space>global|shared::c(?:ta|luster))"
    r"|::generic\.(?P<half>acquire|release)\.sync_restrict::shared::c(?:ta|luster)\.cluster)?"
)


def proxy_fence_step(opcode: str) -> Step | None:
    """Return the step of a fence; None for another opcode."""
    fence = _FENCE.fullmatch(opcode)
    if fence is None:
        return None
    if fence["half"] == "acquire":
        return lambda machine, mask: machine.races.acquire_proxy(mask, "shared")
    proxies = (HALF_FENCE,) if fence["half"] else ("global", "shared")
    if fence["space"]:
        proxies = (fence["space"].partition(":")[0],)
    return lambda machine, mask: machine.races.fence_proxy(mask, proxies)
