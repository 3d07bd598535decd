"""Programs that live no longer than the test process that started them, however that one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

LAUNCH = Path(__file__).with_name("launch.py")
# The kernel takes the end of the thread that started a process for the death of its parent. This thread lives as long
# as the test process, whichever thread asks for the program.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tethered")


def start(
    command: Sequence[str | Path],
    log: Path,
    *,
    user: str | None = None,
    death: signal.Signals = signal.SIGKILL,
    given: bytes = b"",
) -> subprocess.Popen[bytes]:
    """The program, started, what it prints appended to a log.

    user: whom to run it as, where the caller is root
    death: what it is sent when the test process is gone (Linux only)
    given: its standard input
    """
    full = [sys.executable, "-I", "-S", LAUNCH, str(os.getpid()), str(int(death)), user or "-", *command]
    with log.open("ab") as out:
        process = _STARTER.submit(
            subprocess.Popen[bytes],
            full,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            # an interrupt from the keyboard is for the tests, which then end what they started
            start_new_session=True,
        ).result()
    assert process.stdin
    # one that ended at once reads nothing; its log says why
    with suppress(BrokenPipeError):
        process.stdin.write(given)
    with suppress(BrokenPipeError):
        process.stdin.close()
    return process


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float = 60) -> None:
    """Wait for a program that was started; a program that ended, or takes too long, raises with its log's end."""
    deadline = time.monotonic() + seconds
    while not ready():
        code = process.poll()
        if code is not None or time.monotonic() > deadline:
            state = "still not ready" if code is None else f"ended with {code}"
            text = log.read_text(errors="replace")[-4000:]
            raise ServiceFailed(f"{process.args!r}: {state} after starting; {log}:\n{text}")
        time.sleep(0.01)


class ServiceFailed(Exception):
    """A program that a test needs does not come up."""
