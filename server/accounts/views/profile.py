"""What somebody is called on the boards, and whose clock they read."""

from __future__ import annotations

from flask import Response
from sqlalchemy.exc import IntegrityError

from server.accounts import pseudonyms, zones
from server.accounts.models import Person
from server.accounts.views.blueprint import accounts, go, page
from server.web.access import viewer
from server.web.forms import Form, filled, sent
from server.web.site import site

_PAGE = "profile.html"
_NOT_YET = "The boards show your name once your course's staff stand for it. Choose a pseudonym."
_TAKEN = "Somebody has taken that name this very moment. Choose another."


@accounts.get("/account")
def profile() -> Response:
    """The profile as it is."""
    person = _person()
    shown = {
        "shown": "name" if person.shows_name else "pseudonym",
        "pseudonym": person.pseudonym or "",
        "time_zone": person.time_zone,
    }
    return _shown(filled(shown), person)


@accounts.post("/account")
def save_profile() -> Response:
    """Change it."""
    form = sent("shown", "pseudonym", "time_zone")
    who = viewer()
    if form["time_zone"] and not zones.is_zone(form["time_zone"]):
        form.mistake("time_zone", "Choose a time zone from the list.")
    try:
        with site().sessions.begin() as session:
            person = session.get_one(Person, who.id)
            pseudonym = None
            if form["pseudonym"]:
                pseudonym = pseudonyms.free_pseudonym(session, person, form["pseudonym"])
            if form["shown"] == "name" and person.proven_at is None:
                form.mistake("shown", _NOT_YET)
            if form.right:
                person.pseudonym = pseudonym
                person.shows_name = form["shown"] == "name"
                person.time_zone = form["time_zone"]
    except pseudonyms.PseudonymError as error:
        form.mistake("pseudonym", str(error))
    except IntegrityError:
        form.mistake("pseudonym", _TAKEN)
    return go("/account?notice=profile-saved") if form.right else _shown(form, _person())


def _person() -> Person:
    with site().readers.begin() as session:
        return session.get_one(Person, viewer().id)


def _shown(form: Form, person: Person) -> Response:
    return page(_PAGE, form, person=person, regions=zones.regions(person.time_zone))
