"""The form of an assignment's page: a text or a file, to check or to submit, or an earlier submission in the editor."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from flask import request
from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.report import Report
from kernels.source.paste.decoding import as_utf8, decode
from kernels.source.paste.repairs import Repair, is_plain, plain_repair
from kernels.verdict import Verdict
from kernels.wire import from_plain
from kernels.wording import byte_size
from server.accounts.digest import digest_of
from server.bounded_work import bounded
from server.courses.models import SOURCE_BYTES, Assignment
from server.grading.models import JobState, Result, Source
from server.submissions.line_marks import LineMark, line_marks
from server.submissions.models import Mode, Submission
from server.submissions.result.report import read_stored_report
from server.submissions.service import latest_job
from server.submissions.source import SubmittedSource, UnusableSource, read_source
from server.teams.credit import counts_for, teams_of

_KEY = re.compile(r"[0-9a-f]{32}")
_REQUEST_KEY = re.compile(rf"({_KEY.pattern})-{_KEY.pattern}")
_DAYS = re.compile(r"[0-9]{1,3}")
_SHOWN_NAME = 80

TEXT, FILE = "source", "file"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a field. field: TEXT or FILE; code: for programs, one for each kind of mistake."""

    field: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The sent form.

    text: for the editor, if the page is shown again: the typed text, or the file's text
    source: the source to submit; None if the form has a mistake
    key: of the form, new each time that the form is shown
    repaired: how to repair the text, if the compiler can't read it
    late_days: how many late days it may spend; None if its sender wasn't asked
    changes: what the repair changed, if the Repair button sent the form; then `text` is the repaired text
    """

    text: str
    source: SubmittedSource | None
    mode: Mode
    key: str
    mistake: Mistake | None = None
    repaired: Repair | None = None
    changes: tuple[str, ...] | None = None
    late_days: int | None = None

    @property
    def request_key(self) -> str:
        """The idempotency key: pressing a button twice makes one submission, a changed text makes another."""
        source = self.source.digest if self.source else ""
        return f"{self.key}-{digest_of(f'{self.mode.value} {source}')[:32]}"


def form_of(request_key: str | None) -> str:
    """The key of the form that sent a submission; "" if a program sent it."""
    found = _REQUEST_KEY.fullmatch(request_key or "")
    return found[1] if found else ""


def new_key() -> str:
    """Make a key for a form."""
    return secrets.token_hex(16)


def read_sent(before_repair: Callable[[], None]) -> Sent:
    """Read the form of the present request. A file replaces the text.

    before_repair: called before a text is repaired, which is costly

    A text that the compiler can't read is a mistake before it uses an attempt.
    """
    text = _lines(request.form.get(TEXT, ""))
    days = _late_days()
    # Without a valid mode it is a check, which never uses an attempt. Only a refused submission asks about late days.
    mode = Mode.RANK if request.form.get("mode") == Mode.RANK or days is not None else Mode.CHECK
    key = request.form.get("key", "")
    given = key if _KEY.fullmatch(key) else new_key()
    found = _source(text)
    if isinstance(found, Mistake):
        return Sent(text, None, mode, given, found)
    asked = "repair" in request.form
    code = decode(found.content)
    repair = None
    if isinstance(code, str) and not is_plain(code):
        before_repair()
        repair = _repair(code)
    if repair is not None and asked:
        return Sent(repair.text, None, mode, given, changes=repair.changes)
    text = _lines(found.content.decode())
    if repair is not None:
        mistake = Mistake(TEXT, "repairable", repair.sentence)
        return Sent(text, None, mode, given, mistake, repaired=repair)
    if asked:
        return Sent(text, None, mode, given, changes=())
    return Sent(text, found, mode, given, late_days=days)


def _repair(text: str) -> Repair | None:
    plain = bounded(plain_repair, text)
    return None if plain is None else from_plain(Repair, plain)


def _late_days() -> int | None:
    text = request.form.get("late_days", "")
    return int(text) if _DAYS.fullmatch(text) else None


def _lines(text: str) -> str:
    # Browsers send \r\n from a text area, whatever the author typed.
    return text.replace("\r\n", "\n")


def _source(text: str) -> SubmittedSource | Mistake:
    file = request.files.get(FILE)
    if file is not None and file.filename:
        with file.stream:
            return _checked(as_utf8(file.read()), FILE, _name(file.filename))
    if not text.strip():
        return Mistake(TEXT, "empty", "No kernel yet. Type one here or choose a file.")
    return _checked(text, TEXT, "The text")


def _checked(given: str | bytes, field: str, name: str) -> SubmittedSource | Mistake:
    if not given.strip():
        return Mistake(field, "empty", f"{name} is empty.")
    try:
        source = read_source(given)
        source.content.decode()
    except UnicodeEncodeError:
        return Mistake(
            field,
            "half_character",
            f"{name} has half a character, which no file can hold. Delete that character or type it again.",
        )
    except UnusableSource as error:
        return Mistake(field, "too_large", f"{name} has {error.size:,} bytes. The limit is {byte_size(SOURCE_BYTES)}.")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return Mistake(
            field, "not_text", f"{name} isn't UTF-8 text (line {line:,}). Save it as UTF-8 and send it again."
        )
    if b"\0" in source.content:
        return Mistake(field, "not_source", f"{name} isn't source code: it has NUL characters.")
    return source


def _name(given: str) -> str:
    name = given.replace("\\", "/").rpartition("/")[2]
    return name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"


_MOST_FINDINGS = 8


@dataclass(frozen=True, slots=True)
class FindingText:
    """A finding in words. line: None if it isn't about a line, such as an incorrect output."""

    line: int | None
    headline: str
    message: str


