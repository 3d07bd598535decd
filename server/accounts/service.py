"""People, their passwords and their tokens."""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import ColumnElement, bindparam, delete, exists, or_, select, update
from sqlalchemy.orm import Session

from server.accounts.browser_sessions import disconnect_identities, end_all
from server.accounts.digest import digest_of
from server.accounts.limits import LONGEST_EMAIL
from server.accounts.links import end_links
from server.accounts.models import ApiToken, BrowserSession, DeviceLogin, Person, Scope, scopes_in
from server.accounts.random_names import draw_name
from server.database.engine import Sessions
from server.text import composed

TOKEN_PREFIX = "tl_"  # noqa: S105 - by which a token is known where it was lost, not one itself
_TOKEN_BYTES = 32
_USE_NOTED_EVERY = timedelta(minutes=1)

SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 1024
_LONGEST_NAME = 200
_LONGEST_TOKEN_NAME = 100
_MOST_TOKENS = 20
_EMAIL = re.compile(r"[^\s@<>\"(),:;\\\[\]\x00-\x1f]+@[^\s@<>\"(),:;\\\[\]\x00-\x1f]+")
_ERASED = re.compile(r"erased-\d+@")

_HASHER = PasswordHasher()


@dataclass(frozen=True, slots=True)
class ValidToken:
    """A valid token and its owner. stale: whether to record its use again, at most once a minute."""

    token_id: int
    person: Person
    scopes: Collection[Scope]
    stale: bool


class AccountError(ValueError):
    """An invalid change of an account; the text says why.

    fields: the name of the invalid field, as of CourseError
    """

    def __init__(self, text: str, field: str = "name") -> None:
        super().__init__(text)
        self.fields = (field,)


def create_person(
    session: Session,
    *,
    email: str,
    name: str,
    password: str | None = None,
    proven: bool = True,
    now: datetime | None = None,
) -> Person:
    """Create a person; raises AccountError if the email is taken or invalid.

    proven: whether staff create the account, who know whose email it is
    """
    address = normal_email(email)
    if find_person(session, address) is not None:
        raise AccountError(f"{address} already has an account.", "email")
    (person,) = create_people(session, [(address, name)], proven=proven, now=now)
    if password is not None:
        person.password = hash_password(password)
        session.flush()
    return person


def create_people(
    session: Session, wanted: Sequence[tuple[str, str]], *, proven: bool = True, now: datetime | None = None
) -> Sequence[Person]:
    """Create people from pairs of normalized, free emails and names, with few statements however many there
    are.
    """
    moment = now or datetime.now(UTC)
    people = [
        Person(
            email=email,
            name=normal_name(name),
            created_at=moment,
            made_name=made_name,
            proven_at=moment if proven else None,
        )
        for (email, name), made_name in zip(wanted, free_names(session, len(wanted)), strict=True)
    ]
    session.add_all(people)
    session.flush()
    return people


def change_email(session: Session, person: Person, email: str) -> None:
    """Change the email with which the person signs in; raises AccountError. The person's links end."""
    address = normal_email(email)
    other = find_person(session, address)
    if other is not None and other.id != person.id:
        raise AccountError(f"{address} already has an account.", "email")
    person.email = address
    end_links(session, person.id)
    session.flush()


def free_names(session: Session, count: int) -> Sequence[str]:
    """As many new random names as asked for."""
    names: set[str] = set()
    while len(names) < count:
        drawn = {draw_name() for _ in range(count - len(names))}
        taken = session.scalars(select(Person.made_name).where(Person.made_name.in_(drawn)))
        names |= drawn - set(taken)
    return list(names)


def find_person(session: Session, email: str) -> Person | None:
    """The person with this email, in any spelling; None if there is none."""
    try:
        address = normal_email(email)
    except AccountError:
        return None
    return session.scalar(select(Person).where(Person.email == address, Person.erased_at.is_(None)))


def people(session: Session) -> Sequence[Person]:
    """Everyone who isn't erased, by email."""
    return session.scalars(select(Person).where(Person.erased_at.is_(None)).order_by(Person.email)).all()


