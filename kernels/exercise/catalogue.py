"""The exercises that come with Tilelab, by level, in the order of a course."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kernels.exercise import BUILT_IN, Exercise, list_exercises
from kernels.toml_text import read_toml


@dataclass(frozen=True, slots=True)
class Entry:
    """An exercise. what: what students write, as part of a sentence; picture: a figure's name, "" for none."""

    exercise: Exercise
    what: str
    picture: str


@dataclass(frozen=True, slots=True)
class Level:
    """Exercises of similar difficulty."""

    title: str
    about: str
    entries: tuple[Entry, ...]


@cache
def catalogue() -> tuple[Level, ...]:
    """All levels, the easiest first. Exercises without a level are in a last one."""
    left = {exercise.name: exercise for exercise in list_exercises()}
    levels = [
        Level(
            each["title"], each["about"],
            tuple(_entry(left.pop(name), what) for name, what in each["exercises"].items()),
        )
        for each in read_toml((BUILT_IN / "catalogue.toml").read_text("utf-8"))["levels"]
    ]  # fmt: skip
    if left:
        levels.append(Level("Other exercises", "", tuple(_entry(each, "") for each in left.values())))
    return tuple(levels)


def catalogue_entries() -> Mapping[str, Entry]:
    """All exercises by name."""
    return {entry.exercise.name: entry for level in catalogue() for entry in level.entries}


def _entry(exercise: Exercise, what: str) -> Entry:
    figures = sorted(file.name for file in exercise.root.glob("*.svg"))
    return Entry(exercise, what, next(iter(figures), ""))
