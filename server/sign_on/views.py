"""Pages for signing in with an identity provider, and for connecting one to an account."""

from __future__ import annotations

import hmac
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from flask import Blueprint, Flask, Response, after_this_request, current_app, request
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server.accounts import browser_sessions
from server.accounts.access import local_path, nothing_here, viewer, viewer_or_none
from server.accounts.cookies import encrypted, session_token
from server.accounts.limits import Limit, TooOften, by_address, count
from server.accounts.models import Person
from server.accounts.views import go, may_use_password, network_address, page, proven, too_often, user_agent
from server.http.forms import Form, filled, sent
from server.http.problems import Refused
from server.http.site import site, site_address
from server.identity_providers import Provider, SignOn
from server.lti.platforms import platforms
from server.sign_on import matching
from server.sign_on.fetch import ProviderFault
from server.sign_on.matching import NoAccount, Why
from server.sign_on.openid import Claims, Client, Request

sign_on = Blueprint("sign_on", "server.sign_on")

_CLIENTS = "tilelab_sign_on"
_LOG = logging.getLogger(__name__)
_UNDER_WAY = timedelta(minutes=10)
_MOST_TABS = 4
_CONNECT_PAGE = "sign_on/connect.html"
_LONGEST_CODE, _LONGEST_COOKIE, _LONGEST_LOGOUT_TOKEN, _LONGEST_TIME = 4096, 2000, 64 * 1024, 12

# An answer makes us ask the provider, and a class may sit behind one address.
_ANSWERS = Limit("sign-on answers", 600, timedelta(minutes=10))
_ENDED = Limit("sign-on ended", 6000, timedelta(minutes=10))

