"""The device classes that an assignment can be measured on: those that Tilelab or one of its workers knows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.analysis.devices import devices
from server.courses.service import arch_of, is_device_class
from server.fleet.models import Worker
from worker.contract.architectures import ARCHES

_MOST_WORKERS = 1_000


def choosable(session: Session) -> Mapping[str, str]:
    """The title of each class, by its name: of the table of devices, and of the workers that were ever here."""
    known = {name: device.title for name, device in devices().items() if arch_of(name) in ARCHES}
    return known | {name: known.get(name, name) for name in sorted(_worked_with(session))}


def wrong_class(session: Session, name: str) -> str:
    """Why nothing can be measured on that class, a sentence or two; "" where it can."""
    known = choosable(session)
    if not name or name in known or not is_device_class(name):
        return ""
    if name in devices():
        return f"The compiler no longer supports {devices()[name].title} (compute capability {devices()[name].cc})."
    return f"No worker has had a GPU of class {name}. Choose one of {', '.join(known)}, or start such a worker first."


def _worked_with(session: Session) -> set[str]:
    """By the records of workers that are there or gone; one of another version may say less."""
    query = select(Worker.record).order_by(Worker.last_beat.desc()).limit(_MOST_WORKERS)
    return {
        name
        for record in session.scalars(query)
        for name, arch in (record.get("device_classes") or {}).items()
        if is_device_class(name) and arch in ARCHES
    }
