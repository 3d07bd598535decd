"""Experiments on the portal: start, read, fetch points, cancel, retry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from kernels.experiment.model import OnServer
from kernels.experiment.result import PointResult, from_json
from kernels.wire import WireError
from worker.client.answers import OVER, read
from worker.client.errors import NotDone, Unreadable
from worker.client.portal import Portal
from worker.contract.answers import ExperimentExercise, Kernel

_ID = re.compile(r"[0-9A-Za-z]{1,32}")
_PATH = "/api/v1/experiments"
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment on the portal.

    ended: how many of its points have a result
    paused_until: no point starts before this deadline; None if it isn't paused
    search: what a search did so far; "" for an experiment without one
    failed: how many points ended in a system error, and may be retried
    """

    id: str
    page: str
    name: str
    state: str
    points: int
    ended: int
    device_class: str
    arch: str
    exercise: ExperimentExercise
    definition: Mapping[str, Any]
    kernels: tuple[Kernel, ...]
    created_at: str
    paused_until: str | None = None
    failed: int = 0
    search: str = ""

    @property
    def over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True, slots=True)
class ExperimentLine:
    """An experiment in a course's list."""

    id: str
    page: str
    name: str
    state: str
    points: int
    ended: int
    device_class: str
    created_at: str
    own: bool
    shared: bool


@dataclass(frozen=True, slots=True)
class ExperimentList:
    """Some of a course's experiments, the newest first. next: the address of older ones."""

    experiments: tuple[ExperimentLine, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class NewExperiment:
    """An experiment to start. device_class: None for the assignment's own; confirm: even if it is large."""

    course: str
    definition: str
    kernels: Mapping[str, str]
    axes: Sequence[str]
    device_class: str | None
    pauses: bool
    confirm: bool = False


def start(portal: Portal, new: NewExperiment) -> Experiment:
    """Start an experiment. It isn't sent again if no answer comes, because it might then run twice."""
    body = {
        "course": new.course,
        "definition": new.definition,
        "kernels": dict(new.kernels),
        "axes": list(new.axes),
        "pause_before_deadlines": new.pauses,
        **({} if new.device_class is None else {"device_class": new.device_class}),
        **({"confirm": True} if new.confirm else {}),
    }
    return _read(portal.connection.ask("POST", _PATH, body))


def listed(portal: Portal, course: str) -> ExperimentList:
    """The newest experiments of a course that you may see."""
    return read(ExperimentList, portal.plain(f"{_PATH}?{urlencode({'course': course})}"))


def kernel_text(portal: Portal, on_server: OnServer) -> str:
    """The text of a submission that you may see, or of the best one of an assignment.

    For course staff, the best one is the leaderboard's first listed one, for students their own.
    """
    return portal.source(on_server.submission or _best(portal, on_server.best))


def _best(portal: Portal, name: str) -> str:
    assignment = next((one for one in portal.assignments() if one.id == name), None)
    if assignment is None:
        raise NotDone(f"There is no assignment `{name}`, or you may not see it.", 404, "no_such_kernel")
    board = portal.board(name, assignment.device_class or "cpu")
    course = name.partition("/")[0]
    student = any(one.slug == course and one.role == "student" for one in portal.me().courses)
    line = board.own if student else next((one for one in board.lines if one.listed), None)
    if line is None or line.submission is None:
        raise NotDone(f"`{name}` has no accepted submission{' of yours' if student else ''}.", 404, "no_such_kernel")
    return line.submission


def look(portal: Portal, public_id: str, patience: float = 0.0) -> Experiment:
    """An experiment by its ID. patience: seconds to retry if the portal doesn't answer."""
    return _read(portal.plain(_path(public_id), patience))


def stop(portal: Portal, public_id: str) -> Experiment:
    """Cancel an experiment."""
    return _read(portal.connection.ask("POST", f"{_path(public_id)}/cancel"))


def run_again(portal: Portal, public_id: str) -> Experiment:
    """Run the points again that ended in a system error."""
    return _read(portal.connection.ask("POST", f"{_path(public_id)}/retry"))


def fetch(portal: Portal, public_id: str, patience: float = 0.0) -> Iterator[PointResult]:
    """All results so far, by number, in several requests."""
    after: int | None = None
    while True:
        asked = {"limit": _PAGE} | ({} if after is None else {"after": after})
        data = portal.plain(f"{_path(public_id)}/points?{urlencode(asked)}", patience)
        point_results = _points(data)
        yield from point_results
        if not point_results or not data.get("next"):
            return
        after = point_results[-1].number


def experiment_id_of(text: str) -> str | None:
    """The ID in typed text, which is an ID or the address of an experiment's page. None for other text."""
    path = urlsplit(text.strip()).path if "://" in text else text.strip()
    parts = [part for part in path.split("/") if part]
    if "experiments" in parts[:-1]:
        parts = [parts[parts.index("experiments") + 1]]
    return parts[0] if len(parts) == 1 and _ID.fullmatch(parts[0]) else None


def _path(public_id: str) -> str:
    return f"{_PATH}/{quote(public_id, safe='')}"


def _read(data: object) -> Experiment:
    found = read(Experiment, data)
    if not _ID.fullmatch(found.id):
        raise Unreadable("the portal's answer has no valid experiment ID.")
    return found


def _points(data: Any) -> list[PointResult]:
    points = data.get("points") if isinstance(data, dict) else None
    if not isinstance(points, list):
        raise Unreadable("the portal's answer has no points.")
    try:
        return [from_json(point) for point in points]
    except WireError as error:
        raise Unreadable(f"this version of tilelab can't read the portal's points ({error}).") from error
