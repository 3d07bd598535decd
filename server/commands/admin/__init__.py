"""`tilelab admin`: the operator's verbs, one module each."""

from __future__ import annotations

from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "announce": "Write, change and withdraw announcements.",
    "assignment": "Create assignments, change their settings, grant extensions.",
    "audit": "Show changes in a course or on the server, and who made them.",
    "backup": "Write the whole database to one file.",
    "comments": "Answer questions of students, comment on submissions.",
    "copies": "List identical and similar submissions of an assignment.",
    "course": "Create and change courses, enrol people, create assignments.",
    "doctor": "Check the deployment: say what is wrong and what to do next.",
    "exercise": "Add exercises to a course, prove them, publish their versions.",
    "export": "Export a course's grades.",
    "grade": "Show or correct a student's grade.",
    "jobs": "List, show, retry or cancel jobs.",
    "lti": "Register learning management systems, change courses' connections.",
    "migrate": "Create the database's tables, or upgrade them to this version.",
    "pair": "Mark two similar submissions as looked at and fine.",
    "regrade": "Regrade submissions.",
    "regrades": "Show regrades and their progress, or cancel what still waits.",
    "requests": "Grant or refuse regrade requests of students.",
    "restore": "Read a backup into an empty database.",
    "roster": "Import, export or change a course's roster.",
    "rubric": "Change an assignment's rubric, grade submissions by it.",
    "submissions": "List a course's submissions.",
    "user": "Manage accounts, passwords and tokens; disable or erase people.",
    "worker": "Make and revoke workers' keys; drain or resume workers.",
}


class AdminVerbs(Verbs):
    """The verbs of an operator."""

    verbs = _VERBS
    package = "server.commands.admin"


@click.group(cls=AdminVerbs)
def admin() -> None:
    """Manage people, courses, jobs and the database in DATABASE_URL.

    \b
    Example:
      tilelab admin migrate
      tilelab admin course add demo "Demo course"
      tilelab admin user add ada@university.edu "Ada Lovelace" --course demo --role instructor
    """
