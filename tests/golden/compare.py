"""The differences of two records: each once, with the places that have it."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_PLACES, _LINES = 6, 12
_SAME = "as "


def write(folder: Path, name: str, found: Mapping[str, Any]) -> None:
    """A file of the record. What equals the value of an earlier key names that key."""
    kept: dict[str, Any] = {}
    for key, value in found.items():
        same = next((each for each, other in kept.items() if other == value), None)
        kept[key] = value if same is None else _SAME + same
    file = folder / (re.sub(r"[^\w.=&-]+", "_", name) + ".json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def read(folder: Path) -> dict[tuple[str, str], list[str]]:
    """The lines of each file and key."""
    found = {}
    for file in sorted(folder.rglob("*.json")):
        content = json.loads(file.read_text())
        for key, value in content.items():
            full = content[value.removeprefix(_SAME)] if isinstance(value, str) else value
            lines = json.dumps(full, indent=1, ensure_ascii=False).splitlines()
            found[str(file.relative_to(folder).with_suffix("")), key] = [line.rstrip(",") for line in lines]
    return found


def differences(old: Path, new: Path) -> Iterator[str]:
    """Lines for people: what differs, and where."""
    before, after = read(old), read(new)
    places: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for place in sorted(before.keys() | after.keys()):
        changed = tuple(_changed(before.get(place), after.get(place)))
        if changed:
            places.setdefault(changed, {}).setdefault(place[0], []).append(place[1])
    for changed, files in places.items():
        named = [f"{file}: {', '.join(keys)}" for file, keys in files.items()]
        yield from _short(named, _PLACES)
        yield from (f"    {line}" for line in _short(changed, _LINES))


def _changed(before: list[str] | None, after: list[str] | None) -> list[str]:
    if before is None or after is None:
        return ["only in the new record" if before is None else "only in the old record"]
    lines = difflib.unified_diff(before, after, n=0, lineterm="")
    return [line[0] + " " + line[1:].strip() for line in lines if not line.startswith(("---", "+++", "@@"))]


def _short(lines: list[str] | tuple[str, ...], most: int) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], *([f"and {more} more"] if more > 0 else [])]
