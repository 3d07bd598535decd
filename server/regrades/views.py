"""The page of a staged regrade: its progress, what it would change, apply and drop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from flask import Response, jsonify, render_template, request

from server.accounts.access import not_allowed, nothing_here
from server.acts.by_form import change_by_form
from server.assignments.staff_views import assignment_of, on_assignment
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.staff_pages import Desk, acting, back, desk_of, staff
from server.http.forms import number_of
from server.http.site import site
from server.regrades.new_version import use_version
from server.regrades.staged_preview import Preview, preview
from server.regrades.staging import DROP, StagedRegradeAnswer, apply, find_staged, progress

SHOWN = 200


@dataclass(frozen=True, slots=True)
class StagedPage:
    """A staged regrade. preview: what it would change; None until all of it is graded.

    most: how many lines each table shows
    changed: whether the preview changed since the reader confirmed it
    """

    desk: Desk
    staged: StagedRegradeAnswer
    preview: Preview | None
    most: int = SHOWN
    changed: bool = False


@staff.get("/regrades/staged/<assignment>")
def show_staged(slug: str, assignment: str) -> str:
    """Show a staged regrade."""
    return render_template("regrades/staged.html", page=_page(staff_of(slug), assignment))


@staff.get("/regrades/staged/<assignment>/state")
def staged_state(slug: str, assignment: str) -> Response:
    """Return the progress and the preview, for an open page."""
    page = _page(staff_of(slug), assignment)
    return jsonify(html=render_template("regrades/staged_progress.html", page=page), final=page.staged.over)


@staff.post("/regrades/staged/<assignment>/version")
def stage_version(slug: str, assignment: str) -> Response:
    """Give an assignment another version of its exercise, or first show what that changes."""
    course = instructor_of(slug)
    number = number_of(request.form, "version") or 0
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        staged = use_version(session, found, number, acting(session))
    if staged:
        return back("staff.show_staged", slug, "version-staged", assignment=assignment)
    return back("staff.show_assignment", slug, "version-used", assignment=assignment)


@staff.post("/regrades/staged/<assignment>/apply")
def apply_staged(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Apply a staged regrade, if it still changes what the page showed."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        staged = find_staged(session, found)
        if staged is not None and staged.exercise_id is not None and not course.is_instructor:
            raise not_allowed("Only an instructor can replace the version of an exercise.")
        outdated = staged is not None and preview(session, staged).digest != request.form.get("shown", "")
        if not outdated:
            apply(session, found, acting(session))
    if outdated:
        page = _page(course, assignment, changed=True)
        return render_template("regrades/staged.html", page=page), 409
    return back("staff.show_regrades", slug, "regrade-applied")


@staff.post("/regrades/staged/<assignment>/drop")
def drop_staged(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Drop a staged regrade."""
    done = partial(back, "staff.show_regrades", slug, "regrade-dropped")
    return change_by_form(DROP, slug, partial(on_assignment, assignment), done)


def _page(course: Membership, assignment: str, *, changed: bool = False) -> StagedPage:
    with site().readers.begin() as session:
        staged = find_staged(session, assignment_of(session, course, assignment))
        if staged is None:
            raise nothing_here()
        found = progress(session, staged)
        shown = preview(session, staged) if found.over else None
        return StagedPage(desk_of(course, "submission"), found, shown, changed=changed)
