"""What an event of a stream for programs holds."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.verdict import Verdict
from server.grading.models import JobState
from server.grading.queue import Place
from server.submissions.progress.phases import PhaseState, Progress


@dataclass(frozen=True, slots=True)
class WaitAnswer:
    """How long a submission waits for its turn. seconds: None where nobody can tell; reason: why not."""

    seconds: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class ProgressPhaseAnswer:
    """A part of the way: queued, compiling, checking, and measuring where it is measured.

    state: waiting, now, done, or left_out where the kernel did not come so far
    seconds: that it took; None where it goes on, or nobody could tell
    detail: how far it has come, in words
    """

    name: str
    state: PhaseState
    seconds: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class ProgressAnswer:
    """How far a submission is, as an event tells it.

    final: whether nothing more comes: then the submission itself has the result
    headline: what happens now, in a few words
    position, wait: as those of a submission
    attempt: which it is, of the step that is open; 0 where none is
    """

    state: JobState
    verdict: Verdict | None
    final: bool
    headline: str
    position: int | None
    wait: WaitAnswer | None
    attempt: int
    phases: tuple[ProgressPhaseAnswer, ...]


def wait_answer(place: Place | None) -> WaitAnswer | None:
    """The wait of a place in the queue."""
    return None if place is None else WaitAnswer(place.seconds, place.reason)


def progress_answer(progress: Progress) -> ProgressAnswer:
    """The progress as an event holds it."""
    status = progress.status
    return ProgressAnswer(
        state=status.state,
        verdict=status.verdict,
        final=status.over,
        headline=progress.headline,
        position=status.position,
        wait=wait_answer(status.place),
        attempt=0 if status.open_step is None else status.open_step.attempt,
        phases=tuple(
            ProgressPhaseAnswer(phase.key, phase.state, phase.seconds, phase.detail)
            for phase in progress.phases
        ),
    )
