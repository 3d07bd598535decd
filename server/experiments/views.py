"""Pages of experiments: started, varied with one button, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Any

from flask import Blueprint, Response, jsonify, render_template, request, url_for
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.experiment.axes import AxisError
from kernels.experiment.model import Experiment as Definition
from kernels.experiment.plot.model import Request
from kernels.experiment.result import PointResult
from kernels.experiment.templates import Template, template_kernels, templates
from kernels.rendering.experiment import PointTable, fixed_sizes, nothing_measured, point_table, verdict_counts_text
from kernels.rendering.page.charts.marks import standalone
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.experiment_page import plots_part, render_experiment
from kernels.rendering.plot.png import png
from kernels.source.paste.decoding import LARGEST_SOURCE
from server.accounts import limits
from server.accounts.access import existing, not_allowed, nothing_here, viewer
from server.accounts.models import Person
from server.accounts.views import go
from server.courses.access import Membership, member_of, membership_in, staff_of
from server.courses.models import Assignment, ExerciseFile
from server.courses.service import assignments, find_assignment, is_staff
from server.experiments.access import STARTS, estimate_text, quota_text
from server.experiments.answers import device_text, search_text, shown_names, shown_results
from server.experiments.compared import MOST_COMPARED, Compared, NoComparison, compared
from server.experiments.downloads import DOWNLOADS, Download
from server.experiments.estimate import Estimate
from server.experiments.models import Experiment, ExperimentState
from server.experiments.new_experiment import Sent, read_sent, start_sent
from server.experiments.pictures import Asked, Pictures, pictures
from server.experiments.plans import UnfitExperiment, checked_plan, definition_of
from server.experiments.progress import pause_until
from server.experiments.queries import Visible, failed, pinned, verdict_counts, visible_experiment, visible_experiments
from server.experiments.quota import EXPERIMENTS_A_DAY, POINTS_A_DAY, Quota, quota_of
from server.experiments.service import (
    LargeExperiment,
    NewExperiment,
    QuotaUsed,
    TooManyRunning,
    check_room,
    pin,
    retry,
    share,
    start,
    stop,
)
from server.experiments.submitted_kernels import submissions_of
from server.experiments.targets import CPU, NoTarget, target_of
from server.experiments.variations import SIZE, TILE, WHAT, NoVariation, variation_of
from server.fleet.service import device_classes
from server.http.concurrency_limit import long_body
from server.http.forms import Form, filled, number_of, sent
from server.http.problems import Refused
from server.http.site import site
from server.submissions.changes import NotPossible, revoke
from server.submissions.models import Submission
from server.submissions.queries import submission_of_page
from server.text import storable

experiments_pages = Blueprint("experiments_pages", "server.experiments")


MOST_DRAWN = 2000
"""Results that plots read. Of a larger experiment, they show a sample of about so many."""
MOST_DRAWN_RUNNING = 500
"""While it runs, because its page asks for them again and again."""
MOST_LISTED = 200
"""Rows in one part of the table."""
_AT_ONCE = 1000
"""Results that a download reads at a time: all of a large experiment don't fit into memory."""

_LAST_FIGURE = 99
"""In an address: more figures than an experiment has, so its last one is shown."""

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
    plots: the drawn plots; drawn: how many results they are from
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
    pictures: Pictures
    plots: Markup
    drawn: int
    downloads: list[Download]
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


@dataclass(frozen=True, slots=True)
class LecturePage:
    """A figure for a lecture.

    before, after, back: addresses
    place: which of the figures it is, and of how many results a sample; "" for the only one and all results
    """

    heading: str
    expect: str
    title: str
    figure: Markup
    place: str
    before: str
    after: str
    back: str


@dataclass(frozen=True, slots=True)
class ComparePage:
    """The choice of another experiment, and the comparison if one is chosen."""

    course: Membership
    experiment: Experiment
    others: list[tuple[str, str]]
    form: Form
    found: Compared | None

    @property
    def plots(self) -> Markup:
        return plots_part(self.found.plots if self.found is not None else ())


def pinned_experiments(session: Session, assignment: Assignment) -> list[tuple[str, str]]:
    """The address and the title of each experiment that an assignment's page links to."""
    here = pinned(session, assignment.id)
    return [(url_for("experiments_pages.show", public_id=experiment.public_id), experiment.name) for experiment in here]


