"""The page that fills grades into a gradebook file of another platform."""

from __future__ import annotations

import hmac
import re
import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from flask import Response, render_template, request

from server.audit.service import note
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment
from server.courses.staff_pages import Desk, acting, desk_of, staff
from server.grades.gradebook import gradebook
from server.grades.platform_file import Filled, Outcome, PlatformFile, fill, read_platform_file
from server.http.forms import Form, filled
from server.http.site import site
from server.roster.csv_file import domain_of
from server.roster.views import sent_file
from server.table_file import MOST_BYTES, Unreadable, decoded

_MOST_SHOWN = 500
_ODD = re.compile(r"[^A-Za-z0-9._ ()-]+")
_COLUMN = "column-"


@dataclass(frozen=True, slots=True)
class FillPage:
    """A preview.

    file, filled: None before a file is sent
    chosen: columns by the assignments' IDs
    packed: the file, for the next form
    """

    desk: Desk
    form: Form
    file: PlatformFile | None = None
    assignments: Sequence[Assignment] = ()
    filled: Filled | None = None
    chosen: Mapping[int, int] = field(default_factory=dict)
    packed: str = ""
    outdated: bool = False


@staff.get("/grades/fill")
def show_filling(slug: str) -> str:
    """Show the form for a file."""
    return _html(FillPage(desk_of(staff_of(slug), "grades"), filled({})))


@staff.post("/grades/fill")
def preview_filled(slug: str) -> str | tuple[str, int]:
    """Preview the filled file; changes nothing."""
    page = _page(staff_of(slug))
    right = page.filled is not None and page.form.right and not page.filled.problems
    return _html(page) if right else (_html(page), 422)


@staff.post("/grades/filled")
def download_filled(slug: str) -> Response | str | tuple[str, int]:
    """Download the filled file, if it is still as shown; otherwise show a new preview."""
    course = staff_of(slug)
    page = _page(course)
    if page.filled is None or page.filled.problems or not page.form.right:
        return _html(page), 422
    if not hmac.compare_digest(request.form.get("digest", "").encode(), page.filled.digest.encode()):
        return _html(replace(page, outdated=True)), 409
    with site().sessions.begin() as session:
        students = {cell.member.person_id for cell in page.filled.cells}
        note(
            session, acting(session), "grades.exported", f"course {course.slug}", course_id=course.course_id,
            students=len(students),
        )  # fmt: skip
    answer = Response(page.filled.content, mimetype="text/csv")
    answer.headers.set("Content-Disposition", "attachment", filename=page.form["filename"] or "grades.csv")
    return answer


def _page(course: Membership) -> FillPage:
    """Read the file and the choices that a form sent."""
    form = filled({name: request.form.get(name, "") for name in ("domain", "held", "missed", "filename")})
    desk = desk_of(course, "grades")
    try:
        content = _content(form)
        domain = domain_of(form["domain"])
        file = read_platform_file(decoded(content))
    except Unreadable as error:
        form.mistake(error.code if error.code == "domain" else "file", _told(error))
        return FillPage(desk, form)
    with site().readers.begin() as session:
        book = gradebook(session, course.course_id)
        chosen = _chosen(form, file, book.assignments)
        missed_at = datetime.now(UTC) if form.checked("missed") else None
        done = fill(file, book, chosen, domain=domain, held=form.checked("held"), missed_at=missed_at)
    return FillPage(desk, form, file, book.assignments, done, chosen, b64encode(zlib.compress(content)).decode())


def _content(form: Form) -> bytes:
    """The sent file, or the one that the page kept; raises Unreadable."""
    content = sent_file()
    if content:
        form.values["filename"] = _ODD.sub("_", request.files["file"].filename or "")[-100:]
        return content
    try:
        reader = zlib.decompressobj()
        content = reader.decompress(b64decode(request.form.get("packed", ""), validate=True), MOST_BYTES + 1)
    except (Base64Error, ValueError, zlib.error):
        content = b""
    if not content:
        raise Unreadable("no_file", "Choose a file.")
    return content


def _chosen(form: Form, file: PlatformFile, assignments: Sequence[Assignment]) -> Mapping[int, int]:
    """The chosen columns by the assignments' IDs; without a choice, those with the same titles."""
    names = {one.id: f"{_COLUMN}{one.slug}" for one in assignments}
    places = {str(column.place): column.place for column in file.columns}
    if not any(name in request.form for name in names.values()):
        matched = file.matched(assignments)
        form.values |= {name: str(matched.get(one, "")) for one, name in names.items()}
    else:
        form.values |= {name: request.form.get(name, "") for name in names.values()}
    chosen = {one: places[form[name]] for one, name in names.items() if form[name] in places}
    for one, name in names.items():
        if form[name] and form[name] not in places:
            form.mistake(name, "The file has no such column.")
        elif [*chosen.values()].count(chosen.get(one, -1)) > 1:
            form.mistake(name, "Two assignments have this column.")
    return chosen


def _told(error: Unreadable) -> str:
    return f"Line {error.line}: {error}" if error.line else str(error)


def _html(page: FillPage) -> str:
    columns = [("", "Not in the file")]
    columns += [(str(one.place), one.heading) for one in page.file.columns] if page.file else []
    changes = [cell for cell in page.filled.cells if cell.outcome is not Outcome.SAME] if page.filled else []
    return render_template("grades/fill.html", page=page, columns=columns, changes=changes, most=_MOST_SHOWN)
