"""The pages on which course staff grade a class by the rubric, one submission after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest

from flask import Response, render_template, request, url_for
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from kernels.report import Report
from kernels.verdict import Verdict
from server.accounts.access import nothing_here, viewer
from server.accounts.models import Person
from server.acts.act import Target, assignment_target
from server.acts.by_form import change_by_form, form_now
from server.assignments.staff_views import assignment_of
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment
from server.courses.service import CourseError, hold_active_course
from server.courses.staff_pages import Desk, acting, back, confirmed, desk_of, mistakes_noted, staff
from server.grades.criteria import Given, criteria_of
from server.grades.grade import Grade, given_in, own_grades, rubric_grades_of
from server.grades.grading import (
    EVERYONE,
    NO_ONE,
    SPLIT,
    Paper,
    Share,
    around,
    claim,
    graders,
    papers,
    progress,
    release,
    shares,
)  # fmt: skip
from server.grades.losses import UnconfirmedPoints, losses_confirmed
from server.grades.points import rubric_points
from server.grades.rubric import SheetLine, give_points, sheet_lines, wrong_points
from server.grading.models import Job, Result, Source
from server.http.forms import Form, filled, number_of, sent
from server.http.notes import note
from server.http.site import site
from server.submissions.line_marks import line_marks
from server.submissions.models import RubricGrade, Submission
from server.submissions.result.report import read_stored_report
from server.talk.comments import remove_comment, settle, threads_of, write_comment
from server.talk.listing_views import Listing, listing_of
from server.talk.models import SavedComment
from server.text import typed_number

_ONE = "/grading/<assignment>/<code>"
_CONFLICT = "version"


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """How far the grading of an assignment is. following: the reader's next one; None if nothing is left for them."""

    desk: Desk
    assignment: Assignment
    graded: int
    all: int
    shares: Sequence[Share]
    following: Paper | None
    section_choices: Sequence[tuple[str, str]]
    grader_choices: Sequence[tuple[str, str]]
    saved: Sequence[SavedComment]
    form: Form


@dataclass(frozen=True, slots=True)
class Other:
    """What somebody else saved while the reader's page was open."""

    by: str
    at: datetime
    points: float
    lines: Sequence[SheetLine]
    given: Given


@dataclass(frozen=True, slots=True)
class GradingPage:
    """One submission, side by side with the rubric.

    title: the student's name, or the code while grading blind
    report: None if it is unreadable
    lines: the criteria with what was given
    held_by: who else has it open; "" for no one
    changed: what else changed since the reader's page was opened, in sentences
    other: what somebody else saved meanwhile; None for nothing
    """

    desk: Desk
    assignment: Assignment
    paper: Paper
    title: str
    submission: Submission
    grade: Grade
    report: Report
    lines: Sequence[SheetLine]
    talk: Listing
    graded: int
    all: int
    before: Paper | None
    following: Paper | None
    held_by: str
    form: Form
    changed: Sequence[str] = ()
    other: Other | None = None

    @property
    def flat(self) -> bool:
        """Whether the rubric has one criterion, whose items need no number before theirs."""
        return len(self.lines) == 1


@staff.get("/grading/<assignment>")
def show_grading(slug: str, assignment: str) -> str:
    """Show how far the grading is, and who grades what."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        on = assignment_target(assignment_of(session, course, assignment))
        return _overview(session, course, on, form_now(SPLIT, session, on))


@staff.post("/grading/<assignment>")
def split_grading(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Give students to graders."""

    def find(session: Session, course: Membership, _: Form) -> Target:
        return assignment_target(assignment_of(session, course, assignment))

    done = partial(back, "staff.show_grading", slug, "grading-split", assignment=assignment)
    return change_by_form(SPLIT, slug, find, done, _overview)


