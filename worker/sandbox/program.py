"""The child's side of the disassembly: keeps access to one program and one file, and then executes the program.

The file comes from untrusted text, and the program isn't made for such files. So it is isolated like the compiler. It
must open its libraries and the file, so its lockdown is wider than in the other steps.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from pathlib import Path

from worker.sandbox.confinement import lockdown
from worker.supervision.children import die_with

FILE = "kernel.cubin"
"""The program's input in its working directory."""

# Print lines and inlining (-gi), only code (-c), and skip the analysis of jumps, which may fail (-ndf).
OPTIONS = ("-gi", "-c", "-ndf")
_LIBRARIES = ("libc.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6")
_LOADED = re.compile(
    r"(?<!\S)/[^\s/]*+(?:/[^\s/]*+)*?/(?:ld-linux[\w.-]*+|ld-[\d.]++|lib(?:c|pthread|dl|rt|m)[-.][\w.-]*+)$",
    re.MULTILINE,
)
_INDEX = "/etc/ld.so.cache"


def main(program: str, parent: int, answers: int, cpu_seconds: int, memory_bytes: int) -> None:
    """Report this process's isolation, wait for the file, and execute the program.

    program: absolute path of the disassembler
    answers: descriptor for the report and then for the program's output
    """
    die_with(parent)
    lockdown.offer_to_be_killed()
    network = lockdown.leave_network()
    libraries = _libraries()
    limits = lockdown.limit(cpu_seconds, memory_bytes)
    # The program writes to standard output, so the parent reads the report and its output from one pipe.
    os.dup2(answers, 1)
    index = [_INDEX] if Path(_INDEX).exists() else []
    calls, landlock = lockdown.close_all_but((program, *libraries), (".", *index))
    report = {"calls": calls, "landlock": landlock, "network": network, "limits": limits}
    os.write(1, json.dumps(report).encode() + b"\n")
    # The program runs only in full isolation, and once the parent has written the file.
    if not (calls and landlock and limits) or not os.read(0, 1):
        os._exit(1)
    os.execve(program, (program, *OPTIONS, FILE), {"LC_ALL": "C"})  # noqa: S606 - this is its purpose


def _libraries() -> list[str]:
    """The paths of the C libraries and of the dynamic loader on this machine."""
    for name in _LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123 - not worth a Path
        return sorted(set(_LOADED.findall(maps.read())))
