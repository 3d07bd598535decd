"""What a check finds, and what it examines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sqlalchemy import Engine

from server.settings import Settings


class Level(StrEnum):
    """How bad a finding is. warning: nothing is down."""

    FINE = "fine"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """A result in one line: what is fine, or what is wrong, what happens because of it, and what to do next."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """What the checks examine.

    environment: the variables that the settings come from
    backups: the folder of the backups, if the operator named one
    """

    environment: Mapping[str, str]
    settings: Settings
    engine: Engine
    backups: Path | None = None


def sentence(error: object) -> str:
    """An error's text with a period, to be followed by what to do next."""
    return f"{str(error).rstrip('.')}."


def fine(text: str) -> Finding:
    return Finding(Level.FINE, text)


def warning(text: str) -> Finding:
    return Finding(Level.WARNING, text)


def problem(text: str) -> Finding:
    return Finding(Level.PROBLEM, text)
