"""One part of the page: what it measures with, how it keeps what it found so far, and how long it may take."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.gpu.machine import Machine

Data = dict[str, Any]


@dataclass(slots=True)
class Run:
    """A section under way.

    options: numbers by which it can be made shorter
    lock: for threads that add to what is kept
    """

    name: str
    machine: Machine
    file: Path
    day: str
    options: dict[str, int] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def say(self, text: str) -> None:
        print(f"{self.name}: {time.monotonic() - self.began:6.1f} s: {text}", file=sys.stderr, flush=True)

    def keep(self, text: Sequence[str], data: Data, *, done: bool = True) -> None:
        """Write what is known so far, so that a section which is stopped loses nothing of it.

        text: lines of Markdown
        """
        whole = {
            "section": self.name,
            "made_on": self.machine.made_on(self.day),
            "gpus": len(self.machine.gpus),
            "seconds": round(time.monotonic() - self.began, 1),
            "done": done,
            "text": list(text),
            "data": data,
        }
        made = self.file.with_suffix(".new")
        made.write_text(json.dumps(whole, indent=1), encoding="utf-8")
        made.replace(self.file)


@dataclass(frozen=True, slots=True)
class Section:
    """What is run; `seconds` are its limit, and what it kept by then counts."""

    title: str
    seconds: float
    run: Callable[[Run], None]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A Markdown table: the first column to the left, the others to the right."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(map(str, line))} |" for line in (head, marks, *rows)]


def percent(share: float, digits: int = 1) -> str:
    """A share of 1, signed where it is a difference by the caller's choice."""
    return f"{100 * share:.{digits}f} %"
