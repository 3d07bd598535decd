from __future__ import annotations

import sys

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
    """Sign in to the portal at URL. Asks for a token, tests it, and stores it for other commands.

    Create a token on your account page under API tokens. It is stored in a file that only you can read.

    \b
    Examples:
      tilelab login https://tilelab.example
      tilelab login https://tilelab.example --token-stdin --json < token.txt
    """
    try:
        address = portal_url(url) if url is not None else _known()
        if not token_stdin:
            with portal(Account(address, "")) as asked:
                asked.look()  # ask for a token only if the address is a portal
        account = Account(address, _token(address, stdin=token_stdin))
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


def _token(address: str, *, stdin: bool) -> str:
    if stdin:
        return checked_token(sys.stdin.read(_TOKEN_BYTES), "standard input")
    if not sys.stdin.isatty():
        raise WrongUse(f"no terminal to ask for the token. Use --token-stdin, or set {TOKEN}.")
    click.echo(f"Create a token at {address}/account/tokens and paste it here. It stays hidden.", err=True)
    return checked_token(click.prompt("Token", hide_input=True, err=True), "the pasted text")
