"""A platform's list of people, as a roster to preview."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from server.lti.launch import role_word
from server.roster.csv_file import MOST_LINES, Problem, Read, Row, read_row

_MOST_PROBLEMS = 100


def read_members(members: Iterable[Mapping[str, Any]], *, drop_others: bool = False) -> Read:
    """The active students among a course's people. Staff are added by hand, because no platform makes anybody staff.

    People without an email are left out, so then no one can be dropped for being absent.
    """
    rows: list[Row] = []
    problems: list[Problem] = []
    known: set[str] = set()
    unreachable = 0
    for number, member in enumerate(members, 1):
        if number > MOST_LINES:
            problems.append(Problem(0, f"The platform lists more than {MOST_LINES:,} people."))
            break
        if not _studies(member):
            continue
        if not _text(member, "email"):
            unreachable += 1
            continue
        name = _text(member, "name") or f"{_text(member, 'given_name')} {_text(member, 'family_name')}"
        row, wrong = read_row(number, _text(member, "email"), name)
        problems += wrong
        if not wrong and row.email not in known:
            known.add(row.email)
            rows.append(row)
    if unreachable and drop_others:
        problems.append(
            Problem(0, f"The platform hides the email of {unreachable:,} students. So none can be dropped.")
        )
    left_out = (f"{unreachable:,} students without an email",) if unreachable else ()
    return Read(tuple(rows), tuple(problems[:_MOST_PROBLEMS]), left_out)


def _studies(member: Mapping[str, Any]) -> bool:
    roles = member.get("roles")
    learns = isinstance(roles, list) and "Learner" in {role_word(each) for each in roles}
    return learns and member.get("status", "Active") == "Active"


def _text(member: Mapping[str, Any], name: str) -> str:
    value = member.get(name)
    return value.strip() if isinstance(value, str) else ""
