"""Pages for signing in and for one's account: password, profile, signed-in browsers, API tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Blueprint, Response, abort, render_template, request
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server.accounts import browser_sessions, password_sign_in, pseudonyms, service, zones
from server.accounts.access import Viewer, local_path, sign_in_first, viewer, viewer_or_none
from server.accounts.cookies import clear_session, earlier_token, set_session
from server.accounts.limits import LONGEST_EMAIL, Limit, TooOften, count, count_all, take_back
from server.accounts.models import CHOSEN_MAILS, MailKind, Person, Scope
from server.accounts.new_password import mistake_in
from server.accounts.service import AccountError
from server.audit.service import note
from server.http.forms import Form, filled, sent
from server.http.numbers import duration
from server.http.problems import Refused
from server.http.site import site, site_address
from server.identity_providers import Passwords

LONGEST_PASSWORD_SENT = 2000
"""More than the longest allowed password, so that a cut-off password is still too long."""

accounts = Blueprint("accounts", "server.accounts")


def password_sent(name: str) -> str:
    """A password exactly as typed, with spaces. Never shown again."""
    return request.form.get(name, "")[:LONGEST_PASSWORD_SENT]


def network_address() -> str:
    """The client's address; behind proxies, as TILELAB_PROXIES says."""
    return request.remote_addr or ""


def user_agent() -> str:
    return request.headers.get("User-Agent", "")


def page(template: str, form: Form, status: int | None = None, **more: object) -> Response:
    """A page with a form; status 422 if the form has mistakes."""
    code = status or (200 if form.right else 422)
    return Response(render_template(template, form=form, **more), code)


def too_often(template: str, form: Form, error: TooOften, **more: object) -> Response:
    """The same page, with the time to wait."""
    answer = page(template, form, 429, wait=duration(error.seconds), **more)
    answer.headers["Retry-After"] = str(error.seconds)
    return answer


def go(where: str, session_token: str = "") -> Response:
    """A redirect; sets the session cookie if given."""
    answer = Response(status=303, headers={"Location": where})
    if session_token:
        set_session(answer, session_token)
    return answer


_SIGN_IN_PAGE = "accounts/sign_in.html"


@accounts.get("/sign-in")
def sign_in() -> Response:
    to = local_path(request.args.get("next", ""))
    if viewer_or_none() is not None:
        return go(to or "/")
    return page(_SIGN_IN_PAGE, filled({"next": to}))


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
        return page(_SIGN_IN_PAGE, form)
    try:
        origin = password_sign_in.Origin(network_address(), earlier_token())
        person = password_sign_in.sign_in(site().sessions, form["email"], password, origin)
        if person is not None and not may_use_password(person):
            person = None
    except TooOften as error:
        return too_often(_SIGN_IN_PAGE, form, error)
    token = None if person is None else _let_in(person)
    if token is None:
        return page(_SIGN_IN_PAGE, form, 422, refused=True)
    return go(form["next"] or "/", token)


def may_use_password(person: Person) -> bool:
    """Whether the person may sign in without an identity provider."""
    return person.admin or site().settings.sign_on.passwords is Passwords.EVERYONE


@accounts.post("/sign-out")
def leave() -> Response:
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


_CHANGE_PAGE = "accounts/password.html"
_WRONG = Limit("password wrong", 10, timedelta(minutes=10))


@accounts.get("/account/password")
def password() -> Response:
    person = _person()
    return page(_CHANGE_PAGE, filled({}), without=person.password is None or not may_use_password(person))


@accounts.post("/account/password")
def change_password() -> Response:
    """Change the password, sign out every other browser, and start a new session in this one."""
    who = viewer()
    form = sent("tokens")
    new = password_sent("password")
    check_new(form, new, password_sent("again"), who.email, who.name)
    try:
        person = proven(form, who)
    except TooOften as error:
        return too_often(_CHANGE_PAGE, form, error)
    if not form.right:
        return page(_CHANGE_PAGE, form)
    if not may_use_password(person):
        raise Refused(403, "no_passwords", "You need no password here", "Sign in with your university’s account.")
    kept = service.hash_password(new)
    with site().sessions.begin() as session:
        current = session.get_one(Person, person.id, with_for_update=True)
        if current.password != person.password:
            raise sign_in_first()
        service.keep_password(session, current, kept)
        note(session, current, "password.changed", f"person {current.id}")
        if form.checked("tokens"):
            revoke_all(session, current)
        token = browser_sessions.begin(
            session, current, user_agent(), browser_sessions.beginning(session, who.session_id)
        )
    return go("/account/password?notice=password-changed", token)


