"""Staff pages of the exercises that come with Tilelab: the catalogue, and one exercise of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Response, render_template, request
from markupsafe import Markup
from sqlalchemy.orm import Session

from kernels.exercise import Case
from kernels.exercise.catalogue import Entry, Level, catalogue, catalogue_entries
from kernels.exercise.input_words import INPUT_WORDS
from kernels.exercise.schema import definition_in
from server.accounts.access import nothing_here
from server.acts.act import Target
from server.acts.by_form import change_by_form
from server.courses.access import Membership, staff_of
from server.courses.handouts import render
from server.courses.staff_pages import Desk, back, desk_of, staff, the_course
from server.exercises.start import START
from server.http.figures import figure_answer
from server.http.forms import Form, filled


@dataclass(frozen=True, slots=True)
class CataloguePage:
    """The exercises that come with Tilelab."""

    desk: Desk
    levels: Sequence[Level]


@dataclass(frozen=True, slots=True)
class CatalogueExercisePage:
    """One exercise that comes with Tilelab. cases: at its usual tile; form: for an own exercise that starts from it."""

    desk: Desk
    entry: Entry
    handout: Markup
    starter: str
    cases: Sequence[Case]
    form: Form

    @property
    def tile(self) -> int:
        return self.entry.exercise.tile


@staff.get("/catalogue")
def show_catalogue(slug: str) -> str:
    """Show the exercises that come with Tilelab, by level."""
    page = CataloguePage(desk_of(staff_of(slug), "exercises"), catalogue())
    return render_template("exercises/catalogue.html", page=page)


@staff.get("/catalogue/<name>")
def show_catalogue_exercise(slug: str, name: str) -> str:
    """Show an exercise with its handout, goals and test cases."""
    return _page(staff_of(slug), name, filled({}))


@staff.get("/catalogue/<name>/figures/<file>")
def catalogue_figure(slug: str, name: str, file: str) -> Response:
    """Serve a figure of a handout, but no other file."""
    staff_of(slug)
    figures = {each.name: each for each in _entry(name).exercise.root.glob("*.svg")}
    if file not in figures:
        raise nothing_here()
    return figure_answer(figures[file].read_bytes(), file)


@staff.post("/catalogue/<name>/start")
def start_exercise(slug: str, name: str) -> Response | tuple[str, int]:
    """Make an exercise of the course from this one."""

    def find(session: Session, course: Membership, _: Form) -> Target:
        return Target(the_course(session, course), item=_entry(name).exercise.name)

    def done() -> Response:
        made = request.form.get("name", "").strip() or name
        return back("staff.show_exercise", slug, "exercise-started", name=made)

    return change_by_form(START, slug, find, done, lambda _, course, on, form: _page(course, on.item, form))


def _entry(name: str) -> Entry:
    found = catalogue_entries().get(name)
    if found is None:
        raise nothing_here()
    return found


def _page(course: Membership, name: str, form: Form) -> str:
    entry = _entry(name)
    found = entry.exercise
    figures = frozenset(each.name for each in found.root.glob("*.svg"))
    address = f"/staff/{course.slug}/catalogue/{name}/figures/"
    handout = render(found.handout.read_text("utf-8"), figures, address, name, definition_in(found.root))
    starter = found.starter.read_text("utf-8")
    page = CatalogueExercisePage(
        desk_of(course, "exercises"), entry, handout, starter, found.cases(found.tile), form
    )  # fmt: skip
    return render_template(
        "exercises/catalogue_exercise.html", page=page, input_words=INPUT_WORDS, start=START.by_name["name"]
    )
