"""Leaderboards, for programs: the fastest kernels of an assignment on one class of devices."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from flask import Blueprint, Response, jsonify

from server.accounts.identity import person_asking
from server.http.operation import Text, operation
from server.http.problems import Refused
from server.http.query import read_query
from server.http.site import site
from server.standings.answers import BoardAnswer, BoardQuery, NoSuchPlace, read_board

leaderboards = Blueprint("leaderboards", __name__)

_NAME = Annotated[str, Text(r"[a-z0-9][a-z0-9._\-]{0,59}")]


@leaderboards.get("/leaderboards/<course>/<assignment>/<device_class>")
@operation(
    BoardAnswer,
    path={"course": _NAME, "assignment": _NAME, "device_class": _NAME},
    query=BoardQuery,
    refuses={
        404: "There is no such assignment, or none that you may see; or `after` is no place on a board.",
        422: "A parameter has a value that it cannot have.",
    },
)
def show(course: str, assignment: str, device_class: str) -> Response:
    """The board, for the members of the course, part by part: an empty one where nobody stands on that of the device.

    The device class `cpu` has who has a right kernel where nothing is measured, the first one first.
    """
    person, asked = person_asking().id, read_query(BoardQuery)
    try:
        with site().readers.begin() as session:
            board = read_board(session, person, course, assignment, device_class, asked)
    except NoSuchPlace as error:
        raise Refused(
            404, "no_such_place", "There is no such place on a board",
            "`after` is none. Take the address that `next` of an answer has as it is.",
        ) from error  # fmt: skip
    if board is None:
        raise Refused(
            404, "no_such_assignment", "There is no such assignment",
            "It has another name, or you are not in its course. Its address is COURSE/ASSIGNMENT, such as demo/tiled.",
        )  # fmt: skip
    return jsonify(asdict(board))
