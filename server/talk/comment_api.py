"""The API of comments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, Response, jsonify

from server.accounts.identity import need_staff_scope, person_asking
from server.http.operation import operation
from server.http.problems import Refused
from server.http.site import site
from server.submissions.queries import PUBLIC_ID, visible_submission
from server.talk.comments import Thread, threads_of

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
        need_staff_scope(own=found.person_id == person)
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
