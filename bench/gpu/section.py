"""One section of the page: its machine, its results so far, and its time limit."""

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

    options: numbers that can shorten it
    lock: for threads that add results
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
        """Write the results so far, so that a stopped section loses none.

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
    """A section. `seconds` is its limit; results before it count."""

    title: str
    seconds: float
    run: Callable[[Run], None]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return a Markdown table: the first column aligned left, the others right."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(map(str, line))} |" for line in (head, marks, *rows)]


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.{digits}f} %"
