"""Staff pages for similar submissions: the cases, two sources side by side, and one case as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flask import Response, render_template, request
from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.source.similarity.comparison import LEAST_STUDENTS
from server.accounts.access import nothing_here, viewer
from server.accounts.models import Person
from server.acts.act import Target
from server.acts.by_form import change_by_form
from server.assignments.staff_views import assignment_of
from server.audit.service import note
from server.copies.looked_at import MARK, TAKE_BACK, Looked, courses_of, fold, mark_of, marks_of
from server.copies.similar import (
    MOST_STUDENTS,
    Case,
    SharedLine,
    Similar,
    Work,
    against_first,
    other_assignments,
    shared_files,
    side_by_side,
    similar,
    work_of,
    works_of,
)
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment
from server.courses.staff_pages import Desk, acting, asked, back, desk_of, staff
from server.exercises.stored import given_code
from server.grades.grade import Grade, grades
from server.http.forms import Form, filled
from server.http.site import site
from server.submissions.models import LookedAtPair

ACROSS = "across"
"""In an address: whether other courses and terms are compared too."""

MOST_IN_CASE = 40
"""Students of a case that one page takes. More share the usual code."""


@dataclass(frozen=True, slots=True)
class SimilarPage:
    """The similar submissions of an assignment.

    looked: pairs that staff marked as fine, folded away; least: students from which pairs are compared
    others: assignments with the same exercise in other courses of the reader; compared if `across`
    left_out: their students who aren't compared, because they are too many
    """

    desk: Desk
    assignment: Assignment
    found: Similar
    looked: list[Looked]
    least: int
    others: Sequence[Assignment]
    across: bool
    left_out: int
    most: int

    def address(self, case: Case, right: Work) -> dict[str, object]:
        """The query of a case's page. A very large case is shown pair by pair."""
        other = next(work for work in case.works if work.party != right.party)
        works = case.works if len(case.works) <= MOST_IN_CASE else (other, right)
        return _address(works, right, across=self.across)


@dataclass(frozen=True, slots=True)
class Side:
    """One of two submissions. line_id: the beginning of its lines' anchors; other_id: of the other side's."""

    work: Work
    lines: list[SharedLine]
    line_id: str
    other_id: str


@dataclass(frozen=True, slots=True)
class SideBySidePage:
    """Two submissions of a case with their shared lines.

    case: all its submissions, the earliest first
    students: how many were compared; mark: None if staff haven't marked the pair as fine
    """

    desk: Desk
    assignment: Assignment
    case: Sequence[Work]
    across: bool
    sides: tuple[Side, Side]
    students: int
    mark: LookedAtPair | None
    form: Form

    def address(self, right: Work) -> dict[str, object]:
        """The query of this case's page with another submission next to the first one."""
        return _address(self.case, right, across=self.across)


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A case to keep outside Tilelab.

    pairs: the first submission next to each other one, with the mark of course staff; None for none
    grades: by submission
    """

    assignment: Assignment
    case: Sequence[Work]
    pairs: Sequence[tuple[Side, Side, LookedAtPair | None]]
    grades: Mapping[int, Grade]
    students: int
    by: str
    at: datetime


@staff.get("/similar/<assignment>")
def show_similar(slug: str, assignment: str) -> str:
    """List the cases."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        others = other_assignments(session, one, _reader(session))
        across = bool(asked(ACROSS) and others)
        found, looked, left_out = Similar(0, ()), list[Looked](), 0
        if one.similar_percent:
            compared = [one, *others] if across else [one]
            marks = marks_of(session, *compared)
            works, files = works_of(session, *compared), shared_files(session, *compared)
            given = given_code(session, one.exercise)
            all_found = similar(works.works, files, given, percent=one.similar_percent, own=one.id, marked=len(marks))
            left_out = works.left_out
            found, looked = fold(all_found, marks)
        page = SimilarPage(
            desk_of(course, "submission"), one, found, looked, LEAST_STUDENTS, others, across, left_out, MOST_STUDENTS
        )
        return render_template("copies/similar.html", page=page)


@staff.get("/similar/<assignment>/pair")
def show_similar_pair(slug: str, assignment: str) -> str:
    """Show two submissions of a case side by side."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        return _pair_page(session, course, _asked_case(assignment, session, course), filled({}))


@staff.post("/similar/<assignment>/pair")
def mark_pair(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Mark a case as looked at and fine."""
    done = partial(back, "staff.show_similar", slug, "pair-looked-at", assignment=assignment, **_kept())
    return change_by_form(MARK, slug, partial(_asked_case, assignment), done, _pair_page)


