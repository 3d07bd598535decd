"""Which portal, and with which token: from the environment, or from the file that `tilelab login` writes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

URL, TOKEN, CONFIG = "TILELAB_URL", "TILELAB_TOKEN", "TILELAB_CONFIG"

_CONFIG_BYTES = 64 * 2**10
_TOKEN = re.compile(r"[\x21-\x7e]{1,200}")
_HOST = re.compile(r"[A-Za-z0-9.\-:\[\]%_]{1,255}")


class AccountError(Exception):
    """No portal or no token is known, or what is written down cannot be used; one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """A portal's address, such as "https://tilelab.example", and a token for it."""

    url: str
    token: str = field(repr=False)


def config_file(environment: Mapping[str, str] | None = None) -> Path:
    """Where the account is kept."""
    given = os.environ if environment is None else environment
    if named := given.get(CONFIG):
        return Path(named)
    base = given.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "tilelab" / "config.toml"


def find_account(environment: Mapping[str, str] | None = None) -> Account:
    """The account to use; raises AccountError. What the environment says goes before what is written down.

    A token that is written down goes to its own portal only, whatever portal the environment names.
    """
    given = os.environ if environment is None else environment
    url, token = given.get(URL, "").strip(), given.get(TOKEN, "").strip()
    if url and token:
        return Account(portal_url(url), checked_token(token, TOKEN))
    kept = read_account(config_file(given))
    if kept is None:
        if token:
            raise AccountError(f"{TOKEN} is set and {URL} is not; set it to the portal's address.")
        raise AccountError("you are not signed in to a portal; run `tilelab login URL` first.")
    if token:
        return Account(kept.url, checked_token(token, TOKEN))
    if url and portal_url(url) != kept.url:
        raise AccountError(
            f"{URL} is {portal_url(url)}, and the token kept here is for {kept.url};"
            f" set {TOKEN} too, or run `tilelab login {portal_url(url)}`."
        )
    return kept


def read_account(file: Path) -> Account | None:
    """What is written down; None for nothing. Raises AccountError."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_CONFIG_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AccountError(f"{file} cannot be read ({error.strerror}).") from error
    try:
        found = tomllib.loads(text[:_CONFIG_BYTES].decode("utf-8"))
        url, token = found["url"], found["token"]
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError) as error:
        raise AccountError(_unusable(file)) from error
    if not isinstance(url, str) or not isinstance(token, str):
        raise AccountError(_unusable(file))
    return Account(portal_url(url), checked_token(token, str(file)))


def keep_account(file: Path, account: Account) -> None:
    """Write it down, for its owner's eyes alone; raises AccountError."""
    # JSON's strings are TOML's, too
    text = f"# Written by `tilelab login`. Whoever reads the token can act as you.\nurl = {json.dumps(account.url)}\n"
    text += f"token = {json.dumps(account.token)}\n"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # made readable for its owner only, and put in place as a whole
        handle, made = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(made).replace(file)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(made).unlink()
            raise
    except OSError as error:
        raise AccountError(
            f"{file} cannot be written ({error.strerror}); {CONFIG} names another file."
        ) from error


def forget_account(file: Path) -> bool:
    """Remove what is written down; whether there was something. Raises AccountError."""
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise AccountError(f"{file} cannot be removed ({error.strerror}).") from error
    return True


def portal_url(text: str) -> str:
    """The address of a portal, however it was typed or copied: a page of it will do. Raises AccountError."""
    typed = text.strip()
    if "://" not in typed:
        typed = f"{'http' if _local(urlsplit(f'//{typed}').hostname) else 'https'}://{typed}"
    try:
        parts = urlsplit(typed)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host) or "@" in parts.netloc:
        raise AccountError(
            f"{text[:200]!r} is no address of a portal, such as https://tilelab.example (a page of it will do)."
        )
    place = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{place}" + (f":{port}" if port not in {None, usual} else "")


def encrypted(url: str) -> bool:
    """Whether nobody on the way can read what goes there: also where it never leaves this machine."""
    return url.startswith("https:") or _local(urlsplit(url).hostname)


def checked_token(text: str, where: str) -> str:
    """The token; raises AccountError for what can be none."""
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        raise AccountError(
            f"{where} holds no token; one looks like tl_..., and is made on the page of your account."
        )
    return token


def _local(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def _unusable(file: Path) -> str:
    return f"{file} cannot be used; run `tilelab login URL` to have it written anew."
