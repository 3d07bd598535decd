"""Settings from environment variables. A secret may be in a file: `DATABASE_URL_FILE` names it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from server.identity_providers import ProviderError, SignOn, is_loopback, read_sign_on

LEASE_SECONDS = 20.0
REPUBLISH_SECONDS = 10.0
IN_FLIGHT = 4
UNDER_WAY = 5
FREE_MB = 256.0

_ACCESS_LOG = "TILELAB_ACCESS_LOG"
_METRICS = "TILELAB_METRICS_TOKEN"
_PUBLIC_URL = "TILELAB_PUBLIC_URL"
_SMTP_HOST = "TILELAB_SMTP_HOST"
_SMTP_PASSWORD = "TILELAB_SMTP_PASSWORD"  # noqa: S105 - the variable's name
_MAIL_FROM = "TILELAB_MAIL_FROM"
_SIGN_ON = "TILELAB_SIGN_ON"
_TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACE_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
_ADDRESS = re.compile(r"[^@\s<>,;\"]+@[^@\s<>,;\"]+")
_COLLECTOR = re.compile(r"https?://([a-zA-Z0-9.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[a-zA-Z0-9._~/-]*)?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class AccessLogField(StrEnum):
    """What a line of the access log has; the first is in each."""

    REQUEST = "request"
    PERSON = "person"
    ADDRESS = "address"


class SettingError(ValueError):
    """A setting is missing or invalid; the text names it and says what to do."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """The mail server that takes our e-mails.

    tls: "starttls", "tls" from the first byte, or "none"
    user: "" to send without signing in
    sender: the address in From
    """

    host: str
    port: int
    tls: str
    user: str
    password: str = field(repr=False)
    sender: str


@dataclass(frozen=True, slots=True)
class TraceCollector:
    """Where traces go.

    address: it takes OTLP in JSON
    headers: such as a key that the collector wants
    """

    address: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings.

    lease_seconds: how long a worker may be silent before it loses its step
    republish_seconds: after which a try that no worker claimed is sent again, with the same token
    in_flight: running steps of one person in a queue while others wait; no more than its slots
    under_way: unfinished submissions of one student for one assignment
    free_mb: submissions are refused below this free disk space, in MiB, for an SQLite database
    public_url: the portal's address for browsers, such as "https://tilelab.example"; "" for the request's
    install: the command with which students install `tilelab`; "" for the portal's own package
    backups: the folder of backups, if this machine has it
    metrics_token: the token for /metrics; with "" only this machine may read it
    proxies: how many trusted proxies are between browser and portal; each adds to X-Forwarded-For
    web_processes: processes that answer requests; 0 for a number by the cores
    access_log: what a line for each request has; empty for no lines
    traces: None for no traces
    mail: None if Tilelab sends no e-mail
    sign_on: the identity providers, and who may sign in with a password
    """

    database_url: str
    redis_url: str
    lease_seconds: float = LEASE_SECONDS
    republish_seconds: float = REPUBLISH_SECONDS
    in_flight: int = IN_FLIGHT
    under_way: int = UNDER_WAY
    free_mb: float = FREE_MB
    public_url: str = ""
    install: str = ""
    backups: Path | None = None
    metrics_token: str = field(default="", repr=False)
    proxies: int = 0
    web_processes: int = 0
    access_log: frozenset[AccessLogField] = frozenset()
    traces: TraceCollector | None = None
    mail: MailServer | None = None
    sign_on: SignOn = field(default_factory=SignOn)


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of this process; raises SettingError."""
    given = os.environ if environment is None else environment
    return Settings(
        database_url=secret(given, "DATABASE_URL"),
        redis_url=secret(given, "REDIS_URL"),
        lease_seconds=_number(given, "TILELAB_LEASE_SECONDS", LEASE_SECONDS, least=1.0),
        republish_seconds=_number(given, "TILELAB_REPUBLISH_SECONDS", REPUBLISH_SECONDS, least=0.5),
        in_flight=int(_number(given, "TILELAB_IN_FLIGHT", IN_FLIGHT, least=1)),
        under_way=int(_number(given, "TILELAB_UNDER_WAY", UNDER_WAY, least=1)),
        free_mb=_number(given, "TILELAB_FREE_MB", FREE_MB, least=0.0),
        public_url=_public_url(given.get(_PUBLIC_URL, "").strip()),
        install=given.get("TILELAB_INSTALL", "").strip(),
        backups=Path(folder) if (folder := given.get("TILELAB_BACKUPS", "").strip()) else None,
        metrics_token=secret(given, _METRICS) if is_set(given, _METRICS) else "",
        proxies=int(_number(given, "TILELAB_PROXIES", 0, least=0)),
        web_processes=int(_number(given, "TILELAB_WEB_PROCESSES", 0, least=0)),
        access_log=_access_log(given.get(_ACCESS_LOG, "")),
        traces=_trace_collector(given),
        mail=_mail_server(given),
        sign_on=_sign_on(given),
    )


def read_database_url(environment: Mapping[str, str] | None = None) -> str:
    """The database's address, for commands that need nothing else; raises SettingError."""
    return secret(os.environ if environment is None else environment, "DATABASE_URL")


