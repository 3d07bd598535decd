"""Find a person's name outside the person's account."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Column, ColumnElement, String, Table, delete, func, or_, select, update
from sqlalchemy.orm import Session

from kernels.evidence import Evidence
from kernels.verdict import Verdict
from kernels.wire import to_plain
from server.accounts.limits import by_email
from server.accounts.models import (
    ApiToken,
    BrowserSession,
    DeviceLogin,
    Identity,
    LinkPurpose,
    OneTimeLink,
    Person,
    RateCount,
)
from server.accounts.service import free_names
from server.assignments.trial import delete_trials
from server.audit.models import AuditEvent
from server.audit.service import note
from server.courses.models import (
    Accommodation,
    Assignment,
    Correction,
    Counts,
    Course,
    CourseInvitation,
    Extension,
    Membership,
    Role,
    StaffNote,
)
from server.database.base import Base
from server.database.engine import Sessions
from server.database.sqlite import compact
from server.experiments.models import Experiment, ExperimentPoint, ExperimentState, ExperimentSubmission
from server.fleet.models import Worker
from server.grading.attempts import cancelled
from server.grading.models import NO_SOURCE, Attempt, Job, JobState, Result, Source, Step, StepState
from server.grading.reports import ReportError, unpack
from server.grading.service import keep_source
from server.lti.models import LtiLaunch, LtiScore
from server.mail.models import Mail
from server.standings.service import remove_person
from server.submissions.models import GradingShare, LookedAtPair, Mode, RubricGrade, StagedRegrade, Submission
from server.talk.models import Announcement, Comment, ExtensionRequest, RegradeRequest, SavedComment, SeenAnnouncement
from server.teams.service import leave_open_teams
from worker.contract.messages import Ticket

ERASED_NAME = "erased"
_OURS = frozenset(str(word) for words in (Role, Counts, Mode, Verdict, LinkPurpose) for word in words)
"""Values that Tilelab itself writes, even if a person's name is one of these words."""


def _columns(of: type[Base], *names: str) -> tuple[Column[Any], ...]:
    """These columns of the table; without names, all columns with text."""
    table: Table = Base.metadata.tables[of.__tablename__]
    texts = [column for column in table.columns if isinstance(column.type, String | JSON)]
    return tuple(column for column in texts if not column.foreign_keys and (not names or column.name in names))


# Texts without use once they name an erased person. Of an audit entry, only the detail: its action and subject hold
# Tilelab's own words and numbers.
_REPLACED = (_columns(AuditEvent, "detail"), _columns(Experiment, "name", "plan"), _columns(StagedRegrade, "filter"))
# Texts to check by hand: titles, announcements, names of machines.
_LOOKED_AT = tuple(
    _columns(it)
    for it in (
        Course,
        Assignment,
        Announcement,
        Comment,
        RegradeRequest,
        ExtensionRequest,
        ApiToken,
        StaffNote,
        Worker,
        RubricGrade,
        LookedAtPair,
        SavedComment,
        Extension,
        Correction,
        Accommodation,
    )
)


def erase_mentions(session: Session, names: Sequence[str]) -> None:
    """Remove these names from the audit log, experiments and staged regrades; the rest of their texts stays."""
    for columns in _REPLACED:
        for table, identity, found in _found(session, columns, names):
            keys = zip(table.primary_key.columns, identity, strict=True)
            session.execute(update(table).where(*(key == value for key, value in keys)).values(found))


def mentions(session: Session, names: Sequence[str]) -> list[str]:
    """Where else one of these names occurs, such as "courses.title of 3"."""
    return [
        f"{table.name}.{name} of {'/'.join(map(str, identity))}"
        for columns in _LOOKED_AT
        for table, identity, found in _found(session, columns, names)
        for name in found
    ]


def _found(
    session: Session, columns: Sequence[Column[Any]], names: Sequence[str]
) -> Iterator[tuple[Table, tuple[Any, ...], dict[str, Any]]]:
    """Rows that contain a name as a whole word: table, primary key, and the texts without the name."""
    words = "|".join(re.escape(name) for name in names if name)
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    table = columns[0].table
    keys = list(table.primary_key.columns)
    for row in session.execute(select(*keys, *columns)).all():
        identity, values = row[: len(keys)], row[len(keys) :]
        pairs = ((column.name, value, _without(value, pattern)) for column, value in zip(columns, values, strict=True))
        found = {name: without for name, value, without in pairs if without != value}
        if found:
            yield table, identity, found


