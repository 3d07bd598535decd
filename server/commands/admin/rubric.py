"""`tilelab admin rubric`: an assignment's rubric, and the points that course staff give by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.wording import plural, rounded_points
from server.acts.act import Target
from server.commands.acts import ASSIGNMENT, verb
from server.commands.names import on_assignment, on_submission
from server.commands.options import even_if_lower
from server.courses.models import Assignment
from server.grades.criteria import MOST_CRITERIA, Criterion, Given, Item, criteria_of
from server.grades.grade import given_in, rubric_grades_of
from server.grades.grading import SPLIT
from server.grades.losses import losses_confirmed, students_grades
from server.grades.rubric import change_rubric, give_points, read_items
from server.submissions.models import Submission
from server.text import typed_number
from worker.commands.answer import Answer
from worker.commands.root import WrongUse

_number = click.argument("number", type=click.IntRange(1, MOST_CRITERIA))
_text = click.option("--text", help="What earns the points.")
_items = click.option("--item", "items", multiple=True, help='An item to choose, such as "-1 No bounds check".')
_one = click.option("--one/--any", default=None, help="Whether at most one item can be chosen.")


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
@on_assignment(click.argument("title"), click.argument("points", type=float), _text, _items, _one, even_if_lower)
def add(
    session: Session, assignment: Assignment, title: str, points: float, text: str | None, items: tuple[str, ...],
    one: bool | None, confirmed: str,
) -> Answer:  # fmt: skip
    """Add a criterion worth up to POINTS.

    \b
    Example:
      tilelab admin rubric add cs483/tiled "Readable code" 4
      tilelab admin rubric add cs483/tiled Bounds 2 --item="-1 No check of Row" --item="-1 No check of Col"
    """
    with losses_confirmed(session, assignment, confirmed, rises=True):
        new = Criterion("", title, points, text or "", _read_items(items, ()), bool(one))
        change_rubric(session, assignment, None, [*criteria_of(assignment.rubric), new])
    return _shown(session, assignment)


@rubric.command()
@on_assignment(
    _number,
    click.option("--title", help="The criterion's new title."),
    click.option("--points", "most", type=float, help="The criterion's most points."),
    _text,
    _items,
    _one,
    even_if_lower,
)
def change(session: Session, assignment: Assignment, number: int, confirmed: str, **given: Any) -> Answer:
    """Change criterion NUMBER. Points that students have stay, up to the criterion's most points.

    --item replaces all items. An item with the same text keeps its students.

    \b
    Example:
      tilelab admin rubric change cs483/tiled 1 --points 5
    """
    items = given.pop("items")
    asked = {name: value for name, value in given.items() if value is not None}

    def changed(was: Criterion) -> list[Criterion]:
        return [replace(was, **asked, items=_read_items(items, was.items) if items else was.items)]

    return _changed(session, assignment, number, confirmed, changed)


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
    """Give SUBMISSION this many POINTS for criterion NUMBER without items. The submission must count.

    \b
    Example:
      tilelab admin rubric give 6f1c2a9e 1 3 --comment "Long function."
    """
    assignment, person = submission.assignment, submission.person_id
    with losses_confirmed(session, assignment, confirmed, None if submission.team_id else person):
        key = _numbered(criteria_of(assignment.rubric), number).key
        was = given_in(rubric_grades_of(session, [assignment], person).get(assignment.id)) or Given()
        words = was.words if comment is None else {**was.words, key: comment}
        give_points(session, submission, None, replace(was, points={**was.points, key: points}, words=words))
    return _graded(session, submission)


@rubric.command()
@on_submission(
    click.argument("items", nargs=-1, metavar="[ITEM]..."),
    click.option("--adjust", "adjustment", type=float, help="Further points, or a deduction if negative."),
    click.option("--reason", help="Why; the student sees it."),
    even_if_lower,
)
def choose(
    session: Session, submission: Submission, items: tuple[str, ...], adjustment: float | None, reason: str | None,
    confirmed: str,
) -> Answer:  # fmt: skip
    """Grade SUBMISSION by these items and no others. The submission must count for the grade.

    ITEM is the criterion's number, a dot, and the item's number, as `show` lists them.

    \b
    Example:
      tilelab admin rubric choose 6f1c2a9e 1.2 2.1
    """
    assignment, person = submission.assignment, submission.person_id
    with losses_confirmed(session, assignment, confirmed, None if submission.team_id else person):
        known = {f"{place}.{number}": item.key for place, number, item in _listed(criteria_of(assignment.rubric))}
        if unknown := [each for each in items if each not in known]:
            raise WrongUse(f"no item {unknown[0]}. `tilelab admin rubric show` lists the items.")
        was = given_in(rubric_grades_of(session, [assignment], person).get(assignment.id)) or Given()
        given = replace(
            was, items=frozenset(known[each] for each in items),
            adjustment=was.adjustment if adjustment is None else adjustment,
            reason=was.reason if reason is None else reason,
        )  # fmt: skip
        give_points(session, submission, None, given)
    return _graded(session, submission)


@verb(rubric, SPLIT, ASSIGNMENT, "grader", "section", needed=False)
def split(_session: Session, _on: Target, moved: int) -> Answer:
    """Give ungraded students to GRADER, an email; `all` splits evenly among assistants, `none` leaves them unassigned.

    \b
    Example:
      tilelab admin rubric split cs483/tiled all
      tilelab admin rubric split cs483/tiled tom@university.edu --section A1
    """
    return Answer({"students": moved}, f"{plural(moved, 'student')}.")


def _graded(session: Session, submission: Submission) -> Answer:
    assignment, person = submission.assignment, submission.person_id
    grade = students_grades(session, assignment, person)[person]
    return Answer(
        {"submission": submission.public_id, "rubric": grade.rubric, "points": grade.points, "why": list(grade.why)},
        f"{safe(submission.person.email)}: {rounded_points(grade.points or 0)} of "
        f"{rounded_points(assignment.most_points)} points ({'; '.join(grade.why)}).",
    )


def _changed(
    session: Session, assignment: Assignment, number: int, confirmed: str, new: Callable[[Criterion], list[Criterion]]
) -> Answer:
    with losses_confirmed(session, assignment, confirmed, rises=True):
        now = criteria_of(assignment.rubric)
        made = new(_numbered(now, number))
        change_rubric(session, assignment, None, [*now[: number - 1], *made, *now[number:]])
    return _shown(session, assignment)


def _numbered(criteria: Sequence[Criterion], number: int) -> Criterion:
    if number > len(criteria):
        raise WrongUse(f"no criterion {number}. The rubric has {len(criteria)} criteria.")
    return criteria[number - 1]


def _read_items(lines: Sequence[str], was: Sequence[Item]) -> tuple[Item, ...]:
    try:
        return read_items("\n".join(lines), was)
    except ValueError as error:
        raise WrongUse(f"--item: {error}") from None


def _listed(criteria: Sequence[Criterion]) -> Iterator[tuple[int, int, Item]]:
    for place, each in enumerate(criteria, 1):
        yield from ((place, number, item) for number, item in enumerate(each.items, 1))


def _shown(session: Session, assignment: Assignment) -> Answer:
    criteria = criteria_of(assignment.rubric)
    graded = sum(one.rubric is not None for one in students_grades(session, assignment).values())
    head = ["number", "criterion", "points", "description"]
    rows = []
    for number, each in enumerate(criteria, 1):
        rows.append([str(number), safe(each.title), typed_number(each.most), safe(each.text)])
        rows += [[f"{number}.{place}", "", f"{item.points:+g}", safe(item.text)]
                 for place, item in enumerate(each.items, 1)]  # fmt: skip
    lines = table([head, *rows], "><><") if rows else ["No rubric."]
    text = "\n".join([*lines, f"{graded} students graded by the rubric."])
    return Answer({"criteria": [asdict(each) for each in criteria], "graded": graded}, text)
