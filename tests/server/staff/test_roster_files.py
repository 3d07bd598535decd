"""Rosters of many origins: who is taken from each, and what is refused with its code, line and column."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from server.roster.csv_file import Read, Row, domain_of, read_roster
from server.table_file import Problem, Unreadable, decoded

ROSTERS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "rosters.toml").read_text("utf-8"))["roster"]


def person(row: Row) -> str:
    told = (row.role and row.role.value, row.section, row.student_id)
    return "|".join([row.email, row.name, *("-" if one is None else one for one in told)])


def read(roster: dict[str, Any]) -> Read:
    """The roster; without people if it can't be read."""
    try:
        content = roster["text"].encode(roster.get("encoding", "utf-8"))
        return read_roster(decoded(content).text, domain_of(roster.get("domain", "")))
    except Unreadable as error:
        return Read((), (Problem(error.line, str(error), code=error.code),))


@pytest.mark.parametrize("roster", ROSTERS, ids=lambda roster: roster["name"])
def test_a_roster_is_taken_as_it_is_or_refused_by_line(roster: dict[str, Any]) -> None:
    found = read(roster)
    assert [person(row) for row in found.rows] == roster.get("people", [])
    assert [f"{one.line} {one.why}" for one in found.left_out] == roster.get("left_out", [])
    assert [f"{one.code} {one.line} {one.column}".strip() for one in found.problems] == roster.get("refused", [])
