"""The API of a course's own exercises: upload, check, publish, discard and export them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from flask import Response, jsonify, request
from sqlalchemy.orm import Session

from kernels.exercise import ExerciseError
from server.accounts.models import Scope
from server.acts.act import Target
from server.acts.by_api import change_by_json, finished, request_of
from server.courses.models import Exercise
from server.courses.staff_api import (
    NAME,
    REFUSES,
    REFUSES_CHANGE,
    ApiDesk,
    DoneAnswer,
    desk_of,
    read_as_staff,
    refused_field,
    staff_api,
)
from server.exercises.proof import CHECK, DISCARD, PUBLISH, CheckedKernel, Proof, proof_of
from server.exercises.service import OwnExercise, export, find_own, own_exercises, save, version_of
from server.exercises.start import START
from server.exercises.upload import read_zip, write_zip
from server.fields import Range
from server.http.arrival import LARGEST_FORM
from server.http.operation import operation
from server.http.problems import Refused
from server.http.query import read_query
from server.http.site import site
from server.submissions.changes import revoke

_ZIP = "application/zip"
_PublishRequest = request_of(PUBLISH, "PublishRequest")
_StartRequest = request_of(START, "StartRequest")
_PATH: Mapping[str, Any] = {"course": NAME, "name": NAME}
_ALL = "/courses/<course>/exercises"
_ONE = f"{_ALL}/<name>"


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """Which files. version: the number of a published version; the draft without it."""

    version: Annotated[int, Range(1, 10**9)] | None = None


@dataclass(frozen=True, slots=True)
class CourseExerciseAnswer:
    """An exercise of a course.

    draft: whether it has a draft
    versions: the numbers of the published versions, the newest first
    assignments: the version that each assignment uses, by the assignment's short name
    """

    name: str
    title: str
    draft: bool
    versions: tuple[int, ...]
    assignments: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class CourseExercisesAnswer:
    """The exercises of a course, by name."""

    exercises: tuple[CourseExerciseAnswer, ...]


@dataclass(frozen=True, slots=True)
class DraftAnswer:
    """A draft and its check.

    version: the digest of its files
    complete: whether every kernel got the expected verdict, so that you can publish the draft
    unreadable: why this version of Tilelab can't judge the draft; "" if it can
    """

    version: str
    saved_at: datetime
    complete: bool
    unreadable: str
    kernels: tuple[CheckedKernel, ...]


@dataclass(frozen=True, slots=True)
class ExerciseStateAnswer:
    """An exercise of a course with its draft; None for no draft."""

    exercise: CourseExerciseAnswer
    draft: DraftAnswer | None


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """A saved draft.

    changed: False if the course has these files already
    version: the digest of the files
    published: the number of the published version with these files; None for a draft
    left_out: files that don't belong to an exercise in a course
    """

    changed: bool
    version: str
    published: int | None
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublishedAnswer:
    """A published version. number: its number."""

    number: int


@staff_api.url_value_preprocessor
def _take_large_files(endpoint: str | None, _values: dict[str, Any] | None) -> None:
    """Raise the size limit before anything reads the body."""
    if endpoint == "staff_api.upload_exercise":
        request.max_content_length = LARGEST_FORM


@staff_api.get(_ALL)
@operation(CourseExercisesAnswer, path={"course": NAME}, scope=Scope.STAFF, refuses=REFUSES)
def show_exercises(course: str) -> Response:
    """List a course's own exercises, as course staff."""
    with read_as_staff(course) as (session, here):
        answer = CourseExercisesAnswer(tuple(map(_answer, own_exercises(session, here.id))))
    return jsonify(answer)


@staff_api.get(_ONE)
@operation(ExerciseStateAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES)
def show_exercise(course: str, name: str) -> Response:
    """Get an exercise with its draft and what the draft's check found, as course staff."""
    with read_as_staff(course) as (session, here):
        own = _own(session, here.id, name)
        draft = None if own.draft is None else _draft_answer(own.draft, proof_of(session, own.draft))
    return jsonify(ExerciseStateAnswer(_answer(own), draft))


