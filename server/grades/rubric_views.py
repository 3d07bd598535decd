"""The page of an assignment's rubric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flask import Response, render_template

from server.acts.by_form import SHOWN, merge, shown_form
from server.assignments.staff_views import assignment_of
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.models import Assignment
from server.courses.staff_pages import Desk, acting, back, confirmed, desk_of, staff
from server.grades.criteria import MOST_CRITERIA, Criterion, Item, criteria_of
from server.grades.losses import losses_confirmed
from server.grades.rubric import change_rubric, item_lines, read_items, wrong_criteria
from server.http.forms import Form, sent
from server.http.site import site
from server.text import printable, typed_number

_PARTS = ("key", "title", "most", "text", "items", "one")
_NEW = 2


@dataclass(frozen=True, slots=True)
class RubricPage:
    """An assignment's rubric. rows: of its form."""

    desk: Desk
    assignment: Assignment
    form: Form
    rows: range


@staff.get("/rubric/<assignment>")
def show_rubric(slug: str, assignment: str) -> str:
    """Show an assignment's rubric."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        criteria = criteria_of(found.rubric)
        form = shown_form(_typed(enumerate(criteria)))
        return _rubric_page(course, found, form, len(criteria) + _NEW)


@staff.post("/rubric/<assignment>")
def change_criteria(slug: str, assignment: str) -> str | Response | tuple[str, int]:
    """Save an assignment's rubric."""
    course = instructor_of(slug)
    form = sent(*(f"{part}_{place}" for place in range(MOST_CRITERIA) for part in _PARTS), SHOWN)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        with losses_confirmed(session, found, confirmed(), rises=True):
            was = criteria_of(found.rubric)
            outdated = merge(form, _typed_in_rows_of(form, was))
            rows = [row for row in range(2 * MOST_CRITERIA) if any(form[f"{part}_{row}"] for part in _PARTS[1:])]
            criteria = [_criterion(form, row, {each.key: each for each in was}) for row in rows]
            for name, text in wrong_criteria(criteria).items():
                part, _, place = name.partition("_")
                form.mistake(f"{part}_{rows[int(place)]}", text)
            if form.right:
                change_rubric(session, found, acting(session), criteria)
    if form.right:
        return back("staff.show_rubric", slug, "rubric-saved", assignment=assignment)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        last = max([*rows, len(criteria_of(found.rubric)) - 1])
        page = _rubric_page(course, found, form, last + 1 + _NEW)
    return page, 409 if outdated else 422


def _typed(criteria: Iterable[tuple[int, Criterion | None]]) -> dict[str, str]:
    """The form's values for criteria in these rows; empty ones for None."""
    return {
        f"{part}_{row}": "" if each is None else _typed_part(each, part) for row, each in criteria for part in _PARTS
    }


def _typed_part(one: Criterion, part: str) -> str:
    if part == "most":
        return typed_number(one.most)
    if part == "items":
        return item_lines(one.items)
    if part == "one":
        return "yes" if one.one else ""
    return str(getattr(one, part))


def _typed_in_rows_of(form: Form, criteria: Sequence[Criterion]) -> dict[str, str]:
    """The saved values in the form's rows, which other people's changes may have moved. New criteria follow."""
    saved = {each.key: each for each in criteria}
    used = [row for row in range(MOST_CRITERIA) if any(form[f"{part}_{row}"] for part in _PARTS)]
    rows = {row: saved.pop(form[f"key_{row}"], None) for row in used}
    new = enumerate(saved.values(), start=max(used, default=-1) + 1)
    return _typed([*rows.items(), *new])


def _criterion(form: Form, row: int, known: dict[str, Criterion]) -> Criterion:
    was = known.get(form[f"key_{row}"])
    items: tuple[Item, ...] = ()
    try:
        items = read_items(form[f"items_{row}"], () if was is None else was.items)
    except ValueError as error:
        form.mistake(f"items_{row}", str(error))
    return Criterion(
        "" if was is None else was.key,
        printable(form[f"title_{row}"]),
        form.number(f"most_{row}"),
        printable(form[f"text_{row}"]),
        items,
        form.checked(f"one_{row}"),
    )


def _rubric_page(course: Membership, assignment: Assignment, form: Form, rows: int) -> str:
    page = RubricPage(desk_of(course, "assignment"), assignment, form, range(min(rows, MOST_CRITERIA)))
    return render_template("grades/rubric.html", page=page)
