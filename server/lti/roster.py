"""A platform's list of people, as a roster to preview."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kernels.csv_tables import written
from server.lti.launch import role_word
from server.roster.csv_file import MOST_LINES, Read, read_roster
from server.table_file import Problem, Unreadable


def read_members(members: Iterable[Mapping[str, Any]], *, drop_others: bool = False) -> tuple[Read, int]:
    """The active students among a course's people, and how many of them have no email.

    Staff are added by hand, because no platform makes anybody staff. People without an email are left out, so then no
    one can be dropped for being absent. Raises Unreadable if they are too many.
    """
    found: dict[str, str] = {}
    unreachable = 0
    for number, member in enumerate(members):
        if number >= MOST_LINES:
            raise Unreadable("too_many", f"The platform lists more than {MOST_LINES:,} people.")
        email = _text(member, "email")
        name = _text(member, "name") or f"{_text(member, 'given_name')} {_text(member, 'family_name')}"
        if _studies(member) and email:
            found.setdefault(email.lower(), name)
        elif _studies(member):
            unreachable += 1
    read = read_roster(written(["email", "name"], found.items()))
    if unreachable and drop_others:
        text = f"The platform hides the email of {unreachable:,} students. So none can be dropped."
        read = replace(read, problems=(Problem(0, text, code="unreachable"), *read.problems))
    return read, unreachable


def _studies(member: Mapping[str, Any]) -> bool:
    roles = member.get("roles")
    learns = isinstance(roles, list) and "Learner" in {role_word(each) for each in roles}
    return learns and member.get("status", "Active") == "Active"


def _text(member: Mapping[str, Any], name: str) -> str:
    value = member.get(name)
    return value.strip() if isinstance(value, str) else ""
