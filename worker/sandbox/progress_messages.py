"""The child's progress messages to its parent, which doesn't answer them."""

from __future__ import annotations

import json
import os

LONGEST = 1_200
_descriptor: int | None = None


def send_to(descriptor: int) -> None:
    """Send messages to this descriptor from now on. Before that, `tell` does nothing."""
    global _descriptor  # noqa: PLW0603 - one process, one parent
    _descriptor = descriptor


def tell(what: str) -> None:
    """Send one message, short enough for a single write."""
    if _descriptor is not None:
        os.write(_descriptor, json.dumps({"told": what[:LONGEST]}).encode() + b"\n")
