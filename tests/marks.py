"""Marks that many tests share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux only: NVIDIA's compiler and tools, and what shuts a process in"
)
"""The only skip of a test that needs one of these: on Linux all are locked, so one that is missing is a failure."""


def first_of_each(
    entries: Iterable[Any], kind: Callable[[Any], Hashable], name: Callable[[Any], str], reason: str
) -> list[Any]:
    """Parameters of a test: the first entry of each kind in the short suite, all others in the long one.

    kind: what two entries have in common where one of them is enough
    name: of the entry in the test's id
    """
    seen: set[Hashable] = set()
    made = []
    for entry in entries:
        made.append(_parameter(entry, name(entry), "" if kind(entry) not in seen else reason))
        seen.add(kind(entry))
    return made


def some_of(entries: Iterable[Any], step: int, name: Callable[[Any], str], reason: str) -> list[Any]:
    """Parameters of a test: every `step`-th entry in the short suite, all others in the long one."""
    return [_parameter(entry, name(entry), reason if number % step else "") for number, entry in enumerate(entries)]


def _parameter(entry: Any, name: str, reason: str) -> Any:
    return pytest.param(entry, id=name, marks=[pytest.mark.long(reason)] if reason else [])
