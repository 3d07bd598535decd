"""docker-compose.yml as data, with the values that it takes from the environment filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"

_VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<name>\w+):-(?P<default>[^}]*)\})")


@dataclass(frozen=True, slots=True)
class Service:
    """One service, as the file describes it."""

    name: str
    plain: Mapping[str, Any]

    @property
    def command(self) -> list[str]:
        """What its process is started with, the image's own entrypoint left out."""
        return [*self.plain.get("entrypoint", []), *self.plain.get("command", [])]

    @property
    def environment(self) -> dict[str, str]:
        return dict(self.plain.get("environment", {}))

    @property
    def health(self) -> list[str]:
        """The command of its health check."""
        kind, *words = self.plain["healthcheck"]["test"]
        return ["sh", "-c", *words] if kind == "CMD-SHELL" else words

    def seconds(self, key: str) -> float:
        return float(self.plain[key].removesuffix("s"))


def text() -> dict[str, Any]:
    """The file as it is written."""
    plain: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    return plain


def services(environment: Mapping[str, str] | None = None) -> dict[str, Service]:
    """All services by name, where these variables are set."""
    return {name: Service(name, _filled(plain, environment or {})) for name, plain in text()["services"].items()}


def _filled(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, environment) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, environment) for each in value]
    if not isinstance(value, str):
        return value
    return _VARIABLE.sub(
        lambda found: "$" if found["dollar"] else environment.get(found["name"]) or found["default"], value
    )
