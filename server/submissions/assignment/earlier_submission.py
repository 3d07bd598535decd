"""An earlier submission in the editor, with its findings at their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.rendering.page.listing.marks import marks
from kernels.report import Report
from kernels.report.model import first_error
from kernels.verdict import Finding, Verdict
from server.grading.models import JobState, Result, Source
from server.grading.reports import ReportError, unpack
from server.grading.stored_report import read_report
from server.submissions.models import Mode, Submission
from server.submissions.service import latest_job

_MOST_FINDINGS = 8


@dataclass(frozen=True, slots=True)
class LineMark:
    """A mark at a line of the editor.

    column: None for the whole line
    kind: the finding's headline, such as "Data race between lines 20 and 25"
    severity: error or warning
    """

    line: int
    column: int | None
    kind: str
    message: str
    severity: str


@dataclass(frozen=True, slots=True)
class FindingText:
    """A finding in words. line: None if it isn't about a line, such as an incorrect output."""

    line: int | None
    headline: str
    message: str


@dataclass(frozen=True, slots=True)
class EarlierSubmission:
    """One of the reader's own submissions.

    is_check: whether it was a check
    verdict: None before the first verdict
    pending: whether the first verdict is still to come
    told: the first findings in words
    """

    public_id: str
    created_at: datetime
    text: str
    is_check: bool
    verdict: Verdict | None
    pending: bool
    marks: Sequence[LineMark]
    told: Sequence[FindingText]


def earlier_submission(
    session: Session, person_id: int, assignment_id: int, public_id: str | None = None
) -> EarlierSubmission | None:
    """The submission with this ID, or the last one; None if this person has none in the assignment."""
    query = select(Submission).where(Submission.person_id == person_id, Submission.assignment_id == assignment_id)
    if public_id is not None:
        if not (public_id.isascii() and public_id.isalnum()):
            return None
        query = query.where(Submission.public_id == public_id)
    found = session.scalar(query.order_by(Submission.created_at.desc(), Submission.id.desc()).limit(1))
    if found is None:
        return None
    content = session.scalars(select(Source.content).where(Source.digest == found.source_digest)).one()
    job = found.judged_job
    report = None if job is None or job.verdict is None else _report(session, job.id, job.verdict)
    findings = () if report is None else report.findings
    return EarlierSubmission(
        public_id=found.public_id,
        created_at=found.created_at,
        text=content.decode("utf-8", errors="replace"),
        is_check=found.mode is Mode.CHECK,
        verdict=None if job is None else job.verdict,
        pending=job is None and latest_job(session, found.id).state in {JobState.QUEUED, JobState.RUNNING},
        marks=() if report is None else line_marks(report),
        told=[FindingText(found.line, found.headline, found.message) for found in findings[:_MOST_FINDINGS]],
    )


def _report(session: Session, job: int, verdict: Verdict) -> Report | None:
    packed = session.scalar(select(Result.report).where(Result.job_id == job))
    try:
        return None if packed is None else read_report(unpack(packed), verdict)
    except ReportError:
        return None


def line_marks(report: Report) -> Sequence[LineMark]:
    """The marks of the findings, line by line. If no finding has a line, marks the lines behind the mistake."""
    found = _of_findings(report.findings)
    leading = first_error(report.findings, report.verdict)
    if found or leading is None or report.explanation is None:
        return found
    source = report.explanation
    return [
        LineMark(note.line, None, leading.headline, f"{leading.message} Here: {note.text}.", "error")
        for note in (*source.clues, *source.marks)
    ]


def _of_findings(findings: Sequence[Finding]) -> Sequence[LineMark]:
    return [
        LineMark(
            line=line,
            column=mark.column,
            kind=mark.headline,
            message=mark.text or f"{mark.place or 'other place'}, see line {mark.line}",
            severity="warning" if mark.warning else "error",
        )
        for line, found in sorted(marks(tuple(findings)).items())
        for mark in found
    ]
