"""What the account pages share."""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request

from server.accounts.cookies import set_session
from server.accounts.limits import TooOften
from server.http.forms import Form
from server.http.numbers import duration

LONGEST_PASSWORD_SENT = 2000
"""More than the longest allowed password, so that a cut-off password is still too long."""

accounts = Blueprint("accounts", "server.accounts", template_folder="templates")


def password_sent(name: str) -> str:
    """A password exactly as typed, with spaces. Never shown again."""
    return request.form.get(name, "")[:LONGEST_PASSWORD_SENT]


def network_address() -> str:
    """The client's address; behind proxies, as TILELAB_PROXIES says."""
    return request.remote_addr or ""


def user_agent() -> str:
    """The browser's user agent."""
    return request.headers.get("User-Agent", "")


def page(template: str, form: Form, status: int | None = None, **more: object) -> Response:
    """A page with a form; status 422 if the form has mistakes."""
    found = status or (200 if form.right else 422)
    return Response(render_template(template, form=form, **more), found)


def too_often(template: str, form: Form, error: TooOften, **more: object) -> Response:
    """The same page, with the time to wait."""
    answer = page(template, form, 429, wait=duration(error.seconds), **more)
    answer.headers["Retry-After"] = str(error.seconds)
    return answer


def go(where: str, session_token: str = "") -> Response:
    """A redirect; sets the session cookie if given."""
    answer = Response(status=303, headers={"Location": where})
    if session_token:
        set_session(answer, session_token)
    return answer
