"""Who may sign in to the demo, in a file that only its owner may read."""

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
    """One person of the demo, with what proves who it is."""

    email: str
    password: str
    token: str
    role: str


@dataclass(frozen=True, slots=True)
class DemoFile:
    """url: of the portal."""

    url: str
    users: tuple[DemoUser, ...]


def read_demo(path: Path) -> Sequence[DemoUser]:
    """Who is in the file; nobody where it is missing, or is none: then all is made anew."""
    try:
        return from_plain(DemoFile, json.loads(path.read_text("utf-8"))).users
    except (OSError, ValueError, WireError):
        return ()


def write_demo(path: Path, demo: DemoFile) -> None:
    """All or nothing, and at no moment readable for others."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE), "w", encoding="utf-8") as file:
        json.dump(asdict(demo), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