@staff_api.post(_ONE)
@operation(
    UploadAnswer,
    path=_PATH,
    uploads=_ZIP,
    scope=Scope.STAFF,
    refuses=REFUSES_CHANGE | {413: "The request has more than 1 MiB.", 415: "The body's type isn't `application/zip`."},
)
def upload_exercise(course: str, name: str) -> Response:
    """Save a zip file as the exercise's draft, as an instructor. It replaces any other draft."""
    desk = desk_of(course, instructor=True)
    if request.mimetype != _ZIP:
        raise Refused(
            415, "wrong_media_type", "The body's type isn't a zip file",
            f"Send a zip file, with the header `Content-Type: {_ZIP}`.",
        )  # fmt: skip
    upload = read_zip(request.get_data())
    with site().sessions.begin() as session:
        saved = save(session, desk.course(session), name, upload.files, desk.actor(session))
        answer = UploadAnswer(saved.changed, saved.row.version, saved.row.number, upload.left_out)
    revoke(site().settings.redis_url, saved.tickets)
    return jsonify(answer)


@staff_api.post(f"{_ONE}/check")
@operation(DoneAnswer, path=_PATH, status=202, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def check_exercise(course: str, name: str) -> Response:
    """Let workers grade the draft's kernels, as an instructor."""
    return change_by_json(CHECK, None, course, partial(_on_exercise, name), finished, 202)


@staff_api.post(f"{_ONE}/publish")
@operation(PublishedAnswer, path=_PATH, takes=_PublishRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def publish_exercise(course: str, name: str) -> Response:
    """Make a draft the next version, if its check is complete, as an instructor."""
    return change_by_json(
        PUBLISH,
        _PublishRequest,
        course,
        partial(_on_exercise, name),
        lambda _session, _on, number: PublishedAnswer(number),
    )


@staff_api.post(f"{_ONE}/discard")
@operation(DoneAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def discard_exercise(course: str, name: str) -> Response:
    """Delete an exercise's draft, as an instructor. Published versions stay."""
    return change_by_json(
        DISCARD, None, course, lambda session, desk: Target(desk.course(session), item=name), finished
    )


@staff_api.post("/courses/<course>/catalogue/<name>/start")
@operation(UploadAnswer, path=_PATH, takes=_StartRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def start_exercise(course: str, name: str) -> Response:
    """Make a draft of the course's own from an exercise that comes with Tilelab, as an instructor."""
    return change_by_json(
        START,
        _StartRequest,
        course,
        lambda session, desk: Target(desk.course(session), item=name),
        lambda _session, _on, saved: UploadAnswer(saved.changed, saved.row.version, saved.row.number, ()),
    )


def _on_exercise(name: str, session: Session, desk: ApiDesk) -> Target:
    return Target(desk.course(session), item=_own(session, desk.course_id, name).name)


@staff_api.get(f"{_ONE}/files.zip")
@operation(
    str,
    media_type=_ZIP,
    path=_PATH,
    query=ExportQuery,
    scope=Scope.STAFF,
    refuses=REFUSES | {409: "An older Tilelab brought the exercise here, and didn't store its files."},
)
def export_exercise(course: str, name: str) -> Response:
    """Download an exercise's files as a zip file, as course staff."""
    with read_as_staff(course) as (session, here):
        asked = read_query(ExportQuery)
        own = _own(session, here.id, name)
        row = version_of(own, asked.version)
        if row is None:
            raise Refused(404, "no_such_version", "There is no such version", "The exercise lists its versions.")
        files = export(session, row)
    return Response(write_zip(own.name, files), mimetype=_ZIP)


@staff_api.errorhandler(ExerciseError)
def _refuse_files(error: ExerciseError) -> Response:
    return refused_field("file", str(error))


def _own(session: Session, course_id: int, name: str) -> OwnExercise:
    found = find_own(session, course_id, name)
    if found is None:
        raise Refused(404, "no_such_exercise", "There is no such exercise", "The course's list has the names.")
    return found


def _answer(own: OwnExercise) -> CourseExerciseAnswer:
    versions = tuple(row.number for row in own.versions if row.number is not None)
    uses = {one.slug: one.exercise.number for one in own.assignments}
    return CourseExerciseAnswer(own.name, own.newest.title, own.draft is not None, versions, uses)


def _draft_answer(row: Exercise, proof: Proof) -> DraftAnswer:
    return DraftAnswer(row.version, row.added_at, proof.complete, proof.unreadable, proof.lines)
