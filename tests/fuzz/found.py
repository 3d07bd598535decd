"""Keeps what failed: made smaller, then saved as a file that the tests try again ever after."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from tests.fuzz.cases import Case, Failure, Layer, outcome_of

FOLDER = Path(__file__).parent / "found"
_SECONDS = 30.0


def save(case: Case, failure: Failure, folder: Path = FOLDER) -> Path:
    """Write the text and, beside it, how it was tried and how it failed."""
    suffix = ".ptx" if case.layer in {Layer.RUN, Layer.CHECK} else ".cu"
    name = re.sub(r"[^\w-]+", "_", f"{case.layer}-{failure.key}")[:100]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{suffix}"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}{suffix}"
    path.write_bytes(case.data)
    last = failure.detail.strip().splitlines()[-1][:200]
    tried = {
        "layer": case.layer, "exercise": case.exercise, "tile": case.tile, "entry": case.entry,
        "block": case.block, "schedule": case.schedule, "reason": f"{failure.key}: {last}",
    }  # fmt: skip
    path.with_suffix(path.suffix + ".json").write_text(json.dumps(tried, indent=1) + "\n", encoding="utf-8")
    return path


def saved(folder: Path = FOLDER) -> dict[str, Case]:
    """All cases that were ever saved, by the name of their file."""
    return {path.name.removesuffix(".json"): _load(path) for path in sorted(folder.glob("*.json"))}


def _load(path: Path) -> Case:
    tried = json.loads(path.read_text(encoding="utf-8"))
    return Case(
        layer=Layer(tried["layer"]),
        data=path.with_suffix("").read_bytes(),
        exercise=tried["exercise"],
        tile=tried["tile"],
        entry=tried["entry"],
        block=(tried["block"][0], tried["block"][1]),
        schedule=tried["schedule"],
    )


def smaller(case: Case, failure: Failure) -> Case:
    """The case without the lines that its failure does not need, as far as that can be found in half a minute."""
    end = time.monotonic() + _SECONDS
    lines = case.data.split(b"\n")
    width = max(1, len(lines) // 2)
    while time.monotonic() < end:
        before = len(lines)
        at = 0
        while at < len(lines) and time.monotonic() < end:
            shorter = lines[:at] + lines[at + width :]
            if shorter and _fails_alike(_with(case, shorter), failure):
                lines = shorter
            else:
                at += width
        if width == 1 and len(lines) == before:
            break
        width = max(1, width // 2)
    return _with(case, lines)


def _with(case: Case, lines: list[bytes]) -> Case:
    fields = {name: getattr(case, name) for name in Case.__slots__}
    return Case(**fields | {"data": b"\n".join(lines)})


def _fails_alike(case: Case, failure: Failure) -> bool:
    outcome = outcome_of(case)
    return isinstance(outcome, Failure) and outcome.key == failure.key
