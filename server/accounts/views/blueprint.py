"""What the pages of accounts share."""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request

from server.accounts.cookies import set_session
from server.accounts.limits import TooOften
from server.http.forms import Form
from server.http.numbers import duration

LONGEST_PASSWORD_SENT = 2000
"""Longer than any that is taken, so that one which is cut off is none."""

accounts = Blueprint("accounts", "server.accounts", template_folder="templates")


def password_sent(name: str) -> str:
    """A password as it was typed, spaces and all; never shown again."""
    return request.form.get(name, "")[:LONGEST_PASSWORD_SENT]


def network_address() -> str:
    """Where the request comes from; behind proxies as the setting TILELAB_PROXIES says."""
    return request.remote_addr or ""


def user_agent() -> str:
    """As the browser calls itself."""
    return request.headers.get("User-Agent", "")


def page(template: str, form: Form, status: int | None = None, **more: object) -> Response:
    """A page with a form: 422 where something is wrong with it."""
    found = status or (200 if form.right else 422)
    return Response(render_template(template, form=form, **more), found)


def too_often(template: str, form: Form, error: TooOften, **more: object) -> Response:
    """The same page, which says how long to wait."""
    answer = page(template, form, 429, wait=duration(error.seconds), **more)
    answer.headers["Retry-After"] = str(error.seconds)
    return answer


def go(where: str, session_token: str = "") -> Response:
    """To another page; with what the browser's cookie is to hold from now on."""
    answer = Response(status=303, headers={"Location": where})
    if session_token:
        set_session(answer, session_token)
    return answer
