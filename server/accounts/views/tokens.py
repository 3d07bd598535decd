"""API tokens, with which programs sign in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Response, abort
from sqlalchemy.orm import Session

from server.accounts import service
from server.accounts.access import viewer
from server.accounts.limits import Limit, TooOften, count
from server.accounts.models import ApiToken, Person, Scope
from server.accounts.views.blueprint import accounts, go, page, too_often
from server.audit.service import note
from server.http.forms import Form, filled, sent
from server.http.site import site, site_address

_PAGE = "accounts/tokens.html"
_LIFETIMES = (("7", "7 days"), ("30", "30 days"), ("120", "120 days (one term)"), ("365", "365 days"))
_USUAL = "120"
_EVERYTHING = "everything"
_ACCESS: Mapping[str, tuple[str, Collection[Scope]]] = {
    _EVERYTHING: ("Everything that you may do", tuple(Scope)),
    "submit": ("Read your own work, and submit", (Scope.READ, Scope.SUBMIT)),
    "read": ("Only read your own work", (Scope.READ,)),
    "staff": ("Read your own work, and act as course staff", (Scope.READ, Scope.STAFF)),
}
_MOST = 20
_NAMES = ("command line", *(f"command line {number}" for number in range(2, _MOST + 2)))
_OFTEN = Limit("tokens made", 30, timedelta(hours=1))
_LARGEST = 2**63 - 1


@accounts.get("/account/tokens")
def tokens() -> Response:
    """List the valid tokens, with a form to create another."""
    viewer()
    return _shown(_empty())


@accounts.post("/account/tokens")
def make_token() -> Response:
    """Create a token and show it in this answer only: it has no address that could be opened again."""
    who = viewer()
    form = sent("name", "days", "access")
    form.values["access"] = form["access"] or _EVERYTHING
    form.choose("access", _offered())
    if form["days"] not in dict(_LIFETIMES):
        form.mistake("days", "Choose when the token expires.")
    token = ""
    try:
        if form.right:
            count(site().sessions, _OFTEN, f"person {who.id}")
            token = _made(form, who.id)
    except service.AccountError as error:
        form.mistake("name", str(error))
    except TooOften as error:
        return too_often(_PAGE, form, error, **_more())
    return _shown(_empty(), token, form["name"]) if token else _shown(form)


@accounts.post("/account/tokens/<int:number>/revoke")
def revoke_token(number: int) -> Response:
    """Revoke a token."""
    who = viewer()
    if number > _LARGEST:
        abort(404)
    with site().sessions.begin() as session:
        if service.revoke_token(session, who.id, number):
            note(session, session.get_one(Person, who.id), "token.revoked", f"person {who.id}", count=1)
    return go("/account/tokens?notice=token-revoked")


def token_for_command_line(person_id: int) -> str:
    """Create a token that reads and submits, with a new name; raises AccountError or TooOften."""
    count(site().sessions, _OFTEN, f"person {person_id}")
    with site().sessions.begin() as session:
        person, present = _person_with_room(session, person_id)
        taken = {token.name for token in present}
        name = next(each for each in _NAMES if each not in taken)
        token = service.create_token(
            session, person, name, lifetime=timedelta(days=int(_USUAL)), scopes=_ACCESS["submit"][1]
        )
        note(session, person, "token.created", f"person {person_id}")
        return token


def _person_with_room(session: Session, person_id: int) -> tuple[Person, Sequence[ApiToken]]:
    """The locked person and their tokens; raises AccountError if they have too many."""
    person = session.get_one(Person, person_id, with_for_update=True)
    present = service.valid_tokens(session, person_id)
    if len(present) >= _MOST:
        raise service.AccountError(f"You have {_MOST} tokens, which is the limit. Revoke one first.")
    return person, present


def _made(form: Form, person_id: int) -> str:
    with site().sessions.begin() as session:
        person, present = _person_with_room(session, person_id)
        if form["name"] in {token.name for token in present}:
            raise service.AccountError(
                "You have a token with this name already, and it can't be shown again. Revoke it or choose another "
                "name."
            )
        token = service.create_token(
            session, person, form["name"],
            lifetime=timedelta(days=int(form["days"])), scopes=_ACCESS[form["access"]][1],
        )  # fmt: skip
        note(session, person, "token.created", f"person {person_id}")
        return token


def _empty() -> Form:
    return filled({"days": _USUAL, "access": _EVERYTHING})


def _offered() -> list[tuple[str, str]]:
    return [(value, title) for value, (title, _) in _ACCESS.items()]


def _shown(form: Form, made: str = "", name: str = "") -> Response:
    return page(_PAGE, form, made=made, made_name=name, address=site_address(), **_more())


def _more() -> dict[str, Any]:
    with site().readers.begin() as session:
        rows = service.valid_tokens(session, viewer().id)
    return {
        "rows": rows, "lifetimes": _LIFETIMES, "access": _offered(), "now": datetime.now(UTC),
        "soon": timedelta(days=7),
    }  # fmt: skip
