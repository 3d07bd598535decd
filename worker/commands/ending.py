"""How the command ends where nobody planned it: interrupted, its reader gone, or a fault of our own.

Imports nothing heavy: it stands around everything else, the start of the sandboxed processes included.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

# As a shell reports a program that was ended by a signal: SIGINT is 2, SIGPIPE 13.
INTERRUPTED = 130
READER_GONE = 141
FAULT = 3

_DEBUG = "TILELAB_DEBUG"
_LONGEST_REASON = 200
_ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def calmly(*planned: type[Exception]) -> Iterator[None]:
    """End the command without a traceback, whatever the body raises; `planned` exceptions pass."""
    try:
        yield
    except planned:
        raise
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        discard_output()
        sys.exit(READER_GONE)
    except Exception as error:  # noqa: BLE001 - the last place that can turn a fault into a sentence
        if os.environ.get(_DEBUG):
            traceback.print_exc()
        sys.stderr.write(f"{_sentence(error)}\n")
        sys.exit(FAULT)


def discard_output() -> None:
    """Send what is still to be written nowhere: its reader is gone, and the interpreter writes at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception) -> str:
    """What happened, and where to report it, in one line."""
    from kernels.rendering.text_safety import safe

    reason = " ".join(safe(f"{type(error).__name__}: {error}".replace("\n", " ")).split())
    places = _places(error)
    what = f"({reason[:_LONGEST_REASON]}{f', {places[-1]}' if places else ''})"
    more = f"with {_DEBUG}=1 it says more."
    if any(place.startswith("server") for place in places):
        # whoever calls the server's verbs has no kernel in hand, and may be the staff
        return f"tilelab: a fault inside Tilelab {what}. Please send this line to the maintainers; {more}"
    return (
        f"tilelab: a fault inside Tilelab, not in your kernel {what}. Please send this line and your file to your "
        f"course's staff; {more}"
    )


def _places(error: Exception) -> list[str]:
    """Tilelab's own lines that the error came through, the last one last."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = tuple(_ROOT / part for part in ("kernels", "server", "worker"))
    return [
        f"{path.relative_to(_ROOT)}:{line}" for path, line in frames if any(map(path.is_relative_to, own))
    ]
