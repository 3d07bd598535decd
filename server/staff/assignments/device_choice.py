"""Device classes for assignments: classes of Tilelab's table and of known workers."""

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
    """The title of each class, by name: classes in the device table, and classes of present and past workers."""
    known = {name: device.title for name, device in devices().items() if arch_of(name) in ARCHES}
    return known | {name: known.get(name, name) for name in sorted(_worked_with(session))}


def wrong_class(session: Session, name: str) -> str:
    """Why a class can't be used, in a sentence or two; "" if it can."""
    known = choosable(session)
    if not name or name in known or not is_device_class(name):
        return ""
    if name in devices():
        return f"The compiler no longer supports {devices()[name].title} (compute capability {devices()[name].cc})."
    return f"No worker has had a GPU of class {name}. Choose one of {', '.join(known)}, or start such a worker first."


def _worked_with(session: Session) -> set[str]:
    """Classes in workers' records, also of stopped ones. A record of another version may lack the class."""
    query = select(Worker.record).order_by(Worker.last_beat.desc()).limit(_MOST_WORKERS)
    return {
        name
        for record in session.scalars(query)
        for name, arch in (record.get("device_classes") or {}).items()
        if is_device_class(name) and arch in ARCHES
    }
