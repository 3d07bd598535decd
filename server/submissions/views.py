"""The page of a submission: its live progress, then its result."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial

from flask import Blueprint, Response, after_this_request, render_template, request, url_for
from markupsafe import Markup
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts import browser_sessions
from server.accounts.access import existing, limited, viewer
from server.accounts.cookies import encrypted, session_token
from server.accounts.limits import Limit
from server.accounts.models import Person
from server.accounts.views import go
from server.assignments.form import new_key
from server.courses.access import page_in
from server.courses.models import HintStep
from server.http.notes import note
from server.http.numbers import zone_of
from server.http.page_around import PageAround
from server.http.problems import Refused
from server.http.site import site
from server.standings.class_speeds import class_speeds
from server.submissions.changes import NotPossible, ask_for_hint, cancel, cancel_own, mark_seen_result, retry, revoke
from server.submissions.models import Mode
from server.submissions.progress.jobs import SubmissionStatus
from server.submissions.progress.live import clock, envelope, live_part, markup_of
from server.submissions.progress.phases import progress_of
from server.submissions.progress.streams import EventFormat, event_stream, the_hub
from server.submissions.queries import may_still_see, source_of, visible_submission
from server.submissions.result.page import FRESH, SubmissionPage, durations, read_page, watched
from server.submissions.result.report import (
    Around,
    ShownReport,
    StoredReport,
    read_stored_report,
    show_report,
    whole_page,
)
from server.submissions.service import latest_job

submissions_pages = Blueprint("submissions_pages", "server.submissions", url_prefix="/submissions")

RETRIES = Limit("retry", 5, timedelta(hours=1))


@submissions_pages.get("/<public_id>")
def show(public_id: str) -> str | Response:
    with site().readers.begin() as session:
        page = _read(session, public_id)
    if page.own and page.news and not page.viewed:
        note(partial(mark_seen_result, submission_id=page.number, now=datetime.now(UTC)))
    may_ask = page.judged and page.mode is Mode.RANK and (page.staff or page.own)
    # The hub may know hints already, if another page watches the submission.
    progress = the_hub().look(page.number, page.status) if page.waits else progress_of(page.status, {})
    report = _shown(page)
    among = None
    if page.own and report is not None and report.verdict is Verdict.ACCEPTED and report.measured:
        with site().readers.begin() as session:
            among = class_speeds(session, page.number, datetime.now(UTC))
    html = render_template(
        "submissions/submission.html",
        page=page,
        progress=progress,
        live=markup_of(progress) if page.waits else "",
        now=clock(),
        report=report,
        result="" if report is None else _result(page, report),
        marks=report.marks if report is not None and page.own else "[]",
        durations=() if report is None else durations(page, report.seconds),
        celebrates=_celebrates(page),
        among=among,
        may_ask=may_ask,
    )
    return html if report is None else PageAround(html, report.rest)


def _celebrates(page: SubmissionPage) -> bool:
    """Whether to celebrate this fresh result. A cookie remembers that the reader has seen it."""
    ended = None if page.judged is None or page.waits else page.judged.ended_at
    if not page.solves_first or ended is None:
        return False
    if request.cookies.get("tilelab-first") == page.public_id:
        return False

    @after_this_request
    def remember(response: Response) -> Response:
        response.set_cookie(
            "tilelab-first", page.public_id, max_age=FRESH, httponly=True, secure=encrypted(), samesite="Lax"
        )
        return response

    return True


def _result(page: SubmissionPage, report: ShownReport) -> Markup:
    def actions(line: int | None) -> Markup:
        given = {"page": page, "report": report, "line": line, "key": new_key()}
        return Markup(render_template("submissions/card_actions.html", **given).strip())  # noqa: S704 - our own template

    return report.sections(page.earned.text, actions)


@submissions_pages.get("/<public_id>/state")
def state(public_id: str) -> Response:
    number, status = _watched(public_id)
    progress = the_hub().look(number, status)
    return Response(envelope(live_part()(progress), progress.status.over), mimetype="application/json")


@submissions_pages.get("/<public_id>/events")
def events(public_id: str) -> Response:
    who = viewer()
    number, status = _watched(public_id)
    may_see = may_still_see(site().readers, partial(_signed_in, session_token()), public_id)
    return event_stream(number, who.id, status, EventFormat(live_part(), envelope), may_see)


@submissions_pages.get("/<public_id>/source.cu")
def source(public_id: str) -> Response:
    """Download the submitted source unchanged."""
    who = viewer()
    with site().readers.begin() as session:
        submission = existing(visible_submission(session, who.id, public_id))
        content = source_of(submission)
        name = f"{submission.assignment.slug}-{submission.public_id[:8]}.cu"
    return _download(content, "text/plain; charset=utf-8", name)


@submissions_pages.get("/<public_id>/report.json")
def report_json(public_id: str) -> Response:
    """Download the object that `tilelab grade --json` prints."""
    page, kept = _graded(public_id)
    name = page.file.removesuffix(".cu") + ".json"
    return _download(json.dumps(kept.plain, indent=1).encode(), "application/json", name)


@submissions_pages.get("/<public_id>/report.html")
def report_html(public_id: str) -> Response:
    page, kept = _graded(public_id)
    submitted = page.created_at.astimezone(zone_of(page.course_zone))
    facts = {
        "Assignment": f"{page.title} ({page.course_title})",
        "Submitted": f"{submitted:%d %b %Y, %H:%M %Z}",
        "Submission": page.public_id,
    }
    html = whole_page(kept, _around(page), facts)
    return _download(html.encode(), "text/html; charset=utf-8", page.file.removesuffix(".cu") + ".html")


@submissions_pages.post("/<public_id>/cancel")
def stop(public_id: str) -> Response:
    who = viewer()
    page = _page(public_id)
    try:
        with site().sessions.begin() as session:
            person = session.get_one(Person, who.id)
            submission = existing(visible_submission(session, who.id, public_id))
            if page.staff:
                tickets = cancel(session, latest_job(session, submission.id).id, person)
            else:
                tickets = cancel_own(session, submission, person)
    except NotPossible:
        return _back(public_id, "already-over")
    revoke(site().settings.redis_url, tickets)
    return _back(public_id, "taken-back")


@submissions_pages.post("/<public_id>/hints/<any(finding, edit):hint>")
def show_hint(public_id: str, hint: str) -> Response:
    """Show the owner a hint after a mistake from now on."""
    who = viewer()
    with site().sessions.begin() as session:
        submission = existing(visible_submission(session, who.id, public_id))
        ask_for_hint(session, submission, HintStep(hint), who.id, datetime.now(UTC))
    return go(url_for("submissions_pages.show", public_id=public_id))


@submissions_pages.post("/<public_id>/retry")
def again(public_id: str) -> Response:
    who = viewer()
    page = _page(public_id)
    if not page.may_retry:
        return _back(public_id, "already-over")
    more = "The failure seems to persist. Tell your course staff, or try again in an hour."
    limited(RETRIES, "Tried too often", more)
    try:
        with site().sessions.begin() as session:
            retry(session, page.status.id, session.get_one(Person, who.id))
    except NotPossible:
        return _back(public_id, "already-over")
    return _back(public_id, "tried-again")


def _page(public_id: str) -> SubmissionPage:
    with site().readers.begin() as session:
        return _read(session, public_id)


def _read(session: Session, public_id: str) -> SubmissionPage:
    who = viewer(session)
    viewed = who.viewing is not None
    page = existing(read_page(session, who.id, public_id, datetime.now(UTC), viewed=viewed))
    page_in(page.course, staff=page.staff)
    return page


def _watched(public_id: str) -> tuple[int, SubmissionStatus]:
    with site().readers.begin() as session:
        return existing(watched(session, viewer(session).id, public_id, datetime.now(UTC)))


def _signed_in(token: str, session: Session) -> int | None:
    found = browser_sessions.find(session, token)
    return None if found is None else found.person_id


def _kept(page: SubmissionPage) -> StoredReport | None:
    return (
        None
        if page.judged is None
        else read_stored_report(page.judged.packed, page.judged.verdict, staff=page.staff, hints=page.hints)
    )


def _shown(page: SubmissionPage) -> ShownReport | None:
    judged = page.judged
    if judged is None:
        return None
    earns = page.earned.text != ""
    return show_report(judged.packed, judged.verdict, _around(page), staff=page.staff, earns=earns, hints=page.hints)


def _around(page: SubmissionPage) -> Around:
    ladder = page.judged.shipped if page.judged is not None else ""
    return Around(page.source, page.file, ladder or "")


def _download(content: bytes, media_type: str, name: str) -> Response:
    response = Response(content, content_type=media_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _graded(public_id: str) -> tuple[SubmissionPage, StoredReport]:
    page = _page(public_id)
    kept = _kept(page)
    if kept is None:
        raise Refused(404, "not_graded", "There is no report yet", "It appears once the submission is graded.")
    return page, kept


def _back(public_id: str, notice: str) -> Response:
    return go(url_for("submissions_pages.show", public_id=public_id, notice=notice))
