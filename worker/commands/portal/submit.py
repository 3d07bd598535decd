from __future__ import annotations

import json
import sys
from dataclasses import replace

import click

from kernels.rendering.text_safety import safe
from kernels.wording import plural
from worker.client.answers import Submission
from worker.client.errors import NotDone
from worker.client.portal import PATIENCE_SECONDS, NewSubmission, Portal, submission_path
from worker.commands.portal.connection import chosen, exit_of, page_of, portal
from worker.commands.root import Exit, WrongUse, leave
from worker.commands.submission import read_file
from worker.contract.answers import Accepted

_BYTES = 64 * 2**10


@click.command(
    epilog="Exit code: 0 submitted (with --wait accepted), 1 not accepted, 2 wrong use or refused,"
    " 3 connection or portal failed."
)
@click.argument("file", metavar="FILE")
@click.option("--assignment", "-a", help="COURSE/ASSIGNMENT.  [default: the only open one]")
@click.option("--check", is_flag=True, help="Check instead of submitting: free, doesn't count.")
@click.option("--wait", is_flag=True, help="Wait for the verdict, and show the report.")
@click.option("--device-class", help="Measure on this device class.  [default: the assignment's]")
@click.option(
    "--late-days", type=click.IntRange(0, 365), help="Late days to spend, or 0 for the late penalty.  [default: ask]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def submit(
    file: str,
    assignment: str | None,
    check: bool,
    wait: bool,
    device_class: str | None,
    late_days: int | None,
    as_json: bool,
) -> None:
    """Submit FILE (`-` for standard input) to your course. Sign in first with `tilelab login`.

    \b
    Examples:
      tilelab submit my.cu
      tilelab submit my.cu --check --wait
      tilelab submit my.cu --assignment demo/tiled --wait --json
    """
    if check and device_class is not None:
        raise WrongUse("--check measures nothing. Leave out --device-class.")
    source = _source(file)
    with portal() as asked:
        name = assignment
        if name is None or "/" not in name:
            name = chosen(asked.assignments(), name, "--assignment").id
        new = NewSubmission(name, source, check, device_class, late_days)
        accepted = _submitted(asked, new, may_ask=file != "-" and _is_terminal())
        if not wait:
            _show_accepted(asked, accepted, name, check, as_json)
            leave(Exit.ACCEPTED)
        click.echo(f"tilelab: submitted to {safe(name)}: {page_of(asked.url, safe(accepted.id))}", err=True)
        found = _graded(asked, accepted, file, source, as_json)
    leave(exit_of(found))


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _submitted(asked: Portal, new: NewSubmission, *, may_ask: bool) -> Accepted:
    """Submit, and ask before late days are spent."""
    try:
        return asked.submit(new)
    except NotDone as error:
        if error.code != "late_days":
            raise
    found = next((one for one in asked.assignments() if one.id == new.assignment), None)
    days, left = (found.late_days_needed, found.late_days_left) if found else (0, 0)
    spends = f"This spends {days:,} of your {plural(left, 'late day')}."
    if may_ask and click.confirm(f"{spends} Submit?", err=True):
        return asked.submit(replace(new, late_days=days))
    raise WrongUse(
        f"{spends} Nothing was submitted. Add --late-days {days} to spend them, or --late-days 0 for the late penalty."
    )


def _source(file: str) -> str:
    content = read_file(file)
    from kernels.source.paste.decoding import decode
    from kernels.source.paste.repairs import repair_of

    if not content:
        raise WrongUse(f"{file}: the file is empty.")
    if len(content) > _BYTES:
        raise WrongUse(f"{file}: the file is too large. The limit is {_BYTES // 2**10} KiB.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WrongUse(f"{file}: the file is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    code = decode(content)
    if isinstance(code, str) and (repair := repair_of(code)) is not None:
        raise WrongUse(f"{file}: {repair.sentence} Nothing was submitted. `tilelab grade --fix` repairs the file.")
    return text


def _show_accepted(asked: Portal, accepted: Accepted, name: str, check: bool, as_json: bool) -> None:
    page = page_of(asked.url, safe(accepted.id))
    if as_json:
        told = {"id": accepted.id, "assignment": name, "position": accepted.position, "page": page}
        click.echo(json.dumps(told, ensure_ascii=True))
        return
    place = f", number {accepted.position:,} in the queue" if accepted.position else ""
    done = "Check queued for" if check else "Submitted to"
    click.echo(f"{done} {safe(name)}{place}: {page}")
    click.echo(f"Follow it with `tilelab status {safe(accepted.id)} --watch`.")


def _graded(asked: Portal, accepted: Accepted, file: str, source: str, as_json: bool) -> Submission:
    from worker.commands.portal.text import report_text
    from worker.commands.portal.wait_display import wait_for
    from worker.commands.terminal import style_of

    found = wait_for(asked, accepted.id)
    if as_json:
        plain = asked.plain(submission_path(accepted.id), PATIENCE_SECONDS)
        click.echo(json.dumps(plain, ensure_ascii=True))
    else:
        click.echo(report_text(found, source, file, style_of(sys.stdout), page_of(asked.url, accepted.id)))
    return found
