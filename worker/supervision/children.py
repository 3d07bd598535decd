"""Setup of a child process: its search path, and its end when the parent ends."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[2]
_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the parent ends. Ends at once if the parent is already gone."""
    if sys.platform == "linux":
        import ctypes  # imported here because it slows down parents, which only start a child

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def search_path() -> list[str]:
    places = [Path(entry) for entry in sys.path]
    return [str(_PACKAGES), *(str(place) for place in places if place.is_absolute() and place.exists())]
