"""What people hear of by e-mail. It is read from the tables, so nothing else has to report it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased, joinedload

from kernels.verdict import Verdict
from server.accounts.models import CHOSEN_MAILS, LinkPurpose, MailKind, OneTimeLink, Person
from server.accounts.service import was_here
from server.audit.models import AuditEvent
from server.courses.models import Accommodation, Assignment, Correction, Course, Extension, Membership, Role
from server.courses.service import shown_at
from server.grading.models import Job
from server.submissions.counted_submission import due_for
from server.submissions.models import Mode, Submission
from server.talk.models import Comment, ExtensionRequest, RegradeRequest
from server.teams.credit import credited, people_of

AHEAD = timedelta(days=1)
"""How long before a deadline a reminder goes out."""

LASTS = timedelta(days=3)
"""How long after an occasion its e-mail is still sent. A reminder isn't sent after the deadline."""

LONG = timedelta(minutes=10)
"""A student who waited shorter for a verdict saw it on the page."""

_OLDEST = timedelta(days=7)
"""Submissions before that are not looked at."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Something that a person hears of, once for each reference.

    at: when it happened; for a deadline, a day before it
    subject: what happened, in a few words; path: of the page about it
    link: the one-time link to send instead of a page
    """

    person: Person
    kind: MailKind
    reference: str
    at: datetime
    subject: str
    path: str
    link: int | None = None


def occasions(session: Session, now: datetime) -> Iterator[Occasion]:
    """All of the last days, also those already told, for people who want this kind of e-mail."""
    for read in (
        _links, _comments, _regrade_requests, _extension_requests, _results, _changed_verdicts, _grades, _deadlines
    ):  # fmt: skip
        for occasion in read(session, now):
            if wants(occasion.person, occasion.kind):
                yield occasion


def wants(person: Person, kind: MailKind) -> bool:
    """Whether the person gets e-mails of this kind. Course staff don't vouch for an address that joined with a code."""
    if person.disabled_at is not None or person.erased_at is not None:
        return False
    return kind not in CHOSEN_MAILS or (person.proven_at is not None and kind not in person.mails_off.split())


def is_over(link: OneTimeLink, now: datetime) -> bool:
    """Whether a link that someone asked to send isn't wanted any more."""
    return link.used_at is not None or link.expires_at <= now


def _links(session: Session, now: datetime) -> Iterator[Occasion]:
    query = (
        select(OneTimeLink)
        .where(OneTimeLink.by_mail, OneTimeLink.created_at > now - LASTS)
        .options(joinedload(OneTimeLink.person))
    )
    for link in session.scalars(query):
        if not is_over(link, now):
            yield Occasion(
                link.person, MailKind.ACCESS, f"{link.purpose.value} {link.id}", link.created_at,
                _ACCESS[link.purpose], "", link.id,
            )  # fmt: skip


_ACCESS = {
    LinkPurpose.INVITATION: "Choose a password for your Tilelab account, within 14 days",
    LinkPurpose.RESET: "Set a new password for Tilelab, within 24 hours",
}


def _comments(session: Session, now: datetime) -> Iterator[Occasion]:
    query = (
        select(Comment)
        .join(Comment.submission)
        .where(Comment.news_since > now - LASTS)
        .options(joinedload(Comment.submission).options(*_WHOSE))
    )
    for comment in session.scalars(query):
        assert comment.news_since is not None, "the query asks for it"
        for person in _whole_team(session, comment.submission):
            yield Occasion(
                person, MailKind.ANSWERS, f"comment {comment.id} {comment.news_since:%Y-%m-%d %H:%M:%S}",
                comment.news_since, _subject(comment.submission.assignment, "New comment on your submission"),
                f"/submissions/{comment.submission.public_id}/comments",
            )  # fmt: skip


def _regrade_requests(session: Session, now: datetime) -> Iterator[Occasion]:
    query = (
        select(RegradeRequest)
        .join(RegradeRequest.submission)
        .where(RegradeRequest.answered_at > now - LASTS)
        .options(joinedload(RegradeRequest.submission).options(*_WHOSE))
    )
    for request in session.scalars(query):
        assert request.answered_at is not None, "the query asks for it"
        for person in _whole_team(session, request.submission):
            yield Occasion(
                person, MailKind.ANSWERS, f"regrade request {request.id}",
                request.answered_at, _subject(request.submission.assignment, "Answer to your regrade request"),
                f"/submissions/{request.submission.public_id}/request",
            )  # fmt: skip


def _extension_requests(session: Session, now: datetime) -> Iterator[Occasion]:
    query = (
        select(ExtensionRequest)
        .where(ExtensionRequest.answered_at > now - LASTS)
        .options(
            joinedload(ExtensionRequest.person), joinedload(ExtensionRequest.assignment).joinedload(Assignment.course)
        )
    )
    for request in session.scalars(query):
        assert request.answered_at is not None, "the query asks for it"
        yield Occasion(
            request.person, MailKind.ANSWERS, f"extension request {request.id}",
            request.answered_at, _subject(request.assignment, "Answer to your extension request"),
            f"{_page(request.assignment)}extension",
        )  # fmt: skip


