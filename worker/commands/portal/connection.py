"""What the commands that talk to a portal have in common."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kernels.rendering.text_safety import safe
from worker.client.account import AccountError, find_account
from worker.client.answers import Assignment, Submission
from worker.client.errors import NotDone, PortalError
from worker.client.http import Connection
from worker.client.portal import Portal, id_of
from worker.commands.root import Exit, SystemFault, WrongUse

if TYPE_CHECKING:
    from worker.client.account import Account

T = TypeVar("T")

EXITS = "Exit code: 0 done, 2 wrong use, 3 the portal or the way to it is at fault."

NO_SUBMISSION = "no_such_submission"
"""What the portal calls that there is none of that id, or none of yours."""

_NO_SUBMISSION = "there is no such submission, or it is someone else's; `tilelab status` lists yours."
_MINUTE = 60


@contextlib.contextmanager
def portal(account: Account | None = None) -> Iterator[Portal]:
    """The portal that one is signed in to; what it refuses, and that it is away, ends the command with one line.

    account: None for the one that is set up
    """
    try:
        yield Portal(Connection(account or find_account()), trying=_say)
    except AccountError as error:
        raise WrongUse(safe(str(error))) from error
    except NotDone as error:
        told = _NO_SUBMISSION if error.code == NO_SUBMISSION else str(error)
        raise WrongUse(f"{told}{_when(error)}") from error
    except PortalError as error:
        raise SystemFault(str(error)) from error


def in_portal(command: Callable[..., T]) -> Callable[..., T]:
    """Call a command with the portal first; what goes wrong there ends it in one line, until its answer is shown."""

    @functools.wraps(command)
    def opened(*arguments: Any, **options: Any) -> T:
        with portal() as asked:
            return command(asked, *arguments, **options)

    return opened


def submission_id(text: str) -> str:
    """The id in what was typed: itself, or in the address of a page."""
    found = id_of(text)
    if found is None:
        raise WrongUse(f"{safe(text[:80])!r} is no id of a submission; `tilelab status` lists yours.")
    return found


def latest_id(asked: Portal) -> str:
    """The id of one's latest submission."""
    found = asked.latest(1)
    if not found:
        raise WrongUse("you have handed in nothing yet; `tilelab submit FILE` does it.")
    return submission_id(found[0].id)


def chosen(assignments: Sequence[Assignment], name: str | None, option: str = "") -> Assignment:
    """The assignment of that name, or of that last part of a name; without one, the only one that is open.

    option: with which the command is told the name, where it is no argument
    """
    if name is None:
        found = [one for one in assignments if one.open]
        if not found:
            raise WrongUse("no assignment is open to you now.")
        hint = "there are several open assignments; say which with"
    else:
        found = [one for one in assignments if name in {one.id, one.id.partition("/")[2]}]
        if not found:
            raise WrongUse(
                f"{safe(name)}: there is no such assignment in your courses; {_named(assignments)}."
            )
        hint = f"several courses have an assignment {safe(name)}; say which with"
    if len(found) > 1:
        how = f"{option} COURSE/ASSIGNMENT".lstrip()
        raise WrongUse(f"{hint} {how}: {', '.join(safe(one.id) for one in found)}.")
    return found[0]


def page_of(url: str, public_id: str) -> str:
    """The address of a submission's page."""
    return f"{url}/submissions/{public_id}"


def exit_of(found: Submission) -> Exit:
    """What its verdict makes of the command."""
    if found.verdict == "accepted":
        return Exit.ACCEPTED
    return Exit.SYSTEM_FAULT if found.verdict == "system_error" else Exit.NOT_ACCEPTED


def moment(text: str) -> str:
    """A time on this machine's clock, with its zone; as it came where it is none."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M %Z}"
    except (ValueError, OverflowError):
        return safe(text[:20])


def _named(assignments: Sequence[Assignment]) -> str:
    return f"there are {', '.join(safe(one.id) for one in assignments)}" if assignments else "there is none"


def _when(error: NotDone) -> str:
    """When it is worth another try, where the portal says so and its sentence may not."""
    if error.status != 429 or error.retry_after is None:
        return ""
    wait = error.retry_after
    text = f"{wait:.0f} s" if wait < 2 * _MINUTE else f"{wait / _MINUTE:.0f} min"
    return f" (Try again in {text}.)"


def _say(text: str) -> None:
    click.echo(f"tilelab: {text}", err=True)
