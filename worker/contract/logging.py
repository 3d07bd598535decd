"""Logging as text or JSON, one event per line with its job, and never with passwords.

TILELAB_LOG is `text` (the default) or `json`, TILELAB_LOG_LEVEL a level such as `info` (the default).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

FORMATS = ("text", "json")

_LEVELS = ("debug", "info", "warning", "error", "critical")
_MARK = "tilelab"
_LONGEST = 20_000

# These log every message at level info; only their warnings and errors are useful.
_WORDY = ("celery.worker.strategy", "celery.app.trace", "celery.bootsteps", "kombu", "alembic", "werkzeug")

# User and password in an address, which a library may log. The password may contain any character.
_PERSON = re.compile(r"(://)[^/\s@:]{0,200}:\S{0,500}@")

_about: ContextVar[Mapping[str, object]] = ContextVar("about", default={})  # noqa: B039 - never changed in place
_process: dict[str, object] = {}


class LogSettingError(ValueError):
    """TILELAB_LOG or TILELAB_LOG_LEVEL is not valid; one line."""


def configure(
    form: str = "", level: str = "", stream: TextIO | None = None, environment: Mapping[str, str] | None = None
) -> None:
    """Set one log format for this process and its libraries. Call it once, early. Raises LogSettingError.

    form, level: replace the environment's values
    stream: by default, standard error
    """
    given = os.environ if environment is None else environment
    form = (form or given.get("TILELAB_LOG", "") or "text").lower()
    level = (level or given.get("TILELAB_LOG_LEVEL", "") or "info").lower()
    if form not in FORMATS:
        raise LogSettingError(f"TILELAB_LOG {form!r}: use {' or '.join(FORMATS)}.")
    if level not in _LEVELS:
        raise LogSettingError(f"TILELAB_LOG_LEVEL {level!r}: use one of {', '.join(_LEVELS)}.")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.set_name(_MARK)
    root = logging.getLogger()
    for each in [handler for handler in root.handlers if handler.get_name() == _MARK]:
        root.removeHandler(each)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _WORDY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)


def name_process(**names: object) -> None:
    """Add fields to all log lines of this process, such as its worker's name."""
    _process.update(names)


@contextlib.contextmanager
def about(**what: object) -> Iterator[None]:
    """Add fields to the lines that this thread logs in the block: job, step, attempt."""
    token = _about.set({**_about.get(), **what})
    try:
        yield
    finally:
        _about.reset(token)


def context() -> Mapping[str, object]:
    return {**_process, **_about.get()}


def without_passwords(text: str) -> str:
    return _PERSON.sub(r"\1**@", text)


class TextLines(logging.Formatter):
    """For people: time, level, fields and text on one line. A traceback follows on its own lines."""

    def format(self, record: logging.LogRecord) -> str:
        named = " ".join(f"{name}={value}" for name, value in context().items())
        said = _said(record).replace("\n", "\n    ")
        trace = _trace(record)
        parts = [_time(record), record.levelname.ljust(7), record.name, f"[{named}]" if named else "", said]
        return " ".join(part for part in parts if part) + (f"\n{trace}" if trace else "")


class JsonLines(logging.Formatter):
    """For programs: one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": _time(record), "level": record.levelname.lower(), "logger": record.name, "text": _said(record),
            **context(),
        }  # fmt: skip
        if trace := _trace(record):
            line["trace"] = trace
        return json.dumps(line, default=str, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _said(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except (TypeError, ValueError):  # keep the line even if a library's arguments don't fit
        text = f"{record.msg} {record.args}"
    return without_passwords(text[:_LONGEST])


def _trace(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    return without_passwords("".join(traceback.format_exception(*record.exc_info)).rstrip()[-_LONGEST:])