def _results(session: Session, now: datetime) -> Iterator[Occasion]:
    """First verdicts that came late. After a system error, a retry or a regrade gives them."""
    active = select(Assignment.id).join(Assignment.course).where(Course.archived_at.is_(None))
    earlier = aliased(Job)
    known = exists().where(
        earlier.submission_id == Submission.id, earlier.id < Job.id, earlier.verdict != Verdict.SYSTEM_ERROR
    )
    query = (
        select(Submission, Job.ended_at)
        .join(Job, Job.id == Submission.judged_job_id)
        .where(
            Submission.assignment_id.in_(active),
            Submission.created_at > now - _OLDEST,
            Submission.mode == Mode.RANK,
            Submission.verdict != Verdict.SYSTEM_ERROR,
            Job.ended_at > now - LASTS,
            ~known,
        )
        .options(*_WHOSE)
    )
    for submission, ended_at in session.execute(query):
        if ended_at is None or ended_at - submission.created_at <= LONG:
            continue
        for person in _whole_team(session, submission):
            yield Occasion(
                person, MailKind.RESULTS, f"result {submission.id}", ended_at,
                _subject(submission.assignment, "Result"), f"/submissions/{submission.public_id}",
            )  # fmt: skip


def _changed_verdicts(session: Session, now: datetime) -> Iterator[Occasion]:
    """Verdicts that a regrade changed, one e-mail for all of a person."""
    old = aliased(Job)
    for event, assignment in _events(session, now, "assignment.regraded"):
        first, last = event.detail.get("first"), event.detail.get("last")
        if first is None or last is None:
            continue
        before = (
            select(func.max(old.id))
            .where(old.submission_id == Submission.id, old.id < first, old.verdict != Verdict.SYSTEM_ERROR)
            .correlate(Submission)
            .scalar_subquery()
        )
        query = (
            select(Submission, Job.ended_at)
            .join(Job, Job.id == Submission.judged_job_id)
            .join(old, old.id == before)
            .where(
                Submission.assignment_id == assignment.id,
                Submission.mode == Mode.RANK,
                Job.id.between(first, last),
                Job.verdict.not_in((old.verdict, Verdict.SYSTEM_ERROR)),
            )
            .options(*_WHOSE)
        )
        for submission, ended_at in session.execute(query):
            at = event.at if ended_at is None else max(event.at, ended_at)
            for person in _whole_team(session, submission):
                yield Occasion(
                    person, MailKind.RESULTS, f"regrade {event.id}", at,
                    _subject(assignment, "New verdict after a regrade"), _page(assignment),
                )  # fmt: skip


def _grades(session: Session, now: datetime) -> Iterator[Occasion]:
    """Grades that course staff no longer hold back or changed by hand, the latest event of each."""
    found: dict[tuple[int, int], Occasion] = {}
    events = list(_events(session, now, *_SETTINGS, _CORRECTED))
    numbers = {event.detail["person"] for event, _ in events if event.action == _CORRECTED}
    people = {one.id: one for one in session.scalars(select(Person).where(Person.id.in_(numbers)))} if numbers else {}
    held = select(Correction.assignment_id, Correction.person_id).where(
        Correction.assignment_id.in_({one.id for _, one in events}), Correction.held
    )
    hidden = {tuple(row) for row in session.execute(held)} if events else set()
    for event, assignment in events:
        what = _news_of(event)
        if not what or assignment.grades_held:
            continue
        corrected = event.action == _CORRECTED
        those = [people[event.detail["person"]]] if corrected else session.scalars(_submitters(assignment))
        for person in those:
            if (assignment.id, person.id) not in hidden:
                found[assignment.id, person.id] = Occasion(
                    person, MailKind.RESULTS, f"grade {event.id}", event.at, _subject(assignment, what),
                    _page(assignment),
                )  # fmt: skip
    yield from found.values()


_SETTINGS, _CORRECTED = ("assignment.changed", "assignment.deadline_moved"), "grades.corrected"
_RELEASED, _CHANGED = "Your grade is released", "Course staff changed your grade"


def _news_of(event: AuditEvent) -> str:
    """What an event tells students about grades; "" for nothing, such as another reason, which is for course staff."""
    if event.action != _CORRECTED:
        return _RELEASED if event.detail.get("grades_held") == [True, False] else ""
    changed = event.detail.keys() & {"score", "excused", "held"}
    if changed == {"held"} and event.detail["held"] == [True, False]:
        return _RELEASED
    return _CHANGED if changed else ""


