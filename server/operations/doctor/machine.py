"""Checks of this machine and its settings: the address, secrets, disks and backups. They wait for no other machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sqlalchemy import make_url

from kernels.wording import plural
from server.database.storage import free_bytes
from server.identity_providers import is_loopback, secret_files
from server.operations.backup import made_at, newest_backup
from server.operations.doctor.finding import Deployment, Finding, fine, problem, warning

_SHORTEST = 12
_DEFAULTS = frozenset({
    "admin", "changeme", "default", "example", "guest", "password", "postgres", "redis", "root", "secret", "test",
    "tilelab", "valkey",
})  # fmt: skip
_LOW = 4
"""As in docs/alerts.yml: how many times TILELAB_FREE_MB is little."""

_LATE, _TOO_OLD = timedelta(days=2), timedelta(days=8)
_MIB = 2**20


def public_address(deployment: Deployment) -> Finding | None:
    address = deployment.settings.public_url
    if not address and deployment.settings.redis_url.startswith("unix:"):
        return None  # probably `tilelab up` on a person's own machine
    if not address:
        return warning(
            "TILELAB_PUBLIC_URL isn't set, so commands can't print links and browsers may send cookies unencrypted. "
            "Set it to the portal's address, such as 'https://tilelab.example'."
        )
    parts = urlsplit(address)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return problem(
            f"{address} isn't https, so passwords cross the network unencrypted. Put a server for HTTPS in front, "
            "and correct TILELAB_PUBLIC_URL."
        )
    return fine(address)


def files_of_secrets(deployment: Deployment) -> Finding | None:
    """Whether other users of this machine can read secrets, the SQLite database or a backup."""
    files = [file for file in _secret_files(deployment) if os.path.exists(file)]  # noqa: PTH110 - an OSError is False
    if not files:
        return None
    if open_ones := [str(file) for file in files if _others_can_read(file)]:
        return problem(
            f"Every user of this machine can read {', '.join(open_ones)}, and so get all data. Run: chmod o= "
            f"{' '.join(open_ones)}"
        )
    return fine(f"{plural(len(files), 'file')} with secrets, closed to other users")


def strength_of_secrets(deployment: Deployment) -> Finding | None:
    secrets = {where: secret for where, *secret in _secrets(deployment) if secret[0]}
    if not secrets:
        return None
    if default := [where for where, (its, user) in secrets.items() if its.lower() in _DEFAULTS | {user.lower()}]:
        return problem(
            f"The secret in {' and '.join(default)} is a default that attackers try first. Replace it: openssl rand "
            "-hex 24"
        )
    if short := [where for where, (its, _) in secrets.items() if len(its) < _SHORTEST]:
        return warning(
            f"The secret in {' and '.join(short)} is shorter than {_SHORTEST} characters, so it may be guessed. "
            "Replace it: openssl rand -hex 24"
        )
    return fine(f"long enough in {', '.join(secrets)}")


def disk(deployment: Deployment) -> Finding | None:
    """Space for an SQLite database. PostgreSQL's disk can't be seen."""
    free, floor = free_bytes(deployment.engine), deployment.settings.free_mb * _MIB
    if free is None:
        return None
    said = f"{_size(free)} free on the disk of {deployment.engine.url.database}"
    if free < floor:
        return problem(f"{said}, less than TILELAB_FREE_MB. Submissions are refused until there is room. Make room.")
    if free < _LOW * floor:
        return warning(f"{said}. Below {_size(floor)}, submissions are refused. Make room.")
    return fine(said)


def backups(deployment: Deployment) -> Finding | None:
    """Whether there is a recent backup. Reads its manifest, because a damaged or unfinished file has none."""
    folder = deployment.backups
    if folder is None:
        return None
    try:
        file = newest_backup(folder)
        if file is None:
            return problem(f"{folder} has no backup, so a broken disk loses everything. Run: {_command(folder)}")
        made = made_at(file)
    except OSError as error:
        return problem(
            f"{error.filename or folder} can't be read ({error.strerror}), so perhaps you have no backup. Correct its "
            "owner, or name another folder."
        )
    except ValueError as error:
        return problem(f"{file} can't be restored: {error}. Make a new backup: {_command(folder)}")
    if file.suffix == ".zip" and _others_can_read(file):
        return problem(f"Every user of this machine can read {file}, which has all data and keys. Run: chmod o= {file}")
    age = datetime.now(UTC) - made
    if age > _LATE:
        say = problem if age > _TOO_OLD else warning
        return say(
            f"The newest backup, {file}, is {age.days} days old. A broken disk loses all later work. Run each day: "
            f"{_command(folder)}"
        )
    return fine(f"{file}, {plural(max(0, round(age / timedelta(hours=1))), 'hour')} old")


def disk_of_backups(deployment: Deployment) -> Finding | None:
    try:
        file = newest_backup(deployment.backups) if deployment.backups else None
        if file is None:
            return None
        size, found = file.stat().st_size, os.statvfs(file.parent)
    except OSError:
        return None  # `backups` reports it
    free = found.f_bavail * found.f_frsize
    if free < 2 * size:
        return warning(
            f"{file.parent} has {_size(free)} free, and the newest backup has {_size(size)}. The next one may not fit. "
            "Delete old backups."
        )
    return fine(f"{_size(free)} free in {file.parent}")


def _secret_files(deployment: Deployment) -> Iterator[Path]:
    given = deployment.environment
    for name in ("DATABASE_URL", "REDIS_URL", "TILELAB_METRICS_TOKEN", "TILELAB_SMTP_PASSWORD"):
        if not given.get(name, "").strip() and (file := given.get(f"{name}_FILE")):
            yield Path(file)
    if deployment.settings.sign_on.providers:
        yield from secret_files(Path(given["TILELAB_SIGN_ON"].strip()))
    database = deployment.engine.url.database
    if deployment.engine.dialect.name == "sqlite" and database not in {None, "", ":memory:"}:
        yield Path(str(database))


def _secrets(deployment: Deployment) -> Iterator[tuple[str, str, str]]:
    """Each secret that the server's operator chose: its setting, itself, and its user."""
    settings = deployment.settings
    database, redis = make_url(settings.database_url), urlsplit(settings.redis_url)
    yield "DATABASE_URL", str(database.password or ""), database.username or ""
    yield "REDIS_URL", unquote(redis.password or ""), unquote(redis.username or "")
    yield "TILELAB_METRICS_TOKEN", settings.metrics_token, ""


def _others_can_read(file: Path) -> bool:
    """Whether every user can. A file that is mounted alone is a container's secret, which its host guards."""
    file = file.resolve()
    if os.path.ismount(file):
        return False
    return bool(file.stat().st_mode & 0o004) and all(folder.stat().st_mode & 0o001 for folder in file.parents)


def _command(folder: Path) -> str:
    return f"tilelab admin backup {folder}/tilelab-$(date +%F).zip"


def _size(count: float) -> str:
    return f"{count / _MIB:,.0f} MiB" if count < 1024 * _MIB else f"{count / 1024 / _MIB:,.1f} GiB"