@staff.post("/grading/<assignment>/saved/<int(max=9007199254740991):number>/remove")
def remove_saved(slug: str, assignment: str, number: int) -> Response:
    """Remove a saved comment. Submissions that have it keep it."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        hold_active_course(session, course.course_id)
        found = session.get(SavedComment, number)
        if found is not None and found.course_id == course.course_id:
            session.delete(found)
    return back("staff.show_grading", slug, "saved-removed", assignment=assignment)


@staff.get(_ONE)
def show_paper(slug: str, assignment: str, code: str) -> str:
    """Show a submission with the rubric, and keep it from other graders for a while."""
    course, who, now = staff_of(slug), viewer(), datetime.now(UTC)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        every = papers(session, found)
        paper = _paper(every, code)
        line = number_of(request.args, "line")
        talk_form = filled({} if line is None else {"line": str(line)})
        page = _grading(session, course, found, every, paper, given_form(found, paper.row), talk_form)
        html = render_template("grades/grading.html", page=page)
    if paper.waits and not paper.is_kept(who.id, now) and not page.held_by and not course.archived:
        note(partial(claim, assignment=found.id, person=paper.person, reader=who.id, now=now))
    return html


@staff.post(_ONE)
def save_grading(slug: str, assignment: str, code: str) -> Response | tuple[str, int]:
    """Grade a submission by the rubric, then go on to the next one."""
    course, who, now = staff_of(slug), viewer(), datetime.now(UTC)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        paper = _paper(papers(session, found), code)
        try:
            with losses_confirmed(session, found, confirmed(), None if paper.mates else paper.person):
                form, given = _sent(found)
                row = rubric_grades_of(session, [found], paper.person).get(found.id)
                submission = _counted(session, found, paper.person)
                for name, text in wrong_points(found, given or Given()).items():
                    form.mistake(name, text)
                seen = form[_CONFLICT]
                stale = seen != version_of(found, row, submission.id) and given_in(row) != given
                if form.right and not stale:
                    given_now = give_points(session, submission, acting(session), given, now)
                    if not given_now and row is None and given is not None:
                        form.mistake(f"points_{criteria_of(found.rubric)[0].key}", "Enter points first.")
                if stale or not form.right:
                    every = papers(session, found)
                    page = _grading(session, course, found, every, _paper(every, code), form, Form())
                    if stale:
                        page = _with_changes(session, page, row, seen)
                    return render_template("grades/grading.html", page=page), 409 if stale else 422
        except UnconfirmedPoints as lowers:
            if found.blind:
                lowers.losses = tuple(replace(one, name=_title(found, paper), email="") for one in lowers.losses)
            raise
        release(session, found.id, paper.person)
        every = papers(session, found)
        following = around(every, who.id, now, _paper(every, code).code)[1]
        if form["then"] == "stay":
            return back("staff.show_paper", slug, "rubric-given", assignment=assignment, code=code, saved=code)
        if following is None:
            return back("staff.show_grading", slug, "grading-done", assignment=assignment, saved=code)
        claim(session, found.id, following.person, who.id, now)
    return back("staff.show_paper", slug, assignment=assignment, code=following.code, saved=code)


@staff.post(f"{_ONE}/comments")
def comment_while_grading(slug: str, assignment: str, code: str) -> Response | tuple[str, int]:
    """Comment on the submission, or on a line of it."""
    course, form = staff_of(slug), sent("text", "line", "thread", "saved", "keep", "on")
    line, thread, saved = (number_of(form.values, name) for name in ("line", "thread", "saved"))
    with mistakes_noted(form, "text"), site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        submission = _counted(session, found, _paper(papers(session, found), code).person)
        if form["on"] != _stamp(submission.id):
            raise CourseError("Another submission of this student counts now. Reload the page to read it.", ["text"])
        chosen = None if saved is None else session.get(SavedComment, saved)
        text = form["text"] if chosen is None or chosen.course_id != course.course_id else chosen.text
        made = write_comment(session, submission, acting(session), text, line=line, thread=thread)
        if form.checked("keep"):
            session.add(SavedComment(course_id=course.course_id, assignment_id=found.id, text=made.text))
        anchor = f"thread-{made.thread_id or made.id}"
    if form.right:
        return back("staff.show_paper", slug, assignment=assignment, code=code, saved="comment", _anchor=anchor)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        every = papers(session, found)
        paper = _paper(every, code)
        page = _grading(session, course, found, every, paper, given_form(found, paper.row), form)
        return render_template("grades/grading.html", page=page), 422


@staff.post(f"{_ONE}/comments/<int(max=9007199254740991):number>/<any(remove, settle):what>")
def change_comment_while_grading(slug: str, assignment: str, code: str, number: int, what: str) -> Response:
    """Remove a comment, or take its question off the list."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        submission = _counted(session, found, _paper(papers(session, found), code).person)
        (remove_comment if what == "remove" else settle)(session, submission, number, acting(session))
    return back("staff.show_paper", slug, assignment=assignment, code=code)


