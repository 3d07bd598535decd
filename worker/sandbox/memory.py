"""How much memory a child has taken, watched from outside while it lives.

What the system keeps for the dead (`ru_maxrss`) is no use: Linux starts it at what the parent held when it started the
child, by fork, vfork and posix_spawn alike. And a memory image is gone before the death can be noticed.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

SAMPLE_SECONDS = 0.02
"""Between two looks. Memory that is written to grows by some 50 MB in that time."""

_WRITABLE = re.compile(r"^VmData:\s+(\d+) kB", re.MULTILINE)


class PeakMemory:
    """The most private memory that a process could write to at any look: the quantity that its limit bounds."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._status = Path(f"/proc/{pid}/status")

    def look(self) -> None:
        """Look now; nothing changes where the process has ended, or on a system that does not tell."""
        with contextlib.suppress(OSError):
            if match := _WRITABLE.search(self._status.read_text(encoding="ascii", errors="replace")):
                self.bytes = max(self.bytes, 1024 * int(match[1]))
