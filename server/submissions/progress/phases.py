"""The progress of a submission in words: phases with their times, its place in the queue, the current activity.

The database is always right. Workers' hints add details, and may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from kernels.exercise.input_words import case_words
from server.fields import INTERNAL, JsonName
from server.grading.models import MAX_ATTEMPTS, JobState, StepState
from server.grading.queue import Place
from server.submissions.progress.jobs import StepStatus, SubmissionStatus
from worker.contract.hints import Hint
from worker.contract.messages import StepKind


class PhaseState(StrEnum):
    """The state of a phase. left_out: an earlier phase ended the grading."""

    WAITING = "waiting"
    NOW = "now"
    DONE = "done"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class ProgressPhase:
    """A phase of grading: queued, compiling, checking, and measuring if a GPU measures it.

    state: waiting, now, done, or left_out if an earlier phase ended the grading
    seconds: its duration; None before its end, or if unknown
    began: when it began, if it is the current phase
    detail: its progress in words
    """

    key: Annotated[str, JsonName("name")]
    title: Annotated[str, INTERNAL]
    state: PhaseState
    seconds: float | None = None
    began: Annotated[datetime | None, INTERNAL] = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """A submission's status in words.

    headline: the current activity in a few words; explanation: one sentence more
    note: a failure of a worker, which isn't the kernel's fault; usually ""
    printed: the start of what the kernel printed in the test case `printed_case`; "" if nothing is known
    """

    status: SubmissionStatus
    headline: str
    explanation: str
    note: str
    phases: tuple[ProgressPhase, ...]
    printed_case: str = ""
    printed: str = ""


@dataclass(slots=True)
class Trail:
    """The hints about one attempt at a step.

    at: when the worker sent the latest hint, by the worker's clock
    begun: when each phase's first hint arrived; worked: when the worker sent it, by the worker's clock
    printed_case, printed: the kernel's output, as in a hint
    """

    step: StepKind
    attempt: int
    phase: str
    detail: str
    at: float
    begun: dict[str, datetime] = field(default_factory=dict)
    worked: dict[str, float] = field(default_factory=dict)
    printed_case: str = ""
    printed: str = ""

    def fits(self, step: StepStatus) -> bool:
        return step.kind is self.step and step.attempt == self.attempt


Trails = Mapping[StepKind, Trail]


def follow(trails: dict[StepKind, Trail], hint: Hint, now: datetime) -> None:
    """Add a hint to the trail of its step; a later attempt starts a new trail."""
    trail = trails.get(hint.step)
    if trail is None or hint.attempt > trail.attempt:
        trail = trails[hint.step] = Trail(hint.step, hint.attempt, hint.phase, hint.detail, hint.at)
    elif hint.attempt < trail.attempt:
        return
    # One that was kept in Redis may come after later ones.
    if hint.at >= trail.at:
        trail.phase, trail.detail, trail.at = hint.phase, hint.detail, hint.at
    if hint.printed:
        trail.printed_case, trail.printed = hint.printed_case, hint.printed
    trail.begun.setdefault(hint.phase, now)
    trail.worked.setdefault(hint.phase, hint.at)


def progress_of(status: SubmissionStatus, trails: Trails) -> Progress:
    """Describe the progress of a submission."""
    check, measure = status.step(StepKind.CHECK), status.step(StepKind.MEASURE)
    phases = [*_checking(status, check, trails.get(StepKind.CHECK))]
    if status.device_class:
        phases.append(_measuring(status, measure, trails.get(StepKind.MEASURE)))
    step = status.open_step
    waits = step is not None and not _begun(step, _followed(step, trails.get(step.kind)))
    headline, explanation = _words(status, phases, waits=waits)
    printing = None if check is None else _followed(check, trails.get(StepKind.CHECK))
    return Progress(
        status=status,
        headline=headline,
        explanation=explanation,
        note=_note(step),
        phases=tuple(phases),
        printed_case="" if printing is None else printing.printed_case,
        printed="" if printing is None else printing.printed,
    )


def _checking(status: SubmissionStatus, step: StepStatus | None, trail: Trail | None) -> list[ProgressPhase]:
    """The phases queued, compiling and checking, which are one step of one worker."""
    titles = {"queued": "Queued", "compiling": "Compiling", "checking": "Checking"}
    if step is None or step.state is StepState.CANCELLED:
        return [ProgressPhase(key, title, PhaseState.LEFT_OUT) for key, title in titles.items()]
    followed = _followed(step, trail)
    if not _begun(step, followed):
        now, *rest = titles.items()
        detail = "" if status.place is None else _place_text(status.place)
        return [
            ProgressPhase(*now, PhaseState.NOW, began=step.queued_at, detail=detail),
            *(ProgressPhase(*each, PhaseState.WAITING) for each in rest),
        ]
    queued = ProgressPhase("queued", "Queued", PhaseState.DONE, _between(step.queued_at, step.started_at))
    if step.state in {StepState.DONE, StepState.FAILED}:
        compiled = None if followed is None else _compile_seconds(followed)
        checked = step.seconds if compiled is None or step.seconds is None else step.seconds - compiled
        together = "compiled and checked" if compiled is None else ""
        return [
            queued,
            ProgressPhase("compiling", "Compiling", PhaseState.DONE, compiled),
            ProgressPhase("checking", "Checking", PhaseState.DONE, checked, detail=together),
        ]
    if followed is None:  # no hint from its worker: it is in one of the two phases
        return [
            queued,
            ProgressPhase("compiling", "Compiling", PhaseState.NOW, began=step.started_at),
            ProgressPhase("checking", "Checking", PhaseState.NOW),
        ]
    if followed.phase == "compiling":
        return [
            queued,
            ProgressPhase("compiling", "Compiling", PhaseState.NOW, began=followed.begun.get("compiling")),
            ProgressPhase("checking", "Checking", PhaseState.WAITING),
        ]
    detail = "counting what the kernel does" if followed.phase == "counting" else _in_words(followed.detail)
    return [
        queued,
        ProgressPhase("compiling", "Compiling", PhaseState.DONE, _compile_seconds(followed)),
        ProgressPhase("checking", "Checking", PhaseState.NOW, began=followed.begun.get("checking"), detail=detail),
    ]


def _in_words(detail: str) -> str:
    """A check's detail, such as `3 of 14: Width=17 real`, with the case's name in words."""
    count, _, case = detail.partition(": ")
    return f"{count}: {case_words(case)}" if case else detail


def _measuring(status: SubmissionStatus, step: StepStatus | None, trail: Trail | None) -> ProgressPhase:
    key, title = "measuring", "Measuring"
    if step is None or step.state is StepState.CANCELLED:
        return ProgressPhase(key, title, PhaseState.LEFT_OUT if status.over or step else PhaseState.WAITING)
    followed = _followed(step, trail)
    if not _begun(step, followed):
        place = "" if status.place is None else _place_text(status.place)
        return ProgressPhase(key, title, PhaseState.NOW, began=step.queued_at, detail=place)
    if step.state in {StepState.DONE, StepState.FAILED}:
        return ProgressPhase(key, title, PhaseState.DONE, step.seconds)
    detail = "" if followed is None or not followed.detail else f"launch {followed.detail}"
    return ProgressPhase(key, title, PhaseState.NOW, began=step.started_at, detail=detail)


def _followed(step: StepStatus, trail: Trail | None) -> Trail | None:
    return trail if trail is not None and trail.fits(step) else None


def _begun(step: StepStatus, trail: Trail | None) -> bool:
    """Whether a worker has started it. A hint may arrive before the database knows."""
    if step.state in {StepState.QUEUED, StepState.SENT}:
        return step.state is StepState.SENT and trail is not None
    return True


def _words(status: SubmissionStatus, phases: Sequence[ProgressPhase], *, waits: bool) -> tuple[str, str]:
    if status.state is JobState.DONE:
        return "Done", ""
    if status.state is JobState.CANCELLED:
        return "Cancelled", "It was not fully graded and doesn’t count."
    present = [phase for phase in phases if phase.state is PhaseState.NOW]
    if not present:
        return "Nearly done", "The result is being written."
    if len(present) > 1:
        return "In progress", "A worker is compiling and checking it."
    now = present[0]
    if waits and status.place is not None:
        where = f"for a GPU of class {status.device_class}" if now.key == "measuring" else "for a worker"
        return f"Waiting {where}", _wait_text(status.place)
    return _HEADLINES[now.key], now.detail


_HEADLINES = {"queued": "Waiting", "compiling": "Compiling", "checking": "Checking", "measuring": "Measuring"}


def _place_text(place: Place) -> str:
    return "starting now" if place.position == 1 and place.seconds == 0 else place.text


def _wait_text(place: Place) -> str:
    if place.reason:
        return place.reason
    if place.seconds is None or place.seconds < 1:
        return "Starting now."
    return f"Starts in about {_about(place.seconds)}, judging by recent jobs."


def _about(seconds: float) -> str:
    """Round the guess coarsely, so that it doesn't change with each update."""
    if seconds < 10:
        return "10 seconds"
    if seconds < 90:
        return f"{10 * round(seconds / 10)} seconds"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"


def _note(step: StepStatus | None) -> str:
    if step is None:
        return ""
    if step.state is StepState.QUEUED and step.attempt > 0:
        return (
            f"Try {step.attempt} of {MAX_ATTEMPTS} failed: its worker was lost or had an error. Trying again. "
            f"{_NOT_YOURS}"
        )
    if step.attempt > 1:
        return f"Try {step.attempt} of {MAX_ATTEMPTS}: the earlier worker was lost or had an error. {_NOT_YOURS}"
    return ""


_NOT_YOURS = "This isn't your kernel's fault, and doesn't use an attempt."


def _between(first: datetime, then: datetime | None) -> float | None:
    return None if then is None else max(0.0, (then - first).total_seconds())


def _compile_seconds(trail: Trail) -> float | None:
    """By the worker's clock."""
    compiling, checking = trail.worked.get("compiling"), trail.worked.get("checking")
    return None if compiling is None or checking is None else max(0.0, checking - compiling)
