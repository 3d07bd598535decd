"""Pages on which operators register platforms."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, render_template, request
from sqlalchemy.orm import Session

from server.accounts.access import admin, existing
from server.accounts.models import Person
from server.accounts.views import go
from server.acts.act import Mistakes, Target
from server.acts.by_form import change_by_operator, shown_form, typed_values
from server.acts.field import fields_of
from server.http.forms import Form, filled, sent
from server.http.site import site, site_address
from server.lti.keys import REPLACE, next_key_from
from server.lti.models import LtiPlatform
from server.lti.platforms import CHANGE, REGISTER, REMOVE, PlatformSettings, mistakes_in, platforms, settings_of
from server.lti.registration import described, register
from server.lti.views import FRAMES, in_frame
from server.sign_on.fetch import ProviderFault

_LIST = "/lti/platforms"
lti_platforms = Blueprint("lti_platforms", "server.lti", url_prefix=_LIST)

_LONGEST = 4000
_ZONE = ZoneInfo("UTC")  # no field is a time


@lti_platforms.get("")
def show_platforms() -> str:
    """List platforms, and say what their administrators need."""
    admin()
    with site().readers.begin() as session:
        return _page(session, Target(), filled({}))


@lti_platforms.post("")
def add_platform() -> Response | tuple[str, int]:
    """Register a platform by hand."""
    return change_by_operator(REGISTER, lambda _: Target(), partial(go, f"{_LIST}?notice=platform-saved"), _page)


@lti_platforms.post("/key")
def replace_key() -> Response | tuple[str, int]:
    """Replace our key."""
    return change_by_operator(REPLACE, lambda _: Target(), partial(go, f"{_LIST}?notice=key-replaced"))


@lti_platforms.get("/<int(max=9007199254740991):number>")
def show_platform(number: int) -> str:
    """Show one platform's settings."""
    admin()
    with site().readers.begin() as session:
        on = _platform(number, session)
        return _page(session, on, shown_form(typed_values(settings_of(on.item), _ZONE)))


@lti_platforms.post("/<int(max=9007199254740991):number>")
def change_platform(number: int) -> Response | tuple[str, int]:
    """Save one platform's settings."""
    done = partial(go, f"{_LIST}?notice=platform-saved")
    return change_by_operator(CHANGE, partial(_platform, number), done, _page)


@lti_platforms.post("/<int(max=9007199254740991):number>/remove")
def remove(number: int) -> Response | tuple[str, int]:
    """Remove a platform."""
    return change_by_operator(REMOVE, partial(_platform, number), partial(go, f"{_LIST}?notice=platform-removed"))


lti_registration = Blueprint("lti_registration", "server.lti", url_prefix="/lti/register")


@lti_registration.get("")
def show_registration() -> Response:
    """Ask an operator whether to register the platform that sent the browser. In a frame, offer a new tab."""
    if request.headers.get("Sec-Fetch-Dest") in FRAMES:
        return in_frame("lti/framed.html", again=f"/lti/register?{request.query_string.decode('ascii', 'replace')}")
    admin()
    shown = {
        "configuration": request.args.get("openid_configuration", "")[:_LONGEST],
        "token": request.args.get("registration_token", "")[:_LONGEST],
    }
    return _registration_page(filled(shown))


@lti_registration.post("")
def register_platform() -> Response:
    """Register with the platform, and register it here."""
    who, form = admin(), sent("configuration", "token", "issuer", "domains")
    try:
        settings, endpoint = described(form["configuration"], form["issuer"])
        settings = replace(settings, domains=form["domains"])
        with site().readers.begin() as session:
            # Once more after the platform knows us: then it has given us a client ID.
            for name, text in mistakes_in(session, replace(settings, client_id="new"), None).items():
                form.mistake(name, text)
        if not form.right:
            return _registration_page(form)
        settings = register(settings, form["configuration"], endpoint, form["token"], site_address())
    except ProviderFault as fault:
        form.mistake("configuration", f"The platform can’t be registered: {fault}.")
        return _registration_page(form)
    try:
        with site().sessions.begin() as session:
            made = REGISTER.carry_out(session, Target(), session.get_one(Person, who.id), lambda _: settings)
            number = made.id
    except Mistakes as wrong:
        form.mistake("configuration", str(wrong))
        return _registration_page(form)
    return go(f"{_LIST}/{number}?notice=platform-registered")


def _registration_page(form: Form) -> Response:
    fields = {field.name: field for field in fields_of(PlatformSettings)}
    html = render_template("lti/register.html", form=form, fields=fields)
    return Response(html, 200 if form.right else 422)


def _page(session: Session, on: Target, form: Form) -> str:
    return render_template(
        "lti/platforms.html", form=form, platform=on.item, platforms=platforms(session), fields=CHANGE.fields,
        key=REPLACE.by_name["at_once"], next_key=next_key_from(session),
    )  # fmt: skip


def _platform(number: int, session: Session) -> Target:
    return Target(item=existing(session.get(LtiPlatform, number)))
