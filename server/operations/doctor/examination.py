"""All checks of a deployment, each bounded in time. A check that fails is a line, too."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from server.database.engine import DatabaseUnavailable, connect
from server.operations.doctor import grading, machine, services, workers
from server.operations.doctor.finding import Deployment, Finding, Level, fine, problem, sentence
from server.settings import SettingError, Settings, read_settings
from worker.contract.broker import BrokerUnavailable, BrokerUrlError

SECONDS = 5.0
"""The longest time for a check. All checks that need no other one run at once."""

_OPTIONAL = {"mail": ("TILELAB_SMTP_", "TILELAB_MAIL_"), "sign-on": ("TILELAB_SIGN_ON",)}
"""Checks that stand for settings which only some deployments have: the variables begin so."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check by its code. It finds None where it doesn't apply.

    needs: checks without which this one would only repeat their problem
    asks: what it waits for
    """

    code: str
    examine: Callable[[Deployment], Finding | None]
    needs: frozenset[str] = frozenset()
    asks: str = "It"


@dataclass(frozen=True, slots=True)
class Line:
    """A check's finding."""

    check: str
    level: Level
    text: str


def checks_of(settings: Settings) -> Sequence[Check]:
    """All checks, in the order of their lines."""
    stored, sent = frozenset({"database"}), frozenset({"redis"})
    return (
        Check("public-address", machine.public_address),
        Check("secret-files", machine.files_of_secrets),
        Check("secrets", machine.strength_of_secrets),
        Check("disk", machine.disk),
        Check("backups", machine.backups, asks="The folder of backups"),
        Check("backup-disk", machine.disk_of_backups),
        Check("database", services.database, asks="The database"),
        Check("database-clock", services.database_clock, stored),
        Check("database-encryption", services.database_encryption, stored),
        Check("redis", services.redis, asks="Redis"),
        Check("redis-password", services.redis_password, sent),
        Check("redis-encryption", services.redis_encryption),
        Check("redis-memory", services.redis_memory, sent),
        Check("redis-clock", services.redis_clock, sent),
        Check("dispatcher", partial(workers.process, "dispatcher"), sent),
        Check("recorder", partial(workers.process, "recorder"), sent),
        Check("workers", workers.workers, stored | sent),
        Check("worker-versions", workers.worker_versions, sent),
        Check("worker-warnings", workers.worker_warnings, stored | sent),
        Check("queue", grading.queue, stored | sent),
        Check("assignments", grading.assignments, stored),
        Check("results", grading.results, stored),
        Check("mail", services.mail_server, asks="The mail server"),
        Check("mail-waiting", grading.waiting_mail, stored),
        Check("scores", grading.failing_scores, stored),
        *(Check("sign-on", partial(services.provider, each), asks=each.title) for each in settings.sign_on.providers),
    )


def examine(environment: Mapping[str, str], backups: Path | None = None, seconds: float = SECONDS) -> list[Line]:
    """Run all checks that apply. backups: their folder; None for the one in the settings."""
    try:
        settings, lines = _readable(environment)
        engine = connect(settings.database_url)
    except (SettingError, DatabaseUnavailable) as error:
        return [Line("settings", Level.PROBLEM, f"{sentence(error)} Nothing else can be checked until then.")]
    try:
        deployment = Deployment(environment, settings, engine, backups or settings.backups)
        return lines + examine_with(checks_of(settings), deployment, seconds)
    finally:
        engine.dispose()


def examine_with(checks: Sequence[Check], deployment: Deployment, seconds: float) -> list[Line]:
    """The lines of these checks: first of those that need no other, then of those whose needs are met."""
    found = _together([each for each in checks if not each.needs], deployment, seconds)
    broken = {line.check for line in found if line.level is Level.PROBLEM}
    found += _together([each for each in checks if each.needs and not each.needs & broken], deployment, seconds)
    order = [each.code for each in checks]
    return sorted(found, key=lambda line: order.index(line.check))


def _readable(environment: Mapping[str, str]) -> tuple[Settings, list[Line]]:
    """The settings without invalid optional ones, and what is wrong with those. Raises SettingError."""
    optional = tuple(prefix for prefixes in _OPTIONAL.values() for prefix in prefixes)
    given = {name: value for name, value in environment.items() if not name.startswith(optional)}
    settings, lines = read_settings(given), []
    for check, prefixes in _OPTIONAL.items():
        more = given | {name: value for name, value in environment.items() if name.startswith(prefixes)}
        try:
            settings, given = read_settings(more), more
        except SettingError as error:
            text = f"{sentence(error)} The web server and the dispatcher don't start with it."
            lines.append(Line(check, Level.PROBLEM, text))
    if not lines:
        lines.append(Line("settings", Level.FINE, fine("all valid").text))
    return settings, lines


def _together(checks: Sequence[Check], deployment: Deployment, seconds: float) -> list[Line]:
    """Run checks at once, each in its thread: a host that is silent delays no other check."""
    until = time.monotonic() + seconds
    running = [(each, *_begun(each, deployment)) for each in checks]
    lines = []
    for check, thread, answer in running:
        thread.join(max(0.0, until - time.monotonic()))
        found = answer[0] if answer else _silent(check, seconds)
        if found is not None:
            lines.append(Line(check.code, found.level, found.text))
    return lines


def _begun(check: Check, deployment: Deployment) -> tuple[threading.Thread, list[Finding | None]]:
    answer: list[Finding | None] = []
    thread = threading.Thread(
        target=lambda: answer.append(_examined(check, deployment)), name=f"check {check.code}", daemon=True
    )
    thread.start()
    return thread, answer


def _examined(check: Check, deployment: Deployment) -> Finding | None:
    try:
        return check.examine(deployment)
    except (DatabaseUnavailable, BrokerUnavailable, BrokerUrlError) as error:
        return problem(str(error))
    except Exception as error:  # noqa: BLE001 - a broken check must not hide the others
        # Without the error's own text, which may have a secret in it.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        return problem(f"This check failed with {type(error).__name__} at {place}. Tell the maintainers of Tilelab.")


def _silent(check: Check, seconds: float) -> Finding:
    return problem(
        f"{check.asks} doesn't answer within {seconds:g} seconds, so whatever needs it waits. Check that it "
        "runs, and that this machine can reach it."
    )
