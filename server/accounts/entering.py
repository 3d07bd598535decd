"""Coming in with a password: within limits, and into a session that is new each time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from server.accounts import browser_sessions, service
from server.accounts.digest import digest_of
from server.accounts.limits import Limit, by_address, by_both, by_email, count_all, take_back
from server.accounts.models import Person
from server.database.engine import Sessions

# Only what fails counts. Somebody far away who guesses at an account does not shut out its owner at once: the first
# limit is of one account from one address. A whole class may sit behind the second. A browser in which the owner was
# signed in has a limit of its own instead: nobody else can use that up, so nobody shuts them out there.
_FROM_HERE = Limit("sign-in both", 10, timedelta(minutes=10))
_ANYBODY = Limit("sign-in address", 200, timedelta(minutes=10))
_FROM_ANYWHERE = Limit("sign-in account", 100, timedelta(hours=1))
_KNOWN_BROWSER = Limit("sign-in browser", 10, timedelta(minutes=10))


@dataclass(frozen=True, slots=True)
class Where:
    """Where somebody asks from. earlier: what the browser kept of the last time that somebody was signed in with it."""

    address: str
    earlier: str = ""


def sign_in(
    sessions: Sessions, email: str, password: str, where: Where, now: datetime | None = None
) -> Person | None:
    """Who that is; None for a wrong email or password. Raises TooOften after too many of them, without looking.

    It counts before it looks: of many tries at once none gets past a limit.
    """
    asked = _limits(sessions, email, where)
    count_all(sessions, asked, now)
    found = service.sign_in(sessions, email, password)
    if found is not None:
        take_back(sessions, asked, now)
    return found


def _limits(sessions: Sessions, email: str, where: Where) -> tuple[tuple[Limit, str], ...]:
    with sessions.begin() as session:
        person = service.find_person(session, email)
        if person is not None and browser_sessions.was_theirs(session, person.id, where.earlier):
            return ((_KNOWN_BROWSER, f"browser {digest_of(where.earlier)}"),)
    return (
        (_FROM_HERE, by_both(email, where.address)),
        (_ANYBODY, by_address(where.address)),
        (_FROM_ANYWHERE, by_email(email)),
    )


def open_session(
    session: Session, person: Person, user_agent: str, left: int | None = None, now: datetime | None = None
) -> str | None:
    """Let the person in with this browser; what its cookie holds, or None where the password was changed meanwhile.

    person: as they were when the password was compared
    left: the session that this browser had until now, which ends
    """
    current = session.get(Person, person.id, with_for_update=True, populate_existing=True)
    if current is None or current.password != person.password or current.disabled_at is not None:
        return None
    if left is not None:
        browser_sessions.close(session, left, now)
    return browser_sessions.begin(session, current, user_agent, now)
