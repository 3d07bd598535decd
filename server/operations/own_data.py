"""A copy of what Tilelab stores about a person, for this person. It has nothing that the person may not see yet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute, Session, joinedload

from kernels.experiment.result import to_json
from server.accounts.models import ApiToken, BrowserSession, Identity, Person
from server.audit.models import AuditEvent
from server.courses.models import Accommodation, Assignment, Course, Extension, Membership
from server.experiments.models import Experiment
from server.experiments.queries import results
from server.grades.criteria import Given
from server.grades.grade import given_in, own_grades, rubric_grades_of
from server.grades.rubric import SheetLine, sheet_lines
from server.grading.models import Job, Result, Source
from server.lti.models import LtiScore
from server.mail.models import Mail
from server.submissions.models import Submission
from server.submissions.result.report import read_stored_report
from server.talk.models import Comment, ExtensionRequest, RegradeRequest
from server.teams.models import TeamMember

Row = dict[str, Any]
Rows = Sequence[Row]
_SOME = 100


def own_data(session: Session, person_id: int) -> bytes:
    """A ZIP file with JSON of everything, and each source."""
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as made:
        for name, rows in _tables(session, person_id):
            made.writestr(f"{name}.json", json.dumps(rows, default=_plain, ensure_ascii=False, indent=1))
        for submission, content, report in _submitted(session, person_id):
            folder = f"submissions/{submission.assignment.name.replace('/', '-')}-{submission.public_id}"
            made.writestr(f"{folder}/source.cu", content)
            if report is not None and submission.verdict is not None:
                hints = submission.hints()
                result = read_stored_report(report, submission.verdict, staff=False, hints=hints).plain
                made.writestr(f"{folder}/result.json", json.dumps(result, ensure_ascii=False, indent=1))
        for public_id, points in _experiments(session, person_id):
            made.writestr(f"experiments/{public_id}.json", json.dumps(points, ensure_ascii=False, indent=1))
    return archive.getvalue()


def _tables(session: Session, person: int) -> Iterator[tuple[str, Rows]]:
    def rows(*columns: InstrumentedAttribute[Any], where: ColumnElement[bool]) -> Rows:
        query = select(*columns).where(where)
        return [dict(row) for row in session.execute(query).mappings()]

    mine = Submission.person_id == person
    own = select(Submission.id).where(mine)
    yield "account", rows(
        Person.name, Person.email, Person.created_at, Person.pseudonym, Person.made_name, Person.shows_name,
        Person.listed, Person.time_zone, Person.mails_off, where=Person.id == person,
    )  # fmt: skip
    yield "sign_ins", rows(
        Identity.issuer, Identity.subject, Identity.email, Identity.created_at, Identity.used_at,
        where=Identity.person_id == person,
    )  # fmt: skip
    yield "browsers", rows(
        BrowserSession.user_agent, BrowserSession.created_at, BrowserSession.used_at, BrowserSession.ended_at,
        where=BrowserSession.person_id == person,
    )  # fmt: skip
    yield (
        "api_tokens",
        rows(
            ApiToken.name,
            ApiToken.created_at,
            ApiToken.used_at,
            ApiToken.expires_at,
            where=ApiToken.person_id == person,
        ),
    )
    yield "submissions", rows(
        Submission.id, Submission.public_id, Submission.assignment_id, Submission.mode, Submission.device_class,
        Submission.created_at, Submission.verdict, Submission.late_days, Submission.chosen_at,
        Submission.team_id, where=mine,
    )  # fmt: skip
    yield "trials", _trials(session, person)
    yield "courses", _courses(session, person)
    yield "teams", rows(
        TeamMember.team_id, TeamMember.assignment_id, TeamMember.joined_at, TeamMember.left_at,
        where=TeamMember.person_id == person,
    )  # fmt: skip
    yield (
        "extensions",
        rows(Extension.assignment_id, Extension.due_at, Extension.created_at, where=Extension.person_id == person),
    )
    yield "accommodations", rows(
        Accommodation.course_id, Accommodation.extra_days, Accommodation.extra_percent, Accommodation.granted_at,
        where=Accommodation.person_id == person,
    )  # fmt: skip
    yield "comments", rows(
        Comment.submission_id, Comment.line, Comment.by_staff, Comment.text, Comment.created_at,
        where=Comment.submission_id.in_(own) & Comment.removed_at.is_(None),
    )  # fmt: skip
    yield "regrade_requests", rows(
        RegradeRequest.submission_id, RegradeRequest.reason, RegradeRequest.created_at, RegradeRequest.granted,
        RegradeRequest.answer, where=RegradeRequest.submission_id.in_(own),
    )  # fmt: skip
    yield "extension_requests", rows(
        ExtensionRequest.assignment_id, ExtensionRequest.wanted_at, ExtensionRequest.reason,
        ExtensionRequest.created_at, ExtensionRequest.granted, ExtensionRequest.answer,
        where=ExtensionRequest.person_id == person,
    )  # fmt: skip
    yield (
        "experiments",
        rows(
            Experiment.public_id,
            Experiment.name,
            Experiment.plan,
            Experiment.created_at,
            where=Experiment.person_id == person,
        ),
    )
    yield "scores_sent_to_platforms", rows(
        LtiScore.link_id, LtiScore.points, LtiScore.most, LtiScore.sent_at,
        where=(LtiScore.person_id == person) & LtiScore.sent_at.is_not(None),
    )  # fmt: skip
    yield "audit", _deeds(session, person)
    yield "emails", rows(Mail.subject, Mail.made_at, Mail.sent_at, where=Mail.person_id == person)


def _courses(session: Session, person: int) -> Rows:
    """The person's courses, with the grades that the person may see."""
    memberships = session.scalars(
        select(Membership).where(Membership.person_id == person).options(joinedload(Membership.course))
    )
    return [
        {
            "course": each.course.slug, "title": each.course.title, "role": each.role, "section": each.section,
            "student_id": each.student_id, "since": each.created_at, "until": each.dropped_at,
            "grades": _grades(session, each.course, person),
        }
        for each in memberships
    ]  # fmt: skip


