"""The repair of an incorrect sum, if one line of the source is the cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from kernels.facts import Facts
from kernels.report.source_facts import code_between, code_of_all, counters_of, line_at, loop_at, names_in
from kernels.wording import lines_named, listed

_NEGATIVE = "scaled_-1"
_PRODUCT = re.compile(r"^[ \t]*+(\w++)[ \t]*+(-?)=(?!=)([^;*]{0,400}+\*[^;]{0,400}+);", re.MULTILINE)
_FLOATS, _INTEGERS = re.compile(r"\bfloat\s*\*"), re.compile(r"\b(?:int|unsigned|char|short|long)\s*\*")
_INTEGER = re.compile(
    r"^[ \t]*+(?:int|unsigned(?:[ \t]++int)?|long)[ \t]++(\w++)\s*+=\s*+0(?:\.0*+)?f?\s*+;", re.MULTILINE
)
_MOST_PRODUCTS = 64
_TILES = re.compile(r"__shared__\s++(?:int|unsigned(?:\s++int)?|long|short)\s++([^;]{0,400}+);")


@dataclass(frozen=True, slots=True)
class SumRepair:
    """A line with its label, and what to write there. key: as of a `Step`."""

    key: str
    line: int
    label: str
    text: str


def sum_repair(facts: Facts, lines: Sequence[str]) -> SumRepair | None:
    """The repair; None if not exactly one line shows the mistake."""
    code = code_of_all(lines)
    found = [*_integers(code), *_integer_tiles(facts, code), *_products(facts, code, lines)]
    return found[0] if len(found) == 1 else None


def _integers(code: str) -> list[SumRepair]:
    """Integer sums in a kernel whose matrices are floats."""
    found = []
    for each in _INTEGER.finditer(code) if _FLOATS.search(code) and not _INTEGERS.search(code) else ():
        name, line = each[1], line_at(code, each.start(1))
        if _is_output(name, code) and re.search(rf"\b{name}\s*+\+=[^;*]{{0,400}}+\*", code):
            text = f"Declare `{name}` as `float` at line {line}. An integer loses the fraction of each sum."
            found.append(SumRepair("sum.integer", line, f"{name} is an integer", text))
    return found


def _integer_tiles(facts: Facts, code: str) -> list[SumRepair]:
    """Tiles of integers, if the result proves that they lose the fractions of a matrix."""
    if not facts.diagnosis("cut_factors") or not _FLOATS.search(code) or _INTEGERS.search(code):
        return []
    named: dict[str, int] = {}
    for each in _TILES.finditer(code):
        named |= dict.fromkeys(re.findall(r"\b(\w++)\s*+\[", each[1]), line_at(code, each.start(1)))
    if not named:
        return []
    names, numbers = [f"`{name}`" for name in named], sorted({*named.values()})
    where = f"{listed(names)} as `float` at {lines_named(numbers)}"
    text = f"Declare {where}. An integer loses the fraction of each element."
    return [SumRepair("sum.integer_tiles", numbers[0], f"{next(iter(named))} holds integers", text)]


def _products(facts: Facts, code: str, lines: Sequence[str]) -> list[SumRepair]:
    """Products that a loop subtracts, or that overwrite each other."""
    found = []
    for each in islice(_PRODUCT.finditer(code), _MOST_PRODUCTS):
        name, minus, value = each.groups()
        line = line_at(code, each.start(1))
        loop = loop_at(line, lines)
        if loop is None or not _is_output(name, code) or name in names_in(value):
            continue
        if minus and facts.diagnosis(_NEGATIVE):
            text = f"Write `+=` instead of `-=` at line {line}."
            found.append(SumRepair("sum.subtracted", line, f"subtracts from {name}", text))
        inside = code_between(loop.first, loop.last, lines)
        used = len(re.findall(rf"\b{name}\b", inside)) > 1
        if not minus and not used and counters_of(loop, lines) & names_in(value):
            text = f"Line {line} overwrites `{name}` in each step of the loop. Write `+=` instead of `=`."
            found.append(SumRepair("sum.overwritten", line, f"overwrites {name}", text))
    return found


def _is_output(name: str, code: str) -> bool:
    """Whether the kernel stores this variable alone."""
    return re.search(rf"\]\s*=\s*{name}\s*;", code) is not None
