"""compute-sanitizer's tools, each on one kernel in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.gpu.prepare import Prepared

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
PROGRAM = "compute-sanitizer"
_SECONDS = 60
_SUMMARY = re.compile(r"RACECHECK SUMMARY: (\d+) hazards? displayed|ERROR SUMMARY: (\d+) errors?")
_FAILED = re.compile(r"GPUError|Error: process didn't terminate|timed out")


def watch(tool: str, folder: Path, kernel: Prepared, seconds: float = _SECONDS) -> int | None:
    """How many mistakes a tool shows; None if it comes to no end, because the kernel doesn't, or is stopped."""
    command = [PROGRAM, "--tool", tool, "--print-limit", "2", sys.executable, "-m", "tests.gpu.profile"]
    output = output_of([*command, str(folder), kernel.stem], seconds)
    summary = _SUMMARY.search(output or "")
    # memcheck itself reports what stops a kernel
    if output is None or summary is None or (tool == "racecheck" and _FAILED.search(output)):
        return None
    return int(summary[1] or summary[2])


def output_of(command: Sequence[str], seconds: float) -> str | None:
    """What a command prints; None if it takes longer, after which it is killed with all that it started."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return output
