"""Commands that change something for many students by a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernels.wording import plural
from server.acts.by_file import Plan, StudentFile, apply_student_file, make_plan, read_student_file
from server.commands.database import database_in_use
from server.commands.names import assignment_named
from server.commands.table_file import read_file
from server.table_file import Unreadable
from worker.commands.answer import Answer
from worker.commands.root import Exit, WrongUse


def import_student_file(file: StudentFile, name: str, path: Path, confirmed: str, *, preview: bool = False) -> Answer:
    """Apply a file to an assignment: all lines, or none. Raises WrongUse.

    preview: only say what would change
    """
    text = read_file(path).text
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, name)
        try:
            read = read_student_file(file, text, found.course.time_zone)
        except Unreadable as error:
            raise WrongUse(f"{path}: {error}") from None
        if preview:
            plan = make_plan(session, file, found, read)
        else:
            plan, _ = apply_student_file(session, file, found, read, None, confirmed)
    if plan.problems:
        lines = [f"line {one.line}: {one.text}" if one.line else one.text for one in plan.problems]
        return Answer({"changed": {}}, "", Exit.WRONG_USE, lines)
    told = ", ".join(f"{count} {change}" for change, count in plan.counts.items())
    what = "Preview of" if preview else "Imported"
    return Answer({"changed": _changed(plan)}, f"{what} {file.name} of {name}: {told or plural(0, 'student')}.")


def _changed(plan: Plan) -> dict[str, Any]:
    return {entry.row.email: entry.change.value for entry in plan.changes}