def read_public_url(environment: Mapping[str, str] | None = None) -> str:
    """The portal's public address, for commands that print links; raises SettingError."""
    given = os.environ if environment is None else environment
    found = _public_url(given.get(_PUBLIC_URL, "").strip())
    if not found:
        raise SettingError(
            f"{_PUBLIC_URL} is not set, so there is no link to print. Set it to the portal's address, such as "
            "'https://tilelab.example'. For `tilelab up` on this machine, that is 'http://127.0.0.1:8000'."
        )
    return found


def read_erased_list(environment: Mapping[str, str] | None = None) -> Path | None:
    """The file that lists erased accounts, for restores; None for none."""
    named = (os.environ if environment is None else environment).get("TILELAB_ERASED_LIST", "").strip()
    return Path(named) if named else None


def is_set(given: Mapping[str, str], name: str) -> bool:
    """Whether an optional secret is set."""
    return bool(given.get(name, "").strip() or given.get(f"{name}_FILE"))


def secret(given: Mapping[str, str], name: str) -> str:
    """The secret, from its variable or from the file that `{name}_FILE` names; raises SettingError."""
    if value := given.get(name, "").strip():
        return value
    file = given.get(f"{name}_FILE", "")
    if not file:
        raise SettingError(f"{name} is not set. Set it, or set {name}_FILE to a file with its value.")
    try:
        value = Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"Can't read {file}, the file of {name}_FILE: {error}") from error
    if not value:
        raise SettingError(f"{file}, the file of {name}_FILE, is empty.")
    return value


def _mail_server(given: Mapping[str, str]) -> MailServer | None:
    host = given.get(_SMTP_HOST, "").strip()
    if not host:
        return None
    for needed in (_MAIL_FROM, _PUBLIC_URL):
        if not given.get(needed, "").strip():
            raise SettingError(f"{needed} is not set. With {_SMTP_HOST}, Tilelab sends e-mail and needs it.")
    sender = given[_MAIL_FROM].strip()
    if not _ADDRESS.fullmatch(sender):
        raise SettingError(f"{_MAIL_FROM} is {sender!r}. Use a plain address, like 'tilelab@tilelab.example'.")
    tls = given.get("TILELAB_SMTP_TLS", "").strip() or "starttls"
    if tls not in _PORTS:
        raise SettingError(f"TILELAB_SMTP_TLS is {tls!r}. Use one of: {', '.join(_PORTS)}.")
    user = given.get("TILELAB_SMTP_USER", "").strip()
    return MailServer(
        host=host,
        port=int(_number(given, "TILELAB_SMTP_PORT", _PORTS[tls], least=1)),
        tls=tls,
        user=user,
        password=secret(given, _SMTP_PASSWORD) if user else "",
        sender=sender,
    )


def _trace_collector(given: Mapping[str, str]) -> TraceCollector | None:
    """OpenTelemetry's own names: whoever runs a collector has them set already."""
    base = given.get(_TRACES, "").strip().rstrip("/")
    if not base:
        return None
    if not _COLLECTOR.fullmatch(base):
        raise SettingError(f"{_TRACES} isn't an address such as 'http://collector.example:4318'.")
    headers = {}
    for pair in secret(given, _TRACE_HEADERS).split(",") if is_set(given, _TRACE_HEADERS) else ():
        name, equals, value = pair.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not equals or not _HEADER.fullmatch(name) or not value.isascii() or not value.isprintable():
            raise SettingError(f"{_TRACE_HEADERS} must be like 'name=value,other=value', with commas in values as %2C.")
        headers[name] = value
    return TraceCollector(f"{base}/v1/traces", headers)


def _access_log(text: str) -> frozenset[AccessLogField]:
    names = {name.strip() for name in text.split(",")} - {""}
    if unknown := names - set(AccessLogField):
        known = ", ".join(AccessLogField)
        raise SettingError(f"{_ACCESS_LOG} has {min(unknown)!r}. Use one or more of: {known}.")
    return frozenset(AccessLogField(name) for name in names)


def _sign_on(given: Mapping[str, str]) -> SignOn:
    file = given.get(_SIGN_ON, "").strip()
    if not file:
        return SignOn()
    if not given.get(_PUBLIC_URL, "").strip():
        raise SettingError(f"{_PUBLIC_URL} is not set. With {_SIGN_ON}, providers send browsers back to that address.")
    parts = urlsplit(given[_PUBLIC_URL].strip())
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise SettingError(f"{_PUBLIC_URL} needs https. With {_SIGN_ON}, cookies must come from this server alone.")
    try:
        return read_sign_on(Path(file))
    except ProviderError as error:
        raise SettingError(f"{_SIGN_ON}: {error}") from error


def _public_url(text: str) -> str:
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise SettingError(f"TILELAB_PUBLIC_URL is {text!r}. Write it without a path, like 'https://tilelab.example'.")
    return f"{parts.scheme}://{parts.netloc}"


def _number(given: Mapping[str, str], name: str, default: float, *, least: float) -> float:
    text = given.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError as error:
        raise SettingError(f"{name} is {text!r}. Use a number.") from error
    if not least <= value < math.inf:
        raise SettingError(f"{name} is {text}. Use a number of at least {least:g}.")
    return value