def _paper(every: Sequence[Paper], code: str) -> Paper:
    found = next((one for one in every if code in one.codes), None)
    if found is None:
        raise nothing_here()
    return found


def _title(assignment: Assignment, paper: Paper) -> str:
    return f"Student {paper.code}" if assignment.blind else paper.name


def _counted(session: Session, assignment: Assignment, person: int) -> Submission:
    grade = own_grades(session, [assignment], person)[assignment.id]
    if grade.counted is None:
        raise nothing_here()
    return session.get_one(Submission, grade.counted.entry.submission_id)


_SHOWN = (
    select(Submission, Source.content, Job.verdict, Result.report)
    .join(Source, Source.digest == Submission.source_digest)
    .join(Job, Job.id == Submission.judged_job_id)
    .outerjoin(Result, Result.job_id == Job.id)
)


def _grading(
    session: Session, course: Membership, assignment: Assignment, every: Sequence[Paper], paper: Paper, form: Form,
    talk_form: Form,
) -> GradingPage:  # fmt: skip
    who, now = viewer().id, datetime.now(UTC)
    grade = own_grades(session, [assignment], paper.person)[assignment.id]
    if grade.counted is None:
        raise nothing_here()
    submission, source, verdict, packed = session.execute(
        _SHOWN.where(Submission.id == grade.counted.entry.submission_id)
    ).one()
    form.values[_CONFLICT] = version_of(assignment, paper.row, submission.id)
    hints = submission.hints(staff=True)
    report = read_stored_report(packed, verdict or Verdict.SYSTEM_ERROR, staff=True, hints=hints).report
    title, holder = _title(assignment, paper), paper.holder(who, now)
    before, following = around(every, who, now, paper.code)
    talk = listing_of(
        source, threads_of(session, submission.id), line_marks(report), talk_form,
        address=url_for(
            "staff.comment_while_grading", slug=course.slug, assignment=assignment.slug, code=paper.code
        ),
        owner=title, reader=who, own=False, course=course,
        saved=[(one.id, one.text) for one in _saved(session, assignment)], stamp=_stamp(submission.id),
    )  # fmt: skip
    return GradingPage(
        desk_of(course, "assignment"), assignment, paper, title, submission, grade, report,
        sheet_lines(assignment, given_in(paper.row)), talk,
        *progress(every), before, following,
        "" if holder is None else session.get_one(Person, holder).name, form,
    )  # fmt: skip


def _saved(session: Session, assignment: Assignment) -> Sequence[SavedComment]:
    here = or_(SavedComment.assignment_id == assignment.id, SavedComment.assignment_id.is_(None))
    query = select(SavedComment).where(SavedComment.course_id == assignment.course_id, here)
    return session.scalars(query.order_by(SavedComment.id)).all()


