"""Invitations, and links for a forgotten password."""

from __future__ import annotations

from flask import Response

from server.accounts import password_sign_in, service
from server.accounts.access import viewer_or_none
from server.accounts.models import LinkPurpose, OneTimeLink, Person
from server.accounts.views.blueprint import go, page, password_sent, user_agent
from server.accounts.views.password import check_new, revoke_all
from server.audit.service import note
from server.enrolment import links
from server.enrolment.email_confirmation import confirm_email
from server.enrolment.views.blueprint import enrolment
from server.http.forms import Form, filled, sent
from server.http.problems import Refused
from server.http.site import site

_PAGE = "enrolment/link.html"
_ADDRESS = "/<any(invitation, reset):purpose>/<token>"


@enrolment.get(_ADDRESS)
def show_link(purpose: str, token: str) -> Response:
    """Show the form; doesn't use up the link."""
    return _shown(filled({"tokens": "yes"}), _found(purpose, token))


@enrolment.post(_ADDRESS)
def follow_link(purpose: str, token: str) -> Response:
    """Set the password and sign in."""
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
        service.keep_password(session, owner, kept)
        confirm_email(session, owner)
        if form.checked("tokens") and used.purpose is LinkPurpose.RESET:
            revoke_all(session, owner)
        note(session, owner, "password.set_by_link", f"person {owner.id}", purpose=purpose)
        cookie = password_sign_in.open_session(session, owner, user_agent(), before.session_id if before else None)
    return go("/?notice=password-set", cookie or "")


def _found(purpose: str, token: str) -> OneTimeLink:
    with site().readers.begin() as session:
        found = links.find_link(session, LinkPurpose(purpose), token)
    if found is None:
        raise _over()
    return found


def _shown(form: Form, link: OneTimeLink) -> Response:
    person: Person = link.person
    return page(_PAGE, form, link=link, person=person)


def _over() -> Refused:
    return Refused(
        404, "link_over", "This link no longer works",
        "It was used, it expired, a newer link replaced it, or another course added you since. If you have a password, "
        "sign in with it. If not, ask course staff for a new link. If you are in several courses, ask an operator.",
    )  # fmt: skip
