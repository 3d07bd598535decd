"""Staff pages for a course's own exercises: list, upload, prove, publish, export."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from flask import Response, jsonify, render_template, request
from markupsafe import Markup
from sqlalchemy.orm import Session
from werkzeug.datastructures import FileStorage

from kernels.exercise import Case, ExerciseError
from kernels.exercise.input_words import INPUT_WORDS
from kernels.exercise.mistake_line import mistake_line
from kernels.exercise.schema import DEFINITION
from server.accounts.access import nothing_here
from server.acts.act import Target
from server.acts.by_form import change_by_form
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.handouts import render
from server.courses.models import Exercise
from server.courses.service import CourseError
from server.courses.staff_pages import Desk, acting, back, desk_of, staff, the_course
from server.exercises.proof import CHECK, DISCARD, PUBLISH, Proof, proof_of
from server.exercises.service import OwnExercise, Saved, export, find_own, own_exercises, save, version_of
from server.exercises.stored import content_of, figure_of
from server.exercises.upload import Upload, is_known, read_parts, read_zip, write_zip
from server.http.figures import figure_answer
from server.http.forms import Form, filled, number_of, sent
from server.http.site import site
from server.submissions.changes import revoke


@dataclass(frozen=True, slots=True)
class ExercisesPage:
    """The course's own exercises, and the form for another."""

    desk: Desk
    exercises: list[OwnExercise]
    form: Form


@dataclass(frozen=True, slots=True)
class ExercisePage:
    """One exercise. proof: of its draft; None without one."""

    desk: Desk
    exercise: OwnExercise
    proof: Proof | None


@staff.get("/exercises")
def show_exercises(slug: str) -> str:
    """List the course's own exercises."""
    return _list(staff_of(slug), filled({}))


@staff.post("/exercises")
def upload_exercise(slug: str) -> Response | tuple[str, int]:
    """Save an uploaded exercise as a draft."""
    course = instructor_of(slug)
    form = sent("name")
    upload = _uploaded(form)
    if upload is not None:
        name = form["name"] or upload.name
        if not name:
            form.mistake("name", "The files are in no folder. Enter the exercise’s short name.")
        else:
            try:
                return _saved(course, name, upload)
            except (ExerciseError, CourseError) as error:
                form.mistake("file", str(error))
    return _list(course, form), 422


@staff.get("/exercises/<name>")
def show_exercise(slug: str, name: str) -> str:
    """Show an exercise: its draft with the proof, and its versions."""
    return render_template("exercises/exercise.html", page=_page(staff_of(slug), name))


@staff.get("/exercises/<name>/state")
def exercise_state(slug: str, name: str) -> Response:
    """Return the progress of the proof, for an open page."""
    page = _page(staff_of(slug), name)
    final = page.proof is None or page.proof.over
    return jsonify(html=render_template("exercises/exercise_proof.html", page=page), final=final)


@staff.post("/exercises/<name>/check")
def check_exercise(slug: str, name: str) -> Response | tuple[str, int]:
    """Let workers grade the draft's kernels."""
    done = partial(back, "staff.show_exercise", slug, "exercise-checking", name=name)
    return change_by_form(CHECK, slug, partial(_on_exercise, name), done)


@staff.post("/exercises/<name>/publish")
def publish_exercise(slug: str, name: str) -> Response | tuple[str, int]:
    """Publish the draft that the page showed, if its proof is complete."""
    done = partial(back, "staff.show_exercise", slug, "exercise-published", name=name)
    return change_by_form(PUBLISH, slug, partial(_on_exercise, name), done)


@staff.post("/exercises/<name>/discard")
def discard_exercise(slug: str, name: str) -> Response | tuple[str, int]:
    """Delete the draft."""

    def done() -> Response:
        with site().readers.begin() as session:
            left = find_own(session, staff_of(slug).course_id, name) is not None
        if left:
            return back("staff.show_exercise", slug, "exercise-discarded", name=name)
        return back("staff.show_exercises", slug, "exercise-discarded")

    def find(session: Session, course: Membership, _: Form) -> Target:
        return Target(the_course(session, course), item=name)

    return change_by_form(DISCARD, slug, find, done)


def _on_exercise(name: str, session: Session, course: Membership, _: Form) -> Target:
    return Target(the_course(session, course), item=_own(session, course, name).name)


