"""The API of comments, and of open questions for course staff."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from flask import Blueprint, Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.identity import need_staff_scope, person_asking
from server.accounts.models import Scope
from server.acts.act import Target
from server.acts.by_api import change_by_json, done_answer, request_of
from server.courses.staff_api import (
    NAME,
    PERSON,
    REFUSES,
    REFUSES_CHANGE,
    ApiDesk,
    DoneAnswer,
    read_as_staff,
    staff_api,
)
from server.fields import Range
from server.http.operation import operation
from server.http.problems import Refused
from server.http.query import read_query
from server.http.site import site
from server.submissions.queries import PUBLIC_ID, visible_submission
from server.talk.comments import Thread, threads_of
from server.talk.questions import GIVE, TAKE, OpenQuestion, Whose, open_questions, question_of
from server.teams.credit import is_for

comments = Blueprint("comments", __name__)


@dataclass(frozen=True, slots=True)
class CommentAnswer:
    """A comment. author: None if it was written on the command line; staff: whether by course staff."""

    id: int
    author: str | None
    staff: bool
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ThreadAnswer:
    """A comment with its replies.

    line: the line of the source; None for the whole submission
    open: whether it waits for an answer of course staff
    new: whether it has a comment of course staff that its owner hasn't seen
    """

    line: int | None
    open: bool
    new: bool
    comments: tuple[CommentAnswer, ...]


@dataclass(frozen=True, slots=True)
class CommentsAnswer:
    """The comments on a submission, by line. page: the path of their page."""

    threads: tuple[ThreadAnswer, ...]
    page: str


@comments.get("/submissions/<public_id>/comments")
@operation(
    CommentsAnswer, path={"public_id": PUBLIC_ID}, refuses={404: "There is no such submission, or you may not see it."}
)
def listed(public_id: str) -> Response:
    """List the comments on a submission, as its owner or course staff. Reading them here doesn't mark them as seen."""
    person = person_asking().id
    with site().readers.begin() as session:
        found = visible_submission(session, person, public_id)
        if found is None:
            raise Refused(
                404, "no_such_submission", "There is no such submission",
                "Check its ID. Only its owner and course staff can read it.",
            )  # fmt: skip
        need_staff_scope(own=is_for(session, found, person))
        threads = tuple(_answer(thread) for thread in threads_of(session, found.id))
    return jsonify(CommentsAnswer(threads, f"/submissions/{public_id}/comments"))


def _answer(thread: Thread) -> ThreadAnswer:
    said = tuple(
        CommentAnswer(
            each.id, None if each.author is None else each.author.name, each.by_staff, each.text,
            each.created_at,
        )
        for each in thread.comments
    )  # fmt: skip
    return ThreadAnswer(thread.line, thread.waits, thread.new, said)


_PATH: Mapping[str, Any] = {"course": NAME, "number": PERSON}
_ONE = "/courses/<course>/questions/<int(max=9007199254740991):number>"
_AnswererRequest = request_of(GIVE, "AnswererRequest")


@dataclass(frozen=True, slots=True)
class QuestionsQuery:
    """Which open questions. whose: mine, unassigned, or "" for all; limit: how many."""

    whose: Whose = Whose.ALL
    limit: Annotated[int, Range(1, 100)] = 50


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A question that waits for course staff.

    assignment: its short name
    student: the asker's ID
    line: the line of the source; None for the whole submission
    text: of its newest comment
    answerer: the email of who answers it; None for nobody
    """

    id: int
    submission: str
    assignment: str
    student: int
    line: int | None
    text: str
    waits_since: datetime | None
    answerer: str | None


@dataclass(frozen=True, slots=True)
class QuestionsAnswer:
    """Open questions, the longest waiting first. total: how many there are."""

    questions: tuple[QuestionAnswer, ...]
    total: int


@staff_api.get("/courses/<course>/questions")
@operation(QuestionsAnswer, path={"course": NAME}, query=QuestionsQuery, scope=Scope.STAFF, refuses=REFUSES)
def open_in_course(course: str) -> Response:
    """List the questions of a course that wait for an answer."""
    asked = read_query(QuestionsQuery)
    with read_as_staff(course) as (session, found):
        listed = open_questions(session, found.id, asked.limit, asked.whose, person_asking().id)
        questions = tuple(_question_answer(each) for each in listed.questions)
    return jsonify(QuestionsAnswer(questions, listed.numbers[asked.whose]))


@staff_api.post(f"{_ONE}/take")
@operation(DoneAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def take_one(course: str, number: int) -> Response:
    """Take a question, unless someone else of course staff did."""
    return change_by_json(TAKE, None, course, _question(number), done_answer)


@staff_api.post(f"{_ONE}/answerer")
@operation(DoneAnswer, path=_PATH, takes=_AnswererRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def give_one(course: str, number: int) -> Response:
    """Give a question to someone of course staff, or release it."""
    return change_by_json(GIVE, _AnswererRequest, course, _question(number), done_answer)


def _question(number: int) -> Callable[[Session, ApiDesk], Target]:
    def find(session: Session, desk: ApiDesk) -> Target:
        found = question_of(session, desk.course(session).id, number)
        if found is None:
            raise Refused(404, "no_such_question", "There is no such question", "Look at the course’s open questions.")
        return Target(found.submission.assignment.course, found.submission.assignment, item=found)

    return find


def _question_answer(one: OpenQuestion) -> QuestionAnswer:
    first, submission = one.first, one.first.submission
    return QuestionAnswer(
        first.id, submission.public_id, submission.assignment.slug, submission.person_id, first.line, one.last.text,
        first.waits_since, None if one.answerer is None else one.answerer.email,
    )  # fmt: skip
