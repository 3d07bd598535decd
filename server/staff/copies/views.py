"""Staff pages for similar submissions: the list, and two side by side."""

from __future__ import annotations

from dataclasses import dataclass

from flask import render_template

from kernels.source.similarity.comparison import LEAST_SHARE, LEAST_STUDENTS
from server.accounts.access import nothing_here
from server.courses.access import staff_of
from server.courses.models import Assignment
from server.http.site import site
from server.staff.assignments.views import assignment_of
from server.staff.copies.queries import Work, given_code, shared_files, work_of, works_of
from server.staff.copies.similar import SharedLine, Similar, side_by_side, similar
from server.staff.desk import Desk, asked, desk_of, staff


@dataclass(frozen=True, slots=True)
class SimilarPage:
    """The similar submissions of an assignment. percent: the share from which pairs are listed."""

    desk: Desk
    assignment: Assignment
    found: Similar
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
    """Two submissions with their shared lines. students: how many were compared."""

    desk: Desk
    assignment: Assignment
    sides: tuple[Side, Side]
    students: int


@staff.get("/similar/<assignment>")
def show_similar(slug: str, assignment: str) -> str:
    """List identical and similar submissions of different students."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        given = (works_of(session, one), shared_files(session, one), given_code(session, one))
        page = SimilarPage(
            desk_of(course, "submission"), one, similar(*given), round(100 * LEAST_SHARE), LEAST_STUDENTS
        )
        return render_template("staff/similar.html", page=page)


@staff.get("/similar/<assignment>/pair")
def show_similar_pair(slug: str, assignment: str) -> str:
    """Show two submissions side by side, with the shared lines marked."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        left, right = (work_of(session, one, asked(name)) for name in ("left", "right"))
        if left is None or right is None:
            raise nothing_here()
        works = works_of(session, one)
        lines = side_by_side(left, right, works, given_code(session, one))
        sides = Side(left, lines[0], "left", "right"), Side(right, lines[1], "right", "left")
        page = SideBySidePage(desk_of(course, "submission"), one, sides, len(works))
        return render_template("staff/similar_pair.html", page=page)
