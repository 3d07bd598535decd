"""The child's side of a process that drives a GPU: it starts the driver, gives up the rest, and answers its requests.

The driver opens device nodes and maps memory for as long as it works, so the lock is another than that of a step that
computes: it names what the driver still needs, and the call filter names what is refused.
"""

from __future__ import annotations

import glob
import os
import sys
import traceback
from pathlib import Path

from worker.sandbox import child
from worker.sandbox.confinement import lockdown
from worker.supervision.children import die_with

NODES = (
    "/dev/nvidia[0-9]*",  # the devices: each mapping of device memory is made through a descriptor of its own
    "/dev/nvidiactl",  # asks the driver for everything else
    "/dev/nvidia-uvm",  # one address space for host and device, without which there is no context
    "/dev/nvidia-uvm-tools",  # opened beside it
    "/dev/nvidia-caps/*",  # what may be done with a part of a device
    "/dev/dxg",  # the one node of a virtual machine on Windows
    "/dev/null", "/dev/zero", "/dev/urandom",
)  # fmt: skip
"""Device nodes that the driver opens, at its start and at any time after it."""

THREADS = "/proc/self/task"
"""The process's own threads, to which the driver gives names by writing them to files."""

READABLE = (
    "/proc/self",  # its own memory map and limits
    "/proc/driver/nvidia",  # how the driver is set
    "/proc/devices",  # the numbers of the device nodes
    "/proc/meminfo", "/proc/cpuinfo",  # what the host has
    "/sys/devices/system/cpu", "/sys/devices/system/node",  # which processors are close to the device
)  # fmt: skip
"""What the driver and its management library look at later."""

START_FOLDERS = (
    "/usr", "/lib", "/lib64", "/opt",  # libraries, wherever the driver was installed
    "/proc", "/sys",  # the kernel, devices on their bus
    "/etc/nvidia",  # how the driver is set
)  # fmt: skip
"""What may be read while the driver starts, beside where Python and its packages lie."""

_START_FILES = ("/etc/ld.so.cache",)
_LIBRARY_PLACES = ("LD_LIBRARY_PATH", "CUDA_PATH")


def main(step: str, parent: int, answers: int, cpu_seconds: int, _memory_bytes: int) -> None:
    """Start the device, say what confines this process, and answer each request.

    step: the device, the version of the compiler, and the descriptor of what keeps starts away from timing, if any,
        such as "gpu 13.5 7"
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
    except Exception as error:  # noqa: BLE001 - whoever waits for this process must learn why there is none
        where = "".join(traceback.format_tb(error.__traceback__, limit=-4))
        detail = f"{type(error).__name__}: {error}"[:2000]
        child.send(answers, {"failure": "start", "detail": f"{detail}\n{where}"[:4000]})
        os._exit(1)
    limits = lockdown.limit_all_but_memory(cpu_seconds)
    calls, landlock = lockdown.close_after_start(_there(READABLE), _writable())
    held = {"calls": calls, "landlock": min(started, landlock), "network": network, "limits": limits}
    child.send(answers, held)
    runner.serve(backend, answers, quiet)
    os._exit(0)


def _writable() -> list[str]:
    """What the driver drives, and where it names its threads."""
    return [*_there(NODES), *_there((THREADS,))]


def _folders() -> list[str]:
    """What the start may read: libraries, and where Python looks."""
    by_hand = [place for name in _LIBRARY_PLACES for place in os.environ.get(name, "").split(":") if place]
    places = (*START_FOLDERS, *sys.path, sys.prefix, sys.base_prefix, *by_hand)
    return [place for place in places if Path(place).is_dir()]


def _there(patterns: tuple[str, ...]) -> list[str]:
    return [path for pattern in patterns for path in sorted(glob.glob(pattern))]  # noqa: PTH207 - absolute patterns
