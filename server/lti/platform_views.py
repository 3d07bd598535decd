"""Pages on which operators register platforms."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, render_template, request
from sqlalchemy.orm import Session

from server.accounts.access import admin, nothing_here
from server.accounts.models import Person
from server.accounts.views import go
from server.acts.by_form import read_values, typed_values
from server.acts.field import fields_of, outside_limits
from server.http.forms import Form, filled, sent
from server.http.site import site, site_address
from server.lti.models import LtiPlatform
from server.lti.platforms import PlatformSettings, mistakes_in, platforms, remove_platform, save_platform, settings_of
from server.lti.registration import described, register
from server.lti.views import FRAMES, in_frame
from server.sign_on.fetch import ProviderFault

lti_platforms = Blueprint("lti_platforms", "server.lti", url_prefix="/lti/platforms")

_LONGEST = 4000
_ZONE = ZoneInfo("UTC")  # no field is a time


@lti_platforms.get("")
def show_platforms() -> str:
    """List platforms, and say what their administrators need."""
    admin()
    return _page(filled({}))


@lti_platforms.post("")
def add_platform() -> Response | tuple[str, int]:
    """Register a platform by hand."""
    return _saved(None)


@lti_platforms.get("/<int(max=9007199254740991):number>")
def show_platform(number: int) -> str:
    """Show one platform's settings."""
    admin()
    with site().readers.begin() as session:
        platform = _platform(session, number)
        return _page(filled(typed_values(settings_of(platform), _ZONE)), platform)


@lti_platforms.post("/<int(max=9007199254740991):number>")
def change_platform(number: int) -> Response | tuple[str, int]:
    """Save one platform's settings."""
    return _saved(number)


@lti_platforms.post("/<int(max=9007199254740991):number>/remove")
def remove(number: int) -> Response:
    """Remove a platform."""
    who = admin()
    with site().sessions.begin() as session:
        remove_platform(session, session.get_one(Person, who.id), _platform(session, number))
    return go("/lti/platforms?notice=platform-removed")


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
    with site().sessions.begin() as session:
        wrong = {**mistakes_in(session, settings, None), **dict(outside_limits(settings))}
        if wrong:
            form.mistake("configuration", next(iter(wrong.values())))
            return _registration_page(form)
        number = save_platform(session, session.get_one(Person, who.id), settings, None)
    return go(f"/lti/platforms/{number}?notice=platform-registered")


def _registration_page(form: Form) -> Response:
    fields = {field.name: field for field in fields_of(PlatformSettings)}
    html = render_template("lti/register.html", form=form, fields=fields)
    return Response(html, 200 if form.right else 422)


def _saved(number: int | None) -> Response | tuple[str, int]:
    who, form = admin(), sent(*(field.form for field in fields_of(PlatformSettings)))
    with site().sessions.begin() as session:
        platform = None if number is None else _platform(session, number)
        given = read_values(form, PlatformSettings(), _ZONE)
        for name, text in {**mistakes_in(session, given, platform), **dict(outside_limits(given))}.items():
            form.mistake(name, text)
        if not form.right:
            return _page(form, platform), 422
        save_platform(session, session.get_one(Person, who.id), given, platform)
    return go("/lti/platforms?notice=platform-saved")


def _page(form: Form, platform: LtiPlatform | None = None) -> str:
    with site().readers.begin() as session:
        known = platforms(session)
    return render_template(
        "lti/platforms.html", form=form, platform=platform, platforms=known, fields=fields_of(PlatformSettings)
    )  # fmt: skip


def _platform(session: Session, number: int) -> LtiPlatform:
    found = session.get(LtiPlatform, number)
    if found is None:
        raise nothing_here()
    return found
