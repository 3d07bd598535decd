"""What a child process needs of its parent: where our packages lie, and to end when the parent does."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[2]
_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Be killed as soon as the parent is gone; end now where it is gone already."""
    if sys.platform == "linux":
        import ctypes  # not where a child is only started: the command waits for it

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def search_path() -> list[str]:
    """Where the child finds this package and its libraries; it does not look for them itself."""
    places = [Path(entry) for entry in sys.path]
    return [str(_PACKAGES), *(str(place) for place in places if place.is_absolute() and place.exists())]
