"""Identity providers for single sign-on, as the file in `TILELAB_SIGN_ON` describes them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

E = TypeVar("E", bound=StrEnum)

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")


class Passwords(StrEnum):
    """Who may sign in with a password."""

    EVERYONE = "everyone"
    OPERATORS = "operators"


class Verified(StrEnum):
    """How a provider says that an email is verified: by the claim `email_verified`, or because all of them are."""

    CLAIM = "claim"
    ALWAYS = "always"


class NewAccounts(StrEnum):
    """Who gets an account at the first sign-in: anyone at the provider, or only people whom staff added before."""

    ANYONE = "anyone"
    ROSTER = "roster"


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of OpenID Connect.

    name: in the addresses of its pages; title: on the sign-in page
    domains: of the emails that it may vouch for; none for all
    """

    name: str
    title: str
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    domains: frozenset[str] = frozenset()
    verified: Verified = Verified.CLAIM
    new_accounts: NewAccounts = NewAccounts.ANYONE

    def vouches_for(self, email: str, *, claimed: bool) -> bool:
        """Whether this email is its owner's. claimed: whether the provider says so in a claim."""
        if self.domains and email.rpartition("@")[2].lower() not in self.domains:
            return False
        return claimed or self.verified is Verified.ALWAYS


@dataclass(frozen=True, slots=True)
class SignOn:
    """All providers, and who may sign in without them."""

    providers: tuple[Provider, ...] = ()
    passwords: Passwords = Passwords.EVERYONE


class ProviderError(ValueError):
    """The file is invalid; the text says where, and what to do."""


def read_sign_on(file: Path) -> SignOn:
    """Read the file; raises ProviderError."""
    try:
        given = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProviderError(f"Can't read {file}: {error}") from error
    where = f"In {file}"
    _only(given, {"passwords", "provider"}, where)
    tables = given.get("provider", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(each, dict) for each in tables):
        raise ProviderError(f"{where}: describe each provider in a table [[provider]].")
    providers = tuple(_provider(table, f"{where}, provider {number}") for number, table in enumerate(tables, 1))
    for what in ("name", "issuer"):
        if len({getattr(each, what) for each in providers}) < len(providers):
            raise ProviderError(f"{where}: two providers have the same {what}.")
    return SignOn(providers, _choice(given, "passwords", Passwords.EVERYONE, where))


def secret_files(file: Path) -> tuple[Path, ...]:
    """The files with clients' secrets that a valid file names, perhaps itself."""
    tables = tomllib.loads(file.read_text("utf-8"))["provider"]
    return tuple(dict.fromkeys(Path(each.get("client_secret_file", file)) for each in tables))


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, to which no encryption is needed."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _provider(table: Mapping[str, Any], where: str) -> Provider:
    secret = {"client_secret", "client_secret_file"}
    _only(
        table, {"name", "title", "issuer", "client_id", "domains", "verified", "new_accounts", *secret}, where
    )  # fmt: skip
    name = _text(table, "name", where)
    if not _NAME.fullmatch(name):
        raise ProviderError(f"{where}: `name` is {name!r}. Use small letters, digits and hyphens, like 'university'.")
    domains = table.get("domains", [])
    if not isinstance(domains, list) or not all(isinstance(each, str) and DOMAIN.fullmatch(each) for each in domains):
        raise ProviderError(f"{where}: `domains` must be a list of domains in small letters, like ['university.edu'].")
    verified = _choice(table, "verified", Verified.CLAIM, where)
    if verified is Verified.ALWAYS and not domains:
        raise ProviderError(f"{where}: with `verified = 'always'`, name the provider's own emails in `domains`.")
    return Provider(
        name=name,
        title=_text(table, "title", where),
        issuer=_issuer(_text(table, "issuer", where), where),
        client_id=_text(table, "client_id", where),
        client_secret=_secret(table, where),
        domains=frozenset(domains),
        verified=verified,
        new_accounts=_choice(table, "new_accounts", NewAccounts.ANYONE, where),
    )


def _issuer(address: str, where: str) -> str:
    parts = urlsplit(address)
    safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    if not safe or not parts.hostname or parts.query or parts.fragment:
        raise ProviderError(f"{where}: `issuer` is {address!r}. Use the provider's own address, with https.")
    return address


def _secret(table: Mapping[str, Any], where: str) -> str:
    if ("client_secret" in table) == ("client_secret_file" in table):
        raise ProviderError(f"{where}: set `client_secret_file` or `client_secret`.")
    if "client_secret" in table:
        return _text(table, "client_secret", where)
    file = Path(_text(table, "client_secret_file", where))
    try:
        found = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderError(f"{where}: can't read {file}: {error}") from error
    if not found:
        raise ProviderError(f"{where}: {file} is empty.")
    return found


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ProviderError(f"{where}: `{key}` is missing.")
    return value.strip()


def _choice(table: Mapping[str, Any], key: str, default: E, where: str) -> E:
    kind = type(default)
    try:
        return kind(table.get(key, default))
    except ValueError as error:
        raise ProviderError(f"{where}: `{key}` must be one of: {', '.join(kind)}.") from error


def _only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise ProviderError(f"{where}: `{unknown[0]}` is unknown. Known are: {', '.join(sorted(known))}.")