@experiments_pages.get("/courses/<slug>/experiments")
def show_list(slug: str) -> str:
    course, who = member_of(slug), viewer()
    before = number_of(request.args, "before") or 0
    with site().readers.begin() as session:
        lines, more = visible_experiments(session, who.id, course.course_id, course.role, before)
    page = ListPage(course, lines, lines[-1].experiment.id if more else 0)
    return render_template("experiments/list.html", page=page)


@experiments_pages.get("/experiments/<public_id>")
def show(public_id: str) -> str:
    return render_template("experiments/experiment.html", page=_page(public_id))


@experiments_pages.get("/experiments/<public_id>/lecture")
def lecture(public_id: str) -> str:
    """One figure for a whole screen: the one that the address asks for, or the experiment's figures one by one."""
    who, number = viewer(), number_of(request.args, "figure") or 1
    with site().readers.begin() as session:
        visible = _visible(session, who.id, public_id)
        one, results = visible.experiment, _drawn(session, visible)
        definition = definition_of(one.plan)
        together = pinned(session, one.pinned_id) if one.pinned_id is not None else [one]
        ids = [each.public_id for each in together]
    head, asked = definition.get("experiment", {}), Asked.of(request.args)
    plots = pictures(results, Request.from_plain(definition.get("plot")), asked).plots[: 1 if asked.given else None]
    number = max(1, min(number, len(plots)))
    which = f"Figure {number} of {len(plots)}" if len(plots) > 1 else ""
    sample = f"a sample of {len(results):,} of {one.ended:,} results" if len(results) < one.ended else ""
    page = LecturePage(
        heading=head.get("question", "") or one.name,
        expect=head.get("expect", ""),
        title=plots[number - 1].title if plots else one.name,
        figure=plots_part(plots[number - 1 : number]),
        place=", ".join(filter(None, (which, sample))),
        before=_step(ids, public_id, number, -1, len(plots)),
        after=_step(ids, public_id, number, 1, len(plots)),
        back=url_for("experiments_pages.show", public_id=public_id) + asked.query,
    )
    return render_template("experiments/lecture.html", page=page)


def _step(ids: list[str], here: str, number: int, step: int, figures: int) -> str:
    """The address of the figure before or after one, or of the next experiment with the same pin; "" for none."""
    if 1 <= number + step <= figures:
        return url_for("experiments_pages.lecture", public_id=here, figure=number + step)
    place = ids.index(here) + step
    if not 0 <= place < len(ids):
        return ""
    last = _LAST_FIGURE if step < 0 else None
    return url_for("experiments_pages.lecture", public_id=ids[place], figure=last)


@experiments_pages.get("/experiments/<public_id>/compare")
def compare(public_id: str) -> str:
    """An experiment and another of its course, point by point."""
    who, form = viewer(), filled({name: request.args.get(name, "")[:60] for name in ("with", "y")})
    with site().readers.begin() as session:
        first = _visible(session, who.id, public_id)
        assert first.experiment.course is not None
        course = membership_in(session, first.experiment.course)
        others, _ = visible_experiments(session, who.id, course.course_id, course.role)
        offered = [each.experiment for each in others if each.experiment.id != first.experiment.id]
        second = visible_experiment(session, who.id, form["with"]) if form["with"] else None
        if form["with"] and (second is None or second.experiment.course_id != course.course_id):
            form.mistake("with", "There is no such experiment in this course. Choose another one.")
        elif second is not None and max(first.experiment.ended, second.experiment.ended) > MOST_COMPARED:
            form.mistake("with", f"A page compares up to {MOST_COMPARED:,} points. Fetch both, and use the command.")
        both = list[list[PointResult]]()
        if second is not None and form.right:
            names = shown_names(first, second)
            both = [shown_results(session, each, names=names) for each in (first, second)]
            offered += [second.experiment] * (second.experiment not in (first.experiment, *offered))
            exercises = _exercise(first.experiment), _exercise(second.experiment)
    found = None
    if second is not None and form.right:
        try:
            apart = _told_apart(first.experiment, second.experiment)
            found = compared(both[0], both[1], apart, form["y"], exercises)
        except NoComparison as error:
            form.mistake("with", str(error))
    page = ComparePage(course, first.experiment, [(one.public_id, _dated(one)) for one in offered], form, found)
    return render_template("experiments/compare.html", page=page)


