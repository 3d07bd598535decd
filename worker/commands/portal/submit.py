"""`tilelab submit`: hand a file in to the course."""

from __future__ import annotations

import json
import sys

import click

from kernels.rendering.text_safety import safe
from worker.client.answers import Accepted, Submission
from worker.client.portal import PATIENCE_SECONDS, Handed, Portal, submission_path
from worker.commands.portal.connection import chosen, exit_of, page_of, portal
from worker.commands.root import Exit, WrongUse, leave
from worker.commands.submission import read_file

_BYTES = 64 * 2**10


@click.command(
    epilog="Exit code: 0 handed in, with --wait accepted; 1 not accepted; 2 wrong use, or the portal does not take it;"
    " 3 the portal or the way to it is at fault."
)
@click.argument("file", metavar="FILE")
@click.option("--assignment", "-a", help="COURSE/ASSIGNMENT; without it, the only one that is open.")
@click.option("--check", is_flag=True, help="Have it checked only: nothing is measured, and no attempt used.")
@click.option("--wait", is_flag=True, help="Wait until it is graded, and show the report.")
@click.option("--device-class", help="What to measure on, where it is not to be the assignment's own.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def submit(
    file: str, assignment: str | None, check: bool, wait: bool, device_class: str | None, as_json: bool
) -> None:
    """Hand in FILE (`-` for standard input) to the portal that `tilelab login` signed in to.

    \b
    Examples:
      tilelab submit my.cu
      tilelab submit my.cu --check --wait
      tilelab submit my.cu --assignment demo/tiled --wait --json
    """  # noqa: D301 - click reads the escape
    if check and device_class is not None:
        raise WrongUse("--check measures nothing, so it goes without --device-class.")
    source = _source(file)
    with portal() as asked:
        name = assignment
        if name is None or "/" not in name:
            name = chosen(asked.assignments(), name, "--assignment").id
        accepted = asked.submit(Handed(name, source, check, device_class))
        if not wait:
            _handed_in(asked, accepted, name, as_json)
            leave(Exit.ACCEPTED)
        click.echo(f"tilelab: handed in for {safe(name)}: {page_of(asked.url, safe(accepted.id))}", err=True)
        found = _graded(asked, accepted, file, source, as_json)
    leave(exit_of(found))


def _source(file: str) -> str:
    content = read_file(file)
    if not content:
        raise WrongUse(f"{file}: the file is empty.")
    if len(content) > _BYTES:
        raise WrongUse(f"{file}: the file has more than {_BYTES // 2**10} KiB, and no more is taken.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WrongUse(
            f"{file}: the file is no UTF-8 text (byte {error.start}); save it as UTF-8."
        ) from error


def _handed_in(asked: Portal, accepted: Accepted, name: str, as_json: bool) -> None:
    page = page_of(asked.url, safe(accepted.id))
    if as_json:
        told = {"id": accepted.id, "assignment": name, "position": accepted.position, "page": page}
        click.echo(json.dumps(told, ensure_ascii=True))
        return
    place = f", number {accepted.position:,} in the queue" if accepted.position else ""
    click.echo(f"Handed in for {safe(name)}{place}: {page}")
    click.echo(f"`tilelab status {safe(accepted.id)} --watch` shows what becomes of it.")


def _graded(asked: Portal, accepted: Accepted, file: str, source: str, as_json: bool) -> Submission:
    from worker.commands.portal.text import report_text
    from worker.commands.portal.waiting import wait_for
    from worker.commands.terminal import style_of

    found = wait_for(asked, accepted.id)
    if as_json:
        plain = asked.plain(submission_path(accepted.id), PATIENCE_SECONDS)
        click.echo(json.dumps(plain, ensure_ascii=True))
    else:
        click.echo(report_text(found, source, file, style_of(sys.stdout), page_of(asked.url, accepted.id)))
    return found