@staff.post("/similar/<assignment>/pair/take-back")
def take_pair_back(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Show a case that was marked as fine in the list again."""
    done = partial(back, "staff.show_similar", slug, "pair-taken-back", assignment=assignment, **_kept())
    return change_by_form(TAKE_BACK, slug, partial(_asked_case, assignment), done)


@staff.get("/similar/<assignment>/case.html")
def export_case(slug: str, assignment: str) -> Response:
    """Download a case as one page that needs nothing else."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        on = _asked_case(assignment, session, course)
        html = render_template("copies/case_file.html", page=_case_file(session, on))
        courses = courses_of(session, on, *on.item)
    with site().sessions.begin() as session:
        subject, *others = (work.public_id for work in on.item)
        for each in courses:
            note(
                session, acting(session), "submission.case_exported", f"submission {subject}", course_id=each,
                others=", ".join(others),
            )  # fmt: skip
    answer = Response(html, mimetype="text/html")
    name = f"{course.slug}-{assignment}-{on.item[0].public_id[:8]}.html"
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer


def _reader(session: Session) -> Person:
    return session.get_one(Person, viewer().id)


def _address(works: Sequence[Work], right: Work, *, across: bool) -> dict[str, object]:
    also = [work.public_id for work in works[1:] if work != right]
    more = {ACROSS: "yes"} if across else {}
    return {"left": works[0].public_id, "right": right.public_id, "also": also, **more}


def _kept() -> dict[str, str]:
    return {ACROSS: "yes"} if asked(ACROSS) else {}


def _asked_case(name: str, session: Session, course: Membership, _: Form | None = None) -> Target:
    """The submissions in the address, the earliest first; 404 if one isn't a student's that the reader may compare."""
    assignment = assignment_of(session, course, name)
    compared = [assignment, *other_assignments(session, assignment, _reader(session))]
    also = request.args.getlist("also")
    found = [work_of(session, each, *compared) for each in _names(*also)] if len(also) <= MOST_IN_CASE - 2 else [None]
    works = [each for each in found if each is not None]
    if len(works) < len(found) or assignment.id not in {work.assignment_id for work in works}:
        raise nothing_here()
    case = tuple(sorted(works, key=lambda one: (one.created_at, one.submission_id)))
    return Target(assignment.course, assignment, item=case)


def _names(*also: str) -> list[str]:
    """The public IDs in the address: the two sides, then the others of the case."""
    return [asked("left"), asked("right"), *(each for each in also if each.isascii() and each.isalnum())]


def _pair_page(session: Session, course: Membership, on: Target, form: Form) -> str:
    by_name = {work.public_id: work for work in on.item}
    left, right = by_name[asked("left")], by_name[asked("right")]
    works = works_of(session, on.assignment, *_away(session, on)).works
    sides = _sides(left, right, *side_by_side(left, right, works, given_code(session, on.assignment.exercise)))
    mark = mark_of(session, left, right)
    desk = desk_of(course, "submission")
    page = SideBySidePage(desk, on.assignment, on.item, bool(asked(ACROSS)), sides, len(works), mark, form)
    return render_template("copies/similar_pair.html", page=page)


def _case_file(session: Session, on: Target) -> CaseFile:
    away = _away(session, on)
    works = works_of(session, on.assignment, *away).works
    first, *others = on.item
    found = against_first(on.item, works, given_code(session, on.assignment.exercise))
    pairs = [
        (*_sides(first, each, *lines, place), mark_of(session, first, each))
        for place, (each, lines) in enumerate(zip(others, found, strict=True), 1)
    ]
    people = select(Person.id).where(Person.id.in_([work.person_id for work in on.item]))
    by_assignment = grades(session, [on.assignment, *away], people)
    known = {work.submission_id: by_assignment[work.assignment_id].get(work.person_id, Grade()) for work in on.item}
    return CaseFile(on.assignment, on.item, pairs, known, len(works), viewer().name, datetime.now(UTC))


def _away(session: Session, on: Target) -> list[Assignment]:
    """The assignments of other courses in the case."""
    away = {work.assignment_id for work in on.item} - {on.assignment.id}
    return [session.get_one(Assignment, each) for each in sorted(away)]


def _sides(
    left: Work, right: Work, left_lines: list[SharedLine], right_lines: list[SharedLine], place: int = 0
) -> tuple[Side, Side]:
    more = f"-{place}" if place else ""
    one, other = f"left{more}", f"right{more}"
    return Side(left, left_lines, one, other), Side(right, right_lines, other, one)
