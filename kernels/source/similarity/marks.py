"""The lines that two sources share, and how many students have each of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kernels.source.similarity.features import Features, Lines


class Sharing(StrEnum):
    """What a line has in common with the other source. The values are CSS classes."""

    RARE = "rare"
    COMMON = "common"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Mark:
    """A line with a statement that the other source has too.

    other: the first line of the statement there; students: how many have it; 0 for given code
    """

    sharing: Sharing
    other: int
    students: int


def marks(
    one: Features, other: Features, carriers: Mapping[str, int], given: Collection[str], rare: int
) -> dict[int, Mark]:
    """The marked lines of `one`. Given code is marked even if only one of the two has it.

    carriers: the number of students with each feature; rare: the most students that share a rare statement
    """
    found: dict[int, Mark] = {}
    for feature, places in one.statements.items():
        there = other.statements.get(feature, ())
        if feature in given:
            _put(found, places, [Mark(Sharing.GIVEN, there[0][0] if there else 0, 0)])
        elif there:
            students = carriers.get(feature, 0)
            sharing = Sharing.RARE if students <= rare else Sharing.COMMON
            _put(found, places, [Mark(sharing, line, students) for line, _ in there])
    return found


def _put(found: dict[int, Mark], places: tuple[Lines, ...], marked: list[Mark]) -> None:
    """Mark the lines of each place; a line with several statements keeps the rarest mark."""
    order = list(Sharing)
    for number, (first, last) in enumerate(places):
        mark = marked[min(number, len(marked) - 1)]
        for line in range(first, last + 1):
            before = found.get(line)
            if before is None or order.index(mark.sharing) < order.index(before.sharing):
                found[line] = mark
