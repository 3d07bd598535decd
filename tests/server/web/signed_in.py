"""A browser in a test: signed in as somebody, or as nobody, with forms that it fills in as pages hold them."""

from __future__ import annotations

from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from server.accounts import browser_sessions
from server.accounts.cookies import CSRF_FIELD, csrf_token
from server.accounts.models import Person
from server.courses.models import Role
from tests.server.web.conftest import Portal

COOKIE = "tilelab"


class BrowserClient(FlaskClient):
    """Keeps cookies, follows no redirect unless it is told to."""

    def post_form(self, path: str, /, **fields: Any) -> TestResponse:
        """Send a form with what every form of ours holds. A file is (BytesIO, name)."""
        return self.post(path, data={CSRF_FIELD: csrf_token(self.session_token), **fields})

    @property
    def session_token(self) -> str:
        """What the session's cookie holds; "" for none."""
        cookie = self.get_cookie(COOKIE)
        return "" if cookie is None else cookie.value

    def page(self, path: str) -> str:
        """The text of a page that is there."""
        answer = self.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status}"
        return answer.get_data(as_text=True)


def stranger(portal: Portal) -> BrowserClient:
    """A browser with which nobody is signed in."""
    return BrowserClient(portal.app, portal.app.response_class, use_cookies=True)


def client_of(portal: Portal, email: str, role: Role | None = Role.STUDENT, **person: Any) -> BrowserClient:
    """A browser with which that person is signed in.

    email: or the name before "@example.edu"; who is not there yet is made, with that role in the portal's course
    person: what to set of the person first, such as admin=True
    """
    name, _, host = email.partition("@")
    address = email if host else f"{name}@example.edu"
    with portal.course.sessions.begin() as session:
        known = session.scalar(select(Person.id).where(Person.email == address))
    number = known if known is not None else portal.course.person(name, role)
    with portal.course.sessions.begin() as session:
        found = session.get_one(Person, number)
        for field, value in person.items():
            setattr(found, field, value)
        token = browser_sessions.begin(session, found, "test")
    client = stranger(portal)
    client.set_cookie(COOKIE, token)
    return client
