"""Messages for workplaces, about an exercise that the CPU device can stand in for a GPU at."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels.exercise import Exercise, find_exercise, read_exercise
from kernels.exercise.schema import DEFINITION
from worker.contract.messages import (
    CheckWork,
    ExerciseText,
    MeasureWork,
    PackedWork,
    StepKind,
    StepMessage,
    StepResult,
    Ticket,
    decode,
)

TILED = find_exercise("tiled")
SOLUTION = TILED.solution.read_text("utf-8")
WRONG = SOLUTION.replace("0.0f", "1.0f")

SMALL_TEXT = (
    (TILED.root / DEFINITION)
    .read_text("utf-8")
    .replace("Width = 2048", "Width = 72")
    .replace("largest_on_cpu = 300", "largest_on_cpu = 70")
    .replace("Width = 256", "Width = 64")
)
SEED = "5eed" * 8


def small() -> Exercise:
    """The exercise, ranked at a size that the CPU device can run."""
    return read_exercise("tiled", SMALL_TEXT)


def check_work(text: str | bytes = SOLUTION, **changes: Any) -> CheckWork:
    source = text.encode() if isinstance(text, str) else text
    work = CheckWork(
        source=base64.b64encode(source).decode(),
        exercise=ExerciseText("tiled", SMALL_TEXT, small().digest),
        arch="sm_90",
        device_class="stand-in",
        seed=SEED,
    )
    return replace(work, **changes)


def check_message(text: str | bytes = SOLUTION, **changes: Any) -> StepMessage:
    return StepMessage(Ticket(7, StepKind.CHECK, "a token"), 1, lease_seconds=10.0, check=check_work(text, **changes))


def measure_message(work: PackedWork) -> StepMessage:
    return StepMessage(Ticket(7, StepKind.MEASURE, "another token"), 1, lease_seconds=10.0, measure=work.packed)


def left_open(result: StepResult) -> MeasureWork:
    """What a check left to a GPU, unpacked."""
    assert result.measure is not None
    return decode(MeasureWork, result.measure.packed)


def gone(pid: int) -> bool:
    """Whether a process is over, reaped or not."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children() -> set[int]:
    """The processes that this one has started and that still run."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _parent(folder) == os.getpid() and not gone(int(folder.name)):
            found.add(int(folder.name))
    return found


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
