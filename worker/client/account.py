"""The portal and the token to use, from the environment or from the file of `tilelab login`."""

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
    """The portal or the token is missing or invalid. The text is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """A portal's address, such as "https://tilelab.example", and a token for it."""

    url: str
    token: str = field(repr=False)


def config_file(environment: Mapping[str, str] | None = None) -> Path:
    given = os.environ if environment is None else environment
    if named := given.get(CONFIG):
        return Path(named)
    base = given.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "tilelab" / "config.toml"


def find_account(environment: Mapping[str, str] | None = None) -> Account:
    """The account to use. The environment takes precedence over the file. Raises AccountError.

    A stored token is sent only to its own portal, even if the environment names another portal.
    """
    given = os.environ if environment is None else environment
    url, token = given.get(URL, "").strip(), given.get(TOKEN, "").strip()
    if url and token:
        return Account(portal_url(url), checked_token(token, TOKEN))
    account = read_account(config_file(given))
    if account is None:
        if token:
            raise AccountError(f"{TOKEN} is set, but {URL} is not. Set {URL} to the portal's address.")
        raise AccountError("you are not signed in. Run `tilelab login URL` first.")
    if token:
        return Account(account.url, checked_token(token, TOKEN))
    if url and portal_url(url) != account.url:
        raise AccountError(
            f"{URL} is {portal_url(url)}, but the stored token is for {account.url}."
            f" Set {TOKEN} too, or run `tilelab login {portal_url(url)}`."
        )
    return account


def read_account(file: Path) -> Account | None:
    """The stored account, or None. Raises AccountError."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_CONFIG_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AccountError(f"{file}: cannot read the file ({error.strerror}).") from error
    try:
        found = tomllib.loads(text[:_CONFIG_BYTES].decode("utf-8"))
        url, token = found["url"], found["token"]
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError) as error:
        raise AccountError(_unusable(file)) from error
    if not isinstance(url, str) or not isinstance(token, str):
        raise AccountError(_unusable(file))
    return Account(portal_url(url), checked_token(token, str(file)))


def keep_account(file: Path, account: Account) -> None:
    """Store the account in a file that only its owner can read. Raises AccountError."""
    # a JSON string is also a TOML string
    text = f"# Written by `tilelab login`. Anyone with this token can act as you.\nurl = {json.dumps(account.url)}\n"
    text += f"token = {json.dumps(account.token)}\n"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp creates a file that only its owner can read; the rename is atomic
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
            f"{file}: cannot write the file ({error.strerror}). Set {CONFIG} to use another file."
        ) from error


def forget_account(file: Path) -> bool:
    """Remove the stored account, and return whether there was one. Raises AccountError."""
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise AccountError(f"{file}: cannot remove the file ({error.strerror}).") from error
    return True


def portal_url(text: str) -> str:
    """A portal's address from typed text, which may be the address of any of its pages. Raises AccountError."""
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
        raise AccountError(f"{text[:200]!r} is not an address. Use one such as https://tilelab.example for the portal.")
    place = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{place}" + (f":{port}" if port not in {None, usual} else "")


def encrypted(url: str) -> bool:
    """Whether requests can't be read on the network: they are encrypted, or stay on this machine."""
    return url.startswith("https:") or _local(urlsplit(url).hostname)


def checked_token(text: str, where: str) -> str:
    """The token. Raises AccountError if the text can't be a token."""
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        raise AccountError(f"{where} has no valid token. Tokens begin with tl_. Create one on your account page.")
    return token


def _local(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def _unusable(file: Path) -> str:
    return f"{file} is not valid. Run `tilelab login URL` to write it again."