def _told_apart(one: Experiment, other: Experiment) -> tuple[str, str]:
    return (one.name, other.name) if one.name != other.name else (_dated(one), _dated(other))


def _exercise(one: Experiment) -> str:
    assert one.exercise is not None
    return one.exercise.title


def _dated(one: Experiment) -> str:
    return f"{one.name}, {one.created_at:%d %b %H:%M} UTC"


@experiments_pages.get("/experiments/<public_id>/state")
def state(public_id: str) -> Response:
    page = _page(public_id)
    return jsonify(html=render_template("experiments/results.html", page=page), final=not page.runs)


@experiments_pages.get("/experiments/<public_id>/report.html")
def report(public_id: str) -> Response:
    """The page that the command writes: one file that needs nothing else."""
    who = viewer()
    with site().readers.begin() as session:
        visible = _visible(session, who.id, public_id)
        one, results = visible.experiment, _drawn(session, visible)
        assert one.exercise is not None
        facts = {
            "Exercise": one.exercise.title,
            "Device": device_text(one.device_class),
            "Architecture": one.arch,
            "Started": one.created_at.isoformat(timespec="seconds"),
            "Search": search_text(session, visible),
            "Results": f"a sample of {len(results):,} of {one.ended:,}" if len(results) < one.ended else "",
        }
        definition = definition_of(one.plan)
    return _file(render_experiment(definition, results, facts), "text/html; charset=utf-8", public_id, "html")


@experiments_pages.get("/experiments/<public_id>/plot.<any(svg, png):ending>")
def picture(public_id: str, ending: str) -> Response:
    """The plot that the address asks for, as a picture on white."""
    who = viewer()
    with site().readers.begin() as session:
        visible = _visible(session, who.id, public_id)
        own = Request.from_plain(definition_of(visible.experiment.plan).get("plot"))
        found = pictures(_drawn(session, visible), own, Asked.of(request.args))
    if found.mistake or not found.plots:
        raise Refused(422, "no_plot", "There is no such plot", found.mistake or "The experiment has no plot yet.")
    drawn = standalone(plot_svg(found.plots[0]))
    if ending == "svg":
        return _file(drawn, "image/svg+xml", public_id, ending)
    return _file(png(drawn), "image/png", public_id, ending)


@experiments_pages.get("/experiments/<public_id>/points.csv")
@experiments_pages.get("/experiments/<public_id>/points.json")
@experiments_pages.get("/experiments/<public_id>/points.parquet")
@experiments_pages.get("/experiments/<public_id>/points.t4.json")
def download(public_id: str) -> Response:
    """Download all results as a file, read part by part; one at a time for each person."""
    who, here, wanted = viewer(), site(), DOWNLOADS[request.path.rpartition("/")[2]]
    with here.readers.begin() as session:
        visible = _visible(session, who.id, public_id)
        shown_names(visible)  # reads what the parts need

    def found() -> Iterator[PointResult]:
        after = -1
        while True:
            with here.readers.begin() as session:
                part = shown_results(session, visible, after, _AT_ONCE)
            yield from part
            if len(part) < _AT_ONCE:
                return
            after = part[-1].number

    return _file(long_body(wanted.write(found())), wanted.media_type, public_id, wanted.name.partition(".")[2])


def _file(content: Any, media_type: str, public_id: str, ending: str) -> Response:
    response = Response(content, content_type=media_type)
    response.headers["Content-Disposition"] = f'attachment; filename="experiment-{public_id[:8]}.{ending}"'
    return response


@experiments_pages.post("/experiments/<public_id>/cancel")
def cancel(public_id: str) -> Response:
    who = viewer()
    try:
        with site().sessions.begin() as session:
            visible = _visible(session, who.id, public_id)
            if not visible.may_change:
                raise not_allowed(_NOT_YOURS)
            person = session.get_one(Person, who.id)
            tickets = stop(session, visible.experiment, person, datetime.now(UTC))
    except NotPossible:
        return _back(public_id, "experiment-over")
    revoke(site().settings.redis_url, tickets)
    return _back(public_id, "experiment-cancelled")