@staff.get("/exercises/<name>/files.zip")
def export_exercise(slug: str, name: str) -> Response:
    """Download a version, or without a number the draft, as a zip file."""
    course = staff_of(slug)
    number = number_of(request.args, "version")
    with site().readers.begin() as session:
        row = version_of(_own(session, course, name), number)
        if row is None:
            raise nothing_here()
        files = export(session, row)
    response = Response(write_zip(name, files), mimetype="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def _uploaded(form: Form) -> Upload | None:
    """Read the zip file or the folder of the present request; adds mistakes to the form."""
    file = request.files.get("file")
    parts = [part for part in request.files.getlist("folder") if part.filename]
    try:
        if file is not None and file.filename:
            found = read_zip(read_file(file))
            stem = file.filename.replace("\\", "/").rpartition("/")[2].removesuffix(".zip")
            return found if found.name else Upload(stem, found.files, found.left_out)
        if parts:
            return read_parts((part.filename or "", read_file(part)) for part in parts)
    except ExerciseError as error:
        form.mistake("file", str(error))
        return None
    form.mistake("file", "Choose a zip file or a folder.")
    return None


def read_file(file: FileStorage) -> bytes:
    """The content of an uploaded file, which is closed."""
    with file.stream:
        content: bytes = file.read()
        return content


def _saved(course: Membership, name: str, upload: Upload) -> Response:
    with site().sessions.begin() as session:
        found = save(session, the_course(session, course), name, upload.files, acting(session))
        published = found.row.number is not None
    return answer_saved(course.slug, name, found, published=published)


def answer_saved(slug: str, name: str, found: Saved, *, published: bool) -> Response:
    """The answer to a saved draft."""
    revoke(site().settings.redis_url, found.tickets)
    same = "exercise-is-published" if published else "exercise-unchanged"
    return back("staff.show_exercise", slug, "exercise-saved" if found.changed else same, name=name)


def _list(course: Membership, form: Form) -> str:
    with site().readers.begin() as session:
        page = ExercisesPage(desk_of(course, "exercises"), own_exercises(session, course.course_id), form)
        return render_template("exercises/exercises.html", page=page)


def _page(course: Membership, name: str) -> ExercisePage:
    with site().readers.begin() as session:
        own = _own(session, course, name)
        proof = None if own.draft is None else proof_of(session, own.draft)
        return ExercisePage(desk_of(course, "exercises"), own, proof)


def _own(session: Session, course: Membership, name: str) -> OwnExercise:
    found = find_own(session, course.course_id, name)
    if found is None:
        raise nothing_here()
    return found


_FIGURE, _HANDOUT, _REMOVE = ".svg", "handout.md", "remove"
_TITLES = {
    DEFINITION: "Definition and test cases", _HANDOUT: "Handout", "starter.cu": "Starter", "solution.cu": "Solution",
    "wrong.toml": "Verdicts of the incorrect kernels",
}  # fmt: skip
_LANGUAGES = {"toml": "toml", "md": "markdown", "cu": "cuda"}
_KERNEL_TITLES = {"wrong": "Incorrect kernel", "right": "Correct kernel"}


@dataclass(frozen=True, slots=True)
class Preview:
    """What students would see. cases: at the usual tile."""

    handout: Markup
    cases: tuple[Case, ...]
    tile: int


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file to edit. language: for its colours; line: of its mistake, None for no mistake or none with a line."""

    path: str
    title: str
    text: str
    language: str
    line: int | None = None
    mistake: str = ""

    @property
    def marks(self) -> str:
        """The mistake for the editor, as JSON."""
        marks = [] if self.line is None else [{"line": self.line, "message": self.mistake, "severity": "error"}]
        return json.dumps(marks)


@dataclass(frozen=True, slots=True)
class EditPage:
    """The files of an exercise to edit.

    replaces: the version that they were read from
    removable: the paths of files that an exercise may lack
    """

    desk: Desk
    name: str
    replaces: str
    form: Form
    texts: tuple[EditedFile, ...]
    removable: tuple[str, ...]
    preview: Preview | None = None


@staff.get("/exercises/<name>/edit")
def edit_exercise(slug: str, name: str) -> str:
    """Show the newest files of an exercise."""
    course = instructor_of(slug)
    with site().readers.begin() as session:
        row = _own(session, course, name).newest
        files = _files(session, row)
    return _edit_page(course, name, row.version, files, filled({}))


@staff.post("/exercises/<name>/edit")
def save_exercise(slug: str, name: str) -> str | Response | tuple[str, int]:
    """Save the files as a draft, or preview them."""
    course = instructor_of(slug)
    form, replaces = filled({}), request.form.get("replaces", "")
    with site().readers.begin() as session:
        files = _sent(_files(session, _own(session, course, name).newest))
    try:
        if "preview" in request.form:
            return _edit_page(course, name, replaces, files, form, _preview(course, name, files))
        with site().sessions.begin() as session:
            found = _save(session, course, name, files, replaces)
            published = found.row.number is not None
        return answer_saved(slug, name, found, published=published)
    except ExerciseError as error:
        file = str(error.path).removeprefix(f"{name}/")
        form.mistake(file if file in files else "files", str(error))
        line = mistake_line(files[file].decode(errors="replace"), error) if file in files else None
        return _edit_page(course, name, replaces, files, form, line=line), 422
    except CourseError as error:
        form.mistake("files", str(error))
        return _edit_page(course, name, replaces, files, form), 409


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


def _edit_page(
    course: Membership,
    name: str,
    replaces: str,
    files: Mapping[str, bytes],
    form: Form,
    preview: Preview | None = None,
    line: int | None = None,
) -> str:
    shown = {path: files.get(path, b"") for path in _TITLES} | {
        path: content for path, content in sorted(files.items()) if path.endswith(".cu")
    }
    texts = tuple(
        EditedFile(
            path, _TITLES.get(path) or _KERNEL_TITLES[path.partition("/")[0]], content.decode(errors="replace"),
            _LANGUAGES[path.rpartition(".")[2]], line if path in form.mistakes else None, form.mistakes.get(path, ""),
        )
        for path, content in shown.items()
    )  # fmt: skip
    removable = tuple(path for path in sorted(files) if path not in _TITLES)
    page = EditPage(desk_of(course, "exercises"), name, replaces, form, texts, removable, preview)
    return render_template("exercises/edit_exercise.html", page=page, input_words=INPUT_WORDS)
