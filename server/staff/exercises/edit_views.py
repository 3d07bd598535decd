"""The page to edit an exercise's files, with a preview of its handout and its test cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flask import Response, render_template, request
from markupsafe import Markup
from sqlalchemy.orm import Session

from kernels.exercise import Case, ExerciseError
from kernels.exercise.input_words import INPUT_WORDS
from kernels.exercise.schema import DEFINITION
from server.accounts.access import nothing_here
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.exercise_upload import is_known
from server.courses.exercises import content_of, figure_of
from server.courses.handouts import render
from server.courses.models import Exercise
from server.courses.service import CourseError
from server.http.figures import figure_answer
from server.http.forms import Form, filled, number_of
from server.http.site import site
from server.staff.desk import Desk, acting, desk_of, staff, the_course
from server.staff.exercises.service import Saved, export, find_own, save, version_of
from server.staff.exercises.views import answer_saved, read_file

_FIGURE, _HANDOUT, _REMOVE = ".svg", "handout.md", "remove"
_TITLES = {
    DEFINITION: "Definition and test cases", _HANDOUT: "Handout", "starter.cu": "Starter", "solution.cu": "Solution",
    "wrong.toml": "Verdicts of the incorrect kernels",
}  # fmt: skip
_KERNEL_TITLES = {"wrong": "Incorrect kernel", "right": "Correct kernel"}


@dataclass(frozen=True, slots=True)
class Preview:
    """What students would see. cases: at the usual tile."""

    handout: Markup
    cases: tuple[Case, ...]
    tile: int


@dataclass(frozen=True, slots=True)
class EditPage:
    """The files of an exercise to edit.

    replaces: the version that they were read from
    texts: by path, with a title for each
    removable: the paths of files that an exercise may lack
    """

    desk: Desk
    name: str
    replaces: str
    form: Form
    texts: tuple[tuple[str, str, str], ...]
    removable: tuple[str, ...]
    preview: Preview | None = None


@staff.get("/exercises/<name>/edit")
def edit_exercise(slug: str, name: str) -> str:
    """Show the newest files of an exercise."""
    course = instructor_of(slug)
    with site().readers.begin() as session:
        row = _newest(session, course, name)
        files = _files(session, row)
    return _page(course, name, row.version, files, filled({}))


@staff.post("/exercises/<name>/edit")
def save_exercise(slug: str, name: str) -> str | Response | tuple[str, int]:
    """Save the files as a draft, or preview them."""
    course = instructor_of(slug)
    form, replaces = filled({}), request.form.get("replaces", "")
    with site().readers.begin() as session:
        files = _sent(_files(session, _newest(session, course, name)))
    try:
        if "preview" in request.form:
            return _page(course, name, replaces, files, form, _preview(course, name, files))
        with site().sessions.begin() as session:
            found = _save(session, course, name, files, replaces)
            published = found.row.number is not None
        return answer_saved(slug, name, found, published=published)
    except ExerciseError as error:
        file = str(error.path).removeprefix(f"{name}/")
        form.mistake(file if file in files else "files", str(error))
        return _page(course, name, replaces, files, form), 422
    except CourseError as error:
        form.mistake("files", str(error))
        return _page(course, name, replaces, files, form), 409


@staff.get("/exercises/<name>/figures/<file>")
def exercise_figure(slug: str, name: str, file: str) -> Response:
    """Serve a figure of a version, or without a number of the newest files."""
    course = staff_of(slug)
    number = number_of(request.args, "version")
    with site().readers.begin() as session:
        own = find_own(session, course.course_id, name)
        row = None if own is None else own.newest if number is None else version_of(own, number)
        found = None if row is None else figure_of(session, row, file)
    if found is None:
        raise nothing_here()
    return figure_answer(found, file)


def _save(session: Session, course: Membership, name: str, files: Mapping[str, bytes], replaces: str) -> Saved:
    return save(session, the_course(session, course), name, files, acting(session), replaces=replaces)


def _newest(session: Session, course: Membership, name: str) -> Exercise:
    own = find_own(session, course.course_id, name)
    if own is None:
        raise nothing_here()
    return own.newest


def _files(session: Session, row: Exercise) -> dict[str, bytes]:
    try:
        return dict(export(session, row))
    except CourseError as error:
        raise nothing_here() from error


def _sent(stored: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of the form: its texts, further files, and the stored figures, without removed ones."""
    files = {path: content for path, content in stored.items() if path.endswith(_FIGURE)}
    for path, text in request.form.items():
        if is_known(path) and not path.endswith(_FIGURE):
            # Browsers send \r\n from a text area, whatever the author typed.
            files[path] = text.replace("\r\n", "\n").encode()
    for field, folder in (("more", "wrong"), ("right", "right")):
        for file in request.files.getlist(field):
            if file.filename:
                base = file.filename.replace("\\", "/").rpartition("/")[2]
                known = is_known(base) or not base.endswith(".cu")
                files[base if known else f"{folder}/{base}"] = read_file(file)
    for path in request.form.getlist(_REMOVE):
        files.pop(path, None)
    return {path: content for path, content in files.items() if path != "wrong.toml" or content.strip()}


def _preview(course: Membership, name: str, files: Mapping[str, bytes]) -> Preview:
    content = content_of(name, files)
    figures = frozenset(path for path in files if path.endswith(_FIGURE))
    address = f"/staff/{course.slug}/exercises/{name}/figures/"
    found = content.exercise
    handout = render(files[_HANDOUT].decode(), figures, address, name, content.definition)
    return Preview(handout, found.cases(found.tile), found.tile)


def _page(
    course: Membership, name: str, replaces: str, files: Mapping[str, bytes], form: Form, preview: Preview | None = None
) -> str:
    shown = {path: files.get(path, b"") for path in _TITLES} | {
        path: content for path, content in sorted(files.items()) if path.endswith(".cu")
    }
    texts = tuple(
        (path, _TITLES.get(path) or _KERNEL_TITLES[path.partition("/")[0]], content.decode(errors="replace"))
        for path, content in shown.items()
    )
    removable = tuple(path for path in sorted(files) if path not in _TITLES)
    page = EditPage(desk_of(course, "exercises"), name, replaces, form, texts, removable, preview)
    return render_template("staff/edit_exercise.html", page=page, input_words=INPUT_WORDS)
