"""The staff page of open questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import render_template

from server.courses.access import staff_of
from server.http.site import site
from server.staff.desk import Desk, desk_of, staff
from server.talk.comments.queries import OpenQuestion, open_questions

_MOST = 50


@dataclass(frozen=True, slots=True)
class QuestionsPage:
    """Questions that wait for an answer, the longest waiting first. number: how many there are."""

    desk: Desk
    questions: Sequence[OpenQuestion]
    number: int


@staff.get("/questions")
def show_questions(slug: str) -> str:
    """Show the questions that wait for an answer."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        questions, number = open_questions(session, course.course_id, _MOST)
    page = QuestionsPage(desk_of(course, "questions"), questions, number)
    return render_template("staff/questions.html", page=page)
