"""What fails most at an assignment: verdicts, findings, and the lines of code they point to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from kernels.verdict import Severity, Verdict
from server.class_progress.states import students_in
from server.courses.models import Assignment
from server.exercises.stored import material_of
from server.grading.models import Result, Source
from server.grading.reports import ReportError, unpack
from server.submissions.models import Submission

EXAMINED = 100
"""So many reports are read. Each student counts once, with the last failure."""

_LATEST = 1_000
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Failed:
    """A verdict. public_id: the latest attempt with it."""

    verdict: Verdict
    attempts: int
    students: int
    public_id: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding that several students share.

    line: the code it points to; "" for none; given: whether the starter has this line
    message, public_id: of a sample
    """

    kind: Verdict
    line: str
    given: bool
    students: int
    message: str
    public_id: str


@dataclass(frozen=True, slots=True)
class Failures:
    """What fails most.

    examined: the number of students whose last failure was read for `faults`
    others: whether more students failed, all of them earlier
    """

    verdicts: tuple[Failed, ...]
    faults: tuple[Fault, ...]
    examined: int
    others: bool


def failures(session: Session, assignment: Assignment) -> Failures:
    """Count the students' failed attempts by verdict, and the findings of each student's last failure."""
    failed = (
        Submission.assignment_id == assignment.id,
        Submission.verdict.is_not(None),
        Submission.verdict.not_in([Verdict.ACCEPTED, Verdict.SYSTEM_ERROR]),
        Submission.person_id.in_(students_in(assignment.course_id)),
    )
    counted = (
        select(
            Submission.verdict, func.count(), func.count(Submission.person_id.distinct()), func.max(Submission.id)
        )
        .where(*failed)
        .group_by(Submission.verdict)
        .order_by(func.count().desc())
    )  # fmt: skip
    rows = session.execute(counted).all()
    names = dict(
        session.execute(
            select(Submission.id, Submission.public_id).where(Submission.id.in_([row[3] for row in rows]))
        ).all()
    )
    verdicts = tuple(
        Failed(verdict, attempts, students, names[last])
        for verdict, attempts, students, last in rows
        if verdict is not None
    )
    latest = (
        select(Submission.id, Submission.person_id).where(*failed).order_by(Submission.created_at.desc()).limit(_LATEST)
    )
    last_of: dict[int, int] = {}
    for number, person in session.execute(latest):
        last_of.setdefault(person, number)
    chosen = list(last_of.values())[:EXAMINED]
    failing = session.scalar(select(func.count(Submission.person_id.distinct())).where(*failed)) or 0
    return Failures(verdicts, _faults(session, assignment, chosen), len(chosen), failing > len(chosen))


def _faults(session: Session, assignment: Assignment, submissions: Sequence[int]) -> tuple[Fault, ...]:
    material = material_of(session, assignment.exercise)
    starter = (material.starter if material is not None else "") or ""
    given = {_code(line) for line in starter.splitlines()}
    query = (
        select(Submission.public_id, Source.content, Result.report)
        .join(Source, Source.digest == Submission.source_digest)
        .join(Result, Result.job_id == Submission.judged_job_id)
        .where(Submission.id.in_(submissions))
        .order_by(Submission.id.desc())
    )
    students: Counter[tuple[Verdict, str]] = Counter()
    samples: dict[tuple[Verdict, str], tuple[str, str]] = {}
    for public_id, content, packed in session.execute(query):
        lines = content.decode("utf-8", "replace").splitlines()
        own: dict[tuple[Verdict, str], str] = {}
        for kind, number, message in _findings(packed):
            code = _code(lines[number - 1]) if 0 < number <= len(lines) else ""
            own.setdefault((kind, code), message)
        students.update(own.keys())
        for key, message in own.items():
            samples.setdefault(key, (message, public_id))
    return tuple(
        Fault(kind, code, code in given and bool(code), count, *samples[kind, code])
        for (kind, code), count in students.most_common(_SHOWN)
    )


def _findings(packed: bytes) -> Iterator[tuple[Verdict, int, str]]:
    """The errors of a stored report: kind, line (0 for none) and message. Skips what this version can't read."""
    try:
        found = unpack(packed).get("findings")
    except ReportError:
        return
    for each in found if isinstance(found, list) else ():
        if not isinstance(each, Mapping) or each.get("severity", Severity.ERROR) != Severity.ERROR:
            continue
        kind, line, message = (each.get(name) for name in ("kind", "line", "message"))
        if kind in set(Verdict):
            yield Verdict(str(kind)), line if isinstance(line, int) else 0, _text(message)


def _text(message: Any) -> str:
    return message if isinstance(message, str) else ""


def _code(line: str) -> str:
    """The line without indentation and comment, for comparison; "" for a line of brackets only."""
    code = " ".join(line.partition("//")[0].split())[:120]
    return code if any(char.isalnum() for char in code) else ""
