"""How a table of phases names elements and cells."""

from __future__ import annotations

PADDING = "0"
"""What stands for a zero beyond the edge of a matrix."""


def cell_place(name: str) -> tuple[str, int, int]:
    """The array, row and column of an element or cell: `Mds`, 1, 0 of `Mds[1][0]`; row 0 where there is one index."""
    first, *indices = name.split("[")
    numbers = [index.rstrip("]") for index in indices]
    if not numbers or not all(number.lstrip("-").isdigit() for number in numbers[-2:]):
        return name, 0, 0
    array = "[".join([first, *indices[:-2]])
    return array, int(numbers[-2]) if len(numbers) > 1 else 0, int(numbers[-1])
