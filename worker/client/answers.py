"""What the portal says, as data classes. Fields that this version does not know are passed over; none is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from kernels.report import Report
from kernels.wire import WireError, from_plain
from worker.client.errors import Unreadable

T = TypeVar("T")

OVER = frozenset({"done", "cancelled"})


@dataclass(frozen=True, slots=True)
class Course:
    """A course of yours."""

    slug: str
    title: str
    role: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """The token that was shown; expires_at: None for one that does not."""

    name: str
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class Me:
    """Who the token acts for."""

    name: str
    email: str
    token: Token
    courses: tuple[Course, ...] = ()


@dataclass(frozen=True, slots=True)
class Assignment:
    """id: COURSE/ASSIGNMENT; page: its address on the portal."""

    id: str
    title: str
    device_class: str
    open: bool
    page: str
    due_at: str | None = None


@dataclass(frozen=True, slots=True)
class Assignments:
    """What there is to hand in."""

    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was handed in. position: in the queue; None where it is over."""

    id: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """How long until its turn; seconds: None where nobody can tell, for this reason."""

    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a submission, or a part of the way in an event, which alone has a detail.

    state: a part's is waiting, now, done or left_out
    seconds: None before its end
    """

    name: str
    state: str
    seconds: float | None = None
    attempt: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a GPU measured."""

    gflops: float | None = None
    gbps: float | None = None
    ms_median: float | None = None
    cublas_share: float | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission and what became of it.

    created_at, measured: in a list only; position, wait, steps, result: of one that is asked for alone
    result: None until there is one
    """

    id: str
    assignment: str
    mode: str
    state: str
    verdict: str | None = None
    position: int | None = None
    wait: Wait | None = None
    steps: tuple[Step, ...] = ()
    result: Any = None
    created_at: str = ""
    measured: Measured | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will become of it."""
        return self.state in OVER

    def report(self) -> Report | None:
        """The result as this version knows it; None where there is none. Raises Unreadable."""
        return None if self.result is None else read(Report, self.result)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a submission is, as an event tells it; final: nothing more comes."""

    final: bool
    headline: str
    wait: Wait | None = None
    phases: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Submissions:
    """A list of submissions, the latest first."""

    submissions: tuple[Submission, ...]


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A line of a board; name: None for who is not to be named.

    rank, shared_rank, value, interval: None where nothing is measured, and modelled_bound where something is
    """

    rank: int | None = None
    shared_rank: int | None = None
    tied: bool = False
    value: float | None = None
    interval: tuple[float, float] | None = None
    modelled_bound: float | None = None
    cublas_share: float | None = None
    occupancy: float | None = None
    reached_at: str = ""
    you: bool = False
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """A board; own: one's own line, wherever it is."""

    assignment: str
    device_class: str
    metric: str
    lines: tuple[BoardLine, ...] = ()
    own: BoardLine | None = None
    more: bool = False


def read(cls: type[T], data: object) -> T:
    """The data class; raises Unreadable where the answer does not fit."""
    try:
        return from_plain(cls, data, lenient=True)
    except WireError as error:
        raise Unreadable(f"the portal's answer does not fit this version of tilelab ({error}).") from error
