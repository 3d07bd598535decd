from __future__ import annotations

import contextlib
import json
import webbrowser
from urllib.parse import quote

import click

from kernels.rendering.text_safety import safe
from worker.client.errors import NotDone
from worker.client.portal import Portal
from worker.commands.portal.connection import EXITS, NO_SUBMISSION, chosen, page_of, portal, submission_id
from worker.commands.root import Exit, WrongUse, leave


@click.command("open", epilog=EXITS)
@click.argument("what", metavar="[ID|COURSE/ASSIGNMENT]", required=False)
@click.option("--print", "only_print", is_flag=True, help="Only print the address.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as a JSON object.")
def open(what: str | None, only_print: bool, as_json: bool) -> None:  # noqa: A001 - the verb's name
    """Print the address of a submission or an assignment, and open it in your browser.

    Without a name, open the start page.

    \b
    Examples:
      tilelab open
      tilelab open 5d2c6e0f8a1b4c3d
      tilelab open tiled
      tilelab open demo/tiled --print
    """
    with portal() as asked:
        address = _address(asked, what)
    click.echo(json.dumps({"url": address}) if as_json else safe(address))
    if not only_print:
        # without a browser, the printed address is enough
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(address)
    leave(Exit.ACCEPTED)


def _address(asked: Portal, what: str | None) -> str:
    if what is None:
        return f"{asked.url}/"
    assignment = None if "submissions/" in what else _assignment(asked, what)
    if assignment is None:
        found = submission_id(what)
        try:
            asked.submission(found)  # report an unknown submission here, not on a web page
        except NotDone as error:
            if error.code != NO_SUBMISSION or found != what:
                raise
            raise WrongUse(f"no assignment or submission {what}. `tilelab status` lists your submissions.") from error
        return page_of(asked.url, found)
    course, _, name = assignment.partition("/")
    return f"{asked.url}/courses/{quote(course, safe='')}/{quote(name, safe='')}/"


def _assignment(asked: Portal, what: str) -> str | None:
    """The assignment with this name, or None if the argument may be a submission's id."""
    there = asked.assignments()
    if "/" not in what and all(what != one.id.partition("/")[2] for one in there):
        return None
    return chosen(there, what).id
