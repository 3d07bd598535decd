"""The cheats of this folder and what each must be judged as; README.md explains the table."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from kernels.verdict import Verdict

FOLDER = Path(__file__).parent
EXPECTED = FOLDER / "expected.toml"
SOURCES = FOLDER / "sources"

GOES_ON = frozenset({Verdict.ACCEPTED, Verdict.UNSUPPORTED})
"""Verdicts of the CPU device after which a GPU judges the kernel, too."""


class Honesty(StrEnum):
    """Which list of the table a kernel is in."""

    CHEAT = "cheat"  # must not be accepted
    TRICK = "trick"  # right: accepted, and measured no faster than a plain kernel


@dataclass(frozen=True, slots=True)
class Cheat:
    """One kernel.

    tile: of `--tile`; None for the exercise's own
    kind: what it tries, in a word
    cpu: the verdict of the CPU device alone, as `tilelab grade --device cpu` gives it
    gpu: the verdicts that a GPU may give where no CPU device was asked before
    grade: the verdicts that a whole grade with a GPU may end in
    small: the verdict that a measurement at small sizes gives, with the CPU device in a GPU's place; see `small.py`
    differs: why there is more than one, where there is
    """

    name: str
    path: Path
    exercise: str
    tile: int | None
    kind: str
    cpu: Verdict
    gpu: tuple[Verdict, ...]
    grade: tuple[Verdict, ...]
    honesty: Honesty
    small: Verdict | None = None
    differs: str = ""

    @property
    def needs_gpu(self) -> bool:
        """Whether neither the CPU device nor a measurement at small sizes shows the verdict."""
        return self.cpu in GOES_ON and self.small is None


@cache
def cheats(*lists: Honesty) -> tuple[Cheat, ...]:
    """All kernels of the given lists, in the order of the table; without any, those that must not be accepted."""
    table = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))
    return tuple(_cheat(entry, each) for each in lists or (Honesty.CHEAT,) for entry in table[each.value])


def _cheat(entry: Mapping[str, Any], honesty: Honesty) -> Cheat:
    return Cheat(
        name=entry["name"],
        path=SOURCES / f"{entry['name']}.cu",
        exercise=entry.get("exercise", "tiled"),
        tile=entry.get("tile"),
        kind=entry["kind"],
        cpu=Verdict(entry["cpu"]),
        gpu=_verdicts(entry["gpu"]),
        grade=_verdicts(entry["grade"]),
        honesty=honesty,
        small=Verdict(entry["small"]) if "small" in entry else None,
        differs=entry.get("differs", ""),
    )


def _verdicts(written: str | list[str]) -> tuple[Verdict, ...]:
    return tuple(map(Verdict, [written] if isinstance(written, str) else written))
