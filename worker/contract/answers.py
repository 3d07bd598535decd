"""Answers of the portal's API as the server makes them and the command line reads them.

Their docstrings are the API's description. A field has a default if earlier portals don't send it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted submission.

    url: where to read its progress and result
    position: in the queue, 0 in progress; None if it is over, which a repeated request may find
    """

    id: str
    url: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """The time until a worker starts a submission. seconds: None if unknown; reason: why it is unknown."""

    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement on a GPU.

    gflops, gbps: None if the exercise doesn't define them
    melements: millions of elements a second
    metric: what the exercise ranks by: "gflops", "gbps", "elements" or "time"
    cublas_share: the share of cuBLAS's speed at the same size, 0 to 1
    """

    gflops: float | None = None
    gbps: float | None = None
    melements: float | None = None
    ms_median: float | None = None
    cublas_share: float | None = None
    metric: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a leaderboard.

    rank: counted by listed lines, ignoring ties; None if nothing is measured
    shared_rank: the rank of the first line that it is tied with; None if nothing is measured
    tied: whether intervals leave open which of two or more kernels is faster
    value: measured, by the leaderboard's metric; None if nothing is measured
    interval: the 95 % interval of the value; None if nothing is measured
    modelled_bound: the model's limit for this kernel, by the leaderboard's metric; None if measured or unknown
    cublas_share: the measured share of cuBLAS's speed, 0 to 1; None if unknown
    occupancy: modelled, 0 to 1; None if unknown
    ms: the measured median time; None if nothing is measured
    launch: tile, grid and block
    reached_at: when the kernel was submitted; if nothing is measured, when the first accepted one was
    you: whether it is your line
    listed: whether other students see it. You see your own line, and course staff see all
    name: the real name for course staff, the pseudonym for other students
    submission: for its owner and course staff; None for other students
    person, email: the student's ID and email for course staff; None for students
    """

    rank: int | None = None
    shared_rank: int | None = None
    tied: bool = False
    value: float | None = None
    interval: tuple[float, float] | None = None
    modelled_bound: float | None = None
    cublas_share: float | None = None
    occupancy: float | None = None
    ms: float | None = None
    launch: str = ""
    reached_at: datetime
    you: bool = False
    listed: bool = True
    name: str = ""
    pseudonym: str = ""
    submission: str | None = None
    person: int | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard.

    device_class: `cpu` for an assignment that no GPU measures
    metric: "gflops", "gbps" or "elements" (millions a second), higher is better, or "time" in ms
    columns: the columns that staff chose, in their order
    sort: the order that the page opens with, with "-" in front if reversed. Here, lines are by rank
    own: your line, wherever it is
    frozen_at: you see submissions until then; None if you see the live leaderboard
    more: whether lines follow; next: the URL of the next part, None at the end
    """

    assignment: str
    device_class: str
    metric: str
    columns: tuple[str, ...] = ()
    sort: str = ""
    frozen_at: datetime | None = None
    lines: tuple[Line, ...] = ()
    own: Line | None = None
    more: bool = False
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of an experiment.

    digest: SHA-256 of its text
    text: None for a reader who isn't its owner or course staff
    submission: the ID of the submission that it was; None for another kernel, or for such a reader
    """

    name: str
    digest: str
    text: str | None = None
    submission: str | None = None


@dataclass(frozen=True, slots=True)
class ExperimentExercise:
    """The exercise that every point uses. definition: the text of its file; digest: with the judge's version."""

    name: str
    definition: str
    digest: str