def normal_email(text: str) -> str:
    """The address in its stored form; raises AccountError if it isn't one."""
    address = composed(text.strip(), LONGEST_EMAIL).lower()
    if len(address) > LONGEST_EMAIL or not _EMAIL.fullmatch(address) or not address.isprintable():
        raise AccountError("An email address looks like name@university.edu.", "email")
    if _ERASED.match(address):
        raise AccountError("An email address can't begin like an erased person's.", "email")
    return address


def normal_name(text: str) -> str:
    """The name in its stored form; raises AccountError if it isn't one."""
    return _line(text, "name", _LONGEST_NAME)


def hash_password(password: str) -> str:
    """The hash of a password; raises AccountError if it is too short or too long."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise AccountError(f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters.", "password")
    return _HASHER.hash(unicodedata.normalize("NFC", password))


def set_password(session: Session, person: Person, password: str) -> None:
    """Set a new password; raises AccountError if it can't be used."""
    keep_password(session, person, hash_password(password))


def replace_password(session: Session, person: Person, kept: str) -> None:
    """Store a password that came by a link or from an operator: only it opens the account from now on."""
    keep_password(session, person, kept)
    disconnect_identities(session, person)


def keep_password(session: Session, person: Person, kept: str) -> None:
    """Store a password that `hash_password` hashed. Hashing takes long, so do it before the transaction.

    Signs out all browsers and ends all links. API tokens stay valid; each can be revoked.
    """
    person.password = kept
    end_all(session, person.id)
    end_links(session, person.id)
    session.flush()


def sign_in(sessions: Sessions, email: str, password: str) -> Person | None:
    """The person with this email and password; None if they don't match or the person is disabled.

    Takes equally long either way, so that timing reveals no emails. Call it outside any transaction: hashing is slow.
    """
    with sessions.begin() as session:
        person = find_person(session, email)
    kept = person.password if person is not None and person.disabled_at is None else None
    right = _matches(kept or _nobodys_hash(), password)
    if person is None or kept is None or not right:
        return None
    if _HASHER.check_needs_rehash(kept):
        anew = _HASHER.hash(unicodedata.normalize("NFC", password))
        with sessions.begin() as session:
            still = (Person.id == person.id, Person.password == kept)
            session.execute(update(Person).where(*still).values(password=anew))
        person.password = anew
    return person


def has_password(person: Person, password: str) -> bool:
    """Whether this is the person's password. Call it outside any transaction: hashing is slow."""
    return person.password is not None and _matches(person.password, password)


def disable(session: Session, person: Person) -> None:
    """Lock the person out: no sign-in, no tokens. The person's work stays.

    Browsers are signed out and links end; enabling the person again doesn't restore them.
    """
    person.disabled_at = person.disabled_at or datetime.now(UTC)
    end_all(session, person.id)
    end_links(session, person.id)
    session.flush()


def enable(session: Session, person: Person) -> None:
    person.disabled_at = None
    session.flush()


def create_token(
    session: Session,
    person: Person,
    name: str,
    *,
    lifetime: timedelta | None = None,
    scopes: Collection[Scope] = tuple(Scope),
    now: datetime | None = None,
) -> str:
    """Create a token and return it; only its hash is kept. name: its purpose, in the owner's words."""
    made = now or datetime.now(UTC)
    token = TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
    session.add(
        ApiToken(
            person_id=person.id,
            name=_line(name, "token's name", _LONGEST_TOKEN_NAME),
            digest=digest_of(token),
            created_at=made,
            expires_at=None if lifetime is None else made + lifetime,
            scopes=" ".join(scope for scope in Scope if scope in scopes),
        )
    )
    session.flush()
    return token


def find_by_token(session: Session, token: str, *, now: datetime | None = None) -> Person | None:
    """The token's owner; None if it is unknown, expired or revoked, or its owner is disabled."""
    valid = find_token(session, token, now=now)
    return None if valid is None else valid.person


def find_token(session: Session, token: str, *, now: datetime | None = None) -> ValidToken | None:
    """The token if it is valid; writes nothing."""
    if not token.startswith(TOKEN_PREFIX):
        return None
    moment = now or datetime.now(UTC)
    row = session.execute(_VALID, {"digest": digest_of(token), "now": moment}).one_or_none()
    if row is None:
        return None
    person, number, scopes, used_at = row
    return ValidToken(number, person, scopes_in(scopes), stale=used_at is None or used_at < moment - _USE_NOTED_EVERY)


