"""What an access does. A room of its own: reports name it, and the command that prints one loads no numpy."""

from __future__ import annotations

from enum import StrEnum


class Verb(StrEnum):
    """What an access does."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
