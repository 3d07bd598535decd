"""The two accesses of a data race, as its finding's sentence names them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernels.verdict import Finding, Verdict

_NAME = r"hread \(([\d,]+)\)"
_BLOCK = r" of block \(([\d,]+)\)"
_TWO = re.compile(rf"^T{_NAME}{_BLOCK} (\D+?) `[^`]+`.*?\. T{_NAME}(?:{_BLOCK})? (\D+?) it\b")
_BOTH = re.compile(rf"^T{_NAME}{_BLOCK} and t{_NAME}(?:{_BLOCK})? both (\D+?)s? `")
_NOUNS = {"read": "read", "write": "write", "update": "atomic update", "cop": "copy"}


@dataclass(frozen=True, slots=True)
class RaceAccess:
    """One access.

    thread: its index, as in `1,0`
    verb: `reads`, `writes` or another access
    block: the block's index, if the other thread is of another block
    """

    thread: str
    verb: str
    line: int | None
    block: str = ""

    @property
    def noun(self) -> str:
        """`read`, `write` or another access."""
        return next((noun for part, noun in _NOUNS.items() if part in self.verb), "access")


def race_accesses(race: Finding) -> tuple[RaceAccess, RaceAccess] | None:
    """The access that came first in the run, and the other one; None for another sentence."""
    first, second = race.other_line, race.line
    if (both := _BOTH.match(race.message)) is not None:
        one, block, other, there, verb = both.groups()
        then, first = f"{verb}s", second
        verb = then
    elif (two := _TWO.match(race.message)) is not None:
        one, block, verb, other, there, then = two.groups()
    else:
        return None
    blocks = (block, there) if there else ("", "")
    return RaceAccess(one, verb, first, blocks[0]), RaceAccess(other, then, second, blocks[1])


def roles(finding: Finding) -> tuple[str, str]:
    """What happens at a finding's other line and at its own line."""
    accesses = race_accesses(finding) if finding.kind is Verdict.DATA_RACE else None
    return finding.kind.roles if accesses is None else (accesses[0].noun, accesses[1].noun)


def role_of_both(race: Finding) -> str:
    """What happens at the line of a race with only one: `both write`."""
    nouns = sorted({each.noun for each in race_accesses(race) or ()})
    return " and ".join(nouns) if nouns[1:] else f"both {nouns[0]}" if nouns else "both accesses"
