"""The stored result of a point: packed for the database, and read back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, joinedload

from kernels.experiment.result import PointResult, from_json, to_json
from kernels.verdict import Verdict
from kernels.wire import WireError
from server.courses.models import Role
from server.courses.service import is_staff, role_in
from server.experiments.models import RESULT_BYTES, Experiment, ExperimentPoint, ExperimentState

_LONGEST_MESSAGE = 2000
_PLAIN_BYTES = 2**20
_WITHOUT_TEXTS: Mapping[str, Any] = {"message": "", "finding": None}
_SCATTER, _PRIME = 7_919, 99_991
"""Their product fits into 32 bits with every number of a point."""


def pack_result(result: PointResult) -> bytes:
    """Compress a result. One that is too large loses its finding."""
    packed = _packed(replace(result, message=result.message[:_LONGEST_MESSAGE]))
    return packed if len(packed) <= RESULT_BYTES else _packed(replace(result, **_WITHOUT_TEXTS))


def unpack_result(packed: bytes) -> PointResult:
    """Read a result back, without its message and its finding if they can't be read; raises ValueError."""
    try:
        plain = json.loads(zlib.decompressobj().decompress(packed, _PLAIN_BYTES))
        try:
            return from_json(plain)
        except WireError:
            return from_json({**plain, **_WITHOUT_TEXTS})
    except (zlib.error, WireError, TypeError) as error:
        raise ValueError(str(error)) from error


def _packed(result: PointResult) -> bytes:
    return zlib.compress(json.dumps(to_json(result), separators=(",", ":")).encode())


PAGE = 50


class Reads(StrEnum):
    """As whom a person reads an experiment."""

    OWNER = "owner"
    STAFF = "staff"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Visible:
    """An experiment with its reader's role."""

    experiment: Experiment
    reads: Reads
    staff: bool

    @property
    def own(self) -> bool:
        return self.reads is Reads.OWNER

    @property
    def may_change(self) -> bool:
        """Whether the reader may cancel it, and retry its points."""
        return self.own or self.staff

    @property
    def named(self) -> bool:
        """Whether the reader sees whose it is, its kernels and its findings: those may name a person."""
        return self.own or self.staff


def visible_experiment(session: Session, person: int, public_id: str) -> Visible | None:
    """The experiment for its owner, course staff and, if it is shared, the class; None for anyone else."""
    if not public_id.isascii() or not public_id.isalnum():
        return None
    experiment = session.scalar(
        select(Experiment).where(Experiment.public_id == public_id).options(joinedload(Experiment.exercise))
    )
    if experiment is None or experiment.course_id is None:
        return None
    role = role_in(session, person, experiment.course_id)
    return _visible(experiment, person, role)


def visible_experiments(
    session: Session, person: int, course: int, role: Role, before: int = 0
) -> tuple[list[Visible], bool]:
    """A page of a course's experiments, the newest first, and whether there are more."""
    query = select(Experiment).where(Experiment.course_id == course, Experiment.exercise_id.is_not(None))
    if not is_staff(role):
        query = query.where(or_(Experiment.person_id == person, Experiment.shared_at.is_not(None)))
    if before:
        query = query.where(Experiment.id < before)
    query = query.options(joinedload(Experiment.person), joinedload(Experiment.exercise))
    found = session.scalars(query.order_by(Experiment.id.desc()).limit(PAGE + 1)).all()
    visible = [one for each in found[:PAGE] if (one := _visible(each, person, role)) is not None]
    return visible, len(found) > PAGE


def results(
    session: Session, experiment: int, after: int = -1, most: int | None = None, *, sample: float = 1.0
) -> list[PointResult]:
    """Results by their number, from the one behind `after`. sample: about this share of them, always the same ones."""
    query = (
        select(ExperimentPoint.result)
        .where(
            ExperimentPoint.experiment_id == experiment,
            ExperimentPoint.number > after,
            ExperimentPoint.verdict.is_not(None),
        )
        .order_by(ExperimentPoint.number)
        .limit(most)
    )
    if sample < 1:
        # Scattered, because every n-th point could have the same value of an axis
        query = query.where(ExperimentPoint.number * _SCATTER % _PRIME < int(sample * _PRIME))
    return [unpack_result(packed) for packed in session.scalars(query) if packed is not None]


def verdict_counts(session: Session, experiment: int) -> dict[Verdict, int]:
    """How many points have which verdict, the most frequent first."""
    count = func.count()
    query = (
        select(ExperimentPoint.verdict, count)
        .where(ExperimentPoint.experiment_id == experiment, ExperimentPoint.verdict.is_not(None))
        .group_by(ExperimentPoint.verdict)
        .order_by(count.desc())
    )
    return {verdict: number for verdict, number in session.execute(query) if verdict is not None}


def failed(session: Session, experiment: Experiment) -> int:
    """How many points ended in a system error and may be retried."""
    if experiment.state is ExperimentState.CANCELLED:
        return 0
    query = select(func.count()).where(
        ExperimentPoint.experiment_id == experiment.id, ExperimentPoint.verdict == Verdict.SYSTEM_ERROR
    )
    return session.scalar(query) or 0


def pinned(session: Session, assignment: int) -> Sequence[Experiment]:
    """The experiments that an assignment's page links to."""
    query = select(Experiment).where(Experiment.pinned_id == assignment).order_by(Experiment.id)
    return session.scalars(query).all()


def _visible(found: Experiment, person: int, role: Role | None) -> Visible | None:
    staff = is_staff(role)
    if role is None:
        return None
    if found.person_id == person:
        return Visible(found, Reads.OWNER, staff)
    if staff:
        return Visible(found, Reads.STAFF, staff)
    return Visible(found, Reads.CLASS, staff) if found.shared_at is not None else None
