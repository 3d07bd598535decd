from __future__ import annotations

import click

from kernels.rendering.text_safety import safe
from worker.client.account import AccountError, config_file, forget_account, read_account
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse


@click.command(epilog="Exit code: 0 signed out, 2 the file can't be removed.")
@answering("Print one JSON object.")
def logout() -> Answer:
    """Sign out: remove the portal and the token that `tilelab login` stored.

    The token still works elsewhere. To end it, revoke it on the portal.

    \b
    Example:
      tilelab logout
    """
    file = config_file()
    try:
        where = read_account(file)
    except AccountError:
        where = None
    try:
        there = forget_account(file)
    except AccountError as error:
        raise WrongUse(safe(str(error))) from error
    if not there:
        text = "You were not signed in."
    elif where is None:
        text = f"Removed {safe(str(file))}."
    else:
        text = f"Signed out of {where.url}. The token still works. Revoke it at {where.url}/account/tokens."
    return Answer({"removed": there, "url": None if where is None else where.url}, text)
