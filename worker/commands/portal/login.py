from __future__ import annotations

import sys
from platform import node

import click

from kernels.rendering.text_safety import safe
from worker.client.account import (
    TOKEN,
    Account,
    AccountError,
    checked_token,
    config_file,
    encrypted,
    find_account,
    keep_account,
    portal_url,
    read_account,
)
from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, moment, portal
from worker.commands.root import WrongUse

_TOKEN_BYTES = 4096


@click.command(epilog=EXITS)
@click.argument("url", required=False)
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@answering("Print one JSON object.")
def login(url: str | None, token_stdin: bool) -> Answer:
    """Sign in to the portal at URL. Shows a code, which you enter on a page of the portal.

    The page creates a token for this command, which stores it in a file that only you can read. You can also create a
    token on your account page, and pass it with --token-stdin.

    \b
    Examples:
      tilelab login https://tilelab.example
      tilelab login https://tilelab.example --token-stdin --json < token.txt
    """
    try:
        address = portal_url(url) if url is not None else _known()
        account = Account(address, _given_token() if token_stdin else _allowed_token(address))
    except AccountError as error:
        raise WrongUse(safe(str(error))) from error
    if not encrypted(account.url):
        click.echo(
            f"tilelab: {account.url} is not encrypted. Others on the network can read your token."
            " Use it only in a network that you trust.",
            err=True,
        )
    with portal(account) as asked:
        me = asked.me()
        keep_account(config_file(), account)
    shown = {"url": account.url, "name": me.name, "email": me.email, "expires_at": me.token.expires_at}
    until = f", until {moment(me.token.expires_at)}" if me.token.expires_at else ""
    return Answer(
        shown | {"file": str(config_file())},
        f"Signed in to {account.url} as {safe(me.name[:200])} ({safe(me.email[:254])}){until}.\n"
        f"The token is stored in {safe(str(config_file()))}.",
    )


def _known() -> str:
    """The address of the stored portal, or of the portal that the environment names."""
    try:
        kept = read_account(config_file())
    except AccountError:
        kept = None
    if kept is not None:
        return kept.url
    try:
        return find_account().url
    except AccountError as error:
        raise WrongUse("no portal yet. Give its address: `tilelab login https://tilelab.example`.") from error


def _given_token() -> str:
    return checked_token(sys.stdin.read(_TOKEN_BYTES), "standard input")


def _allowed_token(address: str) -> str:
    """A token that you allow in a browser."""
    with portal(Account(address, "")) as asked:
        asked.look()  # show a code only if the address is a portal
        if not sys.stdin.isatty():
            raise WrongUse(f"no terminal to show a code. Use --token-stdin, or set {TOKEN}.")
        codes = asked.begin_login(node())
        click.echo(f"Open {address}/login in a browser and enter the code {safe(codes.user_code[:20])}", err=True)
        return checked_token(asked.login_token(codes), address)
