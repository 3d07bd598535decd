"""`tilelab admin lti`: learning management systems, and courses that are connected to them."""

from __future__ import annotations

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.acts.act import Target
from server.acts.field import plain_values
from server.commands.acts import Named, verb
from server.commands.database import in_session
from server.commands.names import course_named, on_course
from server.courses.models import Course
from server.lti.contexts import CHANGE as CHANGE_CONNECTION
from server.lti.contexts import DISCONNECT, contexts_of
from server.lti.keys import REPLACE
from server.lti.models import LtiContext, LtiPlatform
from server.lti.platforms import CHANGE, REGISTER, REMOVE, platforms, settings_of
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse


@click.group()
def lti() -> None:
    """Register learning management systems with LTI 1.3, and change courses' connections to them.

    \b
    Example:
      tilelab admin lti list
      tilelab admin lti change 1 --domains university.edu
      tilelab admin lti replace-key
    """


def _platform(session: Session, number: int) -> Target:
    found = session.get(LtiPlatform, number)
    if found is None:
        raise WrongUse(f"no platform {number}. `tilelab admin lti list` shows all.")
    return Target(item=found)


def _context(session: Session, name: str, number: int) -> Target:
    course, found = course_named(session, name), session.get(LtiContext, number)
    if found is None or found.course_id != course.id:
        raise WrongUse(f"no connection {number} in {name}. `tilelab admin lti connections {name}` shows all.")
    return Target(course, item=found)


_NEW = Named((), lambda _: Target())
_NUMBER = click.argument("number", type=click.IntRange(1, 2**53 - 1))
_PLATFORM = Named((_NUMBER,), _platform)
_CONNECTION = Named((click.argument("name", metavar="COURSE"), _NUMBER), _context)
_FIELDS = tuple(field.name for field in CHANGE.fields)


@lti.command("list")
@answering()
@in_session
def show(session: Session) -> Answer:
    """List the registered platforms with their numbers.

    \b
    Example:
      tilelab admin lti list
    """
    found = [{"number": each.id, **plain_values(settings_of(each))} for each in platforms(session)]
    lines: list[tuple[str, ...]] = [("number", "name", "issuer", "client ID")]
    lines += [(str(each["number"]), *(safe(each[name]) for name in ("title", "issuer", "client_id"))) for each in found]
    return Answer({"platforms": found}, "\n".join(table(lines, "<<<<")) if found else "No platforms yet.")


@verb(lti, REGISTER, _NEW, *_FIELDS, needed=False)
def register(_session: Session, _on: Target, made: LtiPlatform) -> Answer:
    """Register a platform by hand.

    \b
    Example:
      tilelab admin lti register --title Moodle --issuer https://moodle.example --client-id x7 --deployments 1 \\
        --authorization https://moodle.example/mod/lti/auth.php --token https://moodle.example/mod/lti/token.php \\
        --keys https://moodle.example/mod/lti/certs.php
    """
    return Answer({"number": made.id}, f"Registered as platform {made.id}.")


@verb(lti, CHANGE, _PLATFORM, *_FIELDS, needed=False)
def change(_session: Session, on: Target, _: object) -> Answer:
    """Change platform NUMBER.

    \b
    Example:
      tilelab admin lti change 1 --domains "university.edu cs.university.edu"
    """
    return Answer({"number": on.item.id}, f"Changed platform {on.item.id}.")


@verb(lti, REMOVE, _PLATFORM)
def remove(_session: Session, _on: Target, _: object) -> Answer:
    """Remove platform NUMBER: its sign-ins end, and its courses are disconnected. Accounts and work stay.

    \b
    Example:
      tilelab admin lti remove 1
    """
    return Answer({"removed": True}, "Removed.")


@verb(lti, REPLACE, _NEW, "at_once", needed=False, name="replace-key")
def replace_key(_session: Session, _on: Target, _: object) -> Answer:
    """Replace the key that signs our requests. It is published a day before it signs.

    \b
    Example:
      tilelab admin lti replace-key
      tilelab admin lti replace-key --at-once   # the key may be stolen
    """
    return Answer({"replaced": True}, "A new key is published.")


@lti.command("connections")
@on_course()
def connections(session: Session, course: Course) -> Answer:
    """List the connections of COURSE with their numbers.

    \b
    Example:
      tilelab admin lti connections gpu-2027
    """
    found = [
        {
            "number": each.id, "platform": each.platform.title, "title": each.title,
            "adds_students": each.adds_students, "sends_grades": each.sends_grades,
        }
        for each in contexts_of(session, course.id)
    ]  # fmt: skip
    lines: list[tuple[str, ...]] = [("number", "platform", "course there", "adds students", "sends grades")]
    lines += [tuple(safe(str(value)) for value in each.values()) for each in found]
    return Answer({"connections": found}, "\n".join(table(lines, "<<<<<")) if found else "No connections.")


@verb(lti, CHANGE_CONNECTION, _CONNECTION, "adds_students", "sends_grades", needed=False, name="connection")
def connection(_session: Session, on: Target, _: object) -> Answer:
    """Change connection NUMBER of COURSE.

    \b
    Example:
      tilelab admin lti connection cs483 2 --keeps-grades
    """
    return Answer({"number": on.item.id}, f"Changed connection {on.item.id}.")


@verb(lti, DISCONNECT, _CONNECTION)
def disconnect(_session: Session, _on: Target, _: object) -> Answer:
    """Disconnect COURSE from connection NUMBER. What was sent stays on the platform.

    \b
    Example:
      tilelab admin lti disconnect cs483 2
    """
    return Answer({"disconnected": True}, "Disconnected.")
