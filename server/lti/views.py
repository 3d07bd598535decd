"""Launches from a platform: a browser comes, signs in by the platform's word, and goes on to a course.

The platform posts its token from its own site, so our cookies don't come with it. The token is checked and kept, and
the browser goes on to a page of the launch. There it brings the cookie with which it began.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

from flask import Blueprint, Flask, Response, after_this_request, current_app, jsonify, render_template, request
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server.accounts import browser_sessions
from server.accounts.access import Viewer, viewer, viewer_or_none
from server.accounts.digest import digest_of
from server.accounts.limits import Limit, TooOften, by_address, count
from server.accounts.models import BrowserSession, Identity, Person
from server.accounts.views import go, network_address, user_agent
from server.courses.models import Course, Role
from server.courses.service import find_course, hold_course, is_staff, role_in
from server.http.policy import content_policy
from server.http.problems import Refused
from server.http.site import site, site_address
from server.identity_providers import NewAccounts
from server.lti import contexts
from server.lti.contexts import NoEntry, courses_to_connect, find_context, may_join
from server.lti.contexts import Why as WhyNot
from server.lti.keys import public_keys
from server.lti.launch import CHOOSE_PATH, ESSENTIAL, Launch, LaunchFault, read_launch
from server.lti.models import LtiContext, LtiLaunch, LtiPlatform
from server.lti.platforms import find_platform
from server.lti.services import keys_of
from server.sign_on import matching
from server.sign_on.fetch import ProviderFault
from server.sign_on.matching import NoAccount, Why
from server.sign_on.openid import Request, SignedTokens, one_line, with_query
from server.sign_on.views import Attempt, attempt_of, cookie_of, forget, keeping
from server.text import storable

lti = Blueprint("lti", "server.lti", url_prefix="/lti")

_TOKENS = "tilelab_lti"
_LOG = logging.getLogger(__name__)
KEPT = timedelta(hours=1)
_LAUNCHES = Limit("lti launches", 6000, timedelta(minutes=10))
_LONGEST, _LONGEST_STATE = 2000, 100
FRAMES = frozenset({"iframe", "frame", "embed", "object"})
_PASSED_ON = ("iss", "login_hint", "target_link_uri", "lti_message_hint", "client_id", "lti_deployment_id")
_CONNECTABLE = frozenset({Why.UNVERIFIED, Why.UNKNOWN, Why.OTHER})
"""A person with such a refusal may have an account, and can connect it by signing in to it."""

_NO_ENTRY: Mapping[WhyNot, tuple[str, str]] = {
    WhyNot.UNCONNECTED: (
        "No course is connected yet",
        "Ask the course’s instructor to open this link once, and to choose the course on Tilelab.",
    ),
    WhyNot.ELSEWHERE: (
        "This link leads to another course",
        "Ask the course’s instructor to remove the link, and to add the assignment again.",
    ),
    WhyNot.MISSING: (
        "This assignment doesn’t exist",
        "Ask the course’s instructor to remove the link, and to add the assignment again.",
    ),
    WhyNot.STRANGER: (
        "You are not in this course",
        "A launch adds students only, and none whom course staff removed. Ask the course’s instructor to add you.",
    ),
    WhyNot.STUDENT: ("Only course staff choose assignments", "Ask the course’s instructor to add the assignment."),
}


def attach_lti(app: Flask) -> None:
    """Let this process keep the keys of platforms."""
    app.extensions[_TOKENS] = {}


@lti.get("/keys")
def keys() -> Response:
    """Publish our keys, for platforms."""
    with site().sessions.begin() as session:
        return jsonify(public_keys(session))


@lti.route("/login", methods=["GET", "POST"])
def login() -> Response:
    """Begin a launch: send the browser to the platform. In a frame, offer a new tab, where cookies work."""
    given = {name: storable(request.values.get(name, ""))[:_LONGEST] for name in _PASSED_ON}
    with site().readers.begin() as session:
        platform = find_platform(session, given["iss"], given["client_id"])
    if platform is None or not given["login_hint"]:
        _LOG.warning(
            "a launch of the issuer %r with client %r is refused", given["iss"][:200], given["client_id"][:200]
        )
        text = "Ask an operator of this server to register it."
        raise refused("platform", "This platform isn’t registered", text, 400)
    if request.headers.get("Sec-Fetch-Dest") in FRAMES:
        return _framed(given)
    made = Request.new()
    made = Request(f"{made.state}.{platform.id}", made.nonce, made.verifier)
    query = {
        "scope": "openid", "response_type": "id_token", "response_mode": "form_post", "prompt": "none",
        "client_id": platform.client_id, "redirect_uri": f"{site_address()}/lti/launch",
        "login_hint": given["login_hint"], "state": made.state, "nonce": made.nonce,
    }  # fmt: skip
    if given["lti_message_hint"]:
        query["lti_message_hint"] = given["lti_message_hint"]
    frame = request.args.get("frame", "")[:100]
    attempt = Attempt(f"lti/{platform.id}", made, f"/lti/frames/{frame}" if frame.isascii() and frame else "")
    return keeping(go(with_query(platform.authorization, query)), attempt)


def _framed(given: Mapping[str, str]) -> Response:
    """A page for a frame, which may be shown anywhere: it only leads to a new tab."""
    query = {name: value for name, value in given.items() if value}
    waits = urlsplit(given["target_link_uri"]).path == CHOOSE_PATH
    if waits:
        query["frame"] = secrets.token_urlsafe(32)
    return in_frame("lti/framed.html", again=f"/lti/login?{urlencode(query)}", frame=query.get("frame", ""))


def in_frame(template: str, *, forms: str = "'self'", **values: Any) -> Response:
    """A page without a reader that platforms may put into a frame."""
    answer = Response(render_template(template, bare=True, **values))
    answer.headers["Content-Security-Policy"] = content_policy(frames="*", forms=forms)
    return answer


@lti.post("/launch")
def launch() -> Response:
    """Take a platform's token, and go on to the page of the launch."""
    state = storable(request.form.get("state", ""))[:_LONGEST_STATE]
    platform = _platform_of(state)
    if declined := request.form.get("error", ""):
        _LOG.info("%s declines a launch: %r", platform.title, declined[:60])
        raise refused("declined", f"{platform.title} didn’t sign you in", "Sign in there, then open the link again.")
    try:
        count(site().sessions, _LAUNCHES, by_address(network_address()))
        said = _tokens(platform).read(request.form.get("id_token", ""), ESSENTIAL)
        found = read_launch(said, platform.deployments, site_address())
        nonce = one_line(said["nonce"], _LONGEST_STATE)
    except TooOften as often:
        raise Refused(
            429, "too_often", "Too many launches", f"Try again in {often.seconds} s.",
            {"Retry-After": str(often.seconds)},
        ) from often  # fmt: skip
    except (ProviderFault, LaunchFault) as fault:
        _LOG.warning("a launch from %s is refused: %s", platform.title, fault)
        raise _invalid(platform, fault.fault.value if isinstance(fault, LaunchFault) else "token") from fault
    ticket = secrets.token_urlsafe(32)
    try:
        with site().sessions.begin() as session:
            now = datetime.now(UTC)
            session.execute(delete(LtiLaunch).where(LtiLaunch.made_at < now - KEPT))
            session.add(
                LtiLaunch(
                    platform_id=platform.id, nonce=nonce, ticket=digest_of(ticket), state=state, said=found.plain,
                    made_at=now,
                )
            )  # fmt: skip
    except IntegrityError as error:
        raise _over(platform.title) from error
    return go(f"/lti/launches/{ticket}")


