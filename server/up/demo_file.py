"""The demo's accounts in a file that only its owner can read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kernels.wire import WireError, from_plain

_MODE = 0o600


@dataclass(frozen=True, slots=True)
class DemoUser:
    """One account of the demo with its password and token."""

    email: str
    password: str
    token: str
    role: str


@dataclass(frozen=True, slots=True)
class DemoFile:
    """The file's content. url: of the portal."""

    url: str
    users: tuple[DemoUser, ...]


def read_demo(path: Path) -> Sequence[DemoUser]:
    """The accounts in the file; none if it is missing or invalid, so that all are created again."""
    try:
        return from_plain(DemoFile, json.loads(path.read_text("utf-8"))).users
    except (OSError, ValueError, WireError):
        return ()


def write_demo(path: Path, demo: DemoFile) -> None:
    """Write the file atomically, and never readable for others."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE), "w", encoding="utf-8") as file:
        json.dump(asdict(demo), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