def _submitters(assignment: Assignment) -> Select[Person]:
    one = credited([assignment])
    handed_in = select(one.person_id).where(one.assignment_id == assignment.id, one.mode == Mode.RANK)
    return (
        select(Person)
        .join(Membership, Membership.person_id == Person.id)
        .where(
            Membership.course_id == assignment.course_id,
            Membership.role == Role.STUDENT,
            Membership.dropped_at.is_(None),
            Person.id.in_(handed_in),
        )
    )


def _events(session: Session, now: datetime, *actions: str) -> Iterator[tuple[AuditEvent, Assignment]]:
    """What the audit recorded about assignments of courses that aren't archived."""
    query = (
        select(AuditEvent)
        .join(Course, Course.id == AuditEvent.course_id)
        .where(AuditEvent.at > now - LASTS, AuditEvent.action.in_(actions), Course.archived_at.is_(None))
        .order_by(AuditEvent.id)
    )
    events = session.scalars(query).all()
    courses = {event.course_id for event in events}
    every = select(Assignment).where(Assignment.course_id.in_(courses)).options(joinedload(Assignment.course))
    found = session.scalars(every) if events else ()
    named: dict[tuple[int | None, str], Assignment] = {(one.course_id, f"assignment {one.name}"): one for one in found}
    for event in events:
        if assignment := named.get((event.course_id, event.subject)):
            yield event, assignment


def _deadlines(session: Session, now: datetime) -> Iterator[Occasion]:
    """Deadlines of the next day, for students who still have something to do."""
    extended = select(Extension.assignment_id).where(Extension.due_at > now)
    query = (
        select(Assignment)
        .join(Assignment.course)
        .where(
            Course.archived_at.is_(None),
            shown_at(now),
            Assignment.due_at <= now + AHEAD,
            or_(Assignment.due_at > now, Assignment.id.in_(extended), Assignment.id.in_(_with_more_time(session, now))),
        )
        .options(joinedload(Assignment.course))
    )
    for assignment in session.scalars(query):
        for person, extension, accommodation in session.execute(_unfinished(assignment)):
            due_at = due_for(assignment, extension, accommodation).due_at
            if due_at is not None and now < due_at <= now + AHEAD:
                yield Occasion(
                    person, MailKind.DEADLINES, f"deadline {assignment.id} {due_at:%Y-%m-%d %H:%M:%S}",
                    due_at - AHEAD, _subject(assignment, "Due within a day"), _page(assignment),
                )  # fmt: skip


def _with_more_time(session: Session, now: datetime) -> list[int]:
    """The assignments that are due already, but not for a student with an accommodation."""
    query = (
        select(Assignment, Accommodation)
        .join(Accommodation, Accommodation.course_id == Assignment.course_id)
        .join(Course, Course.id == Assignment.course_id)
        .where(Assignment.due_at <= now, Course.archived_at.is_(None))
    )
    times = ((one.id, due_for(one, None, given).due_at) for one, given in session.execute(query))
    return list({number for number, due_at in times if due_at is not None and due_at > now})


def _unfinished(assignment: Assignment) -> Select[Person, Extension, Accommodation]:
    """The students without an accepted submission, each with the extension and the accommodation, if there are.

    Excused students are left out once they may know it.
    """
    one = credited([assignment])
    done = select(one.person_id).where(
        one.assignment_id == assignment.id, one.mode == Mode.RANK, one.verdict == Verdict.ACCEPTED
    )
    excused = (
        select(Correction.person_id)
        .join(Assignment, Assignment.id == Correction.assignment_id)
        .where(
            Correction.assignment_id == assignment.id,
            Correction.excused,
            Correction.held.is_(False),
            Assignment.grades_held.is_(False),
        )
    )
    own = and_(Extension.person_id == Person.id, Extension.assignment_id == assignment.id)
    more_time = and_(Accommodation.person_id == Person.id, Accommodation.course_id == assignment.course_id)
    return (
        select(Person, Extension, Accommodation)
        .join(Membership, Membership.person_id == Person.id)
        .outerjoin(Extension, own)
        .outerjoin(Accommodation, more_time)
        .where(
            Membership.course_id == assignment.course_id,
            Membership.role == Role.STUDENT,
            Membership.dropped_at.is_(None),
            was_here(),  # before that, the person hasn't used the invitation
            Person.id.not_in(done),
            Person.id.not_in(excused),
        )
    )


_WHOSE = (joinedload(Submission.person), joinedload(Submission.assignment).joinedload(Assignment.course))


def _whole_team(session: Session, submission: Submission) -> Sequence[Person]:
    """The author, and the other members of the team."""
    if submission.team_id is None:
        return (submission.person,)
    return session.scalars(select(Person).where(Person.id.in_(people_of(session, submission)))).all()


def _subject(assignment: Assignment, what: str) -> str:
    """Our words after the course, so that a title can't pass as a message from the server."""
    return f"[{assignment.course.title}] {what}: {assignment.title}"


def _page(assignment: Assignment) -> str:
    return f"/courses/{assignment.course.slug}/{assignment.slug}/"