def owner_of_token(session: Session, token: str) -> int | None:
    """The ID of the token's owner; None if the token isn't valid."""
    given = {"digest": digest_of(token), "now": datetime.now(UTC)}
    return session.connection().execute(_OWNER, given).scalar_one_or_none()


# Each request of a program needs it, so it is made once.
_VALID = (
    select(Person, ApiToken.id, ApiToken.scopes, ApiToken.used_at)
    .join(ApiToken, ApiToken.person_id == Person.id)
    .where(
        ApiToken.digest == bindparam("digest"),
        ApiToken.revoked_at.is_(None),
        or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > bindparam("now")),
        Person.disabled_at.is_(None),
        Person.erased_at.is_(None),
    )
)
_OWNER = _VALID.with_only_columns(Person.id)


def note_token_use(session: Session, token_id: int, *, now: datetime | None = None) -> None:
    """Record that the token is in use. Of many simultaneous requests one writes, and the others don't wait."""
    moment = now or datetime.now(UTC)
    stale = or_(ApiToken.used_at.is_(None), ApiToken.used_at < moment - _USE_NOTED_EVERY)
    session.execute(update(ApiToken).where(ApiToken.id == token_id, stale).values(used_at=moment))


def revoke_tokens(session: Session, person: Person, name: str | None = None) -> int:
    """Revoke all tokens of a person, or the tokens with this name; returns how many were valid.

    With all tokens, confirmed logins of command lines end, which would get another.
    """
    which = [ApiToken.person_id == person.id, ApiToken.revoked_at.is_(None)]
    if name is not None:
        which.append(ApiToken.name == name)
    else:
        session.execute(delete(DeviceLogin).where(DeviceLogin.person_id == person.id))
    rows = session.scalars(select(ApiToken).where(*which)).all()
    for row in rows:
        row.revoked_at = datetime.now(UTC)
    session.flush()
    return len(rows)


def valid_tokens(session: Session, person_id: int) -> Sequence[ApiToken]:
    """The person's valid tokens, newest first."""
    return session.scalars(
        select(ApiToken)
        .where(
            ApiToken.person_id == person_id,
            ApiToken.revoked_at.is_(None),
            or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > datetime.now(UTC)),
        )
        .order_by(ApiToken.created_at.desc(), ApiToken.id.desc())
    ).all()


def person_with_room(session: Session, person_id: int) -> tuple[Person, Sequence[ApiToken]]:
    """The locked person and their tokens; raises AccountError if they have too many."""
    person = session.get_one(Person, person_id, with_for_update=True)
    present = valid_tokens(session, person_id)
    if len(present) >= _MOST_TOKENS:
        raise AccountError(f"You have {_MOST_TOKENS} tokens, which is the limit. Revoke one first.")
    return person, present


def revoke_token(session: Session, person_id: int, token_id: int) -> bool:
    """Revoke a token of the person; False if it belongs to another person or ended before."""
    which = (ApiToken.id == token_id, ApiToken.person_id == person_id, ApiToken.revoked_at.is_(None))
    ended = session.execute(update(ApiToken).where(*which).values(revoked_at=datetime.now(UTC)).returning(ApiToken.id))
    return ended.first() is not None


def _matches(kept: str, password: str) -> bool:
    if len(password) > LONGEST_PASSWORD:
        return False
    try:
        return _HASHER.verify(kept, unicodedata.normalize("NFC", password))
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobodys_hash() -> str:
    return _HASHER.hash(secrets.token_hex(16))


def _line(text: str, what: str, longest: int) -> str:
    """A text for one line; raises AccountError."""
    line = composed(" ".join(text.split()), longest)
    if not line:
        raise AccountError(f"Type a {what}.")
    if len(line) > longest or not line.isprintable():
        raise AccountError(f"A {what} must be one line of at most {longest} printable characters.")
    return line


def was_here() -> ColumnElement[bool]:
    """For queries of people: whether they set a password, signed in, or used a token."""
    return or_(
        Person.password.is_not(None),
        exists().where(BrowserSession.person_id == Person.id).correlate(Person),
        exists().where(ApiToken.person_id == Person.id, ApiToken.used_at.is_not(None)).correlate(Person),
    )
