"""Signing in and out."""

from __future__ import annotations

from flask import Response, request

from server.accounts import browser_sessions, password_sign_in
from server.accounts.access import local_path, viewer_or_none
from server.accounts.cookies import clear_session, earlier_token
from server.accounts.limits import LONGEST_EMAIL, TooOften
from server.accounts.models import Person
from server.accounts.views.blueprint import accounts, go, network_address, page, password_sent, too_often, user_agent
from server.http.forms import filled, sent
from server.http.site import site

_PAGE = "accounts/sign_in.html"


@accounts.get("/sign-in")
def sign_in() -> Response:
    """Show the form; a signed-in person goes on at once."""
    to = local_path(request.args.get("next", ""))
    if viewer_or_none() is not None:
        return go(to or "/")
    return page(_PAGE, filled({"next": to}))


@accounts.post("/sign-in")
def enter() -> Response:
    """Sign in. All failures look alike, so that they reveal no emails."""
    form = sent("email", "next")
    form.values["next"] = local_path(form["next"])
    password = password_sent("password")
    if not form["email"]:
        form.mistake("email", "Type the email of your account.")
    elif len(form["email"]) > LONGEST_EMAIL:
        form.mistake("email", f"An email address has at most {LONGEST_EMAIL} characters.")
    if not password:
        form.mistake("password", "Type your password.")
    if not form.right:
        return page(_PAGE, form)
    try:
        origin = password_sign_in.Origin(network_address(), earlier_token())
        person = password_sign_in.sign_in(site().sessions, form["email"], password, origin)
    except TooOften as error:
        return too_often(_PAGE, form, error)
    token = None if person is None else _let_in(person)
    if token is None:
        return page(_PAGE, form, 422, refused=True)
    return go(form["next"] or "/", token)


@accounts.post("/sign-out")
def leave() -> Response:
    """Sign out this browser."""
    who = viewer_or_none()
    if who is not None:
        with site().sessions.begin() as session:
            browser_sessions.close(session, who.session_id)
    answer = go("/sign-in?notice=signed-out")
    clear_session(answer)
    return answer


def _let_in(person: Person) -> str | None:
    before = viewer_or_none()
    with site().sessions.begin() as session:
        return password_sign_in.open_session(session, person, user_agent(), before.session_id if before else None)
