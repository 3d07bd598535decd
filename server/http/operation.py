"""What an API route takes and returns, stated at the route.

The API's description is made from it:

@submissions.get("/submissions/<public_id>")
@operation(SubmissionAnswer, refuses={404: "No such submission, or you can't see it."})
def look_up(public_id: str) -> Response:
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

JSON = "application/json"
EVENTS = "text/event-stream"

View = TypeVar("View", bound=Callable[..., Any])
_MARK = "__operation__"


@dataclass(frozen=True, slots=True)
class Header:
    """A header of a request or an answer. type: like a field's, with Annotated."""

    name: str
    description: str
    type: Any = str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """What a route takes and returns.

    answer: the class of the answer's JSON; str for text
    events: the class of each event's JSON, if the answer is a stream of events
    takes: the class of the request's JSON; uploads: the media type of a request with a file
    query: the class of the query parameters
    path: the types of path parameters, by name; sends: request headers; gives: answer headers
    problems: status -> a class of problem with more fields
    refuses: status -> reason, in addition to the statuses of every route
    token: whether the route needs a token; scope: that the token must have
    """

    answer: Any
    status: int = 200
    media_type: str = JSON
    events: type | None = None
    takes: type | None = None
    uploads: str = ""
    query: type | None = None
    path: Mapping[str, Any] = field(default_factory=dict)
    sends: tuple[Header, ...] = ()
    gives: tuple[Header, ...] = ()
    problems: Mapping[int, type] = field(default_factory=dict)
    refuses: Mapping[int, str] = field(default_factory=dict)
    token: bool = True
    scope: str = "read"


def operation(answer: Any, **more: Any) -> Callable[[View], View]:
    """Attach an Operation to a view."""
    said = Operation(answer, **more)

    def mark(view: View) -> View:
        setattr(view, _MARK, said)
        return view

    return mark


def operation_of(view: Callable[..., Any]) -> Operation | None:
    """The view's Operation; None for a view outside the API's description."""
    found: Operation | None = getattr(view, _MARK, None)
    return found