def _without(value: Any, pattern: re.Pattern[str]) -> Any:
    """The value without the names. A document's keys stay: they are Tilelab's own words."""
    if isinstance(value, str):
        return value if value in _OURS else pattern.sub(ERASED_NAME, value)
    if isinstance(value, dict):
        return {key: _without(one, pattern) for key, one in value.items()}
    if isinstance(value, list):
        return [_without(one, pattern) for one in value]
    return value


_REMOVED = "removed with the person"
_OPEN = (JobState.QUEUED, JobState.RUNNING)
_SOME = 500


class PersonNotFound(ValueError):
    """The person doesn't exist."""


@dataclass(slots=True)
class Erased:
    """What was removed.

    cancelled: unfinished jobs; tickets: their running tries, whose results will be refused
    shared: sources that stay, because other people submitted the same
    left: places with the name or email, to check by hand: a course title may name its teacher
    compacted: whether the database file was rewritten without the removed data; None if it isn't a file
    """

    person: int
    submissions: int = 0
    sources: int = 0
    shared: int = 0
    reports: int = 0
    tokens: int = 0
    cancelled: int = 0
    left: list[str] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    compacted: bool | None = None

    def shown(self) -> dict[str, Any]:
        names = (
            "person", "submissions", "sources", "shared", "reports", "tokens", "cancelled", "left", "compacted",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def text(self) -> str:
        counts = f"{self.submissions} submissions without source, {self.reports} reports without text"
        lines = [
            f"Erased person {self.person}: {counts}, {self.tokens} tokens removed, {self.cancelled} jobs cancelled."
        ]
        if self.shared:
            lines.append(f"Sources kept because others submitted them too: {self.shared}.")
        if self.left:
            lines.append(f"The name or email still occurs in: {', '.join(self.left)}. Check if it is this person's.")
        if self.compacted is False:
            lines.append("The database was in use, so its file may hold remains: stop the server and run VACUUM on it.")
        lines.append("Backups made before keep what they hold.")
        return "\n".join(lines)


def erase_person(sessions: Sessions, person_id: int, now: datetime | None = None) -> Erased:
    """Erase a person permanently; raises PersonNotFound."""
    done = erase_rows(sessions, person_id, now or datetime.now(UTC))
    with sessions.begin() as session:
        engine = session.get_bind().engine
    done.compacted = compact(engine)
    return done


def erase_rows(sessions: Sessions, person_id: int, moment: datetime) -> Erased:
    """Erase a person; the file of the database may hold remains. Raises PersonNotFound."""
    done = Erased(person_id)
    with sessions.begin() as session:
        person = session.get(Person, person_id, with_for_update=True)
        if person is None or person.erased_at is not None:
            raise PersonNotFound(f"Person {person_id} doesn't exist or is already erased.")
        names = (person.email, person.name)
        _erase_account(session, person, moment, done)
        _erase_deeds(session, person_id, moment, done)
        erase_mentions(session, names)
        note(session, None, "person.erased", f"person {person_id}", now=moment, submissions=done.submissions)
    with sessions.begin() as session:
        # A request that was already running waited for the person's row, and then submitted after all.
        _erase_deeds(session, person_id, moment, done)
        done.left = mentions(session, names)
    return done


def _erase_account(session: Session, person: Person, now: datetime, done: Erased) -> None:
    counted = (f"person {person.id}", by_email(person.email))
    removed = session.execute(delete(ApiToken).where(ApiToken.person_id == person.id).returning(ApiToken.id))
    done.tokens = len(removed.all())
    # No one can have this address: mail to it goes nowhere, and create_person refuses it.
    person.email = f"erased-{person.id}@erased.invalid"
    for table in (BrowserSession, OneTimeLink, DeviceLogin, Identity, LtiScore):
        session.execute(delete(table).where(table.person_id == person.id))
    # Of all people, because a launch under way may name someone whose account isn't known yet.
    session.execute(delete(LtiLaunch))
    session.execute(delete(RateCount).where(RateCount.subject.in_(counted)))
    viewed = update(BrowserSession).where(BrowserSession.viewing_id == person.id)
    session.execute(viewed.values(viewing_id=None, viewing_course_id=None))
    session.execute(delete(StaffNote).where(StaffNote.person_id == person.id))
    session.execute(update(Membership).where(Membership.person_id == person.id).values(student_id=""))
    for reasons in (Accommodation, Extension, Correction):
        session.execute(update(reasons).where(reasons.person_id == person.id).values(reason=""))
    session.execute(update(RubricGrade).where(RubricGrade.person_id == person.id).values(words={}, reason=""))
    session.execute(delete(GradingShare).where(GradingShare.person_id == person.id))
    for held in (GradingShare.grader_id, GradingShare.claimed_by):
        session.execute(update(GradingShare).where(held == person.id).values({held: None}))
    theirs = select(Submission.id).where(Submission.person_id == person.id)
    looked = or_(LookedAtPair.left_id.in_(theirs), LookedAtPair.right_id.in_(theirs))
    session.execute(update(LookedAtPair).where(looked).values(note=""))
    person.name = ERASED_NAME
    person.pseudonym = None
    (person.made_name,) = free_names(session, 1)
    person.password = None
    person.creates_courses = False
    person.disabled_at = person.disabled_at or now
    person.erased_at = now
    remove_person(session, person.id)
    leave_open_teams(session, person.id)
    session.flush()


def _erase_deeds(session: Session, person: int, now: datetime, done: Erased) -> None:
    _erase_experiments(session, person, now)
    _erase_work(session, person, now, done)
    _erase_talk(session, person)


def _erase_experiments(session: Session, person: int, now: datetime) -> None:
    """End the person's experiments, and all that use the person's submissions. Their kernels and their points go."""
    mine = select(Experiment.id).where(_of_person(person))
    clear_experiments(session, session.scalars(mine.order_by(Experiment.id).with_for_update()).all(), now)


def clear_experiments(session: Session, numbers: Sequence[int], now: datetime) -> None:
    """End these experiments. Their rows stay, without kernels and points."""
    for some in _parts(numbers):
        session.execute(delete(ExperimentPoint).where(ExperimentPoint.experiment_id.in_(some)))
        session.execute(
            update(Experiment)
            .where(Experiment.id.in_(some))
            .values(
                name=ERASED_NAME, plan={}, points=0, begun=0, ended=0, shared_at=None, pinned_id=None,
                state=ExperimentState.CANCELLED, ended_at=func.coalesce(Experiment.ended_at, now),
            )
        )  # fmt: skip


def _of_person(person: int) -> ColumnElement[bool]:
    own = select(Submission.id).where(Submission.person_id == person)
    used = select(ExperimentSubmission.experiment_id).where(ExperimentSubmission.submission_id.in_(own))
    return or_(Experiment.person_id == person, Experiment.submission_id.in_(own), Experiment.id.in_(used))


def _erase_work(session: Session, person: int, now: datetime, done: Erased) -> None:
    done.tickets += delete_trials(session, Job.person_id == person)
    own = select(Submission.id).where(Submission.person_id == person)
    started = select(Experiment.id).where(_of_person(person))
    theirs = or_(Job.submission_id.in_(own), Job.staged_for_id.in_(own), Job.experiment_id.in_(started))
    handed_in = session.scalars(select(Submission.source_digest).where(Submission.person_id == person))
    measured = session.scalars(select(Job.source_digest).where(theirs))
    sources = sorted({*handed_in, *measured} - {NO_SOURCE})
    gone = [digest for digest in sources if not _handed_in_by_others(session, digest, person)]
    jobs = _jobs(session, theirs, gone)
    if not jobs and not sources:
        return
    none = keep_source(session, NO_SOURCE, b"", now)
    for some in _parts(jobs):
        _cancel(session, some, now, done)
        done.reports += strip(session, some)
        session.execute(update(Job).where(Job.id.in_(some)).values(source_digest=none))
    changed = session.execute(
        update(Submission)
        .where(Submission.person_id == person, Submission.source_digest != none)
        .values(source_digest=none, idempotency_key=None, request_digest=None)
        .returning(Submission.id)
    )
    done.submissions += len(changed.all())
    for some in _parts(gone):
        session.execute(delete(Source).where(Source.digest.in_(some)))
    done.sources += len(gone)
    done.shared += len(sources) - len(gone)


def _erase_talk(session: Session, person: int) -> None:
    """Remove the person's requests, comments on their submissions, invitations, and which announcements they saw."""
    own = select(Submission.id).where(Submission.person_id == person)
    for about in (Comment, RegradeRequest):
        session.execute(delete(about).where(about.submission_id.in_(own)))
    for theirs in (CourseInvitation, ExtensionRequest, Mail, SeenAnnouncement):
        session.execute(delete(theirs).where(theirs.person_id == person))


def _handed_in_by_others(session: Session, digest: str, person: int) -> bool:
    submitted = select(Submission.id).where(Submission.source_digest == digest, Submission.person_id != person)
    if session.scalar(submitted.limit(1)) is not None:
        return True
    own = select(Submission.id).where(Submission.source_digest == digest, Submission.person_id == person)
    if session.scalar(own.limit(1)) is not None:
        return False
    # Only the person measured it. It stays if another person's experiment uses it too.
    others = (
        select(Job.id)
        .join(Experiment, Experiment.id == Job.experiment_id)
        .where(Job.source_digest == digest, Experiment.person_id != person)
    )
    return session.scalar(others.limit(1)) is not None


def _jobs(session: Session, theirs: Any, gone: Sequence[str]) -> list[int]:
    """The person's jobs, and other people's jobs that grade the person's sources."""
    found = set(session.scalars(select(Job.id).where(theirs, Job.source_digest != NO_SOURCE)))
    for some in _parts(gone):
        found |= set(session.scalars(select(Job.id).where(Job.source_digest.in_(some))))
    return sorted(found)


def _cancel(session: Session, jobs: Sequence[int], now: datetime, done: Erased) -> None:
    """Cancel unfinished jobs. Locks steps before their jobs, as everywhere."""
    steps = session.scalars(
        select(Step)
        .where(Step.job_id.in_(jobs), Step.state.in_((StepState.QUEUED, StepState.SENT, StepState.RUNNING)))
        .order_by(Step.id)
        .with_for_update()
    ).all()
    for step in steps:
        ticket = cancelled(session, step, now)
        if ticket is not None:
            done.tickets.append(ticket)
    session.flush()
    ended = session.execute(
        update(Job)
        .where(Job.id.in_(jobs), Job.state.in_(_OPEN))
        .values(state=JobState.CANCELLED, ended_at=now)
        .returning(Job.id)
    )
    done.cancelled += len(ended.all())


def strip(session: Session, jobs: Sequence[int]) -> int:
    """Remove quotes of sources from results, steps and tries. Returns how many results changed."""
    changed = 0
    for job in jobs:
        packed = session.scalar(select(Result.report).where(Result.job_id == job).with_for_update())
        if packed is not None:
            session.execute(update(Result).where(Result.job_id == job).values(report=only_numbers(packed)))
            changed += 1
    steps = select(Step.id).where(Step.job_id.in_(jobs))
    session.execute(update(Step).where(Step.job_id.in_(jobs), Step.fault.is_not(None)).values(fault=_REMOVED))
    session.execute(update(Step).where(Step.job_id.in_(jobs)).values(work=None, digests=None))
    session.execute(
        update(Attempt).where(Attempt.step_id.in_(steps), Attempt.fault.is_not(None)).values(fault=_REMOVED)
    )
    return changed


def _parts(items: Sequence[Any]) -> list[Sequence[Any]]:
    """Split into parts small enough for a query."""
    return [items[start : start + _SOME] for start in range(0, len(items), _SOME)]


# The judge's own words on the device, on times and on counts.
_KEPT = frozenset(
    {
        "verdict", "exercise", "device", "arch", "tile", "measurement", "environment", "occupancy",
        "measured_occupancy", "resources", "launch", "launch_sizes", "seconds", "seed", "schema", "isolation",
    }
)  # fmt: skip
_UNKNOWN = Verdict.SYSTEM_ERROR


def only_numbers(packed: bytes) -> bytes:
    """The report without findings, evidence, messages and everything else that may quote the source."""
    try:
        report = unpack(packed)
    except ReportError:
        report = {"verdict": _UNKNOWN.value}
    plain = {name: value if name in _KEPT else _emptied(name, value) for name, value in report.items()}
    plain["message"] = Verdict(report.get("verdict", _UNKNOWN)).headline
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode(), 6)


def _emptied(name: str, value: Any) -> Any:
    """An empty value of the same type, so that the report stays readable."""
    if name == "evidence":
        return to_plain(Evidence())
    if name == "checks":
        return [check | {"note": ""} for check in value]
    if isinstance(value, str):
        return ""
    if isinstance(value, list):
        return []
    return value if isinstance(value, int | float) else None
