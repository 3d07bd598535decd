"""Events of a submission's progress, as the API sends them."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.verdict import Verdict
from server.grading.models import JobState
from server.grading.queue import Place
from server.submissions.progress.phases import Progress, ProgressPhase
from worker.contract.answers import Wait


@dataclass(frozen=True, slots=True)
class ProgressAnswer:
    """The progress of a submission in one event.

    final: whether this is the last event; then read the submission for its result
    headline: the current activity in a few words
    position, wait: as in the submission itself
    attempt: the number of the open step's attempt; 0 if no step is open
    printed: the start of what the kernel printed in the test case `printed_case`; "" if nothing is known
    """

    state: JobState
    verdict: Verdict | None
    final: bool
    headline: str
    position: int | None
    wait: Wait | None
    attempt: int
    phases: tuple[ProgressPhase, ...]
    printed_case: str
    printed: str


def wait_answer(place: Place | None) -> Wait | None:
    """Convert a place in the queue into its wait."""
    return None if place is None else Wait(place.seconds, place.reason)


def progress_answer(progress: Progress) -> ProgressAnswer:
    """Convert a progress into an event."""
    status = progress.status
    return ProgressAnswer(
        state=status.state,
        verdict=status.verdict,
        final=status.over,
        headline=progress.headline,
        position=status.position,
        wait=wait_answer(status.place),
        attempt=0 if status.open_step is None else status.open_step.attempt,
        phases=tuple(progress.phases),
        printed_case=progress.printed_case,
        printed=progress.printed,
    )
