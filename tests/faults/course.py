"""What a campaign hands in, and the course that it is handed in to."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.orm import Session

from kernels.exercise import read_exercise
from server.accounts.service import create_person, create_token
from server.courses.models import Assignment, Role
from server.courses.service import create_course, enrol
from server.exercises.stored import Content, keep

ROOT = Path(__file__).resolve().parents[2]

ASSIGNMENT = "faults/tiled"


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is handed in, and the one verdict it must get."""

    name: str
    source: str
    verdict: str
    weight: int


def kernels(*, canned: bool = False) -> list[Kernel]:
    """All kernels of kernels.toml. canned: for workers that read the verdict from the source."""
    table = tomllib.loads(Path(__file__).with_name("kernels.toml").read_text())
    return [Kernel(name, _source(row, canned=canned), row["verdict"], row["weight"]) for name, row in table.items()]


def _source(row: dict[str, str], *, canned: bool) -> str:
    return f"// {row['verdict']} " if canned else row.get("text") or (ROOT / row["file"]).read_text()


def furnish(session: Session, students: int, device_class: str) -> list[str]:
    """A course with one assignment; the tokens of its students.

    device_class: what is measured on; "" for nothing
    """
    definition = Path(__file__).with_name("exercise.toml").read_text()
    now = datetime.now(UTC)
    course = create_course(session, ASSIGNMENT.split("/", maxsplit=1)[0], "Faults", now)
    content = Content(read_exercise("tiled-small", definition), definition, {})
    exercise = keep(session, content, course.id, now)
    session.add(Assignment(
        course_id=course.id, exercise_id=exercise.id, slug=ASSIGNMENT.split("/")[1], title="Tiled",
        device_class=device_class, arch="sm_90", points=1.0, created_at=now,
    ))  # fmt: skip
    people = [
        create_person(session, email=f"student{number}@example.org", name=f"Student {number}")
        for number in range(students)
    ]
    for person in people:
        enrol(session, course, person, Role.STUDENT)
    return [create_token(session, person, "campaign") for person in people]
