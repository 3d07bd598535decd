"""Start an exercise of a course from one that comes with Tilelab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy.orm import Session

from kernels.exercise import ExerciseError
from kernels.exercise.catalogue import catalogue_entries
from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked
from server.courses.service import CourseError
from server.exercises.service import Saved, find_own, save
from server.exercises.upload import read_folder
from server.fields import Text

LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A new exercise of the course. name: its short name; "" for the name of Tilelab's exercise."""

    name: Annotated[str, Text(longest=LONGEST_NAME), Asked(
        "Short name", "Small letters, digits and hyphens. Empty: the same name.",
        help="Short name in the course.  [default: the same]",
    )] = ""  # fmt: skip


def _start(session: Session, on: Target, actor: Person | None, given: Start) -> Saved:
    found = catalogue_entries().get(on.item)
    if found is None:
        raise CourseError("Tilelab has no such exercise. Choose one of the catalogue.")
    name = given.name or found.exercise.name
    if find_own(session, on.course.id, name) is not None:
        raise CourseError(f"The course has an exercise “{name}”. Choose another short name.", ["name"])
    try:
        return save(session, on.course, name, read_folder(found.exercise.root).files, actor)
    except ExerciseError as error:
        raise CourseError(str(error), ["name"]) from error


START = Act(asks=Start, do=_start)
"""Makes a draft with all files of an exercise of Tilelab; the target's item is its name."""
