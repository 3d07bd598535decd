"""The published classes of cheats, and what shows that each is withstood; README.md explains the table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from kernels.verdict import Verdict
from tests.cheats.cases import FOLDER, Cheat, Honesty, cheats

TABLE = FOLDER / "classes.toml"
PAGE = FOLDER.parents[1] / "docs" / "cheats.md"
BEGIN, END = "<!-- begin: tests/cheats -->", "<!-- end: tests/cheats -->"


class Result(StrEnum):
    """What becomes of a class."""

    REFUSED = "refused"  # it is never compiled, run or recorded
    CAUGHT = "caught"  # the kernel runs, and is incorrect
    NO_EFFECT = "no effect"
    PARTLY = "partly"  # some of it succeeds; `limit` says what
    CANNOT_APPLY = "cannot apply"


@dataclass(frozen=True, slots=True)
class CheatClass:
    """One published class.

    kernels: of `expected.toml`
    tests: further tests, as `path::name`
    """

    number: int
    name: str
    published: str
    stops: str
    result: Result
    kernels: tuple[Cheat, ...]
    tests: tuple[str, ...]
    limit: str = ""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of the class's cheats."""
        found = {each for cheat in self.kernels if cheat.honesty is Honesty.CHEAT for each in cheat.grade}
        return tuple(verdict for verdict in Verdict if verdict in found)


@cache
def classes() -> tuple[CheatClass, ...]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return tuple(_class(entry) for entry in table["class"])


def _class(entry: Mapping[str, Any]) -> CheatClass:
    names, kinds = entry.get("kernels", []), entry.get("kinds", [])
    return CheatClass(
        number=entry["number"],
        name=entry["name"],
        published=entry["published"],
        stops=entry["stops"],
        result=Result(entry["result"]),
        kernels=tuple(each for each in cheats(*Honesty) if each.name in names or each.kind in kinds),
        tests=tuple(entry.get("tests", ())),
        limit=entry.get("limit", ""),
    )


def numbers(cheat: Cheat) -> str:
    """The numbers of a kernel's classes, for the names of its tests."""
    return "+".join(f"{each.number:02}" for each in classes() if cheat in each.kernels)


def page_table() -> str:
    """The part of the page between its two marks."""
    lines = [
        "| | cheat | published in | what stops it | our tests | result |",
        "|---|---|---|---|---|---|",
        *(_row(each) for each in classes()),
    ]
    limits = [f"- **{each.number}. {each.name}.** {each.limit}" for each in classes() if each.limit]
    return "\n".join([*lines, "", "### What succeeds in part", "", *limits])


def _row(each: CheatClass) -> str:
    result = each.result.value
    if each.result is Result.CAUGHT:
        result += ": " + ", ".join(f"`{verdict}`" for verdict in each.verdicts or (Verdict.WRONG_ANSWER,))
    tests = "; ".join(_tests(each)) or "none"
    return f"| {each.number} | {each.name} | {each.published} | {each.stops} | {tests} | {result} |"


def _tests(each: CheatClass) -> Iterator[str]:
    for honesty, noun in ((Honesty.CHEAT, "kernel"), (Honesty.TRICK, "correct kernel")):
        number = sum(cheat.honesty is honesty for cheat in each.kernels)
        if number:
            yield f"{number} {noun}{'s' if number > 1 else ''}"
    yield from dict.fromkeys(f"`{Path(test.split('::')[0])}`" for test in each.tests)


def with_table(page: str) -> str:
    """The page with the table of today."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{page_table()}\n\n{END}{rest.split(END)[1]}"
