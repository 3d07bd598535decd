"""What a route of the API takes and gives, said beside the route: from this its description is made.

@submissions.get("/submissions/<public_id>")
@operation(SubmissionAnswer, refuses={404: "There is no such submission, or none that you may see."})
def look_up(public_id: str) -> Response:
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

JSON = "application/json"
EVENTS = "text/event-stream"

View = TypeVar("View", bound=Callable[..., Any])
_MARK = "__operation__"


@dataclass(frozen=True, slots=True)
class Text:
    """What a string may hold, for Annotated. pattern: of the whole of it; shortest, longest: in characters."""

    pattern: str = ""
    shortest: int = 0
    longest: int | None = None
    format: str = ""


Moment = Annotated[str, Text(format="date-time")]
"""A time in UTC, in ISO 8601."""


@dataclass(frozen=True, slots=True)
class Range:
    """What a whole number may be, for Annotated."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Reads:
    """That a value reads as another class's plain form, for Annotated: where the code passes it on as it is."""

    type: Any


@dataclass(frozen=True, slots=True)
class Header:
    """A header of a request or of an answer. type: as that of a field, with Annotated."""

    name: str
    description: str
    type: Any = str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """What a route takes and gives.

    answer: the class of the answer's JSON; str for text
    events: the class of the JSON in each event of an answer that is a stream of them
    takes: the class of the JSON that is sent; query: the class of what stands in the address
    path: types of parts of the address, by name; sends: headers of the request; gives: of the answer
    refuses: status -> when, beside those that every route has
    token: whether one has to be shown
    """

    answer: Any
    status: int = 200
    media_type: str = JSON
    events: type | None = None
    takes: type | None = None
    query: type | None = None
    path: Mapping[str, Any] = field(default_factory=dict)
    sends: tuple[Header, ...] = ()
    gives: tuple[Header, ...] = ()
    refuses: Mapping[int, str] = field(default_factory=dict)
    token: bool = True


def operation(answer: Any, **more: Any) -> Callable[[View], View]:
    """Say of a view what it takes and gives; see Operation."""
    said = Operation(answer, **more)

    def mark(view: View) -> View:
        setattr(view, _MARK, said)
        return view

    return mark


def operation_of(view: Callable[..., Any]) -> Operation | None:
    """What was said of a view; None for one that the API's description leaves out."""
    found: Operation | None = getattr(view, _MARK, None)
    return found