def revoke_all(session: Session, person: Person) -> None:
    count = service.revoke_tokens(session, person)
    note(session, person, "token.revoked", f"person {person.id}", count=count)


def check_new(form: Form, password: str, again: str, email: str, name: str) -> None:
    """Add a new password's mistakes to the form."""
    if mistake := mistake_in(password, email, name):
        form.mistake("password", mistake)
    elif password != again:
        form.mistake("again", "The two passwords differ. Type the new password twice.")


def proven(form: Form, who: Viewer) -> Person:
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


_PROFILE_PAGE = "accounts/profile.html"
_NOT_YET = "Leaderboards show your name once course staff confirm it. Choose a pseudonym."
_OTHERWISE = "If it is really your name, ask an operator to set it."
_NAMES_TRIED = Limit("names tried", 20, timedelta(hours=1))
_MAILS = {f"mail_{kind}": kind for kind in CHOSEN_MAILS}
MAIL_TITLES: Mapping[MailKind, str] = {
    MailKind.ANSWERS: "Answers and comments of course staff",
    MailKind.RESULTS: "Grades, and results that took over ten minutes or that a regrade changed",
    MailKind.DEADLINES: "Deadlines, a day ahead, if no submission of yours is accepted yet",
}
_TAKEN = "This name was just taken. Choose another."


@accounts.get("/account")
def profile() -> Response:
    person = _person()
    shown = {
        "name": person.name,
        "shown": "name" if person.shows_name else "pseudonym",
        "pseudonym": person.pseudonym or "",
        "time_zone": person.time_zone,
        **{name: "yes" for name, kind in _MAILS.items() if kind not in person.mails_off.split()},
    }
    return _profile_page(filled(shown), person)


@accounts.post("/account")
def save_profile() -> Response:
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
                # Store what changed. The audit log names the changed fields, not their values.
                changed = [name for name, value in values.items() if getattr(person, name) != value]
                for name in changed:
                    setattr(person, name, values[name])
                session.flush()
                seen = sorted(set(changed) - {"time_zone", "mails_off"})
                if seen:
                    note(session, person, "person.changed", f"person {person.id}", changed=seen)
    except IntegrityError:
        form.mistake("pseudonym", _TAKEN)
    except TooOften as error:
        return too_often(_PROFILE_PAGE, form, error, **_profile_values(_person()))
    return go("/account?notice=profile-saved") if form.right else _profile_page(form, _person())


def _count_names(form: Form, person: Person) -> None:
    """Limit name changes: refusals reveal which names exist on this server."""
    if form["name"] != person.name or form["pseudonym"] not in {"", person.pseudonym}:
        count(site().sessions, _NAMES_TRIED, f"person {person.id}")


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


def _person() -> Person:
    with site().readers.begin() as session:
        return session.get_one(Person, viewer().id)


def _profile_page(form: Form, person: Person) -> Response:
    return page(_PROFILE_PAGE, form, **_profile_values(person))


def _profile_values(person: Person) -> dict[str, Any]:
    return {
        "person": person,
        "board_name": pseudonyms.board_name(person),
        "regions": zones.regions(person.time_zone),
        "mails": {f"mail_{kind}": title for kind, title in MAIL_TITLES.items()} if site().settings.mail else {},
    }


_LARGEST = 2**63 - 1