@dataclass(frozen=True, slots=True)
class EarlierSubmission:
    """A submission of the reader's own, or of their team.

    author: the name of the teammate who submitted it; "" for the reader
    is_check: whether it was a check
    verdict: None before the first verdict
    pending: whether the first verdict is still to come
    told: the first findings in words
    """

    public_id: str
    author: str
    created_at: datetime
    text: str
    is_check: bool
    verdict: Verdict | None
    pending: bool
    marks: Sequence[LineMark]
    told: Sequence[FindingText]


def earlier_submission(
    session: Session, person_id: int, assignment: Assignment, public_id: str | None = None, *, staff: bool
) -> EarlierSubmission | None:
    """The submission with this ID, or the person's last one; the team's last one if they have none of their own.

    None if this person and their team have none in the assignment.
    """
    teams = teams_of(session, [assignment], person_id)
    query = select(Submission).where(counts_for(person_id, teams), Submission.assignment_id == assignment.id)
    if teams:
        query = query.order_by(Submission.person_id != person_id)
    if public_id is not None:
        if not (public_id.isascii() and public_id.isalnum()):
            return None
        query = query.where(Submission.public_id == public_id)
    found = session.scalar(query.order_by(Submission.created_at.desc(), Submission.id.desc()).limit(1))
    if found is None:
        return None
    content = session.scalars(select(Source.content).where(Source.digest == found.source_digest)).one()
    job = found.judged_job
    report = None if job is None or job.verdict is None else _report(session, found, job.verdict, staff=staff)
    findings = () if report is None else report.findings
    return EarlierSubmission(
        public_id=found.public_id,
        author="" if found.person_id == person_id else found.person.name,
        created_at=found.created_at,
        text=content.decode("utf-8", errors="replace"),
        is_check=found.mode is Mode.CHECK,
        verdict=None if job is None else job.verdict,
        pending=job is None and latest_job(session, found.id).state in {JobState.QUEUED, JobState.RUNNING},
        marks=() if report is None else line_marks(report),
        told=[FindingText(found.line, found.headline, found.message) for found in findings[:_MOST_FINDINGS]],
    )


def _report(session: Session, found: Submission, verdict: Verdict, *, staff: bool) -> Report:
    packed = session.scalar(select(Result.report).where(Result.job_id == found.judged_job_id))
    return read_stored_report(packed, verdict, staff=staff, hints=found.hints(staff=staff)).report