@lti.get("/launches/<ticket>")
def show_launch(ticket: str) -> Response:
    """Sign the person in, then go to the page, or ask what is missing."""
    try:
        with site().sessions.begin() as session:
            row = _row(session, ticket)
            if row.person_id is None:
                attempt = _attempt(row)
                return _begun(session, row, attempt, _identity(session, row), ticket)
            row, said = launch_of(session, ticket, viewer())
            return _admitted(session, row, said, ticket)
    except NoAccount as refusal:
        return _connectable(ticket, refusal)


def _begun(session: Session, row: LtiLaunch, attempt: Attempt, identity: Identity, ticket: str) -> Response:
    """Sign the person in with this identity. The launch is theirs from now on."""
    row.person_id = identity.person_id
    row.frame = digest_of(attempt.to.rpartition("/")[2]) if attempt.to else ""
    before = viewer_or_none(session)
    if before is not None:
        browser_sessions.close(session, before.session_id)
    token = browser_sessions.begin(session, identity.person, user_agent(), (identity.id, ""))
    after_this_request(lambda response: forget(response, cookie_of(attempt.request.state)))
    return go(f"/lti/launches/{ticket}", token)


def _identity(session: Session, row: LtiLaunch) -> Identity:
    """The person's identity, connected to an account; raises NoAccount. No platform opens an operator's account."""
    platform, said = row.platform, Launch(**row.said)
    joins = may_join(find_context(session, platform, said), said)
    provider = platform.provider(NewAccounts.ANYONE if joins else NewAccounts.ROSTER)
    claims = said.claims(platform.people, vouched=bool(platform.domains))
    found = matching.enter(session, provider, claims)
    if found.person.admin:
        raise NoAccount(Why.OPERATOR)
    return found