_REFUSED: Mapping[Why, tuple[str, str]] = {
    Why.UNVERIFIED: (
        "{title} sent no confirmed email",
        "Tilelab finds your account by an email that {title} has checked. Ask an operator of this server.",
    ),
    Why.UNKNOWN: (
        "You have no account here yet",
        "No course lists the email {email}. Ask your course staff to add it, then sign in again.",
    ),
    Why.OTHER: (
        "Another sign-in opens this account",
        "{email} is already connected to a different sign-in. If the account is yours, use that, or ask an operator.",
    ),
    Why.OPERATOR: (
        "Connect this sign-in first",
        "{email} is an operator’s account. Sign in with its password once, and connect {title} on the account page.",
    ),
    Why.UNPROVEN: (
        "This account’s email isn’t confirmed",
        "Sign out, then sign in with {title}. That confirms your email.",
    ),
    Why.DISABLED: ("Your account is disabled", "Ask an operator of this server why."),
    Why.TAKEN: (
        "This sign-in opens another account",
        "Sign in with {title} to use that account, or disconnect it there first.",
    ),
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a browser keeps while its owner is at the provider.

    proof: that the owner of the account to connect typed the password; "" to sign in
    """

    provider: str
    request: Request
    to: str = ""
    proof: str = ""


def attach_sign_on(app: Flask, settings: SignOn) -> None:
    """Let this process ask the providers, and let pages name them."""
    app.extensions[_CLIENTS] = {each.name: Client(each) for each in settings.providers}
    app.jinja_env.globals["sign_on"] = settings


@sign_on.get("/sign-on/<name>")
def start(name: str) -> Response:
    """Send the browser to the provider."""
    client, to = _client(name), local_path(request.args.get("next", ""))
    if viewer_or_none() is not None:
        return go(to or "/")
    # A longer cookie wouldn't come back whole.
    return _sent_away(client, Attempt(name, Request.new(), to if to.isascii() else ""))


@sign_on.get("/account/sign-on/<name>")
def connecting(name: str) -> Response:
    """Ask for the password: an unattended browser can't connect another person's identity."""
    with site().readers.begin() as session:
        person = session.get_one(Person, viewer().id)
    return _connecting_page(_client(name), filled({}), person)


@sign_on.post("/account/sign-on/<name>")
def start_connecting(name: str) -> Response:
    """Show the way to the provider. A redirect isn't possible: the portal's forms may lead to its own pages only."""
    who, client, form = viewer(), _client(name), sent()
    try:
        person = proven(form, who)
    except TooOften as error:
        return too_often(_CONNECT_PAGE, form, error, provider=client.provider)
    if not form.right:
        return _connecting_page(client, form, person)
    made = Request.new()
    attempt = Attempt(name, made, proof=_proof(made.state, person, int(time.time())))
    shown = _connecting_page(client, form, person, _address(client, attempt, again=True))
    return keeping(shown, attempt)


def _connecting_page(client: Client, form: Form, person: Person, address: str = "") -> Response:
    """The page that asks for the password. Without one, nothing tells the owner from others at an open browser."""
    if person.password is None:
        text = "Connecting asks for the account's password, and this account has none. Ask an operator."
        raise Refused(403, "no_password", "You have no password", text)
    return page(_CONNECT_PAGE, form, provider=client.provider, address=address)


@sign_on.get("/sign-on/<name>/answer")
def answer(name: str) -> Response:
    """Take the provider's answer, and sign the person in or connect the identity."""
    client = _client(name)
    state = request.args.get("state", "")
    attempt = attempt_of(state)
    if attempt is None or attempt.provider != name:
        raise _over(client.provider)
    after_this_request(lambda response: forget(response, cookie_of(state)))
    return _answered(client, attempt)


@sign_on.post("/sign-on/<name>/ended")
def ended(name: str) -> Response:
    """Take a provider's message that a session has ended there, and end ours."""
    client = _client(name)
    token = request.form.get("logout_token", "")[:_LONGEST_LOGOUT_TOKEN]
    try:
        count(site().sessions, _ENDED, by_address(network_address()))
        subject, session_name = client.signed_out(token)
    except (ProviderFault, TooOften) as error:
        _LOG.warning("a logout token of %s is refused: %s", name, error)
        refusal = json.dumps({"error": "invalid_request"})
        return Response(refusal, 400, {"Cache-Control": "no-store"}, "application/json")
    with site().sessions.begin() as session:
        matching.end_sessions(session, client.provider.issuer, subject, session_name)
    return Response("", 200, {"Cache-Control": "no-store"})


@sign_on.get("/sign-on/<name>/sign-out")
def sign_out_there(name: str) -> Response:
    """Send the browser to where the provider ends its own session."""
    client = _client(name)
    try:
        address = client.sign_out_address(f"{site_address()}/sign-in?notice=signed-out")
    except ProviderFault as fault:
        raise _unreachable(client.provider, fault) from fault
    return go(address or "/sign-in")


@sign_on.get("/account/sign-on")
def identities() -> Response:
    who = viewer()
    with site().readers.begin() as session:
        known = {each.issuer: each for each in matching.identities_of(session, who.id)}
        only = _is_only_way_in(session, session.get_one(Person, who.id))
        there = [(each.title, known[each.people]) for each in platforms(session) if each.people in known]
    rows = [(each, known.get(each.issuer)) for each in site().settings.sign_on.providers]
    if not rows and not there:
        raise nothing_here()
    return page("sign_on/identities.html", filled({}), rows=rows, platforms=there, only=only)


@sign_on.post("/account/sign-on/<int(max=9007199254740991):number>/disconnect")
def disconnect(number: int) -> Response:
    who = viewer()
    with site().sessions.begin() as session:
        person = session.get_one(Person, who.id, with_for_update=True)
        if _is_only_way_in(session, person):
            raise Refused(
                409,
                "only_way_in",
                "This is your only way in",
                "Without it, you could no longer sign in. Nothing changed.",
            )
        matching.disconnect(session, person, number)
    return go("/sign-in?notice=disconnected")


def _is_only_way_in(session: Session, person: Person) -> bool:
    """Whether the person couldn't sign in without the one identity."""
    known = {each.issuer for each in site().settings.sign_on.providers} | {each.people for each in platforms(session)}
    usable = [each for each in matching.identities_of(session, person.id) if each.issuer in known]
    return not _signs_in_with_password(person) and len(usable) < 2


def _signs_in_with_password(person: Person) -> bool:
    return person.password is not None and may_use_password(person)


def _sent_away(client: Client, attempt: Attempt) -> Response:
    return keeping(go(_address(client, attempt)), attempt)


def _address(client: Client, attempt: Attempt, *, again: bool = False) -> str:
    try:
        return client.sign_in_address(attempt.request, _back(client), again=again)
    except ProviderFault as fault:
        raise _unreachable(client.provider, fault) from fault


def keeping(response: Response, attempt: Attempt) -> Response:
    """The response, with which the browser keeps the attempt."""
    response.headers["Cache-Control"] = "no-store"
    under_way = [each for each in request.cookies if each.startswith(cookie_of(""))]
    for each in under_way[: max(0, len(under_way) + 1 - _MOST_TABS)]:
        forget(response, each)
    response.set_cookie(
        cookie_of(attempt.request.state), _kept(attempt), max_age=_UNDER_WAY, path="/", httponly=True,
        secure=encrypted(), samesite="Lax",
    )  # fmt: skip
    return response


def _proof(state: str, person: Person, typed: int) -> str:
    """Proof that the password was typed in this session, and when. The session's holder alone can't make it up."""
    made = hmac.digest(session_token().encode(), f"connect {state} {typed} {person.password}".encode(), "sha256").hex()
    return f"{typed}.{made}"


def _proves(attempt: Attempt, person: Person) -> bool:
    typed = attempt.proof.partition(".")[0]
    if not typed.isdecimal() or len(typed) > _LONGEST_TIME or time.time() - int(typed) > _UNDER_WAY.total_seconds():
        return False
    return hmac.compare_digest(attempt.proof, _proof(attempt.request.state, person, int(typed)))


def forget(response: Response, cookie: str) -> Response:
    response.delete_cookie(cookie, path="/", httponly=True, secure=encrypted(), samesite="Lax")
    return response


def _answered(client: Client, attempt: Attempt) -> Response:
    provider = client.provider
    if said := request.args.get("error", ""):
        raise _declined(provider, said)
    try:
        count(site().sessions, _ANSWERS, by_address(network_address()))
        client.check_issuer(request.args.get("iss"))
        claims = client.claims(request.args.get("code", "")[:_LONGEST_CODE], attempt.request, _back(client))
    except TooOften as often:
        raise Refused(
            429, "too_often", "Too many sign-ins", f"Try again in {often.seconds} s.",
            {"Retry-After": str(often.seconds)},
        ) from often  # fmt: skip
    except ProviderFault as fault:
        raise _unreachable(provider, fault) from fault
    try:
        return _connected(provider, claims, attempt) if attempt.proof else _let_in(provider, claims, attempt)
    except NoAccount as refusal:
        title, text = _REFUSED[refusal.why]
        known = {"title": provider.title, "email": claims.email}
        _LOG.info("a sign-in with %s is refused: %s", provider.name, refusal.why)
        raise Refused(403, f"sign_on_{refusal.why}", title.format_map(known), text.format_map(known)) from refusal
    except IntegrityError as error:
        # Another request of the same person was first.
        raise _over(provider) from error


def _let_in(provider: Provider, claims: Claims, attempt: Attempt) -> Response:
    before = viewer_or_none()
    with site().sessions.begin() as session:
        identity = matching.enter(session, provider, claims)
        if before is not None:
            browser_sessions.close(session, before.session_id)
        began = identity.id, claims.session
        token = browser_sessions.begin(session, identity.person, user_agent(), began)
    return go(attempt.to or "/", token)


def _connected(provider: Provider, claims: Claims, attempt: Attempt) -> Response:
    who = viewer()
    with site().sessions.begin() as session:
        person = session.get_one(Person, who.id, with_for_update=True)
        if not _proves(attempt, person):
            raise _over(provider)
        matching.connect(session, person, claims)
    return go("/account/sign-on?notice=connected")


def _client(name: str) -> Client:
    clients: dict[str, Client] = current_app.extensions[_CLIENTS]
    if name not in clients:
        raise nothing_here()
    return clients[name]


def _back(client: Client) -> str:
    return f"{site_address()}/sign-on/{client.provider.name}/answer"


def cookie_of(state: str) -> str:
    """A cookie for each attempt, so that two tabs don't disturb each other."""
    return f"{'__Host-' if encrypted() else ''}tilelab-sign-on-{state[:8]}"


def _kept(attempt: Attempt) -> str:
    made = attempt.request
    return json.dumps([attempt.provider, made.state, made.nonce, made.verifier, attempt.to, attempt.proof])


def attempt_of(state: str) -> Attempt | None:
    """What this browser kept of the attempt with this state."""
    kept = request.cookies.get(cookie_of(state), "") if state.isascii() and state.isprintable() else ""
    try:
        provider, made, nonce, verifier, to, proof = json.loads(kept[:_LONGEST_COOKIE])
    except (ValueError, TypeError, RecursionError):
        return None
    if not all(isinstance(each, str) and each.isprintable() for each in (provider, made, nonce, verifier, to, proof)):
        return None
    if len(made) < len(Request.new().state) or not hmac.compare_digest(made.encode(), state.encode()):
        return None
    return Attempt(provider, Request(made, nonce, verifier), local_path(to), proof if proof.isascii() else "")


def _over(provider: Provider) -> Refused:
    return Refused(
        400, "sign_on_over", "This sign-in is over",
        f"It began in another browser, took longer than 10 minutes, or was used before. Sign in with {provider.title} "
        "again.",
    )  # fmt: skip


def _declined(provider: Provider, said: str) -> Refused:
    _LOG.info("%s declines a sign-in: %r", provider.name, said[:60])
    return Refused(
        403, "sign_on_declined", "You are not signed in",
        f"{provider.title} ended the sign-in without telling who you are. Try again, or sign in another way.",
    )  # fmt: skip


def _unreachable(provider: Provider, fault: ProviderFault) -> Refused:
    _LOG.warning("a sign-in with %s failed: %s", provider.name, fault)
    return Refused(
        502, "sign_on_failed", f"The sign-in with {provider.title} failed",
        "Try again in a minute. If it still fails, tell the operators of this server. Their log has the reason.",
    )  # fmt: skip
