"""A rubric: the criteria by which course staff give points for an assignment, on top of its kernel's points."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache

MOST_CRITERIA = 20
LONGEST_TITLE = 100
LONGEST_TEXT = 500


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion of a rubric.

    key: its ID, which stays when its other parts change
    most: its most points; text: what earns them; "" for no description
    """

    key: str
    title: str
    most: float
    text: str = ""


@lru_cache(maxsize=256)
def criteria_of(rubric: str) -> tuple[Criterion, ...]:
    """The criteria in the order of the page. rubric: as an assignment stores it, "" for none."""
    return tuple(Criterion(**each) for each in json.loads(rubric)) if rubric else ()


def stored(criteria: Iterable[Criterion]) -> str:
    """The criteria as an assignment stores them."""
    plain = [asdict(each) for each in criteria]
    return json.dumps(plain) if plain else ""


def most_of(rubric: str) -> float:
    """The most points of a rubric."""
    return sum((each.most for each in criteria_of(rubric)), 0.0)
