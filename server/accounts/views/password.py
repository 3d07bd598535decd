"""The page to change a password."""

from __future__ import annotations

from datetime import timedelta

from flask import Response
from sqlalchemy.orm import Session

from server.accounts import password_sign_in, service
from server.accounts.access import Viewer, sign_in_first, viewer
from server.accounts.limits import Limit, TooOften, count_all, take_back
from server.accounts.models import Person
from server.accounts.new_password import mistake_in
from server.accounts.views.blueprint import accounts, go, page, password_sent, too_often, user_agent
from server.audit.service import note
from server.http.forms import Form, filled, sent
from server.http.site import site

_PAGE = "accounts/password.html"
_WRONG = Limit("password wrong", 10, timedelta(minutes=10))


@accounts.get("/account/password")
def password() -> Response:
    """Show the form."""
    viewer()
    return page(_PAGE, filled({}))


@accounts.post("/account/password")
def change_password() -> Response:
    """Change the password, sign out every other browser, and start a new session in this one."""
    who = viewer()
    form = sent("tokens")
    new = password_sent("password")
    check_new(form, new, password_sent("again"), who.email, who.name)
    try:
        person = _proven(form, who)
    except TooOften as error:
        return too_often(_PAGE, form, error)
    if not form.right:
        return page(_PAGE, form)
    kept = service.hash_password(new)
    with site().sessions.begin() as session:
        current = session.get_one(Person, person.id, with_for_update=True)
        if current.password != person.password:
            raise sign_in_first()
        service.keep_password(session, current, kept)
        note(session, current, "password.changed", f"person {current.id}")
        if form.checked("tokens"):
            revoke_all(session, current)
        token = password_sign_in.open_session(session, current, user_agent())
    return go("/account/password?notice=password-changed", token or "")


def revoke_all(session: Session, person: Person) -> None:
    """Revoke all API tokens of this account."""
    count = service.revoke_tokens(session, person)
    note(session, person, "token.revoked", f"person {person.id}", count=count)


def check_new(form: Form, password: str, again: str, email: str, name: str) -> None:
    """Add a new password's mistakes to the form."""
    if mistake := mistake_in(password, email, name):
        form.mistake("password", mistake)
    elif password != again:
        form.mistake("again", "The two passwords differ. Type the new password twice.")


def _proven(form: Form, who: Viewer) -> Person:
    """The person, after checking the current password: an unattended browser can't take over an account."""
    asked, present = [(_WRONG, f"person {who.id}")], password_sent("present")
    count_all(site().sessions, asked)
    with site().readers.begin() as session:
        person = session.get_one(Person, who.id)
    if service.has_password(person, present):
        take_back(site().sessions, asked)
    else:
        wrong = "This is not your current password." if present else "Type your current password."
        form.mistakes = {"present": wrong, **form.mistakes}
    return person
