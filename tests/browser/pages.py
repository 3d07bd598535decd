"""Every page that has a picture: add one here.

An address may name what the demo course has, and {race} and {right} for a submission of each kind, graded. `who` is
nobody (""), or the role of somebody in it: student, instructor. Pages marked `measured` are those of a course in which
a GPU measured, whose student is ada and whose instructor is ina.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """name: of the picture's file."""

    name: str
    address: str
    who: str = ""
    measured: bool = False


PAGES = (
    Shown("sign-in", "/sign-in"),
    Shown("join", "/join"),
    Shown("account-profile", "/account", "student"),
    Shown("account-password", "/account/password", "student"),
    Shown("account-sessions", "/account/sessions", "student"),
    Shown("account-tokens", "/account/tokens", "student"),
    Shown("start", "/"),
    Shown("home", "/", "student"),
    Shown("course", "/courses/demo/", "student"),
    Shown("assignment", "/courses/demo/tiled/", "student"),
    Shown("result-race", "/submissions/{race}", "student"),
    Shown("result-right", "/submissions/{right}", "student"),
    Shown("board", "/courses/gpu/tiled/board/", "ada", measured=True),
    Shown("history", "/courses/gpu/tiled/history", "ada", measured=True),
    Shown("staff-overview", "/staff/demo/", "instructor"),
    Shown("staff-roster", "/staff/demo/roster", "instructor"),
    Shown("staff-import", "/staff/demo/roster/import", "instructor"),
    Shown("staff-assignments", "/staff/demo/assignments", "instructor"),
    Shown("staff-new-assignment", "/staff/demo/assignments/new", "instructor"),
    Shown("staff-assignment", "/staff/demo/assignments/tiled", "instructor"),
    Shown("staff-submissions", "/staff/demo/submissions", "instructor"),
    Shown("staff-regrade", "/staff/demo/regrade", "instructor"),
    Shown("staff-grades", "/staff/demo/grades", "instructor"),
    Shown("staff-audit", "/staff/demo/audit", "instructor"),
    Shown("staff-settings", "/staff/demo/settings", "instructor"),
    Shown("fleet", "/fleet", "instructor"),
)
