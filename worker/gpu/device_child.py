"""How a process that drives a device is started: what it sees of ours, and what it may use."""

from __future__ import annotations

import os

from worker.sandbox.limits import DeviceIsolation, Limits
from worker.sandbox.process import Child
from worker.sandbox.starting import ENVIRONMENT

# What the driver is found by, where it is set.
_PASSED_ON = ("LD_LIBRARY_PATH", "CUDA_PATH")
# CPU time also goes to the start, and to the driver's own threads.
_START_CPU_SECONDS = 120
_THREADS = 4
_MEMORY_BYTES = 2**50
_RESPONSE_BYTES = 8 * 2**20


class DeviceChild(Child):
    """A process that drives one device, which nothing but the end of the process gives back."""

    module = "worker.gpu.device_process"
    # The libraries of a GPU are looked for among the site packages.
    options = ("-I",)
    report = DeviceIsolation

    def __init__(
        self, device: int | None, compiler: str, wall_seconds: float, quiet: int | None = None
    ) -> None:
        """Start it and return at once.

        device: its number by its place on the bus; None for the CPU device
        wall_seconds: for its job
        quiet: descriptor of the file that keeps starts away from what is timed
        """
        self.environment = environment_for(device)
        cpu_seconds = _START_CPU_SECONDS + int(_THREADS * wall_seconds)
        limits = Limits(wall_seconds, cpu_seconds, _MEMORY_BYTES, _RESPONSE_BYTES)
        self.inherited = () if quiet is None else (quiet,)
        kind = "cpu" if device is None else "gpu"
        super().__init__(f"{kind} {compiler} {'' if quiet is None else quiet}", limits)


def environment_for(device: int | None) -> dict[str, str]:
    """What the process sees: nothing of ours but where the driver is."""
    if device is None:
        return dict(ENVIRONMENT)
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **ENVIRONMENT,
        **passed_on,
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": str(device),
        # One queue of work is all that is used; the eight of the default make contexts twice as long to begin and to
        # end, and three times where several begin at once.
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        # nothing is compiled there, and nothing is to be kept in a home folder
        "CUDA_CACHE_DISABLE": "1",
        "CUPY_CACHE_IN_MEMORY": "1",
        # CuPy makes the folder for its cache at once unless it is there, as the working folder is
        "CUPY_CACHE_DIR": ".",
    }
