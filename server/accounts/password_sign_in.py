"""Sign in with a password, within rate limits, into a new session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from server.accounts import browser_sessions, service
from server.accounts.digest import digest_of
from server.accounts.limits import Limit, by_address, by_both, by_email, count_all, take_back
from server.accounts.models import Person
from server.database.engine import Sessions

# Only failures count. The first limit is for one account from one address, so a distant guesser doesn't lock the owner
# out. The second is for an address, which a whole class may share. A browser in which the owner was signed in has its
# own limit, which others can't use up.
_FROM_HERE = Limit("sign-in both", 10, timedelta(minutes=10))
_ANYBODY = Limit("sign-in address", 200, timedelta(minutes=10))
_FROM_ANYWHERE = Limit("sign-in account", 100, timedelta(hours=1))
_KNOWN_BROWSER = Limit("sign-in browser", 10, timedelta(minutes=10))


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a sign-in. earlier: the token of this browser's last session; "" for none."""

    address: str
    earlier: str = ""


def sign_in(sessions: Sessions, email: str, password: str, origin: Origin) -> Person | None:
    """The person; None if email or password is incorrect. Raises TooOften after too many failures.

    Counts the try before comparing, so that simultaneous tries can't exceed a limit.
    """
    counts = _limits(sessions, email, origin)
    count_all(sessions, counts)
    person = service.sign_in(sessions, email, password)
    if person is not None:
        take_back(sessions, counts)
    return person


def _limits(sessions: Sessions, email: str, origin: Origin) -> tuple[tuple[Limit, str], ...]:
    with sessions.begin() as session:
        person = service.find_person(session, email)
        if person is not None and browser_sessions.belonged_to(session, person.id, origin.earlier):
            return ((_KNOWN_BROWSER, f"browser {digest_of(origin.earlier)}"),)
    return (
        (_FROM_HERE, by_both(email, origin.address)),
        (_ANYBODY, by_address(origin.address)),
        (_FROM_ANYWHERE, by_email(email)),
    )


def open_session(session: Session, person: Person, user_agent: str, left: int | None = None) -> str | None:
    """Sign the person in with this browser; returns the cookie's value, or None if the password changed
    meanwhile.

    person: as read when the password was compared
    left: this browser's previous session, which ends
    """
    current = session.get(Person, person.id, with_for_update=True, populate_existing=True)
    if current is None or current.password != person.password or current.disabled_at is not None:
        return None
    if left is not None:
        browser_sessions.close(session, left)
    return browser_sessions.begin(session, current, user_agent)
