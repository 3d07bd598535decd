"""The API of leaderboards: the fastest kernels of an assignment on one device class."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint, Response, jsonify

from server.accounts.identity import has_scope, person_asking
from server.accounts.models import Scope
from server.courses.service import SHORT_NAME
from server.fields import Text
from server.http.operation import operation
from server.http.problems import Refused
from server.http.query import read_query
from server.http.site import site
from server.standings.answers import BoardQuery, NoSuchPlace, read_board
from worker.contract.answers import Board

leaderboards = Blueprint("leaderboards", __name__)

_NAME = Annotated[str, Text(SHORT_NAME)]


@leaderboards.get("/leaderboards/<course>/<assignment>/<device_class>")
@operation(
    Board,
    path={"course": _NAME, "assignment": _NAME, "device_class": _NAME},
    query=BoardQuery,
    refuses={
        404: "There is no such assignment, or you may not see it; or `after` is not a valid cursor.",
        422: "A parameter has an invalid value.",
    },
)
def show(course: str, assignment: str, device_class: str) -> Response:
    """Get a part of a leaderboard, as a member of the course. Without accepted kernels on the device, it is empty.

    Course staff see names and submissions of students only with a token that has the scope `staff`.

    The device class `cpu` is the leaderboard of an assignment without a GPU: accepted kernels, the earliest first.
    """
    person, asked = person_asking().id, read_query(BoardQuery)
    try:
        with site().readers.begin() as session:
            board = read_board(
                session, person, course, assignment, device_class, asked, as_staff=has_scope(Scope.STAFF)
            )
    except NoSuchPlace as error:
        raise Refused(
            404, "no_such_place", "Invalid cursor",
            "`after` is not a valid cursor. Use the `next` URL unchanged.",
        ) from error  # fmt: skip
    if board is None:
        raise Refused(
            404, "no_such_assignment", "There is no such assignment",
            "Check its name, COURSE/ASSIGNMENT, such as demo/tiled. You may not be in its course.",
        )  # fmt: skip
    return jsonify(board)
