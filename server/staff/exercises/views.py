"""Staff pages for a course's own exercises: list, upload, prove, publish, export."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Response, jsonify, render_template, request
from sqlalchemy.orm import Session
from werkzeug.datastructures import FileStorage

from kernels.exercise import ExerciseError
from server.accounts.access import nothing_here
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.exercise_upload import Upload, read_parts, read_zip, write_zip
from server.courses.models import Exercise
from server.courses.service import CourseError, hold_course
from server.http.arrival import LARGEST_FORM
from server.http.forms import Form, filled, number_of, sent
from server.http.problems import Refused
from server.http.site import site
from server.staff.desk import Desk, acting, back, desk_of, staff, the_course
from server.staff.exercises.proof import Proof, proof_of, start_proof
from server.staff.exercises.service import (
    OwnExercise,
    Saved,
    discard,
    export,
    find_own,
    own_exercises,
    publish_draft,
    save,
    version_of,
)
from server.submissions.changes import revoke

_LARGE = frozenset({"staff.upload_exercise", "staff.save_exercise"})


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


@staff.url_value_preprocessor
def _take_large_forms(endpoint: str | None, values: dict[str, str] | None) -> None:
    """Raise the size limit before anything reads the form."""
    if endpoint in _LARGE:
        request.max_content_length = request.max_form_memory_size = LARGEST_FORM


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
    return render_template("staff/exercise.html", page=_page(staff_of(slug), name))


@staff.get("/exercises/<name>/state")
def exercise_state(slug: str, name: str) -> Response:
    """Return the progress of the proof, for an open page."""
    page = _page(staff_of(slug), name)
    final = page.proof is None or page.proof.over
    return jsonify(html=render_template("staff/exercise_proof.html", page=page), final=final)


@staff.post("/exercises/<name>/check")
def check_exercise(slug: str, name: str) -> Response:
    """Let workers grade the draft's kernels."""
    course = instructor_of(slug)
    try:
        with site().sessions.begin() as session:
            row = the_course(session, course)
            hold_course(session, row.id)
            tickets = start_proof(session, row, _draft(session, course, name), acting(session))
    except CourseError as error:
        raise _refused(error) from error
    revoke(site().settings.redis_url, tickets)
    return back("staff.show_exercise", slug, "exercise-checking", name=name)


@staff.post("/exercises/<name>/publish")
def publish_exercise(slug: str, name: str) -> Response:
    """Publish the draft that the page showed, if its proof is complete."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        row = the_course(session, course)
        hold_course(session, row.id)
        draft = _draft(session, course, name)
        if draft.version != request.form.get("version", ""):
            raise _refused("Someone else changed the draft meanwhile. Reload the page, and check it again.")
        if not proof_of(session, draft).complete:
            raise _refused("The draft isn’t proven. Check it, and correct what fails.")
        publish_draft(session, row, draft, acting(session))
    return back("staff.show_exercise", slug, "exercise-published", name=name)


@staff.post("/exercises/<name>/discard")
def discard_exercise(slug: str, name: str) -> Response:
    """Delete the draft."""
    course = instructor_of(slug)
    try:
        with site().sessions.begin() as session:
            tickets = discard(session, the_course(session, course), name, acting(session))
            left = find_own(session, course.course_id, name) is not None
    except CourseError as error:
        raise _refused(error) from error
    revoke(site().settings.redis_url, tickets)
    if left:
        return back("staff.show_exercise", slug, "exercise-discarded", name=name)
    return back("staff.show_exercises", slug, "exercise-discarded")


@staff.get("/exercises/<name>/files.zip")
def export_exercise(slug: str, name: str) -> Response:
    """Download a version, or without a number the draft, as a zip file."""
    course = staff_of(slug)
    number = number_of(request.args, "version")
    with site().readers.begin() as session:
        row = version_of(_own(session, course, name), number)
        if row is None:
            raise nothing_here()
        try:
            files = export(session, row)
        except CourseError as error:
            raise _refused(error) from error
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
        return render_template("staff/exercises.html", page=page)


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


def _draft(session: Session, course: Membership, name: str) -> Exercise:
    found = _own(session, course, name)
    if found.draft is None:
        raise nothing_here()
    return found.draft


def _refused(why: CourseError | str) -> Refused:
    return Refused(409, "not_possible", "This isn’t possible", str(why))
