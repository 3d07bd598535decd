"""`tilelab admin comments`: comments on submissions, and questions of students."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe, safe_lines
from server.acts.act import Target
from server.commands.acts import Named, verb
from server.commands.course_times import clock_text, zone_of
from server.commands.names import course_named, on_course, on_submission
from server.courses.models import Course
from server.submissions.models import Submission
from server.talk import comments as service
from server.talk.comments import Thread, threads_of
from server.talk.questions import GIVE, OpenQuestion, Whose, open_questions, question_of
from worker.commands.answer import Answer
from worker.commands.root import WrongUse

_COLUMNS = 60
_number = click.argument("number", type=click.IntRange(1, 2**63 - 1))


@click.group()
def comments() -> None:
    """Show and answer questions of students, and comment on submissions.

    \b
    Example:
      tilelab admin comments questions cs483
      tilelab admin comments show 6f1c2a9e
      tilelab admin comments write 6f1c2a9e "Use a barrier here." --line 12
    """


@comments.command()
@on_course(
    click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000)),
    click.option("--unassigned", is_flag=True, help="Only unassigned questions."),
)
def questions(session: Session, course: Course, limit: int, unassigned: bool) -> Answer:
    """List the questions in COURSE that wait for an answer, the longest waiting first.

    \b
    Example:
      tilelab admin comments questions cs483
      tilelab admin comments questions cs483 --unassigned
    """
    whose = Whose.UNASSIGNED if unassigned else Whose.ALL
    listed = open_questions(session, course.id, limit, whose)
    found, number = listed.questions, listed.numbers[whose]
    head = ["number", "waits since", "submission", "student", "assigned to", "question"]
    rows = [
        [
            str(one.first.id), clock_text(one.first.waits_since or one.first.created_at, zone_of(course)),
            one.first.submission.public_id, safe(one.first.submission.person.email),
            "none" if one.answerer is None else safe(one.answerer.email),
            cut(safe(one.last.text.replace("\n", " ")), _COLUMNS),
        ]
        for one in found
    ]  # fmt: skip
    text = "\n".join(table([head, *rows], "><<<<<")) if rows else f"No open questions in {course.slug}."
    return Answer({"open": number, "questions": [_question(one) for one in found]}, text)


@comments.command()
@on_submission()
def show(session: Session, submission: Submission) -> Answer:
    """Show the comments on SUBMISSION, with the line of each.

    \b
    Example:
      tilelab admin comments show 6f1c2a9e
    """
    found = threads_of(session, submission.id)
    text = "\n".join(line for thread in found for line in _lines(thread)) if found else "No comments yet."
    return Answer([_shown(thread) for thread in found], text)


@comments.command()
@on_submission(
    click.argument("text"),
    click.option("--line", type=click.IntRange(1), help="Line of the source.  [default: the whole submission]"),
    click.option("--reply", type=click.IntRange(1, 2**63 - 1), help="Number of the comment to reply to."),
)
def write(session: Session, submission: Submission, text: str, line: int | None, reply: int | None) -> Answer:
    """Comment on SUBMISSION, as course staff. Its owner sees the comment at once.

    \b
    Example:
      tilelab admin comments write 6f1c2a9e "Use a barrier here." --line 12
      tilelab admin comments write 6f1c2a9e "Yes, until Friday." --reply 17
    """
    if line is not None and reply is not None:
        raise WrongUse("--line and --reply exclude each other: a reply is about its comment's line.")
    made = service.write_comment(session, submission, None, text, line=line, thread=reply)
    return Answer({"number": made.id}, f"Stored comment {made.id}.")


@comments.command()
@on_submission(_number)
def remove(session: Session, submission: Submission, number: int) -> Answer:
    """Remove comment NUMBER on SUBMISSION. Replies to it stay.

    \b
    Example:
      tilelab admin comments remove 6f1c2a9e 17
    """
    service.remove_comment(session, submission, number, None)
    return Answer({"number": number}, f"Comment {number} is removed.")


@comments.command()
@on_submission(_number)
def settle(session: Session, submission: Submission, number: int) -> Answer:
    """Take question NUMBER on SUBMISSION off the list of open questions, without an answer.

    \b
    Example:
      tilelab admin comments settle 6f1c2a9e 17
    """
    service.settle(session, submission, number, None)
    return Answer({"number": number}, f"Question {number} is settled.")


def _found(session: Session, name: str, number: int) -> Target:
    course = course_named(session, name)
    question = question_of(session, course.id, number)
    if question is None:
        raise WrongUse(f"{name} has no question {number}; see `tilelab admin comments questions {name}`.")
    return Target(course, question.submission.assignment, item=question)


_QUESTION = Named((click.argument("name", metavar="COURSE"), _number), _found)


@verb(comments, GIVE, _QUESTION, "answerer")
def give(_session: Session, on: Target, _done: object) -> Answer:
    """Assign question NUMBER of COURSE to someone of its staff, or to none.

    \b
    Example:
      tilelab admin comments give cs483 17 --answerer tom@example.edu
      tilelab admin comments give cs483 17 --answerer none
    """
    person = on.item.answerer
    name = "none" if person is None else person.email
    data = {"number": on.item.id, "answerer": None if person is None else person.email}
    return Answer(data, f"Question {on.item.id} is assigned to {name}.")


def _question(one: OpenQuestion) -> dict[str, Any]:
    first = one.first
    return {
        "number": first.id,
        "submission": first.submission.public_id,
        "assignment": first.submission.assignment.slug,
        "email": first.submission.person.email,
        "line": first.line,
        "waits_since": None if first.waits_since is None else first.waits_since.isoformat(),
        "answerer": None if one.answerer is None else one.answerer.email,
        "text": one.last.text,
    }


def _lines(thread: Thread) -> list[str]:
    about = "whole submission" if thread.line is None else f"line {thread.line}"
    found = [f"{thread.first.id}, {about}{', open question' if thread.waits else ''}:"]
    for each in thread.comments:
        author = "command line" if each.author is None else safe(each.author.name)
        found.append(f"  {author}{', course staff' if each.by_staff and each.author else ''}:")
        found += [f"    {line}" for line in safe_lines(each.text)]
    return found


def _shown(thread: Thread) -> dict[str, Any]:
    return {
        "number": thread.first.id,
        "line": thread.line,
        "open": thread.waits,
        "comments": [
            {
                "number": each.id,
                "author": None if each.author is None else each.author.email,
                "staff": each.by_staff,
                "text": each.text,
                "created_at": each.created_at.isoformat(),
            }
            for each in thread.comments
        ],
    }