def _connectable(ticket: str, refusal: NoAccount) -> Response:
    """Offer to connect an account, once its owner has signed in to it since the launch."""
    with site().readers.begin() as session:
        row = _row(session, ticket, hold=False)
        platform, said = row.platform, Launch(**row.said)
    _LOG.info("a launch from %s finds no account: %s", platform.title, refusal.why)
    if refusal.why not in _CONNECTABLE:
        raise _no_account(platform, refusal)
    who = viewer_or_none()
    shown = render_template(
        "lti/account.html", platform=platform, said=said, ticket=ticket, why=refusal.why.value,
        who=who if _signed_in_since(who, row.made_at) else None,
    )  # fmt: skip
    return Response(shown)


def _signed_in_since(who: Viewer | None, moment: datetime) -> bool:
    """Whether this browser's session began after that. An open browser alone connects nothing."""
    if who is None:
        return False
    with site().readers.begin() as session:
        return session.get_one(BrowserSession, who.session_id).created_at > moment


@lti.post("/launches/<ticket>/sign-in")
def sign_in_first(ticket: str) -> Response:
    """End the browser's session, and come back after the next one begins."""
    with site().sessions.begin() as session:
        _attempt(_row(session, ticket))
        who = viewer_or_none(session)
        if who is not None:
            browser_sessions.close(session, who.session_id)
    return go(f"/sign-in?{urlencode({'next': f'/lti/launches/{ticket}'})}")


@lti.post("/launches/<ticket>/account")
def connect_account(ticket: str) -> Response:
    """Let the platform's name for the person open the account that the person signed in to."""
    who = viewer()
    with site().sessions.begin() as session:
        row = _row(session, ticket)
        attempt, said = _attempt(row), Launch(**row.said)
        if row.person_id is not None or not _signed_in_since(who, row.made_at):
            raise _over(row.platform.title)
        person = session.get_one(Person, who.id, with_for_update=True)
        if person.admin:
            raise _no_account(row.platform, NoAccount(Why.OPERATOR))
        try:
            identity = matching.connect(session, person, said.claims(row.platform.people, vouched=False))
        except NoAccount as refusal:
            raise _no_account(row.platform, refusal) from refusal
        return _begun(session, row, attempt, identity, ticket)


def _admitted(session: Session, row: LtiLaunch, said: Launch, ticket: str) -> Response:
    """Go to the course of the launch, if it is connected and the person may enter."""
    context = find_context(session, row.platform, said)
    person = session.get_one(Person, row.person_id)
    if context is None:
        return _connecting(session, row, said, ticket)
    try:
        assignment = contexts.enter(session, context, said, person)
    except NoEntry as refusal:
        raise _no_entry(row.platform, refusal) from refusal
    if said.return_to:
        return go(f"/lti/launches/{ticket}/choose")
    course = context.course
    return go(f"/courses/{course.slug}/" if assignment is None else f"/courses/{course.slug}/{assignment.slug}/")


def _connecting(session: Session, row: LtiLaunch, said: Launch, ticket: str) -> Response:
    """Let an instructor of both courses connect them."""
    offered = courses_to_connect(session, row.person_id or 0) if said.teaches else ()
    if not offered:
        raise _no_entry(row.platform, NoEntry(WhyNot.UNCONNECTED))
    shown = render_template("lti/connect.html", platform=row.platform, said=said, ticket=ticket, courses=offered)
    return Response(shown)


@lti.post("/launches/<ticket>/connect")
def connect_course(ticket: str) -> Response:
    """Connect a course to the one from which its instructor launched."""
    who = viewer()
    with site().sessions.begin() as session:
        row, said = launch_of(session, ticket, who)
        course = _instructed(session, who, request.form.get("course", "")) if said.teaches else None
        if course is None:
            raise _no_entry(row.platform, NoEntry(WhyNot.UNCONNECTED))
        hold_course(session, course.id)
        if find_context(session, row.platform, said) is None:
            contexts.connect(session, course, session.get_one(Person, who.id), row.platform, said)
    return go(f"/lti/launches/{ticket}")


