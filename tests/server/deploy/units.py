"""The units of deploy/systemd as data, with their drop-ins, and their commands as systemd would start them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
FOLDER = DEPLOY / "systemd"


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit. settings: pairs of a section and a key, with all their values in order."""

    name: str
    settings: Mapping[tuple[str, str], tuple[str, ...]]

    def words(self, key: str, section: str = "Service") -> tuple[str, ...]:
        return tuple(word for value in self.settings.get((section, key), ()) for word in shlex.split(value))

    @property
    def environment(self) -> dict[str, str]:
        """Of its environment files, which are here under their own names, and of itself."""
        files = [FOLDER / Path(file.removeprefix("-")).name for file in self.words("EnvironmentFile")]
        lines = [line for file in files for line in read_lines(file)]
        return dict(pair.partition("=")[::2] for pair in (*lines, *self.words("Environment")))

    @property
    def command(self) -> tuple[str, ...]:
        """Its command. A variable without a value adds no word."""
        given = self.environment
        words = (given.get(word[1:], "") if word.startswith("$") else word for word in self.words("ExecStart"))
        return tuple(word for word in words if word)


def units(instances: Iterable[str] = ("web", "dispatcher", "recorder")) -> dict[str, Unit]:
    """All units by name, where a template has these instances."""
    found = {}
    for file in sorted((*FOLDER.glob("*.service"), *FOLDER.glob("*.timer"))):
        names = [file.name.replace("@", f"@{each}") for each in instances] if "@." in file.name else [file.name]
        drop_ins = [
            each
            for folder in sorted(FOLDER.glob(f"*{file.suffix}.d"))
            if file.name.startswith(folder.name.removesuffix(f"{file.suffix}.d"))
            for each in sorted(folder.glob("*.conf"))
        ]
        for name in names:
            instance = name.partition("@")[2].partition(".")[0]
            found[name] = Unit(name, _settings((*drop_ins, file), instance))
    return found


def read_lines(file: Path) -> list[str]:
    """The lines without comments."""
    return [line for line in file.read_text("utf-8").splitlines() if line.strip() and line[0] not in "#;"]


def _settings(files: Iterable[Path], instance: str) -> Mapping[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    specifiers = {"%i": instance, "%S": "/var/lib", "%C": "/var/cache", "%t": "/run"}
    for file in files:
        section = ""
        for line in read_lines(file):
            if line.startswith("["):
                section = line.strip("[]")
                continue
            key, _, value = line.partition("=")
            value = re.sub("%.", lambda match: specifiers[match[0]], value)
            found[section, key] = (*found.get((section, key), ()), value)
    return found
