"""Pages of the leaderboards. Each part has its own address and works without JavaScript."""

from __future__ import annotations

import hashlib

from flask import Blueprint, Response, jsonify, redirect, render_template, request

from server.accounts.access import nothing_here, viewer
from server.assignments.tasks import course_bar
from server.courses.access import Reader, assignment_for, reader_of
from server.http.forms import sent
from server.http.problems import Refused
from server.http.site import site
from server.standings.board_query import columns_for, first_order, read_query
from server.standings.page import BoardPage, board_class, has_board, own_class, read_page
from server.standings.ranks import class_of
from server.standings.service import set_listed

standings_pages = Blueprint("standings_pages", __name__)


standings_pages.add_app_template_global(board_class)


@standings_pages.get("/courses/<slug>/<assignment>/board/")
def show_own_board(slug: str, assignment: str) -> Response:
    reader = reader_of(slug, assignment)
    with site().readers.begin() as session:
        name = own_class(assignment_for(session, reader))
    return redirect(f"/courses/{slug}/{assignment}/board/{name}", 303)  # type: ignore[return-value]


@standings_pages.get("/courses/<slug>/<assignment>/board/<device_class>")
def show_board(slug: str, assignment: str, device_class: str) -> str:
    reader = reader_of(slug, assignment)
    board = _page(reader, device_class)
    with site().readers.begin() as session:
        bar = course_bar(session, reader)
    return render_template("standings/board.html", board=board, bar=bar)


@standings_pages.get("/courses/<slug>/<assignment>/board/<device_class>/lines")
def show_lines(slug: str, assignment: str, device_class: str) -> Response:
    board = _page(reader_of(slug, assignment), device_class)
    digest = hashlib.sha256(repr(board).encode()).hexdigest()[:16]
    same = request.args.get("seen") == digest
    html = None if same else render_template("standings/_lines.html", board=board)
    return jsonify({"html": html, "final": False, "digest": digest})


def _page(reader: Reader, device_class: str) -> BoardPage:
    with site().readers.begin() as session:
        found = assignment_for(session, reader)
        if not has_board(session, found, device_class, reader):
            raise nothing_here()
        shown = columns_for(found.board_columns, measured=bool(class_of(device_class)))
        query = read_query(request.args, first_order(found.board_sort, shown))
        return read_page(session, reader, found, device_class, query)


@standings_pages.post("/account/listing")
def save_listing() -> Response:
    who, wanted = viewer(), sent("listed")["listed"]
    if wanted not in {"yes", "no"}:
        raise Refused(422, "invalid", "Nothing was chosen", "Go back to your profile and use its button.")
    with site().sessions.begin() as session:
        set_listed(session, who.id, listed=wanted == "yes")
    return redirect(f"/account?notice={'listed' if wanted == 'yes' else 'unlisted'}", 303)  # type: ignore[return-value]
