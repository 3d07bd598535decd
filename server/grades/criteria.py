"""A rubric: the criteria by which course staff give points for an assignment, on top of its kernel's points."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

MOST_CRITERIA = 20
MOST_ITEMS = 20
LONGEST_TITLE = 100
LONGEST_TEXT = 500


@dataclass(frozen=True, slots=True)
class Item:
    """A choice of a criterion. key: as of a criterion; points: negative for a deduction."""

    key: str
    points: float
    text: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion of a rubric. Staff choose its items, or give points if it has none.

    key: its ID, which stays when its other parts change
    most: its most points; text: what earns them; "" for no description
    one: whether at most one item can be chosen
    """

    key: str
    title: str
    most: float
    text: str = ""
    items: tuple[Item, ...] = ()
    one: bool = False

    @property
    def starts(self) -> float:
        """The points without a chosen item: all if there are only deductions, otherwise none."""
        return self.most if self.items and all(each.points <= 0 for each in self.items) else 0.0

    def chosen(self, given: Given) -> tuple[Item, ...]:
        """The chosen items that count. If at most one can be chosen, this is the first one."""
        chosen = tuple(each for each in self.items if each.key in given.items)
        return chosen[:1] if self.one else chosen

    def points(self, given: Given) -> float | None:
        """The points between 0 and the most; None if it isn't graded yet."""
        if not self.items:
            return min(given.points[self.key], self.most) if self.key in given.points else None
        return min(max(sum((each.points for each in self.chosen(given)), self.starts), 0.0), self.most)


@dataclass(frozen=True, slots=True)
class Given:
    """What staff give one student by a rubric.

    points, words: by the keys of criteria; only criteria without items have points
    items: the keys of chosen items
    adjustment: further points or, if negative, a deduction; reason: for the student
    """

    points: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    items: frozenset[str] = frozenset()
    adjustment: float = 0.0
    reason: str = ""


@lru_cache(maxsize=256)
def criteria_of(rubric: str) -> tuple[Criterion, ...]:
    """The criteria in the order of the page. rubric: as an assignment stores it, "" for none."""
    return tuple(map(_criterion, json.loads(rubric))) if rubric else ()


def _criterion(plain: dict[str, Any]) -> Criterion:
    return Criterion(**plain | {"items": tuple(Item(**each) for each in plain.get("items", ()))})


def stored(criteria: Iterable[Criterion]) -> str:
    """The criteria as an assignment stores them."""
    plain = [asdict(each) for each in criteria]
    return json.dumps(plain) if plain else ""


def most_of(rubric: str) -> float:
    """The most points of a rubric."""
    return sum((each.most for each in criteria_of(rubric)), 0.0)
