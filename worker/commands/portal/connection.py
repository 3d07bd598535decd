"""The portal for commands: connecting, choosing an assignment or submission, and errors in one line."""

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

EXITS = "Exit code: 0 done, 2 wrong use or refused, 3 the connection or the portal failed."

NO_SUBMISSION = "no_such_submission"
"""The portal's error code for an unknown id, or for another person's submission."""

_NO_SUBMISSION = "you have no submission with this ID. `tilelab status` lists your submissions."
_MINUTE = 60


@contextlib.contextmanager
def portal(account: Account | None = None) -> Iterator[Portal]:
    """The portal that you are signed in to. A refusal or failure ends the command with one line.

    account: None for the stored one
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
    """Call a command with the portal as first argument. Errors end it in one line until its answer is shown."""

    @functools.wraps(command)
    def opened(*arguments: Any, **options: Any) -> T:
        with portal() as asked:
            return command(asked, *arguments, **options)

    return opened


def submission_id(text: str) -> str:
    """The id in an argument, which is an id or the address of a submission's page. Raises WrongUse."""
    found = id_of(text)
    if found is None:
        raise WrongUse(f"{safe(text[:80])!r} is not the ID of a submission. `tilelab status` lists your submissions.")
    return found


def experiment_id(text: str) -> str:
    """The id in an argument, which is an id or the address of an experiment's page. Raises WrongUse."""
    from worker.client.experiments import experiment_id_of

    found = experiment_id_of(text)
    if found is None:
        raise WrongUse(f"{safe(text[:80])!r} is not the ID of an experiment. Its page's address ends with the ID.")
    return found


def latest_id(asked: Portal) -> str:
    """The id of your latest submission. Raises WrongUse if there is none."""
    submissions = asked.latest(1)
    if not submissions:
        raise WrongUse("no submissions yet. Submit with `tilelab submit FILE`.")
    return submission_id(submissions[0].id)


def chosen(assignments: Sequence[Assignment], name: str | None, option: str = "") -> Assignment:
    """The assignment with this name (COURSE/ASSIGNMENT or ASSIGNMENT). Without a name, the only open one.

    Practice needs its name if another assignment is open.

    option: the option for the name, if it isn't an argument
    """
    if name is None:
        there = [one for one in assignments if one.open]
        found = [one for one in there if not one.practice] or there
        if not found:
            raise WrongUse("no assignment is open to you now.")
        hint = "several assignments are open. Choose one with"
    else:
        found = [one for one in assignments if name in {one.id, one.id.partition("/")[2]}]
        if not found:
            raise WrongUse(f"{safe(name)}: not an assignment in your courses. {_named(assignments)}.")
        hint = f"several courses have an assignment {safe(name)}. Choose one with"
    if len(found) > 1:
        how = f"{option} COURSE/ASSIGNMENT".lstrip()
        raise WrongUse(f"{hint} {how}: {', '.join(safe(one.id) for one in found)}.")
    return found[0]


def page_of(url: str, public_id: str) -> str:
    return f"{url}/submissions/{public_id}"


def exit_of(submission: Submission) -> Exit:
    """The exit code for a submission's verdict."""
    if submission.verdict == "accepted":
        return Exit.ACCEPTED
    return Exit.SYSTEM_FAULT if submission.verdict == "system_error" else Exit.NOT_ACCEPTED


def moment(text: str) -> str:
    """A time in this machine's time zone; text that isn't a time stays unchanged."""
    try:
        return local(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return safe(text[:20])


def local(time: datetime) -> str:
    """A time in this machine's time zone."""
    return f"{time.astimezone():%Y-%m-%d %H:%M %Z}"


def _named(assignments: Sequence[Assignment]) -> str:
    if not assignments:
        return "Your courses have no assignments yet"
    return f"Your assignments: {', '.join(safe(one.id) for one in assignments)}"


def _when(error: NotDone) -> str:
    """When to try again, if the portal says so."""
    if error.status != 429 or error.retry_after is None:
        return ""
    wait = error.retry_after
    text = f"{wait:.0f} s" if wait < 2 * _MINUTE else f"{wait / _MINUTE:.0f} min"
    return f" (Try again in {text}.)"


def _say(text: str) -> None:
    click.echo(f"tilelab: {text}", err=True)
