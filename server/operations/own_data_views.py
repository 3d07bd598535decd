"""The page that says what Tilelab stores about its reader, with a copy of all of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Blueprint, Response

from server.accounts import browser_sessions
from server.accounts.access import viewer
from server.accounts.limits import Limit, TooOften, count
from server.accounts.views import page, too_often
from server.http.forms import filled
from server.http.site import site
from server.mail.sender import KEPT
from server.operations.own_data import own_data
from server.settings import AccessLogField

own_data_pages = Blueprint("own_data_pages", "server.operations")

_PAGE = "operations/own_data.html"
_COPIES = Limit("copies of own data", 5, timedelta(days=1))


@own_data_pages.get("/account/data")
def show_own_data() -> Response:
    viewer()
    return page(_PAGE, filled({}), **_stored())


@own_data_pages.post("/account/data")
def copy_own_data() -> Response:
    who = viewer()
    try:
        count(site().sessions, _COPIES, f"person {who.id}")
    except TooOften as error:
        return too_often(_PAGE, filled({}), error, **_stored())
    with site().readers.begin() as session:
        content = own_data(session, who.id)
    name = f"tilelab-{datetime.now(UTC):%Y-%m-%d}.zip"
    return Response(
        content, mimetype="application/zip", headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def _stored() -> Mapping[str, Any]:
    """What the page says of times, and of an access log with people."""
    logged = site().settings.access_log - {AccessLogField.REQUEST}
    return {"session_days": browser_sessions.KEPT.days, "mail_days": KEPT.days, "logged": logged}
