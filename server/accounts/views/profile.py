"""A person's name, leaderboard name and time zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from flask import Response
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server.accounts import pseudonyms, zones
from server.accounts.access import viewer
from server.accounts.limits import Limit, TooOften, count
from server.accounts.models import MailKind, Person
from server.accounts.service import AccountError
from server.accounts.views.blueprint import accounts, go, page, too_often
from server.audit.service import note
from server.http.forms import Form, filled, sent
from server.http.site import site

_PAGE = "accounts/profile.html"
_NOT_YET = "Leaderboards show your name once course staff confirm it. Choose a pseudonym."
_OTHERWISE = "If it is really your name, ask an operator to set it."
_NAMES = Limit("names tried", 20, timedelta(hours=1))
_MAILS = {f"mail_{kind}": kind for kind in MailKind}
_MAIL_TITLES = {
    f"mail_{MailKind.ANSWERS}": "Answers and comments of course staff",
    f"mail_{MailKind.RESULTS}": "Results that took over ten minutes",
    f"mail_{MailKind.DEADLINES}": "Deadlines, a day ahead, if no submission of yours is accepted yet",
}
_TAKEN = "This name was just taken. Choose another."


@accounts.get("/account")
def profile() -> Response:
    """Show the profile."""
    person = _person()
    shown = {
        "name": person.name,
        "shown": "name" if person.shows_name else "pseudonym",
        "pseudonym": person.pseudonym or "",
        "time_zone": person.time_zone,
        **{name: "yes" for name, kind in _MAILS.items() if kind not in person.mails_off.split()},
    }
    return _shown(filled(shown), person)


@accounts.post("/account")
def save_profile() -> Response:
    """Save the profile."""
    form = sent("name", "shown", "pseudonym", "time_zone", "mails", *_MAILS)
    who = viewer()
    if form["time_zone"] not in {"", zones.OF_COURSE} and not zones.is_zone(form["time_zone"]):
        form.mistake("time_zone", "Choose a time zone from the list.")
    try:
        _count_names(form, _person())
        with site().sessions.begin() as session:
            person = session.get_one(Person, who.id, with_for_update=True)
            values = _wanted(session, person, form)
            if form.right:
                _change(session, person, values)
    except IntegrityError:
        form.mistake("pseudonym", _TAKEN)
    except TooOften as error:
        return too_often(_PAGE, form, error, **_more(_person()))
    return go("/account?notice=profile-saved") if form.right else _shown(form, _person())


def _count_names(form: Form, person: Person) -> None:
    """Limit name changes: refusals reveal which names exist on this server."""
    if form["name"] != person.name or form["pseudonym"] not in {"", person.pseudonym}:
        count(site().sessions, _NAMES, f"person {person.id}")


def _wanted(session: Session, person: Person, form: Form) -> dict[str, Any]:
    """The values to store; adds mistakes to the form."""
    values: dict[str, Any] = {"shows_name": form["shown"] == "name", "time_zone": form["time_zone"]}
    if form.checked("mails"):
        values["mails_off"] = " ".join(kind for name, kind in _MAILS.items() if not form[name])
    if values["shows_name"] and person.proven_at is None:
        form.mistake("shown", _NOT_YET)
    try:
        if form["name"] != person.name:
            values["name"] = pseudonyms.free_real_name(session, person, form["name"])
    except AccountError as error:
        form.mistake("name", str(error))
    except pseudonyms.PseudonymError as error:
        form.mistake("name", f"{error} {_OTHERWISE}")
    try:
        pseudonym = form["pseudonym"]
        values["pseudonym"] = pseudonyms.free_pseudonym(session, person, pseudonym) if pseudonym else None
    except pseudonyms.PseudonymError as error:
        form.mistake("pseudonym", str(error))
    return values


def _change(session: Session, person: Person, values: Mapping[str, Any]) -> None:
    """Store what changed. The audit log names the changed fields, not their values."""
    changed = [name for name, value in values.items() if getattr(person, name) != value]
    for name in changed:
        setattr(person, name, values[name])
    session.flush()
    seen = sorted(set(changed) - {"time_zone", "mails_off"})
    if seen:
        note(session, person, "person.changed", f"person {person.id}", changed=seen)


def _person() -> Person:
    with site().readers.begin() as session:
        return session.get_one(Person, viewer().id)


def _shown(form: Form, person: Person) -> Response:
    return page(_PAGE, form, **_more(person))


def _more(person: Person) -> dict[str, Any]:
    return {
        "person": person,
        "board_name": pseudonyms.board_name(person),
        "regions": zones.regions(person.time_zone),
        "mails": _MAIL_TITLES if site().settings.mail is not None else {},
    }
