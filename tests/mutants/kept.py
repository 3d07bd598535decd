"""The mutants: one-line faults in one file for each area."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AREAS = ("judge", "device", "queue", "accounts", "pages")


@dataclass(frozen=True, slots=True)
class Mutant:
    """In the file `path`, the text `old` becomes `new`.

    test: a file of the short suite, or a function of it after `::`, that fails then
    why: why no test fails, if none does
    """

    area: str
    name: str
    path: str
    old: str
    new: str
    test: str = ""
    why: str = ""

    def applied(self) -> str:
        """The file with the fault; raises ValueError or SyntaxError if the fault no longer fits."""
        text = (ROOT / self.path).read_text()
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.path} has the text to replace {count} times: {self.old}")
        faulty = text.replace(self.old, self.new)
        ast.parse(faulty)
        return faulty


def mutants() -> list[Mutant]:
    """All of them, area by area."""
    return [Mutant(area, **entry) for area in AREAS for entry in _entries(area)]


def _entries(area: str) -> list[dict[str, str]]:
    text = Path(__file__).with_name(f"{area}.toml").read_text()
    entries: list[dict[str, str]] = tomllib.loads(text)["mutant"]
    return entries