@experiments_pages.post("/experiments/<public_id>/retry")
def run_again(public_id: str) -> Response:
    who = viewer()
    try:
        with site().sessions.begin() as session:
            visible = _visible(session, who.id, public_id)
            if not visible.may_change:
                raise not_allowed(_NOT_YOURS)
            retry(session, visible.experiment, session.get_one(Person, who.id), datetime.now(UTC))
    except NotPossible:
        return _back(public_id, "experiment-not-retried")
    except TooManyRunning:
        return _back(public_id, "experiment-too-many")
    return _back(public_id, "experiment-retried")


@experiments_pages.post("/experiments/<public_id>/share")
def share_it(public_id: str) -> Response:
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
        experiment = visible.experiment
        assert experiment.course is not None
        assert experiment.exercise is not None
        course = membership_in(session, experiment.course)
        drawn = _drawn(session, visible)
        if len(drawn) < experiment.ended:
            results = shown_results(session, visible, start, MOST_LISTED + 1)
        else:
            results = [result for result in drawn if result.number > start][: MOST_LISTED + 1]
        shown = results[:MOST_LISTED]
        choices = assignments(session, experiment.course) if visible.staff else []
        runs = experiment.state is ExperimentState.RUNNING
        definition = definition_of(experiment.plan)
        head = definition.get("experiment", {})
        own = Request.from_plain(definition.get("plot"))
        found = pictures(drawn, own, Asked.of(request.args))
        asked = found.asked.given.get("y") or (own.y if own is not None else "")
        return ExperimentPage(
            course=course,
            visible=visible,
            question=head.get("question", ""),
            expect=head.get("expect", ""),
            by=experiment.person if visible.staff and not visible.own else None,
            exercise=experiment.exercise.title,
            submission=_submission(session, visible),
            search=search_text(session, visible),
            submitted=submissions_of(session, experiment.id) if visible.named else {},
            paused=pause_until(session, experiment, datetime.now(UTC)) if runs else None,
            verdicts=verdict_counts_text(verdict_counts(session, experiment.id)) if drawn else "",
            sizes=fixed_sizes(drawn),
            failed=failed(session, experiment) if visible.may_change else 0,
            nothing_measured="" if any(result.measurement is not None for result in drawn) else nothing_measured(drawn),
            pictures=found,
            plots=plots_part(found.plots, whole=not runs),
            drawn=len(drawn),
            downloads=list(DOWNLOADS.values()),
            table=point_table(shown, asked="" if found.mistake else asked),
            first=start < 0,
            more=shown[-1].number if len(results) > len(shown) else -1,
            pinned=experiment.pinned,
            choices=[(assignment.slug, assignment.title) for assignment in choices],
        )


def _drawn(session: Session, visible: Visible) -> list[PointResult]:
    """The results that plots are from: all, or a sample of a large experiment."""
    one = visible.experiment
    most = MOST_DRAWN_RUNNING if one.state is ExperimentState.RUNNING else MOST_DRAWN
    return shown_results(session, visible, sample=most / max(most, one.ended))


def _submission(session: Session, visible: Visible) -> str:
    """The submission that it varies, for readers who may see that; "" for none."""
    number = visible.experiment.submission_id
    if number is None or not visible.named:
        return ""
    return session.get_one(Submission, number).public_id


def _visible(session: Session, person: int, public_id: str) -> Visible:
    return existing(visible_experiment(session, person, public_id))


def _as_staff(public_id: str, do: Callable[[Session, Experiment, Person], None]) -> None:
    who = viewer()
    with site().sessions.begin() as session:
        visible = _visible(session, who.id, public_id)
        if not visible.staff:
            raise not_allowed("Only course staff share and pin experiments.")
        do(session, visible.experiment, session.get_one(Person, who.id))


def _back(public_id: str, notice: str) -> Response:
    return go(url_for("experiments_pages.show", public_id=public_id, notice=notice))


_OWN = ("solution.cu", "starter.cu")


@dataclass(frozen=True, slots=True)
class NewPage:
    """The form.

    classes: kinds of GPU with a running worker
    kernels: the files that were sent, to send again
    large: what the reader must agree to first; None for nothing
    """

    course: Membership
    form: Form
    templates: tuple[Template, ...]
    classes: list[tuple[str, str]]
    kernels: Mapping[str, str]
    large: Estimate | None

    @property
    def question(self) -> str:
        return estimate_text(self.large) if self.large is not None else ""


