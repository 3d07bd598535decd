"""The page of a submission's comments, next to the lines of its source, and staff's page of open questions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from flask import Blueprint, Response, render_template, request, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.rendering.text_safety import safe_lines
from server.accounts.access import limited, not_allowed, nothing_here, viewer
from server.accounts.limits import Limit
from server.acts.act import Target
from server.acts.by_form import change_by_form
from server.courses.access import Membership, membership_in, staff_of
from server.courses.staff_pages import Desk, acting, asked, desk_of, mistakes_noted, staff
from server.grades.grading import graders
from server.grading.models import Result
from server.http.forms import Form, filled, number_of, sent
from server.http.notes import note
from server.http.site import site
from server.submissions.line_marks import line_marks
from server.submissions.models import Submission
from server.submissions.queries import submission_of_page
from server.submissions.result.report import read_stored_report
from server.talk.comments import mark_read, remove_comment, settle, threads_of, write_comment
from server.talk.listing_views import Listing, listing_of
from server.talk.models import Comment
from server.talk.questions import GIVE, TAKE, OpenQuestions, Whose, open_questions, question_of
from server.teams.credit import is_for

comment_pages = Blueprint("comment_pages", "server.talk", url_prefix="/submissions/<public_id>/comments")

COMMENTS = Limit("comment", 60, timedelta(hours=1))


@dataclass(frozen=True, slots=True)
class CommentsPage:
    """A submission's comments."""

    course: Membership
    submission: Submission
    talk: Listing


@comment_pages.get("")
def show_comments(public_id: str) -> str:
    """Show the source with the comments on it."""
    line = number_of(request.args, "line")
    who, now = viewer(), datetime.now(UTC)
    page, html = _page(public_id, filled({"line": "" if line is None else str(line)}))
    if page.talk.own and who.viewing is None and any(thread.new for thread in page.talk.threads):
        note(partial(mark_read, submission_id=page.submission.id, now=now))
    return html


@comment_pages.post("")
def add_comment(public_id: str) -> Response | tuple[str, int]:
    """Store a comment or a reply."""
    form = sent("text", "line", "thread")
    with site().readers.begin() as session:
        submission_of_page(session, public_id)
    limited(COMMENTS, "Too many comments", "Wait an hour, then write the next comment.")
    line = _number(form, "line")
    if form.right:
        with mistakes_noted(form, "text"), site().sessions.begin() as session:
            found, thread = submission_of_page(session, public_id), number_of(form.values, "thread")
            made = write_comment(session, found, acting(session), form["text"], line=line, thread=thread)
            notice = "comment-added" if made.by_staff or made.thread_id else "question-sent"
            return _back(public_id, notice, f"thread-{made.thread_id or made.id}")
    return _page(public_id, form)[1], 422


@comment_pages.post("/<int(max=9007199254740991):number>/remove")
def remove_one(public_id: str, number: int) -> Response:
    """Remove a comment."""
    with site().sessions.begin() as session:
        remove_comment(session, submission_of_page(session, public_id), number, acting(session))
    return _back(public_id, "comment-removed")


@comment_pages.post("/<int(max=9007199254740991):number>/settle")
def settle_one(public_id: str, number: int) -> Response:
    """Take a thread off the list of open questions."""
    with site().sessions.begin() as session:
        found = submission_of_page(session, public_id)
        if not membership_in(session, found.assignment.course).is_staff:
            raise not_allowed("Only course staff can do this.")
        settle(session, found, number, acting(session))
    return _back(public_id, "question-settled", f"thread-{number}")


@comment_pages.app_template_filter("lines")
def lines(text: str) -> list[str]:
    """The lines of a text, each made safe."""
    return safe_lines(text)


def _page(public_id: str, form: Form) -> tuple[CommentsPage, str]:
    who = viewer()
    with site().readers.begin() as session:
        found = submission_of_page(session, public_id)
        course, own = membership_in(session, found.assignment.course), is_for(session, found, who.id)
        job = found.judged_job
        packed = None if job is None else session.scalar(select(Result.report).where(Result.job_id == job.id))
        verdict = None if job is None else job.verdict
        hints = found.hints(staff=course.is_staff)
        report = verdict and read_stored_report(packed, verdict, staff=False, hints=hints).report
        marks = line_marks(report) if report else ()
        threads = threads_of(session, found.id)
        asks = course.is_staff and any(thread.waits for thread in threads)
        known = graders(session, course.course_id).values() if asks else ()
        talk = listing_of(
            found.source.content, threads, marks, form, answerers=[(one.email, one.name) for one in known],
            address=url_for("comment_pages.show_comments", public_id=public_id), owner=found.person.name,
            reader=who.id, own=own, course=course,
        )  # fmt: skip
        page = CommentsPage(course, found, talk)
        return page, render_template("talk/comments.html", page=page)


def _number(form: Form, name: str) -> int | None:
    text = form[name]
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        form.mistake(name, "The line must be a whole number.")
        return None
    return int(text)


def _back(public_id: str, notice: str, anchor: str = "") -> Response:
    address = url_for("comment_pages.show_comments", public_id=public_id, notice=notice, _anchor=anchor or None)
    return Response(status=303, headers={"Location": address})


_MOST = 50


@dataclass(frozen=True, slots=True)
class QuestionsPage:
    """Questions that wait for an answer. whose: which of them; reader: the reader's ID."""

    desk: Desk
    found: OpenQuestions
    whose: Whose
    reader: int


@staff.get("/questions")
def show_questions(slug: str) -> str:
    """Show the questions that wait for an answer."""
    course, reader = staff_of(slug), viewer().id
    whose = next((each for each in Whose if each.value == asked("whose")), Whose.ALL)
    with site().readers.begin() as session:
        found = open_questions(session, course.course_id, _MOST, whose, reader)
    return render_template(
        "talk/questions.html", page=QuestionsPage(desk_of(course, "questions"), found, whose, reader)
    )


@staff.post("/questions/<int(max=9007199254740991):number>/take")
def take_question(slug: str, number: int) -> Response | tuple[str, int]:
    """Take a question, unless someone else did."""
    done = partial(_to_question, slug, number, "question-taken")
    return change_by_form(TAKE, slug, partial(_question, number), done)


@staff.post("/questions/<int(max=9007199254740991):number>/answerer")
def give_question(slug: str, number: int) -> Response | tuple[str, int]:
    """Give a question to someone, or release it."""
    done = partial(_to_question, slug, number, "question-given")
    return change_by_form(GIVE, slug, partial(_question, number), done)


def _question(number: int, session: Session, course: Membership, _: Form | None = None) -> Target:
    found = question_of(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return Target(found.submission.assignment.course, found.submission.assignment, item=found)


def _to_question(slug: str, number: int, notice: str) -> Response:
    with site().readers.begin() as session:
        found: Comment = _question(number, session, staff_of(slug)).item
        return _back(found.submission.public_id, notice, f"thread-{number}")