def _grades(session: Session, course: Course, person: int) -> Rows:
    handed_in = select(Submission.assignment_id).where(Submission.person_id == person)
    query = select(Assignment).where(Assignment.course_id == course.id, Assignment.id.in_(handed_in))
    assignments = session.scalars(query.options(joinedload(Assignment.course))).all()
    found = own_grades(session, assignments, person)
    given = {number: given_in(row) for number, row in rubric_grades_of(session, assignments, person).items()}
    return [
        {
            "id": each.id, "assignment": each.slug, "points": found[each.id].points, "why": found[each.id].why,
            "rubric": [_criterion(line) for line in sheet_lines(each, given.get(each.id))],
            "adjustment": _adjustment(given.get(each.id)),
        }
        for each in assignments
        if not found[each.id].held
    ]  # fmt: skip


def _criterion(line: SheetLine) -> Row:
    return {
        "title": line.criterion.title, "most": line.criterion.most, "points": line.points, "words": line.words,
        "items": [{"text": item.text, "points": item.points} for item in line.items],
    }  # fmt: skip


def _adjustment(given: Given | None) -> Row | None:
    return {"points": given.adjustment, "reason": given.reason} if given is not None and given.adjustment else None


def _deeds(session: Session, person: int) -> Rows:
    """What the person did, by the audit. Details of deeds that concern others stay out: they may name them."""
    own = f"person {person}"
    query = select(AuditEvent).where(AuditEvent.actor_id == person).order_by(AuditEvent.id)
    return [
        {
            "at": each.at, "action": each.action, "subject": each.subject,
            **({"detail": each.detail} if each.subject == own else {}),
        }
        for each in session.scalars(query)
    ]  # fmt: skip


def _trials(session: Session, person: int) -> Rows:
    """The last kernel that the person tried in each assignment."""
    query = (
        select(Job.trial_of_id, Job.queued_at, Job.verdict, Source.content)
        .join(Source, Source.digest == Job.source_digest)
        .where(Job.trial_of_id.is_not(None), Job.person_id == person)
    )
    return [
        {"assignment_id": assignment, "queued_at": at, "verdict": verdict, "source": source.decode("utf-8", "replace")}
        for assignment, at, verdict, source in session.execute(query).all()
    ]


def _experiments(session: Session, person: int) -> Iterator[tuple[str, Rows]]:
    """ID and results of each experiment of the person."""
    query = select(Experiment.id, Experiment.public_id).where(Experiment.person_id == person).order_by(Experiment.id)
    for number, public_id in session.execute(query).all():
        yield public_id, [to_json(result) for result in results(session, number)]


def _submitted(session: Session, person: int) -> Iterator[tuple[Submission, bytes, bytes | None]]:
    """Each submission, its source and packed report, some at a time: they may be many."""
    after = 0
    query = (
        select(Submission, Source.content, Result.report)
        .join(Source, Source.digest == Submission.source_digest)
        .outerjoin(Result, Result.job_id == Submission.judged_job_id)
        .where(Submission.person_id == person)
        .options(joinedload(Submission.assignment).joinedload(Assignment.course))
        .order_by(Submission.id)
        .limit(_SOME)
    )
    while found := session.execute(query.where(Submission.id > after)).all():
        yield from ((submission, content, report) for submission, content, report in found)
        after = found[-1][0].id


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
