"""`tilelab admin user`: accounts, passwords, links and tokens."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from sqlalchemy.orm import Session

from server.accounts import service
from server.accounts.links import LIFETIMES, create_link, path_of
from server.accounts.models import LinkPurpose, Person, Scope
from server.audit.service import note
from server.commands.database import database_in_use, in_session
from server.commands.names import course_named, on_person, person_named
from server.commands.revocation import revoke
from server.courses.creation import allow, disallow
from server.courses.models import Role
from server.courses.service import enrol
from server.enrolment.admins import appoint, dismiss
from server.enrolment.email_confirmation import confirm_email
from server.settings import read_erased_list, read_public_url
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

_TOKEN_LIFETIME = timedelta(days=120)


@click.group()
def user() -> None:
    """Manage accounts, links, passwords and tokens; disable or erase people.

    \b
    Example:
      tilelab admin user add ada@university.edu "Ada Lovelace" --course demo --role instructor --token
      tilelab admin user list
    """


@user.command()
@click.argument("email")
@click.argument("name")
@click.option("--course", help="Enrol them in this course.")
@click.option("--role", type=click.Choice([role.value for role in Role]), default="student", show_default=True)
@click.option(
    "--password", "with_password", is_flag=True, help="Ask for a password (without a terminal: read one line)."
)
@click.option("--token", "with_token", is_flag=True, help="Create a token for 120 days, and print it once.")
@click.option("--admin", is_flag=True, help="Make them an operator of this server.")
@answering()
def add(
    email: str, name: str, course: str | None, role: str, with_password: bool, with_token: bool, admin: bool
) -> Answer:
    """Create an account for a person.

    \b
    Example:
      tilelab admin user add ada@university.edu "Ada Lovelace" --course demo --role instructor --password
      tilelab admin user add ops@university.edu "Olga Operator" --admin --password
      echo "$PASSWORD" | tilelab admin user add bob@university.edu "Bob" --course demo --password --token --json
    """
    password = _asked_password() if with_password else None
    with database_in_use() as sessions, sessions.begin() as session:
        person = service.create_person(session, email=email, name=name, password=password)
        note(session, None, "person.created", _subject(person))
        if admin:
            appoint(session, person)
        if course is not None:
            found = course_named(session, course)
            enrol(session, found, person, Role(role))
            note(session, None, "member.added", _subject(person), course_id=found.id, role=role)
        token = None
        if with_token:
            token = service.create_token(session, person, "command line", lifetime=_TOKEN_LIFETIME)
            note(session, None, "token.created", _subject(person))
    text = f"Created {person.name} <{person.email}>, person {person.id}."
    if token is None:
        return Answer(_shown(person), text)
    more = f"Token for {_TOKEN_LIFETIME.days} days, shown only once: {token}"
    return Answer(_shown(person) | {"token": token}, f"{text}\n{more}")


@user.command()
@on_person(
    click.option("--email", help="New email for signing in; links for the old one end."),
    click.option("--name", help="New name for staff and leaderboards."),
)
def change(session: Session, person: Person, email: str | None, name: str | None) -> Answer:
    """Correct someone's email or name.

    \b
    Example:
      tilelab admin user change ada@univresity.edu --email ada@university.edu --name "Ada Lovelace"
    """
    changed = [what for what, value in (("email", email), ("name", name)) if value is not None]
    if not changed:
        raise WrongUse("nothing to change. Use --email, --name, or both.")
    if email is not None:
        service.change_email(session, person, email)
    if name is not None:
        person.name = service.normal_name(name)
    note(session, None, "person.changed", _subject(person), changed=changed)
    return Answer(_shown(person), f"Changed to {person.name} <{person.email}>.")


@user.command("list")
@answering()
@in_session
def list_people(session: Session) -> Answer:
    """List all people.

    \b
    Example:
      tilelab admin user list --json
    """
    found = service.people(session)
    return Answer([_shown(person) for person in found], "\n".join(map(_line, found)))


@user.command()
@click.argument("email")
@answering()
def password(email: str) -> Answer:
    """Set a person's password. Asks twice on a terminal, otherwise reads one line of standard input.

    Signs out all browsers, revokes links and disconnects single sign-on.

    \b
    Example:
      tilelab admin user password ada@university.edu
    """
    with database_in_use() as sessions:
        with sessions.begin() as session:
            person_named(session, email)
        kept = service.hash_password(_asked_password())
        with sessions.begin() as session:
            person = person_named(session, email)
            service.replace_password(session, person, kept)
            confirm_email(session, person)
            note(session, None, "person.password_set", _subject(person))
            shown = _shown(person)
    return Answer(shown, f"Changed the password of {email}.")


@user.command()
@on_person(
    click.option("--name", default="command line", show_default=True, help="The token's name."),
    click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires.  [default: never]"),
    click.option(
        "--scope",
        "scopes",
        type=click.Choice([scope.value for scope in Scope]),
        multiple=True,
        help="What the token allows; repeat it for more.  [default: all]",
    ),
    click.option("--revoke", is_flag=True, help="Revoke all tokens of this person instead."),
)
def token(
    session: Session, person: Person, name: str, days: int | None, scopes: tuple[str, ...], revoke: bool
) -> Answer:
    """Create a token, with which programs sign in, and print it once.

    Scopes: read the owner's work, submit, and act as course staff. A token never allows more than its owner may do.

    \b
    Example:
      tilelab admin user token ada@university.edu --name laptop --days 120
      tilelab admin user token ada@university.edu --name grades --scope read --scope staff
      tilelab admin user token ada@university.edu --revoke
    """
    if revoke:
        count = service.revoke_tokens(session, person)
        note(session, None, "token.revoked", _subject(person), count=count)
        return Answer({"revoked": count}, f"Tokens revoked: {count}.")
    lifetime = None if days is None else timedelta(days=days)
    allowed = tuple(map(Scope, scopes)) or tuple(Scope)
    made = service.create_token(session, person, name, lifetime=lifetime, scopes=allowed)
    note(session, None, "token.created", _subject(person))
    return Answer({"token": made}, made)


@user.command()
@on_person(click.option("--enable", is_flag=True, help="Enable the account again."))
def disable(session: Session, person: Person, enable: bool) -> Answer:
    """Disable a person's account, so that passwords and tokens don't work. Their work stays.

    Signs out all browsers at once.

    \b
    Example:
      tilelab admin user disable bob@university.edu
    """
    (service.enable if enable else service.disable)(session, person)
    note(session, None, "person.enabled" if enable else "person.disabled", _subject(person))
    return Answer(_shown(person), f"{'Enabled' if enable else 'Disabled'} {person.email}.")


@user.command()
@on_person()
def invite(session: Session, person: Person) -> Answer:
    """Print an invitation link. With it, a person sets the first password.

    It works once, for 14 days. Earlier links stop working. TILELAB_PUBLIC_URL is the portal's address for browsers.

    \b
    Example:
      tilelab admin user invite ada@university.edu
    """
    return _link(session, person, LinkPurpose.INVITATION)


@user.command("reset-link")
@on_person()
def reset_link(session: Session, person: Person) -> Answer:
    """Print a link with which a person sets a new password.

    It works once, for 24 hours. Using it signs out other browsers. TILELAB_PUBLIC_URL is the portal's address for
    browsers.

    \b
    Example:
      tilelab admin user reset-link ada@university.edu
    """
    return _link(session, person, LinkPurpose.RESET)


@user.command("make-admin")
@on_person(click.option("--end", is_flag=True, help="End these rights."))
def make_admin(session: Session, person: Person, end: bool) -> Answer:
    """Make a person an operator of this server.

    Operators manage the fleet, and have an instructor's rights in all courses.

    \b
    Example:
      tilelab admin user make-admin ops@university.edu
      tilelab admin user make-admin ops@university.edu --end
    """
    (dismiss if end else appoint)(session, person)
    return Answer(_shown(person), f"{person.email} is {'no longer' if end else 'now'} an operator of this server.")


@user.command("course-creator")
@on_person(click.option("--end", is_flag=True, help="End this right."))
def course_creator(session: Session, person: Person, end: bool) -> Answer:
    """Let a person create and copy courses in the portal.

    \b
    Example:
      tilelab admin user course-creator ada@university.edu
      tilelab admin user course-creator ada@university.edu --end
    """
    (disallow if end else allow)(session, person, None)
    return Answer(_shown(person), f"{person.email} {'can no longer' if end else 'can'} create courses.")


@user.command()
@click.argument("email")
@click.option("--yes", is_flag=True, help="Erase without confirmation.")
@answering()
def erase(email: str, yes: bool) -> Answer:
    """Remove a person's data and submissions. You can't undo this.

    Counts, verdicts and measurements stay without a name. Leaderboard entries are removed. Backups still contain the
    data. Set TILELAB_ERASED_LIST to a file outside the database. It lists erased accounts by number, for restores. If
    REDIS_URL is set, workers stop grading this person's submissions.

    \b
    Example:
      tilelab admin user erase bob@university.edu
    """
    from server.operations.erase import erase_person
    from server.operations.erasures import add_to_list

    with database_in_use() as sessions:
        with sessions.begin() as session:
            person = person_named(session, email)
        if not yes:
            click.confirm(f"Permanently erase {person.name} <{person.email}>?", abort=True, err=True)
        now, listed = datetime.now(UTC), read_erased_list()
        if listed is not None:
            try:
                add_to_list(listed, person, now)
            except OSError as error:
                raise WrongUse(f"{listed}: cannot write the list ({error.strerror}). Nothing was erased.") from error
        done = erase_person(sessions, person.id, now)
        revoke(done.tickets)
    return Answer(done.shown(), done.text())


def _link(session: Session, person: Person, purpose: LinkPurpose) -> Answer:
    portal = read_public_url()
    if person.disabled_at is not None:
        raise WrongUse(f"{person.email} is disabled. Enable them with `tilelab admin user disable --enable`.")
    url = portal + path_of(purpose, create_link(session, person, purpose))
    note(session, None, f"{purpose}.created", _subject(person))
    return Answer({"url": url, "expires_in_seconds": int(LIFETIMES[purpose].total_seconds())}, url)


def _asked_password() -> str:
    """Ask for a password, or read one line. Never an argument: other users of the machine can see arguments."""
    if sys.stdin.isatty():
        text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return text
    return sys.stdin.readline().rstrip("\r\n")


def _subject(person: Person) -> str:
    return f"person {person.id}"


def _line(person: Person) -> str:
    marks = (
        ("admin", person.admin),
        ("creates courses", person.creates_courses),
        ("disabled", person.disabled_at is not None),
        ("joined with a code", person.proven_at is None),
    )
    more = "".join(f"  ({mark})" for mark, applies in marks if applies)
    return f"{person.id:>6}  {person.email}  {person.name}{more}"


def _shown(person: Person) -> dict[str, Any]:
    return {
        "id": person.id,
        "email": person.email,
        "name": person.name,
        "disabled": person.disabled_at is not None,
        "admin": person.admin,
        "creates_courses": person.creates_courses,
        "proven": person.proven_at is not None,
        "created_at": person.created_at.isoformat(),
    }
