"""The portal's answers as data classes. Unknown fields are ignored, and all values are untrusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kernels.wire import WireError, from_plain
from worker.client.errors import Unreadable
from worker.contract.answers import Measured, Wait

if TYPE_CHECKING:
    from kernels.report import Report

T = TypeVar("T")

OVER = frozenset({"done", "cancelled"})


@dataclass(frozen=True, slots=True)
class Course:
    """One of your courses."""

    slug: str
    title: str
    role: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """The token of this request. expires_at: None if it never expires."""

    name: str
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class Me:
    """The person who owns the token."""

    name: str
    email: str
    token: Token
    courses: tuple[Course, ...] = ()


@dataclass(frozen=True, slots=True)
class Codes:
    """Codes of a sign-in: `user_code` for a page of the portal, `device_code` to ask for the token. In seconds."""

    device_code: str
    user_code: str
    interval: int
    expires_in: int


@dataclass(frozen=True, slots=True)
class NewToken:
    """The token that a person allowed in a browser."""

    token: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment. id: COURSE/ASSIGNMENT; page: its address on the portal.

    late_days_left: of you in its course; late_days_needed: how many of these a submission spends now
    """

    id: str
    title: str
    device_class: str
    open: bool
    page: str
    due_at: str | None = None
    late_days_left: int = 0
    late_days_needed: int = 0
    practice: bool = False


@dataclass(frozen=True, slots=True)
class Assignments:
    """Your assignments."""

    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a submission, or a phase in an event. Only phases have a detail.

    state: for a phase: waiting, now, done or left_out
    seconds: None until it ends
    """

    name: str
    state: str
    seconds: float | None = None
    attempt: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission with its state and verdict.

    created_at, measured, points, most_points: only in a list
    points: None for none or not released yet; most_points: 0 if the assignment has no points
    worth, position, wait, steps, result, hint: only of a single one; hint: the last one in the result
    """

    id: str
    assignment: str
    mode: str
    state: str
    verdict: str | None = None
    worth: str = ""
    position: int | None = None
    wait: Wait | None = None
    steps: tuple[Step, ...] = ()
    result: Any = None
    hint: str = "edit"
    created_at: str = ""
    measured: Measured | None = None
    points: float | None = None
    most_points: float = 0.0

    @property
    def over(self) -> bool:
        """Whether it is graded or cancelled."""
        return self.state in OVER

    @property
    def following_hint(self) -> str:
        """The hint to ask for next; "" if nothing is hidden."""
        return {"question": "finding", "finding": "edit"}.get(self.hint, "")

    def report(self) -> Report | None:
        """The result, or None. Raises Unreadable if this version can't read it."""
        from kernels.report import Report

        return None if self.result is None else read(Report, self.result)


@dataclass(frozen=True, slots=True)
class Progress:
    """A submission's progress in an event.

    final: no more events follow
    printed: the start of what the kernel printed in the test case `printed_case`; both may be ""
    """

    final: bool
    headline: str
    wait: Wait | None = None
    phases: tuple[Step, ...] = ()
    printed_case: str = ""
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Submissions:
    """A list of submissions, newest first."""

    submissions: tuple[Submission, ...]


def read(cls: type[T], data: object) -> T:
    """Read an answer as a data class. Raises Unreadable if it doesn't fit."""
    try:
        return from_plain(cls, data, lenient=True)
    except WireError as error:
        raise Unreadable(f"this version of tilelab can't read the portal's answer ({error}).") from error
