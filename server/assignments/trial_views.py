"""The page on which a student tries a kernel. The workbench shows its parts next to the editor."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flask import Blueprint, Response, render_template, request
from markupsafe import Markup
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from kernels.exercise import ExerciseError, InputKind
from kernels.exercise.trial import Trial, TrialError
from kernels.wording import plural
from server.accounts import limits
from server.assignments.form import Sent, earlier_submission, read_sent
from server.assignments.trial import Choices, LastTrial, choices_of, last_trial, limit_of, refusal, start_trial
from server.bounded_work import bounded
from server.courses.access import Reader, assignment_for, reader_of
from server.courses.models import Assignment, HintStep
from server.database.storage import is_nearly_full
from server.exercises.stored import material_of
from server.grading.models import JobState
from server.grading.reports import ReportError, unpack
from server.http.arrival import LARGEST_FORM
from server.http.forms import Form, filled, sent
from server.http.numbers import zone_of
from server.http.site import site
from server.submissions.changes import revoke
from server.submissions.refusals import NotAccepted
from server.submissions.result.report import trial_sections
from server.submissions.source import SubmittedSource
from server.text import read_whole
from worker.contract.messages import Ticket

trials = Blueprint("trials", __name__, url_prefix="/courses/<course>/<name>/try")

_SIZE, _TYPED, _KIND = "size_", "typed_", "inputs"
_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?[fF]?", re.ASCII)
_BETWEEN = re.compile(r"[\s,;{}\[\]]+")
_MOST_NUMBERS = 4096


@dataclass(frozen=True, slots=True)
class TrialPage:
    """The page. source: the text for its own editor; result: of the last trial, "" while it waits or without one.

    problem: why nothing was tried now; never: why the reader can't try at all
    """

    slug: str
    title: str
    course: str
    course_title: str
    address: str
    choices: Choices
    form: Form
    source: str
    waits: bool
    result: Markup
    problem: str
    never: str
    count: int

    @property
    def typed(self) -> bool:
        """Whether values were typed."""
        return any(self.form[_TYPED + array.name] for array in self.choices.arrays)


@trials.url_value_preprocessor
def _take_large_forms(endpoint: str | None, values: dict[str, str] | None) -> None:
    """Raise the size limit before anything reads the form."""
    request.max_content_length = request.max_form_memory_size = LARGEST_FORM


@trials.get("")
def show_trial(course: str, name: str) -> str | Response:
    """Show the choices, and the last trial with its result."""
    reader = reader_of(course, name)
    return _page(reader)


@trials.post("")
def start_try(course: str, name: str) -> Response:
    """Try a kernel. A refused form comes back with its text."""
    reader = reader_of(course, name)
    given = read_sent(partial(_need_to_see, reader))
    here = site()
    try:
        if given.mistake is not None:
            return _again(reader, given, given.mistake.text, 422)
        assert given.source is not None, "a form without a mistake has a source"
        if is_nearly_full(here.engine, here.settings.free_mb):
            return _again(reader, given, "The server has almost no disk space left. Tell your course staff.", 503)
        with here.readers.begin() as session:
            assignment = assignment_for(session, reader)
            choices, limit = choices_of(assignment), limit_of(assignment, staff=reader.course.is_staff)
        trial = _read(choices)
        limits.forget_old(here.sessions, limit, datetime.now(UTC))
        try:
            tickets = _start(reader, given.source, trial)
        except IntegrityError:
            # Someone else's last trial had the same source, and took it along.
            tickets = _start(reader, given.source, trial)
    except (TrialError, ExerciseError) as error:
        return _again(reader, given, str(error), 422)
    except limits.TooOften as error:
        minutes = -(-error.seconds // 60)
        text = f"You tried {plural(error.limit.count, 'kernel')} within an hour, which is the limit. "
        return _again(reader, given, f"{text}Try again in {plural(minutes, 'minute')}.", 429, error.seconds)
    except NotAccepted as error:
        return _again(reader, given, _told(error, reader), 422)
    revoke(here.settings.redis_url, tickets)
    return Response(status=303, headers={"Location": f"/courses/{course}/{name}/try"})


def _start(reader: Reader, source: SubmittedSource, trial: Trial) -> Sequence[Ticket]:
    with site().sessions.begin() as session:
        return start_trial(
            session, assignment_for(session, reader), reader.viewer.id, source, trial, datetime.now(UTC),
            staff=reader.course.is_staff,
        )  # fmt: skip


def _read(choices: Choices) -> Trial:
    """The trial in the form; raises TrialError."""
    form = sent(_KIND, *(_SIZE + name for name in choices.sizes), *(_TYPED + each.name for each in choices.arrays))
    sizes = {}
    for name in choices.sizes:
        try:
            sizes[name] = read_whole(form[_SIZE + name]) if form[_SIZE + name] else 0
        except ValueError as error:
            raise TrialError(f"{name}: {error}", name) from None
    if form[_KIND] not in choices.kinds:
        raise TrialError("Choose a kind of values.")
    typed = {each.name: _numbers(each.name, form[_TYPED + each.name]) for each in choices.arrays}
    return Trial(sizes, InputKind(form[_KIND]), {name: values for name, values in typed.items() if values})


def _numbers(name: str, text: str) -> tuple[float, ...]:
    words = [word for word in _BETWEEN.split(text) if word]
    if len(words) > _MOST_NUMBERS:
        raise TrialError(f"{name} has too many numbers.", name)
    for word in words:
        if not _NUMBER.fullmatch(word):
            raise TrialError(f"“{word[:20]}” in {name} isn’t a number. Separate numbers by spaces or commas.", name)
    return tuple(float(word.rstrip("fF")) for word in words)


def _page(reader: Reader, given: Sent | None = None, problem: str = "") -> str:
    with site().readers.begin() as session:
        page = _trial_page(session, reader, assignment_for(session, reader), given, problem)
    return render_template("assignments/trial.html", page=page)


def _again(reader: Reader, given: Sent, problem: str, status: int, seconds: int = 0) -> Response:
    response = Response(_page(reader, given, problem), status)
    if seconds:
        response.headers["Retry-After"] = str(seconds)
    return response


def _trial_page(
    session: Session, reader: Reader, assignment: Assignment, given: Sent | None, problem: str
) -> TrialPage:
    choices, staff = choices_of(assignment), reader.course.is_staff
    found = last_trial(session, assignment.id, reader.viewer.id)
    refused = refusal(session, assignment, reader.viewer.id, reader.now, staff=staff)
    values = request.form if given is not None else _values(choices, found)
    return TrialPage(
        slug=assignment.slug,
        title=assignment.title,
        course=reader.course.slug,
        course_title=reader.course.title,
        address=f"/courses/{reader.course.slug}/{assignment.slug}/",
        choices=choices,
        form=filled({name: str(text) for name, text in values.items()}),
        source=given.text if given is not None else _source(session, reader, assignment, found),
        waits=found is not None and found.waits,
        result=Markup() if found is None or given is not None else _result(found, assignment),
        problem=problem,
        never="" if refused is None else _told(refused, reader),
        count=limit_of(assignment, staff=staff).count,
    )


def _values(choices: Choices, found: LastTrial | None) -> Mapping[str, str]:
    """The fields as the last trial had them, or to begin with."""
    if found is None or found.trial.sizes.keys() != choices.sizes.keys():
        return {_SIZE + name: str(size) for name, size in choices.sizes.items()}
    trial = found.trial
    return {
        _KIND: trial.inputs.value,
        **{_SIZE + name: str(size) for name, size in trial.sizes.items()},
        **{_TYPED + name: _rows(choices, trial, name) for name in trial.typed},
    }


def _rows(choices: Choices, trial: Trial, name: str) -> str:
    exercise = choices.exercise
    operand = next((each for each in exercise.operands if each.name == name), None)
    texts = [f"{value:.17g}" if value != int(value) else str(int(value)) for value in trial.typed[name]]
    columns = len(texts) if operand is None or operand.vector else operand.shape(
        exercise.names(choices.tile, trial.sizes)
    )[1]  # fmt: skip
    return "\n".join(" ".join(texts[start : start + columns]) for start in range(0, len(texts), max(1, columns)))


def _source(session: Session, reader: Reader, assignment: Assignment, found: LastTrial | None) -> str:
    """The tried text, otherwise the last submission's, otherwise the starter."""
    if found is not None:
        return found.source
    before = earlier_submission(session, reader.viewer.id, assignment, staff=reader.course.is_staff)
    if before is not None:
        return before.text
    given = material_of(session, assignment.exercise)
    return (given.starter if given is not None else None) or ""


def _result(found: LastTrial, assignment: Assignment) -> Markup:
    if found.verdict is None or found.report is None:
        ended = found.state is JobState.CANCELLED
        return Markup("<p>The run was cancelled. Try again.</p>") if ended else Markup()
    try:
        plain = unpack(found.report)
    except ReportError:
        return Markup("<p>The result can’t be read. Try again.</p>")
    hides_lines = assignment.first_hint is not HintStep.EDIT
    return Markup(bounded(trial_sections, plain, found.verdict.value, hides_lines))  # noqa: S704


def _need_to_see(reader: Reader) -> None:
    with site().readers.begin() as session:
        assignment_for(session, reader)


def _told(error: NotAccepted, reader: Reader) -> str:
    zone = zone_of(reader.course.time_zone)
    return error.told(lambda at: f"{at.astimezone(zone):%H:%M on %a %d %b (%Z)}")
