"""Staff pages for similar submissions: the list, and two side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from flask import Response, render_template
from sqlalchemy.orm import Session

from kernels.source.similarity.comparison import LEAST_SHARE, LEAST_STUDENTS
from server.accounts.access import nothing_here
from server.acts.act import Target
from server.acts.by_form import change_by_form
from server.assignments.staff_views import assignment_of
from server.copies.looked_at import MARK, TAKE_BACK, Looked, fold, mark_of, marks_of
from server.copies.similar import (
    SharedLine,
    Similar,
    Work,
    given_code,
    shared_files,
    side_by_side,
    similar,
    work_of,
    works_of,
)
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment
from server.courses.staff_pages import Desk, asked, back, desk_of, staff
from server.http.forms import Form, filled
from server.http.site import site
from server.submissions.models import LookedAtPair


@dataclass(frozen=True, slots=True)
class SimilarPage:
    """The similar submissions of an assignment.

    looked: pairs that staff marked as fine, folded away; percent: the share from which pairs are listed
    """

    desk: Desk
    assignment: Assignment
    found: Similar
    looked: list[Looked]
    percent: int
    least: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of two submissions. line_id: the beginning of its lines' anchors; other_id: of the other side's."""

    work: Work
    lines: list[SharedLine]
    line_id: str
    other_id: str


@dataclass(frozen=True, slots=True)
class SideBySidePage:
    """Two submissions with their shared lines.

    students: how many were compared; mark: None if staff haven't marked the pair as fine
    """

    desk: Desk
    assignment: Assignment
    sides: tuple[Side, Side]
    students: int
    mark: LookedAtPair | None
    form: Form


@staff.get("/similar/<assignment>")
def show_similar(slug: str, assignment: str) -> str:
    course = staff_of(slug)
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        given = (works_of(session, one), shared_files(session, one), given_code(session, one))
        marks = marks_of(session, one)
        found, looked = fold(similar(*given, marked=len(marks)), marks)
        desk = desk_of(course, "submission")
        page = SimilarPage(desk, one, found, looked, round(100 * LEAST_SHARE), LEAST_STUDENTS)
        return render_template("copies/similar.html", page=page)


@staff.get("/similar/<assignment>/pair")
def show_similar_pair(slug: str, assignment: str) -> str:
    course = staff_of(slug)
    with site().readers.begin() as session:
        return _pair_page(session, course, _asked_pair(assignment, session, course), filled({}))


@staff.post("/similar/<assignment>/pair")
def mark_pair(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Mark two submissions as looked at and fine."""
    done = partial(back, "staff.show_similar", slug, "pair-looked-at", assignment=assignment)
    return change_by_form(MARK, slug, partial(_asked_pair, assignment), done, _pair_page)


@staff.post("/similar/<assignment>/pair/take-back")
def take_pair_back(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Show two submissions that were marked as fine in the list again."""
    done = partial(back, "staff.show_similar", slug, "pair-taken-back", assignment=assignment)
    return change_by_form(TAKE_BACK, slug, partial(_asked_pair, assignment), done)


def _asked_pair(name: str, session: Session, course: Membership, _: Form | None = None) -> Target:
    """The two submissions in the address; 404 if either isn't a student's submission to this assignment."""
    assignment = assignment_of(session, course, name)
    works = tuple(work_of(session, assignment, asked(side)) for side in ("left", "right"))
    if None in works:
        raise nothing_here()
    return Target(assignment.course, assignment, item=works)


def _pair_page(session: Session, course: Membership, on: Target, form: Form) -> str:
    left, right = on.item
    works = works_of(session, on.assignment)
    lines = side_by_side(left, right, works, given_code(session, on.assignment))
    sides = Side(left, lines[0], "left", "right"), Side(right, lines[1], "right", "left")
    mark = mark_of(session, left, right)
    page = SideBySidePage(desk_of(course, "submission"), on.assignment, sides, len(works), mark, form)
    return render_template("copies/similar_pair.html", page=page)
