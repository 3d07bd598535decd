"""What fails most at an assignment, by cause, and how long students need to correct it."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from kernels.report.causes import Cause
from kernels.verdict import Verdict
from server.courses.models import Assignment
from server.grading.models import Result
from server.grading.reports import ReportError, unpack
from server.submissions.models import Submission
from server.teams.credit import credited

_LATEST = 20_000
"""So many attempts are read. A class of 300 makes a few thousand."""
_SHOWN = 15
_WORDS = {each.value: each.words for each in Cause}


@dataclass(frozen=True, slots=True)
class Try:
    """A student's judged attempt. cause: "" if it was accepted, or graded by a version that found none."""

    person_id: int
    at: datetime
    public_id: str
    verdict: Verdict
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Failing:
    """A cause, or a verdict whose cause isn't known, with the students who met it.

    cause: in words
    stuck: the students whose last attempt still fails so
    fix: their median seconds from the first attempt that fails so to the one after the last of them; None
        before a student got so far
    public_id, message: a sample, of the latest attempt
    """

    cause: str
    verdict: Verdict
    students: int
    stuck: int
    attempts: int
    fix: float | None
    public_id: str
    message: str = ""


def failures(session: Session, assignment: Assignment, students: Select[int]) -> tuple[Failing, ...]:
    """What fails most among these students, the most frequent first."""
    one = credited([assignment])
    query = (
        select(one.person_id, one.created_at, one.public_id, one.verdict, Result.cause)
        .join(Result, Result.job_id == one.judged_job_id)
        .where(one.assignment_id == assignment.id, one.verdict != Verdict.SYSTEM_ERROR, one.person_id.in_(students))
        .order_by(one.created_at.desc(), one.id.desc())
        .limit(_LATEST)
    )
    latest = [
        Try(person, at, name, verdict, cause)
        for person, at, name, verdict, cause in session.execute(query)
        if verdict is not None
    ]
    found = by_cause(reversed(latest))[:_SHOWN]
    messages = _messages(session, [each.public_id for each in found])
    return tuple(replace(each, message=messages.get(each.public_id, "")) for each in found)


def by_cause(tries: Iterable[Try]) -> list[Failing]:
    """Count the causes of attempts, which are in the order of their time."""
    of_person: defaultdict[int, list[Try]] = defaultdict(list)
    for each in tries:
        of_person[each.person_id].append(each)
    failed: defaultdict[tuple[str, Verdict], list[Try]] = defaultdict(list)
    fixes: defaultdict[tuple[str, Verdict], list[float]] = defaultdict(list)
    stuck: defaultdict[tuple[str, Verdict], int] = defaultdict(int)
    for own in of_person.values():
        places: defaultdict[tuple[str, Verdict], list[int]] = defaultdict(list)
        for place, each in enumerate(own):
            if each.verdict is not Verdict.ACCEPTED:
                places[each.cause, each.verdict].append(place)
        for key, at in places.items():
            failed[key] += [own[place] for place in at]
            if at[-1] + 1 < len(own):
                fixes[key].append((own[at[-1] + 1].at - own[at[0]].at).total_seconds())
            else:
                stuck[key] += 1
    rows = [
        Failing(
            _words(*key), key[1], len({each.person_id for each in found}), stuck[key], len(found),
            statistics.median(fixes[key]) if fixes[key] else None, max(found, key=lambda each: each.at).public_id,
        )
        for key, found in failed.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row.students, -row.attempts, row.cause))


def _words(cause: str, verdict: Verdict) -> str:
    return _WORDS.get(cause, verdict.words.capitalize())


def _messages(session: Session, names: Iterable[str]) -> Mapping[str, str]:
    """The leading sentence of each report, by the submission's public ID."""
    query = (
        select(Submission.public_id, Result.report)
        .join(Result, Result.job_id == Submission.judged_job_id)
        .where(Submission.public_id.in_(list(names)))
    )
    return {public_id: _message(packed) for public_id, packed in session.execute(query)}


def _message(packed: bytes) -> str:
    try:
        message = unpack(packed).get("message")
    except ReportError:
        return ""
    return message if isinstance(message, str) else ""