@experiments_pages.get("/courses/<slug>/experiments/new")
def new_experiment(slug: str) -> str:
    course = staff_of(slug)
    wanted = request.args.get("template", "")
    template = next((each for each in _templates() if each.name == wanted), _templates()[0])
    text = template.file.read_text("utf-8")
    return _form(course, filled({"definition": text, "device_class": ""}))


@experiments_pages.post("/courses/<slug>/experiments/new")
def begin(slug: str) -> str | Response | tuple[str, int]:
    course, who, now = staff_of(slug), viewer(), datetime.now(UTC)
    form, large = sent("definition", "device_class", "pauses", "confirm"), None
    kernels: Mapping[str, str] = {}
    form.values["definition"] = storable(request.form.get("definition", "")).replace("\r\n", "\n")
    if course.archived:
        raise Refused(403, "not_open", "The course is archived", "You can't start experiments in it.")
    try:
        limits.count(site().sessions, STARTS, f"person {who.id}")
        kernels = _files(form)
        agreed, device = form.whole("confirm"), form["device_class"] or None
        asked = Sent(form.values["definition"], kernels, (), device, form.checked("pauses"), agreed)
        definition = read_sent(asked)
        with site().sessions.begin() as session:
            own = _own_kernels(session, course, asked, definition, now)
        ours = {name: text for name, text in template_kernels().items() if name in definition.kernels}
        known = {**ours, **own, **kernels}
        whole = replace(asked, kernels=known)
        here, role = course.course_id, course.role
        public_id = start_sent(site().sessions, whole, definition, here, who.id, role, now)
    except limits.TooOften as often:
        form.mistake("definition", f"Too many requests. Try again in {often.seconds} s.")
    except UnfitExperiment as error:
        form.mistake("definition", error.sentence)
    except TooManyRunning as error:
        form.mistake("definition", str(error))
    except LargeExperiment as error:
        large = error.estimate
    else:
        return _back(public_id, "experiment-started")
    return _form(course, form, kernels, large), 422 if large is None else 409