def launch_of(session: Session, ticket: str, who: Viewer) -> tuple[LtiLaunch, Launch]:
    """The launch with which this person entered; raises Refused."""
    row = _row(session, ticket)
    if row.person_id != who.id:
        raise _over(row.platform.title)
    return row, Launch(**row.said)


def context_for_choice(session: Session, row: LtiLaunch, said: Launch) -> LtiContext:
    """The course of which this person, who is its staff, chooses an assignment; raises Refused."""
    context = find_context(session, row.platform, said)
    if context is None or not said.return_to or not is_staff(role_in(session, row.person_id or 0, context.course_id)):
        raise _no_entry(row.platform, NoEntry(WhyNot.STUDENT))
    return context


def _instructed(session: Session, who: Viewer, slug: str) -> Course | None:
    course = find_course(session, slug)
    ok = course is not None and course.archived_at is None and role_in(session, who.id, course.id) is Role.INSTRUCTOR
    return course if ok else None


def _row(session: Session, ticket: str, *, hold: bool = True) -> LtiLaunch:
    query = select(LtiLaunch).where(LtiLaunch.ticket == digest_of(ticket), LtiLaunch.made_at > datetime.now(UTC) - KEPT)
    found = session.scalar(query.with_for_update() if hold else query)
    if found is None:
        raise _over("")
    return found


def _attempt(row: LtiLaunch) -> Attempt:
    """What this browser kept of the launch; raises Refused if it began in another one."""
    found = attempt_of(row.state)
    ours = found is not None and found.provider == f"lti/{row.platform_id}"
    if found is None or not ours or not hmac.compare_digest(found.request.nonce.encode(), row.nonce.encode()):
        raise _over(row.platform.title)
    return found


def _platform_of(state: str) -> LtiPlatform:
    """The platform to which a browser with this state was sent."""
    number = state.rpartition(".")[2]
    if number.isascii() and number.isdecimal() and len(number) < 16:
        with site().readers.begin() as session:
            found = session.get(LtiPlatform, int(number))
        if found is not None:
            return found
    raise _over("")


def _tokens(platform: LtiPlatform) -> SignedTokens:
    """What checks the platform's tokens, with the keys that this process read last."""
    kept: dict[tuple[str, ...], SignedTokens] = current_app.extensions[_TOKENS]
    name = platform.issuer, platform.client_id, platform.keys
    if name not in kept:
        kept[name] = SignedTokens(
            platform.issuer, platform.client_id, lambda: platform.keys, partial(keys_of, platform)
        )
    return kept[name]


def refused(code: str, title: str, text: str, status: int = 403) -> Refused:
    """The answer to a launch that ends here."""
    return Refused(status, f"lti_{code}", title, text)


def _invalid(platform: LtiPlatform, code: str) -> Refused:
    return refused(
        code, "This launch isn’t valid",
        f"Open the link in {platform.title} again. If it still fails, tell the operators of this server. Their log has "
        "the reason.",
        400,
    )  # fmt: skip


def _over(title: str) -> Refused:
    return refused(
        "over", "This launch is over",
        f"It began in another browser, took too long, or was used before. Open the link in {title or 'your course'} "
        "again.",
        400,
    )  # fmt: skip


def _no_account(platform: LtiPlatform, refusal: NoAccount) -> Refused:
    texts = {
        Why.OPERATOR: "Operators’ accounts aren’t connected to platforms. Sign in to Tilelab itself.",
        Why.DISABLED: "Your account is disabled. Ask an operator of this server why.",
        Why.TAKEN: f"Your account at {platform.title} is connected to another account here. Sign in to that one.",
        Why.UNPROVEN: "Your account’s email isn’t confirmed. Ask course staff for a link, and open it first.",
        Why.OTHER: f"Another account at {platform.title} opens your account here. Ask an operator of this server.",
    }
    text = texts.get(refusal.why, "Ask an operator of this server.")
    return refused(refusal.why.value, "This launch opens no account", text)


def _no_entry(platform: LtiPlatform, refusal: NoEntry) -> Refused:
    title, text = _NO_ENTRY[refusal.why]
    _LOG.info("a launch from %s opens no page: %s", platform.title, refusal.why)
    return refused(refusal.why.value, title, text)
