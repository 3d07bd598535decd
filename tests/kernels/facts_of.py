"""The facts of findings, as the device and the judge make them."""

from __future__ import annotations

from typing import Any

from kernels.facts import Access, AccessKind, Diagnosed, Element, Facts
from kernels.verdict import Example


def of_race(
    first: str = "read", second: str = "", *, blocks: bool = False, together: bool = False, one_warp: bool = False
) -> Facts:
    """Two accesses of neighbouring threads, of one block or of two. The second one writes, or does the same."""
    second = first if together else second or "write"
    places: tuple[tuple[int, ...], ...] = ((0, 0), (0, 1)) if blocks else ((), ())
    return Facts(
        accesses=(Access((0, 0), AccessKind(first), 1, places[0]), Access((0, 1), AccessKind(second), 1, places[1])),
        together=together,
        one_warp=one_warp,
    )


def of_diagnosis(key: str, *names: str, cases: int = 1) -> Facts:
    """The facts of an incorrect result with one diagnosis, which explains one failing case of so many."""
    diagnosis = Diagnosed(key, f"It is {key}.", names=names, cases=1, failing=cases)
    return Facts(example="An example.", diagnoses=(diagnosis,))


def at(name: str | None, **more: Any) -> Example:
    """The example of an element by its name, such as `M[3][-1]`."""
    if name is None:
        return Example(**more)
    array, *indices = name.replace("]", "").split("[")
    known = array.replace("{", "").replace("}", "").isidentifier()
    element = Element(array, tuple(map(int, indices))) if known else Element("", text=name)
    return Example.at(element, **more)
