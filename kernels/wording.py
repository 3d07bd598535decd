"""How counts and sizes are put into words."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """The count with its noun: `1 element`, `2 elements`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def byte_size(count: int) -> str:
    """Bytes in the unit that reads best: `512 bytes`, `48 KiB`, `1.5 KiB`."""
    if count < 1024:
        return plural(count, "byte")
    return f"{count / 1024:g} KiB" if count % 512 == 0 else f"{count:,} bytes"
