"""Join a course with its enrolment code, with a new account if needed."""

from __future__ import annotations

from datetime import timedelta

from flask import Response, request
from sqlalchemy.exc import IntegrityError

from server.accounts import password_sign_in, service
from server.accounts.access import Viewer, viewer_or_none
from server.accounts.limits import Limit, TooOften, by_address, count
from server.accounts.models import Person
from server.accounts.new_password import mistake_in
from server.accounts.views.blueprint import go, network_address, page, password_sent, too_often, user_agent
from server.enrolment.codes import CannotJoin, course_to_join, join
from server.enrolment.views.blueprint import enrolment
from server.http.forms import Form, filled, sent
from server.http.site import site

_PAGE = "enrolment/join.html"
_TAKEN = "This email already has an account. Sign in and enter the code there."

# Only failed codes count. A correct one always works: others may share the address, and codes can't be guessed. In its
# first hour, a whole class creates accounts from one address. The second limit allows that but stops floods. A taken
# email counts too. Its answer reveals that the email has an account, because Tilelab can't send mail to its owner
# instead. But it needs a valid code, and the limit prevents long lists.
_GUESSES = Limit("join guesses", 100, timedelta(minutes=10))
_ACCOUNTS = Limit("join accounts", 250, timedelta(days=1))


@enrolment.get("/join")
def join_page() -> Response:
    """Show the form. The address may contain the code, so that staff can share it."""
    return page(_PAGE, filled({"code": request.args.get("code", "")[:40]}))


@enrolment.post("/join")
def join_course() -> Response:
    """Join with the signed-in account or a new one."""
    form = sent("code", "name", "email")
    if not form["code"]:
        form.mistake("code", "Type the code from your course staff.")
    try:
        who = viewer_or_none()
        answer = _join(form, who) if who is not None else _join_anew(form)
        if "code" in form.mistakes:
            count(site().sessions, _GUESSES, by_address(network_address()))
    except TooOften as error:
        return too_often(_PAGE, form, error)
    return answer


def _join(form: Form, who: Viewer) -> Response:
    if not form.right:
        return page(_PAGE, form)
    try:
        with site().sessions.begin() as session:
            course = course_to_join(session, form["code"])
            new = join(session, session.get_one(Person, who.id), course)
    except CannotJoin as error:
        form.mistake("code", str(error))
        return page(_PAGE, form)
    return go(f"/courses/{course.slug}/?notice={'joined' if new else 'already-in'}")


def _join_anew(form: Form) -> Response:
    course_id = _course_of_code(form)
    _check_fields(form)
    # Only after a valid code does the answer show whether the email has an account.
    if not form.right:
        return page(_PAGE, form)
    count(site().sessions, _ACCOUNTS, f"course {course_id} {by_address(network_address())}")
    if _is_taken(form["email"]):
        form.mistake("email", _TAKEN)
        return page(_PAGE, form)
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
        return page(_PAGE, form)
    except (service.AccountError, IntegrityError):
        form.mistake("email", _TAKEN)
        return page(_PAGE, form)
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
