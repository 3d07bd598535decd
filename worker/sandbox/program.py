"""The child's side of the disassembly: gives up all but one program and one file, then becomes that program.

The file is made from hostile text and the program was not written to face such files, so it is held in like a
compiler. It must open its libraries and the file itself, hence a wider lock than that of the other steps.
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
"""What the program reads, in its working directory."""

# With the source's lines and where code was inlined, code only, and without a second look at the jumps, which may fail.
OPTIONS = ("-gi", "-c", "-ndf")
_LIBRARIES = ("libc.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6")
_LOADED = re.compile(r"\S*/(?:ld-linux[\w.-]*|ld-[\d.]+|lib(?:c|pthread|dl|rt|m)[-.][\w.-]*)$", re.MULTILINE)
_INDEX = "/etc/ld.so.cache"


def main(program: str, parent: int, answers: int, cpu_seconds: int, memory_bytes: int) -> None:
    """Say what confines this process, wait for the file to be there, and become the program.

    program: the absolute path of the disassembler
    answers: where the report on what confines it goes, and then all that the program prints
    """
    die_with(parent)
    lockdown.offer_to_be_killed()
    network = lockdown.leave_network()
    libraries = _libraries()
    limits = lockdown.limit(cpu_seconds, memory_bytes)
    os.dup2(answers, 1)
    index = [_INDEX] if Path(_INDEX).exists() else []
    calls, landlock = lockdown.close_all_but((program, *libraries), (".", *index))
    report = {"calls": calls, "landlock": landlock, "network": network, "limits": limits}
    os.write(1, json.dumps(report).encode() + b"\n")
    if not (calls and landlock and limits) or not os.read(0, 1):
        os._exit(1)
    os.execve(program, (program, *OPTIONS, FILE), {"LC_ALL": "C"})  # noqa: S606 - this is the point of it


def _libraries() -> list[str]:
    """Where this machine keeps what a C program is linked with, the loader of programs included."""
    for name in _LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123 - not worth a Path
        return sorted(set(_LOADED.findall(maps.read())))
