"""The form with which course staff start an experiment: from a template, or from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from flask import Response, render_template, request, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.experiment.model import Experiment as Definition
from kernels.experiment.templates import FOLDER, Template, templates
from kernels.source.paste.decoding import LARGEST_SOURCE
from server.accounts import limits
from server.accounts.access import viewer
from server.courses.access import Membership, staff_of
from server.courses.models import ExerciseFile
from server.experiments.access import STARTS
from server.experiments.new_experiment import Sent, read_sent, start_sent
from server.experiments.plans import UnfitExperiment
from server.experiments.service import TooManyRunning
from server.experiments.targets import CPU, NoTarget, target_of
from server.experiments.views.blueprint import experiments_pages
from server.fleet.service import device_classes
from server.http.forms import Form, filled, sent
from server.http.problems import Refused
from server.http.site import site
from server.text import storable

_OWN = ("solution.cu", "starter.cu")


@dataclass(frozen=True, slots=True)
class NewPage:
    """The form. classes: kinds of GPU with a running worker."""

    course: Membership
    form: Form
    templates: tuple[Template, ...]
    classes: list[tuple[str, str]]


@experiments_pages.get("/courses/<slug>/experiments/new")
def new_experiment(slug: str) -> str:
    """Show the form, with a template."""
    course = staff_of(slug)
    wanted = request.args.get("template", "")
    template = next((each for each in _templates() if each.name == wanted), _templates()[0])
    text = template.file.read_text("utf-8")
    return _form(course, filled({"definition": text, "device_class": ""}))


@experiments_pages.post("/courses/<slug>/experiments/new")
def begin(slug: str) -> str | Response | tuple[str, int]:
    """Start the experiment."""
    course, who, now = staff_of(slug), viewer(), datetime.now(UTC)
    form = sent("definition", "device_class", "pauses")
    form.values["definition"] = storable(request.form.get("definition", "")).replace("\r\n", "\n")
    if course.archived:
        raise Refused(403, "not_open", "The course is archived", "You can't start experiments in it.")
    try:
        limits.count(site().sessions, STARTS, f"person {who.id}")
        kernels = _files(form)
        asked = Sent(form.values["definition"], kernels, (), form["device_class"] or None, form.checked("pauses"))
        definition = read_sent(asked)
        with site().sessions.begin() as session:
            own = _own_kernels(session, course, asked, definition, now)
        known = _kernels_of_templates(definition) | own | dict(kernels)
        whole = Sent(asked.text, known, (), asked.device_class, asked.pauses)
        here, role = course.course_id, course.role
        public_id = start_sent(site().sessions, whole, definition, here, who.id, role, now)
    except limits.TooOften as often:
        form.mistake("definition", f"Too many requests. Try again in {often.seconds} s.")
    except UnfitExperiment as error:
        form.mistake("definition", error.sentence)
    except TooManyRunning as error:
        form.mistake("definition", str(error))
    else:
        address = url_for("experiments_pages.show", public_id=public_id, notice="experiment-started")
        return Response(status=303, headers={"Location": address})
    return _form(course, form), 422


def _files(form: Form) -> Mapping[str, str]:
    """The kernels among the files; an experiment's file replaces the text. Raises UnfitExperiment."""
    found = {}
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
            found[name] = text
    return found


@cache
def _templates() -> tuple[Template, ...]:
    """The experiments that come with Tilelab."""
    return templates()


def _kernels_of_templates(definition: Definition) -> dict[str, str]:
    """The kernels that the experiment names and that come with the templates."""
    there = {file.name: file for file in FOLDER.glob("*.cu")}
    return {name: there[name].read_text("utf-8") for name in definition.kernels if name in there}


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


def _form(course: Membership, form: Form) -> str:
    with site().readers.begin() as session:
        offered = sorted(device_classes(session, datetime.now(UTC)))
    gpus = [(name, name.upper()) for name in offered]
    classes = [("", "The assignment’s own"), *gpus, (CPU, "Nothing: checked and counted only")]
    page = NewPage(course, form, _templates(), classes)
    return render_template("experiments/new.html", page=page)
