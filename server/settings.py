"""What the server is told by its environment. A secret may lie in a file: `DATABASE_URL_FILE` names it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

LEASE_SECONDS = 20.0
REPUBLISH_SECONDS = 10.0
IN_FLIGHT = 4
UNDER_WAY = 5
FREE_MB = 256.0

_METRICS = "TILELAB_METRICS_TOKEN"
_PUBLIC_URL = "TILELAB_PUBLIC_URL"


class SettingError(ValueError):
    """A setting is missing, or none that can be used; the text names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings.

    lease_seconds: a worker silent for so long has lost its step
    republish_seconds: after which an attempt that nobody has claimed is sent anew, with the same token
    in_flight: steps of one person that may be under way in one queue while others wait; no more than its slots
    under_way: submissions of one student for one assignment that may wait or be graded at a time
    free_mb: free space, in MiB, on the disk of an SQLite database below which submissions are refused
    public_url: where browsers find the portal, such as "https://tilelab.example"; "" for where they asked
    metrics_token: what who reads /metrics has to show; with "" only this machine may
    proxies: how many of our own stand between a browser and the portal, each of which adds to X-Forwarded-For
    """

    database_url: str
    redis_url: str
    lease_seconds: float = LEASE_SECONDS
    republish_seconds: float = REPUBLISH_SECONDS
    in_flight: int = IN_FLIGHT
    under_way: int = UNDER_WAY
    free_mb: float = FREE_MB
    public_url: str = ""
    metrics_token: str = field(default="", repr=False)
    proxies: int = 0


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process; raises SettingError."""
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
        metrics_token=secret(given, _METRICS) if is_set(given, _METRICS) else "",
        proxies=int(_number(given, "TILELAB_PROXIES", 0, least=0)),
    )


def read_database_url(environment: Mapping[str, str] | None = None) -> str:
    """The address of the database, for what needs nothing else; raises SettingError."""
    return secret(os.environ if environment is None else environment, "DATABASE_URL")


def read_public_url(environment: Mapping[str, str] | None = None) -> str:
    """Where browsers find the portal, for a command that prints a link to it; raises SettingError."""
    given = os.environ if environment is None else environment
    found = _public_url(given.get(_PUBLIC_URL, "").strip())
    if not found:
        raise SettingError(
            f"{_PUBLIC_URL} is not set, so there is no link to print. Set it to where browsers find the portal, such "
            "as https://tilelab.example or http://127.0.0.1:8000 for `tilelab up` on this machine."
        )
    return found


def is_set(given: Mapping[str, str], name: str) -> bool:
    """Whether there is such a secret, for who can do without."""
    return bool(given.get(name, "").strip() or given.get(f"{name}_FILE"))


def secret(given: Mapping[str, str], name: str) -> str:
    """From the variable itself, or from the file that its `_FILE` names; raises SettingError."""
    if value := given.get(name, "").strip():
        return value
    file = given.get(f"{name}_FILE", "")
    if not file:
        raise SettingError(f"{name} is not set. Set it, or {name}_FILE to a file that holds it.")
    try:
        value = Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{name}_FILE names {file}, which cannot be read: {error}") from error
    if not value:
        raise SettingError(f"{name}_FILE names {file}, which is empty.")
    return value


def _public_url(text: str) -> str:
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise SettingError(
            f"TILELAB_PUBLIC_URL is {text!r}; write it as https://tilelab.example and without a path."
        )
    return f"{parts.scheme}://{parts.netloc}"


def _number(given: Mapping[str, str], name: str, default: float, *, least: float) -> float:
    text = given.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError as error:
        raise SettingError(f"{name} is {text!r}; a number is needed.") from error
    if not least <= value < math.inf:
        raise SettingError(f"{name} is {text}; a number of at least {least:g} is needed.")
    return value
