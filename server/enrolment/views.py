"""Pages for joining a course: with its code, with a link, or by an invitation."""

from __future__ import annotations

from datetime import timedelta

from flask import Blueprint, Response, request
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from server.accounts import password_sign_in, service
from server.accounts.access import Viewer, nothing_here, sign_in_first, viewer, viewer_or_none
from server.accounts.limits import LONGEST_EMAIL, Limit, TooOften, by_address, by_email, count, count_all
from server.accounts.links import ask_for_mail
from server.accounts.models import Identity, LinkPurpose, OneTimeLink, Person
from server.accounts.new_password import mistake_in
from server.accounts.views import (
    check_new,
    go,
    may_use_password,
    network_address,
    page,
    password_sent,
    revoke_all,
    too_often,
    user_agent,
)
from server.audit.service import note
from server.enrolment import links
from server.enrolment.codes import CannotJoin, course_to_join, join
from server.enrolment.course_invitations import accept, refuse
from server.enrolment.email_confirmation import confirm_email
from server.http.forms import Form, filled, sent
from server.http.problems import Refused
from server.http.site import site
from server.identity_providers import Passwords

enrolment = Blueprint("enrolment", "server.enrolment")


_JOIN_PAGE = "enrolment/join.html"
_TAKEN = "This email already has an account. Sign in and enter the code there."

# Only failed codes count. A correct one always works: others may share the address, and codes can't be guessed. In its
# first hour, a whole class creates accounts from one address. The second limit allows that but stops floods. A taken
# email counts too. Its answer reveals that the email has an account, because not every server can send mail to its
# owner instead. But it needs a valid code, and the limit prevents long lists.
_GUESSES = Limit("join guesses", 100, timedelta(minutes=10))
_ACCOUNTS = Limit("join accounts", 250, timedelta(days=1))


@enrolment.get("/join")
def join_page() -> Response:
    """Show the form. The address may contain the code, so that staff can share it."""
    _need_account()
    return page(_JOIN_PAGE, filled({"code": request.args.get("code", "")[:40]}))


@enrolment.post("/join")
def join_course() -> Response:
    _need_account()
    form = sent("code", "name", "email")
    if not form["code"]:
        form.mistake("code", "Type the code from your course staff.")
    try:
        who = viewer_or_none()
        answer = _join(form, who) if who is not None else _join_anew(form)
        if "code" in form.mistakes:
            count(site().sessions, _GUESSES, by_address(network_address()))
    except TooOften as error:
        return too_often(_JOIN_PAGE, form, error)
    return answer


def _need_account() -> None:
    """Let people sign in first if accounts come from an identity provider."""
    if viewer_or_none() is None and site().settings.sign_on.passwords is Passwords.OPERATORS:
        raise sign_in_first()


def _join(form: Form, who: Viewer) -> Response:
    if not form.right:
        return page(_JOIN_PAGE, form)
    try:
        with site().sessions.begin() as session:
            course = course_to_join(session, form["code"])
            new = join(session, session.get_one(Person, who.id), course)
    except CannotJoin as error:
        form.mistake("code", str(error))
        return page(_JOIN_PAGE, form)
    return go(f"/courses/{course.slug}/?notice={'joined' if new else 'already-in'}")


def _join_anew(form: Form) -> Response:
    course_id = _course_of_code(form)
    _check_fields(form)
    # Only after a valid code does the answer show whether the email has an account.
    if not form.right:
        return page(_JOIN_PAGE, form)
    count(site().sessions, _ACCOUNTS, f"course {course_id} {by_address(network_address())}")
    if _is_taken(form["email"]):
        form.mistake("email", _TAKEN)
        return page(_JOIN_PAGE, form)
    kept = service.hash_password(password_sent("password"))
    try:
        with site().sessions.begin() as session:
            course = course_to_join(session, form["code"])
            person = service.create_person(session, email=form["email"], name=form["name"], proven=False)
            service.keep_password(session, person, kept)
            join(session, person, course)
            token = password_sign_in.open_session(session, person, user_agent())
    except CannotJoin as error:
        form.mistake("code", str(error))
        return page(_JOIN_PAGE, form)
    except (service.AccountError, IntegrityError):
        form.mistake("email", _TAKEN)
        return page(_JOIN_PAGE, form)
    return go(f"/courses/{course.slug}/?notice=joined", token or "")


def _is_taken(email: str) -> bool:
    with site().readers.begin() as session:
        return service.find_person(session, email) is not None


def _course_of_code(form: Form) -> int | None:
    try:
        with site().readers.begin() as session:
            return course_to_join(session, form["code"]).id
    except CannotJoin as error:
        form.mistake("code", str(error))
        return None


def _check_fields(form: Form) -> None:
    for name, check in (("name", service.normal_name), ("email", service.normal_email)):
        try:
            check(form[name])
        except service.AccountError as error:
            form.mistake(name, str(error))
    if mistake := mistake_in(password_sent("password"), form["email"], form["name"]):
        form.mistake("password", mistake)


