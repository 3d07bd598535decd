"""The list of a course's experiments, and the page of one with its curve while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Response, jsonify, render_template, request, url_for
from sqlalchemy.orm import Session

from kernels.experiment.export import to_csv
from kernels.experiment.plot.chosen import default_plots
from kernels.experiment.plot.model import Request
from kernels.rendering.experiment import PointTable, fixed_sizes, nothing_measured, point_table, verdicts_text
from kernels.rendering.page.experiment_page import PlotView, plot_views
from server.accounts.access import not_allowed, nothing_here, viewer
from server.accounts.models import Person
from server.courses.access import Membership, member_of, membership
from server.courses.models import Assignment
from server.courses.service import assignments, find_assignment, role_in
from server.experiments.answers import search_text, shown_names, shown_results
from server.experiments.models import Experiment, ExperimentState
from server.experiments.plans import definition_of
from server.experiments.progress import pause_until
from server.experiments.queries import Visible, failed, pinned, visible_experiment, visible_experiments
from server.experiments.service import TooManyRunning, pin, retry, share, stop
from server.experiments.submitted_kernels import submissions_of
from server.experiments.views.blueprint import experiments_pages
from server.http.forms import number_of
from server.http.site import site
from server.submissions.changes import NotPossible, revoke
from server.submissions.models import Submission

MOST_DRAWN = 1000
"""Points in the charts and in one part of the table."""

_NOT_YOURS = "Only its owner and course staff can change an experiment."


@dataclass(frozen=True, slots=True)
class ListPage:
    """The experiments of a course. older: the number from which the next page goes on; 0 on the last."""

    course: Membership
    lines: list[Visible]
    older: int


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """One experiment.

    question, expect: of its file; may be ""
    by: whose it is; None for a reader who doesn't see that
    search: what a search did so far; "" for an experiment without one
    submitted: the kernels that are submissions, with their IDs, for readers who may see that
    paused: the deadline before which no point starts; None for none
    sizes: the sizes that no axis varies
    nothing_measured: why the table has no speed; "" if it has some
    failed: how many points ended in a system error and may be retried
    more: the number of the last point in the table, if there are more; -1 otherwise
    pinned: the assignment whose page links to it
    choices: assignments to pin it to, for course staff
    """

    course: Membership
    visible: Visible
    question: str
    expect: str
    by: Person | None
    exercise: str
    submission: str
    search: str
    submitted: dict[str, str]
    paused: datetime | None
    verdicts: str
    sizes: str
    nothing_measured: str
    failed: int
    pictures: list[PlotView]
    table: PointTable
    first: bool
    more: int
    pinned: Assignment | None
    choices: list[tuple[str, str]]

    @property
    def experiment(self) -> Experiment:
        return self.visible.experiment

    @property
    def runs(self) -> bool:
        return self.experiment.state is ExperimentState.RUNNING


def pinned_experiments(session: Session, assignment: Assignment) -> list[tuple[str, str]]:
    """The address and the title of each experiment that an assignment's page links to."""
    here = pinned(session, assignment.id)
    return [(url_for("experiments_pages.show", public_id=each.public_id), each.name) for each in here]


@experiments_pages.get("/courses/<slug>/experiments")
def show_list(slug: str) -> str:
    """List the experiments that the reader sees, newest first."""
    course, who = member_of(slug), viewer()
    before = number_of(request.args, "before") or 0
    with site().readers.begin() as session:
        lines, more = visible_experiments(session, who.id, course.course_id, course.role, before)
    page = ListPage(course, lines, lines[-1].experiment.id if more else 0)
    return render_template("experiments/list.html", page=page)


@experiments_pages.get("/experiments/<public_id>")
def show(public_id: str) -> str:
    """Show an experiment with the results so far."""
    return render_template("experiments/experiment.html", page=_page(public_id))


@experiments_pages.get("/experiments/<public_id>/state")
def state(public_id: str) -> Response:
    """Return the results so far, for an open page."""
    page = _page(public_id)
    return jsonify(html=render_template("experiments/results.html", page=page), final=not page.runs)


@experiments_pages.get("/experiments/<public_id>/points.csv")
def download(public_id: str) -> Response:
    """Download all results as a table, part by part: 100,000 points don't fit into memory at once."""
    who = viewer()
    with site().readers.begin() as session:
        visible = _visible(session, who.id, public_id)
        name = f"experiment-{visible.experiment.public_id[:8]}.csv"
        shown_names(visible)  # reads the plan, which the parts need

    def parts() -> object:
        after = -1
        while True:
            with here.readers.begin() as session:
                found = shown_results(session, visible, after, MOST_DRAWN)
            text = to_csv(found)
            yield text if after < 0 else text.partition("\n")[2]
            if len(found) < MOST_DRAWN:
                return
            after = found[-1].number

    here = site()
    response = Response(parts(), content_type="text/csv; charset=utf-8")  # type: ignore[arg-type]
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@experiments_pages.post("/experiments/<public_id>/cancel")
def cancel(public_id: str) -> Response:
    """Cancel an experiment, as its owner or course staff."""
    who = viewer()
    try:
        with site().sessions.begin() as session:
            found = _visible(session, who.id, public_id)
            if not found.may_change:
                raise not_allowed(_NOT_YOURS)
            person = session.get_one(Person, who.id)
            tickets = stop(session, found.experiment, person, datetime.now(UTC))
    except NotPossible:
        return _back(public_id, "experiment-over")
    revoke(site().settings.redis_url, tickets)
    return _back(public_id, "experiment-cancelled")


