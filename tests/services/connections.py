"""Which connections to databases this process holds, so that a test that leaves one open fails itself.

Without this the garbage collector finds it minutes later, and whichever test runs then fails for it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import Pool

ROOT = Path(__file__).resolve().parents[2]

# by the connection's identity: who opened it
_open: dict[int, traceback.StackSummary] = {}


def _used(connection: DBAPIConnection, *_record: object) -> None:
    if id(connection) not in _open:
        frames = traceback.walk_stack(sys._getframe(1))
        _open[id(connection)] = traceback.StackSummary.extract(frames, limit=60, lookup_lines=False)


def _closed(connection: DBAPIConnection, *_record: object) -> None:
    _open.pop(id(connection), None)


# not "connect": one that cannot be set up is never in a pool
event.listen(Pool, "checkout", _used)
event.listen(Pool, "close", _closed)
event.listen(Pool, "close_detached", _closed)


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """Whoever makes an engine also disposes of it. What fixtures of a whole session hold was there before the test."""
    held = set(_open)
    yield
    left = [_open.pop(number) for number in [*_open] if number not in held]
    if left:
        pytest.fail(
            f"{len(left)} connections to a database are left open; the first was opened at\n{_ours(left[0])}",
            pytrace=False,
        )


def _ours(stack: traceback.StackSummary) -> str:
    """The way to it through this repository's files, without those of packages."""
    frames = [frame for frame in reversed(stack) if frame.filename.startswith(f"{ROOT}/")]
    return "".join(traceback.format_list([frame for frame in frames if "site-packages" not in frame.filename]))