_LINK_PAGE = "enrolment/link.html"
_ADDRESS = "/<any(invitation, reset):purpose>/<token>"


@enrolment.get(_ADDRESS)
def show_link(purpose: str, token: str) -> Response:
    """Show the form; doesn't use up the link."""
    return _shown(filled({"tokens": "yes"}), _found(purpose, token))


@enrolment.post(_ADDRESS)
def follow_link(purpose: str, token: str) -> Response:
    person = _found(purpose, token).person
    password = password_sent("password")
    form = sent("tokens")
    check_new(form, password, password_sent("again"), person.email, person.name)
    if not form.right:
        return _shown(form, _found(purpose, token))
    kept = service.hash_password(password)
    before = viewer_or_none()
    with site().sessions.begin() as session:
        used = links.use_link(session, LinkPurpose(purpose), token)
        if used is None:
            raise _over()
        owner = used.person
        service.replace_password(session, owner, kept)
        if used.created_by != owner.id or used.purpose is LinkPurpose.INVITATION:
            confirm_email(session, owner)
        elif owner.proven_at is None:
            # The mailbox is the owner's, but no one vouches for the name.
            service.revoke_tokens(session, owner)
        if form.checked("tokens") and used.purpose is LinkPurpose.RESET:
            revoke_all(session, owner)
        note(session, owner, "password.set_by_link", f"person {owner.id}", purpose=purpose)
        cookie = password_sign_in.open_session(session, owner, user_agent(), before.session_id if before else None)
    return go("/?notice=password-set", cookie or "")


def _found(purpose: str, token: str) -> OneTimeLink:
    with site().readers.begin() as session:
        link = links.find_link(session, LinkPurpose(purpose), token)
    if link is None:
        raise _over()
    if not may_use_password(link.person):
        raise Refused(
            403, "no_passwords", "You need no password here",
            f"Go to the sign-in page, and use your university’s account. Its email must be {link.person.email}.",
        )  # fmt: skip
    return link


def _shown(form: Form, link: OneTimeLink) -> Response:
    person: Person = link.person
    return page(_LINK_PAGE, form, link=link, person=person)


def _over() -> Refused:
    return Refused(
        404, "link_over", "This link no longer works",
        "It was used, it expired, a newer link replaced it, or another course added you since. If you have a password, "
        "sign in with it. If not, ask course staff for a new link. If you are in several courses, ask an operator.",
    )  # fmt: skip


_FORGOT_PAGE = "enrolment/forgot.html"
_OFTEN, _DAILY = Limit("link by mail", 3, timedelta(hours=1)), Limit("link by mail, day", 6, timedelta(days=1))
_FROM_HERE = Limit("links by mail", 100, timedelta(hours=1))


@enrolment.get("/forgot")
def forgot() -> Response:
    _need_mail()
    return page(_FORGOT_PAGE, filled({}))


@enrolment.post("/forgot")
def send_link() -> Response:
    """Send a link for a new password. The answer is always the same, so that it reveals no emails."""
    _need_mail()
    form = sent("email")
    if not form["email"] or len(form["email"]) > LONGEST_EMAIL:
        form.mistake("email", "Type the email of your account.")
        return page(_FORGOT_PAGE, form)
    email, here = by_email(form["email"]), by_address(network_address())
    try:
        count_all(site().sessions, [(_OFTEN, email), (_DAILY, email), (_FROM_HERE, here)])
    except TooOften as error:
        return too_often(_FORGOT_PAGE, form, error)
    with site().sessions.begin() as session:
        person = service.find_person(session, form["email"])
        if person is not None and _gets_link(session, person):
            ask_for_mail(session, person, LinkPurpose.RESET if person.password else LinkPurpose.INVITATION, person.id)
    return go("/sign-in?notice=link-asked")


def _gets_link(session: Session, person: Person) -> bool:
    """Whether an e-mail may open the account. Operators need more proof, and identities have their own way in."""
    known = session.scalar(select(Identity.id).where(Identity.person_id == person.id).limit(1))
    return not (person.admin or person.creates_courses or person.disabled_at or person.erased_at or known)


def _need_mail() -> None:
    settings = site().settings
    if settings.mail is None or settings.sign_on.passwords is Passwords.OPERATORS:
        raise nothing_here()


_ONE = "/invitations/<int(max=9007199254740991):number>"


@enrolment.post(f"{_ONE}/accept")
def accept_invitation(number: int) -> Response:
    who = viewer()
    with site().sessions.begin() as session:
        course = accept(session, session.get_one(Person, who.id), number)
    return go("/?notice=invitation-gone" if course is None else f"/courses/{course.slug}/?notice=joined")


@enrolment.post(f"{_ONE}/decline")
def decline_invitation(number: int) -> Response:
    who = viewer()
    with site().sessions.begin() as session:
        refuse(session, session.get_one(Person, who.id), number)
    return go("/?notice=invitation-refused")
