"""The exercise of an experiment: an assignment's, or one that comes with Tilelab."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from kernels.exercise import list_exercises
from server.courses.models import Assignment, Role
from server.courses.service import DEFAULT_ARCH, arch_of, assignments_for, is_staff
from server.exercises.stored import installed_content, keep
from server.fleet.service import device_classes

CPU = "cpu"
"""The name of no device class: nothing is measured."""


class NoTarget(ValueError):
    """There is no such exercise, or no such device; the text says which there are. field: the wrong field."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True, slots=True)
class Target:
    """The exercise and the device of an experiment. assignment: whose quota it uses; None for course staff."""

    exercise: int
    device_class: str
    arch: str
    assignment: int | None


def target_of(session: Session, course: int, role: Role, name: str, device_class: str | None, now: datetime) -> Target:
    """Find the exercise of that name for a member of the course; raises NoTarget.

    name: of an assignment, or of an exercise. Students name an assignment
    device_class: None for the assignment's own; "cpu" to measure nothing
    """
    found = assignments_for(session, course, role, now)
    assignment = next((one for one in found if one.slug == name), None) or next(
        (one for one in found if one.exercise.name == name), None
    )
    if assignment is not None:
        device, arch = _device(session, assignment, device_class, now)
        own = None if is_staff(role) else assignment.id
        return Target(assignment.exercise_id, device, arch, own)
    shipped = {exercise.name for exercise in list_exercises()} if is_staff(role) else set()
    if name not in shipped:
        names = ", ".join(sorted({one.slug for one in found} | shipped)) or "none"
        raise NoTarget("experiment.exercise", f"`{name[:60]}` isn't an exercise of this course. It has {names}.")
    row = keep(session, installed_content(name), None, now)
    device, arch = _device(session, None, device_class, now)
    return Target(row.id, device, arch, None)


def _device(session: Session, assignment: Assignment | None, wanted: str | None, now: datetime) -> tuple[str, str]:
    own = "" if assignment is None else assignment.device_class
    if wanted is None or wanted == (own or CPU):
        arch = DEFAULT_ARCH if assignment is None else assignment.arch
        return own, arch
    if wanted == CPU:
        return "", DEFAULT_ARCH if assignment is None else assignment.arch
    offered = device_classes(session, now)
    if wanted not in offered:
        names = ", ".join(sorted({*offered, own or CPU, CPU}))
        raise NoTarget("device_class", f"No worker measures on {wanted!r}. Choose one of: {names}.")
    return wanted, offered[wanted] or arch_of(wanted)
