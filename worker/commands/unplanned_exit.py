"""Unplanned ends of the command: Ctrl-C, a closed pipe, or an internal error.

Imports nothing heavy, because it wraps everything else, even the start of the sandboxed processes.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

# Shells report 128 plus the signal's number: SIGINT is 2, SIGPIPE 13.
INTERRUPTED = 130
READER_GONE = 141
FAULT = 3

_DEBUG = "TILELAB_DEBUG"
_LONGEST_REASON = 200
_ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def calmly(*planned: type[Exception]) -> Iterator[None]:
    """End the command without a traceback, whatever the body raises. `planned` exceptions pass through."""
    try:
        yield
    except planned:
        raise
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        discard_output()
        sys.exit(READER_GONE)
    except Exception as error:  # noqa: BLE001 - the last place that can turn an error into a sentence
        if os.environ.get(_DEBUG):
            traceback.print_exc()
        sys.stderr.write(f"{_sentence(error)}\n")
        sys.exit(FAULT)


def discard_output() -> None:
    """Drop all remaining output. Its reader is gone, and the interpreter would write to it on exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception) -> str:
    from kernels.rendering.text_safety import safe

    reason = " ".join(safe(f"{type(error).__name__}: {error}".replace("\n", " ")).split())
    # The lines of Tilelab in the error's traceback, innermost last
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = tuple(_ROOT / part for part in ("kernels", "server", "worker"))
    places = [f"{path.relative_to(_ROOT)}:{line}" for path, line in frames if any(map(path.is_relative_to, own))]
    what = f"({reason[:_LONGEST_REASON]}{f', {places[-1]}' if places else ''})"
    more = f"{_DEBUG}=1 shows the traceback."
    if any(place.startswith("server") for place in places):
        # callers of the server's verbs have no kernel, and may be the course staff
        return f"tilelab: internal error {what}. Please send this line to Tilelab's maintainers. {more}"
    return (
        f"tilelab: internal error {what}. Your kernel is not the cause. Please send this line and your file to your "
        f"course staff. {more}"
    )
