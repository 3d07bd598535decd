"""`tilelab admin`: for those who look after a course by hand; its verbs live in modules of their own."""

from __future__ import annotations

from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "assignment": "Set exercises, change how they are set, extend deadlines.",
    "audit": "Show who did what in a course, or to the server.",
    "backup": "Write the whole database into one file.",
    "course": "Make and change courses, enrol people, set exercises.",
    "export": "Write the grades of a course.",
    "jobs": "List jobs, look at one, grade it again, cancel it.",
    "migrate": "Make the tables, or bring them up to this version.",
    "regrade": "Grade again what was handed in.",
    "regrades": "Show how far that is, and end what still waits of it.",
    "restore": "Read a backup into an empty database.",
    "roster": "Read a course's roster from a file, write it, change it one by one.",
    "submissions": "List what was handed in for a course.",
    "user": "Make people, passwords and tokens; shut someone out; erase someone.",
    "worker": "Let workers rest or go on, and have it noted.",
}


class AdminVerbs(Verbs):
    """The verbs of an operator."""

    verbs = _VERBS
    package = "server.commands.admin"


@click.group(cls=AdminVerbs)
def admin() -> None:
    """Look after people, courses, jobs and the database that DATABASE_URL names.

    \b
    Example:
      tilelab admin migrate
      tilelab admin course add demo "Demo course"
      tilelab admin user add ada@university.edu "Ada Lovelace" --course demo --role instructor
    """  # noqa: D301 - click reads the escape