def _files(form: Form) -> Mapping[str, str]:
    """The kernels among the files, now or before; an experiment's file replaces the text. Raises UnfitExperiment."""
    names, texts = request.form.getlist("kernel"), request.form.getlist("kernel_text")
    kernels = {name: storable(text).replace("\r\n", "\n") for name, text in zip(names, texts, strict=False)}
    for file in request.files.getlist("files"):
        name = (file.filename or "").replace("\\", "/").rpartition("/")[2]
        if not name:
            continue
        with file.stream:
            data = file.read(LARGEST_SOURCE + 1)
        try:
            text = storable(data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise UnfitExperiment("", f"`{name[:60]}` isn't UTF-8 text.") from None
        if name.endswith(".toml"):
            form.values["definition"] = text
        else:
            kernels[name] = text
    return kernels


@cache
def _templates() -> tuple[Template, ...]:
    return templates()


def _own_kernels(
    session: Session, course: Membership, asked: Sent, definition: Definition, now: datetime
) -> dict[str, str]:
    """The stored kernels of the exercise that the experiment names."""
    wanted = [name for name in definition.kernels if name in _OWN]
    if not wanted:
        return {}
    try:
        target = target_of(session, course.course_id, course.role, definition.exercise, asked.device_class, now)
    except NoTarget as error:
        raise UnfitExperiment(error.field, str(error)) from error
    query = select(ExerciseFile.name, ExerciseFile.content).where(
        ExerciseFile.exercise_id == target.exercise, ExerciseFile.name.in_(wanted)
    )
    return {name: bytes(content).decode("utf-8", "replace") for name, content in session.execute(query)}


def _form(
    course: Membership, form: Form, kernels: Mapping[str, str] = MappingProxyType({}), large: Estimate | None = None
) -> str:
    with site().readers.begin() as session:
        offered = sorted(device_classes(session, datetime.now(UTC)))
    gpus = [(name, name.upper()) for name in offered]
    classes = [("", "The assignment’s own"), *gpus, (CPU, "Nothing: checked and counted only")]
    page = NewPage(course, form, _templates(), classes, kernels, large)
    return render_template("experiments/new.html", page=page)


@dataclass(frozen=True, slots=True)
class VaryPage:
    """A variation to start.

    tiles: the values to choose from; () for a size, which has many
    quota: None for course staff, who have none
    why_not: why it can't start; "" if it can
    """

    course: Membership
    assignment: str
    assignment_title: str
    submission: str
    what: str
    form: Form
    names: list[tuple[str, str]]
    tiles: tuple[int, ...]
    quota: Quota | None
    why_not: str
    large: Estimate | None = None

    @property
    def question(self) -> str:
        return estimate_text(self.large) if self.large is not None else ""

    @property
    def per_day(self) -> tuple[int, int]:
        return EXPERIMENTS_A_DAY, POINTS_A_DAY

    @property
    def title(self) -> str:
        return {TILE: "Vary the tile", SIZE: "Vary the size"}[self.what]


@experiments_pages.get("/submissions/<public_id>/vary")
def show_variation(public_id: str) -> str:
    what = request.args.get("what", TILE)
    if what not in WHAT:
        raise nothing_here()
    with site().readers.begin() as session:
        page = _variation_page(session, public_id, what, None, datetime.now(UTC))
    return render_template("experiments/vary.html", page=page)


@experiments_pages.post("/submissions/<public_id>/vary")
def vary(public_id: str) -> Response | tuple[str, int]:
    who, now = viewer(), datetime.now(UTC)
    form, large = sent("what", "axis", "values", "confirm"), None
    what = form["what"] if form["what"] in WHAT else TILE
    with site().readers.begin() as session:
        _varied_submission(session, public_id)
    try:
        limits.count(site().sessions, STARTS, f"person {who.id}")
        return _started(public_id, what, form, now)
    except limits.TooOften as often:
        form.mistake("values", f"Too many requests. Try again in {often.seconds} s.")
    except AxisError as error:
        form.mistake("values", f"{error}.")
    except QuotaUsed as error:
        form.mistake("values", quota_text(error))
    except (UnfitExperiment, NoVariation, TooManyRunning) as error:
        form.mistake("values", str(error))
    except LargeExperiment as error:
        large = error.estimate
    with site().readers.begin() as session:
        page = replace(_variation_page(session, public_id, what, form, now), large=large)
    return render_template("experiments/vary.html", page=page), 422 if large is None else 409


def _started(public_id: str, what: str, form: Form, now: datetime) -> Response:
    with site().readers.begin() as session:
        submission, course = _varied_submission(session, public_id)
        variation, assignment = variation_of(submission, what), submission.assignment
        exercise, student = assignment.exercise, not is_staff(course.role)
        check_room(session, viewer().id, assignment.id if student else None, now)
    if course.archived:
        raise Refused(403, "not_open", "The course is archived", "You can't start experiments in it.")
    definition = variation.definition(form["axis"] or variation.names[0], form["values"])
    kernels = {variation.kernel: variation.text}
    plan = checked_plan(exercise, definition, kernels, student=student)
    new = NewExperiment(
        course=course.course_id,
        person=viewer().id,
        exercise=exercise.id,
        definition=definition,
        kernels=kernels,
        points=len(plan.points),
        arch=assignment.arch,
        device_class=assignment.device_class,
        assignment=assignment.id if student else None,
        submission=submission.id,
        agreed=form.whole("confirm"),
    )
    with site().sessions.begin() as session:
        public_id = start(session, new, now).public_id
    return _back(public_id, "experiment-started")


def _variation_page(session: Session, public_id: str, what: str, form: Form | None, now: datetime) -> VaryPage:
    submission, course = _varied_submission(session, public_id)
    assignment, names, why_not = submission.assignment, [], ""
    tiles: tuple[int, ...] = ()
    values = {"what": what}
    try:
        variation = variation_of(submission, what)
    except NoVariation as error:
        why_not = str(error)
    else:
        names = [(name, name) for name in variation.names]
        tiles = variation.exercise.tiles if what == TILE else ()
        values |= {"axis": variation.names[0], "values": variation.suggested[0]}
    student = not is_staff(course.role)
    quota = quota_of(session, viewer().id, assignment.id, now) if student else None
    if course.archived:
        why_not = "This course is archived."
    elif quota is not None and not quota.points_left:
        why_not = quota_text(QuotaUsed("Your quota for this assignment is used.", quota))
    return VaryPage(
        course,
        assignment.slug,
        assignment.title,
        submission.public_id,
        what,
        form or filled(values),
        names,
        tiles,
        quota,
        why_not,
    )


def _varied_submission(session: Session, public_id: str) -> tuple[Submission, Membership]:
    submission = submission_of_page(session, public_id)
    return submission, membership_in(session, submission.assignment.course)
