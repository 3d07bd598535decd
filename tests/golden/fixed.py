"""What is the same in every record: the moment, the dice, and the names of what can't be fixed."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import secrets
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any

import pytest

import server
from tests.server.course import NOW

MOMENT = NOW + timedelta(hours=3)

_CHANGES = tuple((re.compile(pattern), word) for pattern, word in (
    (r"(?<![0-9A-Za-z])tl_[\w-]{40,}", "TOKEN"),
    (r"(/invitation/|/reset/)[\w-]{43}", r"\1LINK"),
    (r"(?<![0-9a-zA-Z])[0-9a-f]{12,}(?![0-9a-zA-Z])", "HEX"),
    (r"\b[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}\b", "CODE"),
    (r"\b1[789]\d{8}\.\d+\b", "EPOCH"),
    (r"127\.0\.0\.1:\d{4,5}", "HOST"),
    (r"[^\s\"']*golden-record-\w+(/tmp\w+)?", "FOLDER"),
))  # fmt: skip


class _Always(type):
    """A class that is as good as `datetime` wherever types are looked at."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, datetime)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is datetime

    def __hash__(cls) -> int:
        return hash(datetime)


class _Fixed(datetime, metaclass=_Always):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return MOMENT.astimezone(tz or UTC)


def fix_clock(patch: pytest.MonkeyPatch) -> None:
    """Stop the clock of every module of Tilelab. Imports the whole server, so that none comes later."""
    for module in pkgutil.walk_packages(server.__path__, "server."):
        importlib.import_module(module.name)
    for name, found in sorted(sys.modules.items()):
        if name.partition(".")[0] in {"kernels", "worker", "server"} and vars(found).get("datetime") is datetime:
            patch.setattr(found, "datetime", _Fixed)


def fix_dice(patch: pytest.MonkeyPatch, seed: str) -> None:
    """Draw what is secret from a seed: another seed for each request, so that none depends on those before."""
    dice = random.Random(seed)
    patch.setattr(secrets, "token_bytes", lambda size=None: dice.randbytes(size or 32))
    for name, draw in {"choice": dice.choice, "randbelow": dice.randrange, "randbits": dice.getrandbits}.items():
        patch.setattr(secrets, name, draw)


def plain(value: Any, names: tuple[tuple[str, str], ...]) -> Any:
    """A value for the record, all its texts with words for what is random. names: words, and what they stand for"""
    if isinstance(value, str):
        return _text(value, names)
    if isinstance(value, Mapping):
        return {_text(key, names): plain(each, names) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, names) for each in value]
    return "EPOCH" if isinstance(value, float) and value > _EPOCH else value


@lru_cache(maxsize=100_000)
def _text(text: str, names: tuple[tuple[str, str], ...]) -> str:
    for word, there in names:
        if len(there) >= _LEAST:
            text = text.replace(there, word)
    for pattern, word in _CHANGES:
        text = pattern.sub(word, text)
    return text


_EPOCH = 1_700_000_000.0
_LEAST = 12
"""Of an ID that is replaced: a number may be anywhere."""
