"""`tilelab admin rubric`: an assignment's rubric, and the points that course staff give by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.wording import rounded_points
from server.commands.names import on_assignment, on_submission
from server.commands.options import even_if_lower
from server.courses.models import Assignment
from server.grades.criteria import MOST_CRITERIA, Criterion, criteria_of
from server.grades.grade import rubric_grades_of
from server.grades.losses import losses_confirmed, students_grades
from server.grades.rubric import Given, change_rubric, give_points
from server.submissions.models import Submission
from server.text import typed_number
from worker.commands.answer import Answer
from worker.commands.root import WrongUse

_number = click.argument("number", type=click.IntRange(1, MOST_CRITERIA))
_text = click.option("--text", help="What earns the points.")


@click.group()
def rubric() -> None:
    """Change an assignment's rubric, and grade submissions by it.

    Its points are added to those for the kernel. If points fall, a command says so and changes nothing, until you
    add --yes.

    \b
    Example:
      tilelab admin rubric add cs483/tiled "Readable code" 4 --text "Names, comments, no dead code."
      tilelab admin rubric show cs483/tiled
      tilelab admin rubric give 6f1c2a9e 1 3 --comment "Long function."
    """


@rubric.command()
@on_assignment()
def show(session: Session, assignment: Assignment) -> Answer:
    """Show the criteria with their numbers, and how many students are graded by them.

    \b
    Example:
      tilelab admin rubric show cs483/tiled
    """
    return _shown(session, assignment)


@rubric.command()
@on_assignment(click.argument("title"), click.argument("points", type=float), _text)
def add(session: Session, assignment: Assignment, title: str, points: float, text: str | None) -> Answer:
    """Add a criterion worth up to POINTS.

    \b
    Example:
      tilelab admin rubric add cs483/tiled "Readable code" 4
    """
    with losses_confirmed(session, assignment, ""):
        new = Criterion("", title, points, text or "")
        change_rubric(session, assignment, None, [*criteria_of(assignment.rubric), new])
    return _shown(session, assignment)


@rubric.command()
@on_assignment(
    _number,
    click.option("--title", help="The criterion's new title."),
    click.option("--points", "most", type=float, help="The criterion's most points."),
    _text,
    even_if_lower,
)
def change(session: Session, assignment: Assignment, number: int, confirmed: str, **given: Any) -> Answer:
    """Change criterion NUMBER. Points that students have stay, up to the criterion's most points.

    \b
    Example:
      tilelab admin rubric change cs483/tiled 1 --points 5
    """
    asked = {name: value for name, value in given.items() if value is not None}
    return _changed(session, assignment, number, confirmed, lambda was: [replace(was, **asked)])


@rubric.command()
@on_assignment(_number, even_if_lower)
def remove(session: Session, assignment: Assignment, number: int, confirmed: str) -> Answer:
    """Remove criterion NUMBER. Points for it no longer count.

    \b
    Example:
      tilelab admin rubric remove cs483/tiled 1
    """
    return _changed(session, assignment, number, confirmed, lambda _: [])


@rubric.command()
@on_submission(
    _number,
    click.argument("points", type=float),
    click.option("--comment", help="A comment that the student sees."),
    even_if_lower,
)
def give(
    session: Session, submission: Submission, number: int, points: float, comment: str | None, confirmed: str
) -> Answer:
    """Give SUBMISSION this many POINTS for criterion NUMBER. The submission must count for the grade.

    \b
    Example:
      tilelab admin rubric give 6f1c2a9e 1 3 --comment "Long function."
    """
    assignment, person = submission.assignment, submission.person_id
    with losses_confirmed(session, assignment, confirmed, person):
        key = _numbered(criteria_of(assignment.rubric), number).key
        was = rubric_grades_of(session, [assignment], person).get(assignment.id)
        now_points = {**({} if was is None else was.points), key: points}
        now_words = {} if was is None else dict(was.words)
        if comment is not None:
            now_words[key] = comment
        give_points(session, submission, None, Given(now_points, now_words))
    grade = students_grades(session, assignment, person)[person]
    return Answer(
        {"submission": submission.public_id, "rubric": grade.rubric, "points": grade.points, "why": list(grade.why)},
        f"{safe(submission.person.email)}: {rounded_points(grade.points or 0)} of "
        f"{rounded_points(assignment.most_points)} points ({'; '.join(grade.why)}).",
    )


def _changed(
    session: Session, assignment: Assignment, number: int, confirmed: str, new: Callable[[Criterion], list[Criterion]]
) -> Answer:
    with losses_confirmed(session, assignment, confirmed):
        now = criteria_of(assignment.rubric)
        made = new(_numbered(now, number))
        change_rubric(session, assignment, None, [*now[: number - 1], *made, *now[number:]])
    return _shown(session, assignment)


def _numbered(criteria: Sequence[Criterion], number: int) -> Criterion:
    if number > len(criteria):
        raise WrongUse(f"no criterion {number}. The rubric has {len(criteria)} criteria.")
    return criteria[number - 1]


def _shown(session: Session, assignment: Assignment) -> Answer:
    criteria = criteria_of(assignment.rubric)
    graded = sum(one.rubric is not None for one in students_grades(session, assignment).values())
    head = ["number", "criterion", "points", "description"]
    rows = [
        [str(number), safe(each.title), typed_number(each.most), safe(each.text)]
        for number, each in enumerate(criteria, 1)
    ]
    lines = table([head, *rows], "><><") if rows else ["No rubric."]
    text = "\n".join([*lines, f"{graded} students graded by the rubric."])
    return Answer({"criteria": [asdict(each) for each in criteria], "graded": graded}, text)
