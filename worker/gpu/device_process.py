"""The child's side of a GPU process: starts the driver, gives up all other rights, and answers requests.

The driver opens device nodes and maps memory while it runs, so its lockdown differs from other steps. Landlock lists
what the driver still needs, and the call filter lists what is refused.
"""

from __future__ import annotations

import glob
import os
import sys
from pathlib import Path

from worker.sandbox import child
from worker.sandbox.confinement import lockdown
from worker.supervision.children import die_with

NODES = (
    "/dev/nvidia[0-9]*",  # the devices; each mapping of device memory has its own descriptor
    "/dev/nvidiactl",  # all other requests to the driver
    "/dev/nvidia-uvm",  # unified address space for host and device, needed for a context
    "/dev/nvidia-uvm-tools",  # opened together with it
    "/dev/nvidia-caps/*",  # rights to a slice of a device
    "/dev/dxg",  # the only node of a virtual machine on Windows
    "/dev/null", "/dev/zero", "/dev/urandom",
)  # fmt: skip
"""Device nodes that the driver opens at its start and later."""

THREADS = "/proc/self/task"
"""The process's own threads. The driver names threads by writing to files here."""

READABLE = (
    "/proc/self",  # its own memory map and limits
    "/proc/driver/nvidia",  # the driver's settings
    "/proc/devices",  # the numbers of the device nodes
    "/proc/meminfo", "/proc/cpuinfo",  # the host's memory and processor
    "/sys/devices/system/cpu", "/sys/devices/system/node",  # processors close to the device
)  # fmt: skip
"""Paths that the driver and its management library read after the start."""

START_FOLDERS = (
    "/usr", "/lib", "/lib64", "/opt",  # usual places of the driver's libraries
    "/proc", "/sys",  # the kernel and devices on their bus
    "/etc/nvidia",  # the driver's settings
)  # fmt: skip
"""Readable while the driver starts, in addition to Python and its packages."""

_START_FILES = ("/etc/ld.so.cache",)
_LIBRARY_PLACES = ("LD_LIBRARY_PATH", "CUDA_PATH")


def main(step: str, parent: int, answers: int, cpu_seconds: int, _memory_bytes: int) -> None:
    """Start the device, report this process's isolation, and answer each request.

    step: the device, the compiler's version, and the quiet file's descriptor, such as "gpu 13.5 7"
    """
    die_with(parent)
    lockdown.offer_to_be_killed()
    network = lockdown.leave_network()
    device, compiler, descriptor = step.split(" ")
    try:
        from worker.gpu import runner
        from worker.gpu.timing.quiet import Quiet

        quiet = Quiet(int(descriptor) if descriptor else None)
        runner.load(device)
        started = lockdown.close_files_before_start(_there(_START_FILES), _folders(), _writable())
        backend = runner.warm_up(device, compiler, quiet)
    except Exception as error:  # noqa: BLE001 - report any error to the parent, which waits for this process
        child.send(answers, {"failure": "start", "detail": child.detail_of(error)})
        os._exit(1)
    limits = lockdown.limit_all_but_memory(cpu_seconds)
    calls, landlock = lockdown.close_after_start(_there(READABLE), _writable())
    held = {"calls": calls, "landlock": min(started, landlock), "network": network, "limits": limits}
    child.send(answers, held)
    runner.serve(backend, answers, quiet)
    os._exit(0)


def _writable() -> list[str]:
    """Device nodes, and the folder in which the driver names its threads."""
    return [*_there(NODES), *_there((THREADS,))]


def _folders() -> list[str]:
    """Folders that the start may read: libraries and Python's search path."""
    by_hand = [place for name in _LIBRARY_PLACES for place in os.environ.get(name, "").split(":") if place]
    places = (*START_FOLDERS, *sys.path, sys.prefix, sys.base_prefix, *by_hand)
    return [place for place in places if Path(place).is_dir()]


def _there(patterns: tuple[str, ...]) -> list[str]:
    return [path for pattern in patterns for path in sorted(glob.glob(pattern))]  # noqa: PTH207 - absolute patterns