_BROWSERS = (
    ("Edg/", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip
_LONGEST = 60


@accounts.get("/account/sessions")
def sessions() -> Response:
    who = viewer()
    with site().readers.begin() as session:
        rows = browser_sessions.live_sessions(session, who.id)
    return page("accounts/sessions.html", filled({}), rows=rows, here=who.session_id, described=_described)


@accounts.post("/account/sessions/end-others")
def end_other_sessions() -> Response:
    who = viewer()
    with site().sessions.begin() as session:
        browser_sessions.end_all(session, who.id, but=who.session_id)
    return go("/account/sessions?notice=sessions-ended")


@accounts.post("/account/sessions/<int:number>/end")
def end_session(number: int) -> Response:
    who = viewer()
    if number > _LARGEST:
        abort(404)
    with site().sessions.begin() as session:
        # A session that ended meanwhile is fine; another person's session is left alone.
        browser_sessions.end(session, who.id, number)
    return go("/account/sessions?notice=session-ended")


def _described(user_agent: str) -> str:
    """Such as "Firefox on Windows"; an unknown browser's own text, cut short."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or user_agent[:_LONGEST] or "Unknown browser"


_TOKENS_PAGE = "accounts/tokens.html"
_LIFETIMES = (("7", "7 days"), ("30", "30 days"), ("120", "120 days (one term)"), ("365", "365 days"))
_USUAL = "120"
_EVERYTHING = "everything"
ACCESS: Mapping[str, tuple[str, Collection[Scope]]] = {
    _EVERYTHING: ("Everything that you may do", tuple(Scope)),
    "submit": ("Read your own work, and submit", (Scope.READ, Scope.SUBMIT)),
    "read": ("Only read your own work", (Scope.READ,)),
    "staff": ("Read your own work, and act as course staff", (Scope.READ, Scope.STAFF)),
}
TOKENS_MADE = Limit("tokens made", 30, timedelta(hours=1))


@accounts.get("/account/tokens")
def tokens() -> Response:
    viewer()
    return _tokens_page(_empty())


@accounts.post("/account/tokens")
def make_token() -> Response:
    """Create a token and show it in this answer only: it has no address that could be opened again."""
    who = viewer()
    form = sent("name", "days", "access")
    form.values["access"] = form["access"] or _EVERYTHING
    form.choose("access", offered_access())
    if form["days"] not in dict(_LIFETIMES):
        form.mistake("days", "Choose when the token expires.")
    token = ""
    try:
        if form.right:
            count(site().sessions, TOKENS_MADE, f"person {who.id}")
            token = _made(form, who.id)
    except service.AccountError as error:
        form.mistake("name", str(error))
    except TooOften as error:
        return too_often(_TOKENS_PAGE, form, error, **_tokens_values())
    return _tokens_page(_empty(), token, form["name"]) if token else _tokens_page(form)


@accounts.post("/account/tokens/<int:number>/revoke")
def revoke_token(number: int) -> Response:
    who = viewer()
    if number > _LARGEST:
        abort(404)
    with site().sessions.begin() as session:
        if service.revoke_token(session, who.id, number):
            note(session, session.get_one(Person, who.id), "token.revoked", f"person {who.id}", count=1)
    return go("/account/tokens?notice=token-revoked")


def _made(form: Form, person_id: int) -> str:
    with site().sessions.begin() as session:
        person, present = service.person_with_room(session, person_id)
        if form["name"] in {token.name for token in present}:
            raise service.AccountError(
                "You have a token with this name already, and it can't be shown again. Revoke it or choose another "
                "name."
            )
        token = service.create_token(
            session, person, form["name"],
            lifetime=timedelta(days=int(form["days"])), scopes=ACCESS[form["access"]][1],
        )  # fmt: skip
        note(session, person, "token.created", f"person {person_id}")
        return token


def _empty() -> Form:
    return filled({"days": _USUAL, "access": _EVERYTHING})


def offered_access() -> list[tuple[str, str]]:
    return [(value, title) for value, (title, _) in ACCESS.items()]


def _tokens_page(form: Form, made: str = "", name: str = "") -> Response:
    return page(_TOKENS_PAGE, form, made=made, made_name=name, address=site_address(), **_tokens_values())


def _tokens_values() -> dict[str, Any]:
    with site().readers.begin() as session:
        rows = service.valid_tokens(session, viewer().id)
    return {
        "rows": rows, "lifetimes": _LIFETIMES, "access": offered_access(), "now": datetime.now(UTC),
        "soon": timedelta(days=7),
    }  # fmt: skip
