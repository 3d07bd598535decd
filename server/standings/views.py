"""Pages of the boards. Each part that a reader asks for has an address of its own, and works without a script."""

from __future__ import annotations

import hashlib

from flask import Blueprint, Response, jsonify, redirect, render_template, request

from server.accounts.access import nothing_here
from server.courses.access import assignment_for, reader_of
from server.http.site import site
from server.standings.board_query import read_query
from server.standings.page import BoardPage, has_board, own_class, read_page

standings_pages = Blueprint("standings_pages", __name__, template_folder="templates")


@standings_pages.get("/courses/<slug>/<assignment>/board/")
def show_own_board(slug: str, assignment: str) -> Response:
    """To the board of the device that the assignment is measured on."""
    reader = reader_of(slug, assignment)
    with site().readers.begin() as session:
        name = own_class(assignment_for(session, reader))
    return redirect(f"/courses/{slug}/{assignment}/board/{name}", 303)  # type: ignore[return-value]


@standings_pages.get("/courses/<slug>/<assignment>/board/<device_class>")
def show_board(slug: str, assignment: str, device_class: str) -> str:
    """A part of a board, with the reader's own line."""
    return render_template("standings/board.html", board=_page(slug, assignment, device_class))


@standings_pages.get("/courses/<slug>/<assignment>/board/<device_class>/lines")
def show_lines(slug: str, assignment: str, device_class: str) -> Response:
    """The same part as it is now, for a page that is open."""
    board = _page(slug, assignment, device_class)
    digest = hashlib.sha256(repr(board).encode()).hexdigest()[:16]
    same = request.args.get("seen") == digest
    html = None if same else render_template("standings/_lines.html", board=board)
    return jsonify({"html": html, "final": False, "digest": digest})


def _page(slug: str, assignment: str, device_class: str) -> BoardPage:
    reader = reader_of(slug, assignment)
    with site().readers.begin() as session:
        found = assignment_for(session, reader)
        if not has_board(session, found, device_class):
            raise nothing_here()
        return read_page(session, reader, found, device_class, read_query(request.args))