@experiments_pages.post("/experiments/<public_id>/retry")
def run_again(public_id: str) -> Response:
    """Run the points again that ended in a system error, as the owner or course staff."""
    who = viewer()
    try:
        with site().sessions.begin() as session:
            found = _visible(session, who.id, public_id)
            if not found.may_change:
                raise not_allowed(_NOT_YOURS)
            retry(session, found.experiment, session.get_one(Person, who.id), datetime.now(UTC))
    except NotPossible:
        return _back(public_id, "experiment-not-retried")
    except TooManyRunning:
        return _back(public_id, "experiment-too-many")
    return _back(public_id, "experiment-retried")


@experiments_pages.post("/experiments/<public_id>/share")
def share_it(public_id: str) -> Response:
    """Show an experiment to the class, or hide it, as course staff."""
    shared = request.form.get("shared") == "yes"
    _as_staff(public_id, lambda session, found, person: share(session, found, person, datetime.now(UTC), shared=shared))
    return _back(public_id, "experiment-shared" if shared else "experiment-hidden")


@experiments_pages.post("/experiments/<public_id>/pin")
def pin_it(public_id: str) -> Response:
    """Link to an experiment from an assignment's page, as course staff; without an assignment, remove the link."""
    slug = request.form.get("assignment", "")

    def pinned_there(session: Session, found: Experiment, person: Person) -> None:
        assert found.course is not None
        assignment = find_assignment(session, f"{found.course.slug}/{slug}") if slug else None
        if slug and assignment is None:
            raise nothing_here()
        pin(session, found, assignment, person, datetime.now(UTC))

    _as_staff(public_id, pinned_there)
    return _back(public_id, "experiment-pinned" if slug else "experiment-unpinned")


def _page(public_id: str) -> ExperimentPage:
    who, after = viewer(), number_of(request.args, "after")
    start = -1 if after is None else after
    with site().readers.begin() as session:
        visible = _visible(session, who.id, public_id)
        found = visible.experiment
        assert found.course is not None
        assert found.exercise is not None
        role = role_in(session, who.id, found.course.id)
        assert role is not None
        course = membership(found.course, role)
        results = shown_results(session, visible, start, MOST_DRAWN + 1)
        shown = results[:MOST_DRAWN]
        choices = [(one.slug, one.title) for one in assignments(session, found.course)] if visible.staff else []
        definition = definition_of(found.plan)
        head = definition.get("experiment", {})
        return ExperimentPage(
            course=course,
            visible=visible,
            question=head.get("question", ""),
            expect=head.get("expect", ""),
            by=found.person if visible.staff and not visible.own else None,
            exercise=found.exercise.title,
            submission=_submission(session, visible),
            search=search_text(session, visible),
            submitted=submissions_of(session, found.id) if visible.named else {},
            paused=pause_until(session, found, datetime.now(UTC)) if found.state is ExperimentState.RUNNING else None,
            verdicts=verdicts_text(shown) if shown else "",
            sizes=fixed_sizes(shown),
            failed=failed(session, found) if visible.may_change else 0,
            nothing_measured="" if any(each.measurement is not None for each in shown) else nothing_measured(shown),
            pictures=plot_views(default_plots(shown, Request.from_plain(definition.get("plot")))),
            table=point_table(shown),
            first=start < 0,
            more=shown[-1].number if len(results) > len(shown) else -1,
            pinned=found.pinned,
            choices=choices,
        )


def _submission(session: Session, visible: Visible) -> str:
    """The submission that it varies, for readers who may see that; "" for none."""
    number = visible.experiment.submission_id
    if number is None or not visible.named:
        return ""
    return session.get_one(Submission, number).public_id


def _visible(session: Session, person: int, public_id: str) -> Visible:
    found = visible_experiment(session, person, public_id)
    if found is None:
        raise nothing_here()
    return found


def _as_staff(public_id: str, do: Callable[[Session, Experiment, Person], None]) -> None:
    who = viewer()
    with site().sessions.begin() as session:
        found = _visible(session, who.id, public_id)
        if not found.staff:
            raise not_allowed("Only course staff share and pin experiments.")
        do(session, found.experiment, session.get_one(Person, who.id))


def _back(public_id: str, notice: str) -> Response:
    address = url_for("experiments_pages.show", public_id=public_id, notice=notice)
    return Response(status=303, headers={"Location": address})
