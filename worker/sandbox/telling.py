"""The child's side: how far it has come, told in between, to a parent that may pass it on and answers nothing."""

from __future__ import annotations

import json
import os

_LONGEST = 200
_descriptor: int | None = None


def tell_on(descriptor: int) -> None:
    """Tell from now on; before, and outside a child, nothing is told."""
    global _descriptor  # noqa: PLW0603 - one process, one parent
    _descriptor = descriptor


def tell(what: str) -> None:
    """One line, short enough to be written at once."""
    if _descriptor is not None:
        os.write(_descriptor, json.dumps({"told": what[:_LONGEST]}).encode() + b"\n")
