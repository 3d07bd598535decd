"""The page on which a person lets a command line act for them."""

from __future__ import annotations

from datetime import timedelta

from flask import Blueprint, Response

from server.accounts import device_login
from server.accounts.access import viewer
from server.accounts.limits import Limit, TooOften, count, count_all, take_back
from server.accounts.service import AccountError, person_with_room
from server.accounts.views import ACCESS, TOKENS_MADE, go, offered_access, page, too_often
from server.http.forms import Form, filled, sent
from server.http.site import site

device_login_pages = Blueprint("device_login_pages", __name__)

_PAGE = "accounts/device_login.html"
_TRIED = Limit("login codes tried", 10, timedelta(minutes=10))


@device_login_pages.get("/login")
def ask_for_code() -> Response:
    """Ask for the code. No address has it, so that no link brings a person to a code that someone else began."""
    viewer()
    return page(_PAGE, filled({}))


@device_login_pages.post("/login")
def decide_login() -> Response:
    """Show what asks, then allow or refuse it. Wrong codes are limited."""
    who = viewer()
    form = sent("code", "access", "answer")
    code = device_login.plain_code(form["code"])
    tried = [(_TRIED, f"person {who.id}")]
    try:
        count_all(site().sessions, tried)
        with site().readers.begin() as session:
            login = device_login.find_waiting(session, code)
        if login is None:
            form.mistake("code", "No command line waits with this code. It may have expired. Check it, or start again.")
            return page(_PAGE, form)
        take_back(site().sessions, tried)
        if form["answer"] == "allow":
            _allow(form, who.id, code)
        elif form["answer"] == "refuse":
            with site().sessions.begin() as session:
                device_login.decide(session, code, who.id, ())
    except TooOften as error:
        return too_often(_PAGE, form, error)
    if form["answer"] in {"allow", "refuse"} and form.right:
        return go("/account/tokens?notice=" + ("login-allowed" if form["answer"] == "allow" else "login-refused"))
    form.values["access"] = form["access"] or "submit"
    days = device_login.TOKEN_LIFETIME.days
    return page(_PAGE, form, login=login, access=offered_access(), days=days)


def _allow(form: Form, person_id: int, code: str) -> None:
    """Allow the command line what the form says, or add a mistake."""
    form.choose("access", offered_access())
    if not form.right:
        return
    count(site().sessions, TOKENS_MADE, f"person {person_id}")
    try:
        with site().sessions.begin() as session:
            person_with_room(session, person_id)
            if not device_login.decide(session, code, person_id, ACCESS[form["access"]][1]):
                form.mistake("code", "This code was just used. Start again.")
    except AccountError as error:
        form.mistake("access", str(error))
