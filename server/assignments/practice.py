"""Practice: assignments without points and deadline. Staff add several of Tilelab's exercises in one act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.exercise.catalogue import catalogue_entries
from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked
from server.assignments.creation import set_exercise
from server.assignments.settings import AssignmentSettings
from server.courses.models import Assignment, Exercise
from server.courses.service import Terms
from server.exercises.stored import read_content
from server.fields import Text

ALL = "all"
"""In place of names: every exercise that the course doesn't use yet."""

LONGEST_NAMES = 2_000


def _names(text: str) -> str:
    return " ".join(dict.fromkeys(text.replace(",", " ").split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """Exercises to add as practice. exercises: names of Tilelab's exercises, or "all" for those not in the course."""

    exercises: Annotated[str, Text(longest=LONGEST_NAMES), Asked(
        "Exercises", needed=True, clean=_names, metavar="NAMES",
        help='Exercises of Tilelab, such as "naive,tiled"; all for those not in the course.',
    )] = ""  # fmt: skip


def used_exercises(session: Session, course_id: int) -> set[str]:
    """Tilelab's exercises that are assigned in the course, and those whose short names are taken."""
    query = select(Assignment.slug, Exercise.name, Exercise.course_id).join(Assignment.exercise)
    rows = session.execute(query.where(Assignment.course_id == course_id)).all()
    return {slug for slug, _, _ in rows} | {name for _, name, own in rows if own is None}


def _chosen(session: Session, on: Target, given: Practice) -> Sequence[str]:
    names = given.exercises.split()
    if ALL not in names:
        return names
    used = used_exercises(session, on.course.id)
    return [name for name in catalogue_entries() if name not in used]


def _wrong(session: Session, on: Target, given: Practice) -> dict[str, str]:
    chosen = _chosen(session, on, given)
    if not chosen:
        text = "The course has every exercise of Tilelab." if given.exercises else "Choose an exercise."
        return {"exercises": text}
    if unknown := [name for name in chosen if name not in catalogue_entries()]:
        return {"exercises": f"Tilelab has no exercise “{unknown[0][:40]}”. `tilelab exercises` lists all."}
    used = used_exercises(session, on.course.id)
    if taken := [name for name in chosen if name in used]:
        return {"exercises": f"The course has an assignment with {', '.join(taken)}. Choose other exercises."}
    return {}


def _add(session: Session, on: Target, actor: Person | None, given: Practice) -> list[Assignment]:
    made = []
    for name in _chosen(session, on, given):
        exercise = catalogue_entries()[name].exercise
        setting = AssignmentSettings(title=exercise.title, points=0.0)
        made.append(set_exercise(session, on.course, actor, read_content(exercise), Terms(), setting))
    return made


PRACTICE = Act(asks=Practice, do=_add, wrong=_wrong)
"""Adds exercises as practice."""