def _overview(session: Session, course: Membership, on: Target, form: Form) -> str:
    assignment, who, now = on.assignment, viewer().id, datetime.now(UTC)
    every = papers(session, assignment)
    sections = sorted({one.section for one in every if one.section})
    people = graders(session, course.course_id)
    graders_by_form = [(EVERYONE, "Evenly among assistants"), (NO_ONE, "No one: leave them unassigned")]
    graders_by_form += [(one.email, one.name) for one in people.values()]
    choices = [("", "All ungraded students"), *((each, each) for each in sections)]
    page = OverviewPage(
        desk_of(course, "assignment"), assignment, *progress(every),
        shares(every, {number: one.name for number, one in people.items()}), around(every, who, now)[1],
        choices, graders_by_form, _saved(session, assignment), form,
    )  # fmt: skip
    return render_template("grades/grading_overview.html", page=page)


_CHANGES = (
    "",
    "The rubric changed after you opened this page. Your choices are below. Compare them with it, and save again.",
    "Another submission of this student counts now. It is below. Read it before you save.",
)


def _with_changes(session: Session, page: GradingPage, row: RubricGrade | None, seen: str) -> GradingPage:
    """The page with what changed since the version that the reader saw."""
    pairs = zip_longest(page.form[_CONFLICT].split("-"), seen.split("-"), _CHANGES)
    sentences = [sentence for now, then, sentence in pairs if now != then and sentence]
    other = None if row is None else _other(session, page.assignment, row)
    return replace(page, changed=sentences, other=other)


def _other(session: Session, assignment: Assignment, row: RubricGrade) -> Other:
    by = None if row.graded_by is None else session.get_one(Person, row.graded_by).name
    given = given_in(row) or Given()
    points = rubric_points(assignment.rubric, given) or 0.0
    return Other(by or "The command line", row.graded_at, points, sheet_lines(assignment, given), given)


def version_of(assignment: Assignment, row: RubricGrade | None, submission: int) -> str:
    """Three parts that change with the saved grading, with the rubric, and with the submission that counts."""
    given = row and (row.points, row.words, sorted(row.items), row.adjustment, row.reason, row.submission_id)
    return "-".join(map(_stamp, (given, assignment.rubric, submission)))


def _stamp(part: object) -> str:
    return hashlib.sha256(repr(part).encode()).hexdigest()[:12]


def given_form(assignment: Assignment, row: RubricGrade | None) -> Form:
    """The form with what was given so far."""
    given = given_in(row)
    values: dict[str, str] = {}
    if given is not None:
        values |= {"adjustment": typed_number(given.adjustment) if given.adjustment else "", "reason": given.reason}
        values |= {f"points_{key}": typed_number(value) for key, value in given.points.items()}
        values |= {f"words_{key}": text for key, text in given.words.items()}
        for each in criteria_of(assignment.rubric):
            for item in each.chosen(given):
                values |= {f"item_{each.key}": item.key} if each.one else {f"item_{item.key}": "yes"}
    return filled(values)


def _sent(assignment: Assignment) -> tuple[Form, Given | None]:
    """The sent form, and what it gives; None to remove the grading."""
    criteria = criteria_of(assignment.rubric)
    many = {f"item_{item.key}": item.key for each in criteria if not each.one for item in each.items}
    one = {f"item_{each.key}": {item.key for item in each.items} for each in criteria if each.one}
    names = [f"{part}_{each.key}" for each in criteria for part in ("points", "words")]
    form = sent(*names, *many, *one, "adjustment", "reason", "then", _CONFLICT)
    if form["then"] == "remove":
        return form, None
    points = {each.key: f"points_{each.key}" for each in criteria if form[f"points_{each.key}"]}
    return form, Given(
        {key: form.number(name) for key, name in points.items()},
        {each.key: words for each in criteria if (words := form[f"words_{each.key}"])},
        frozenset(key for name, key in many.items() if form.checked(name))
        | frozenset(form[name] for name, known in one.items() if form[name] in known),
        form.number("adjustment"),
        form["reason"],
    )
