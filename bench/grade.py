"""The time of a whole `tilelab grade`, from the start of the process to the verdict, and its parts."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernels.exercise import find_exercise

_PYTHON = (sys.executable, "-c", "pass")
_NUMPY = (sys.executable, "-c", "import numpy")
_LOAD = (sys.executable, "-c", "import worker.commands.kernel.grade, worker.steps.grading, kernels.exercise")


@dataclass(frozen=True, slots=True)
class Grading:
    """Medians in seconds.

    total: from the start of the process to its end
    steps: from the report
    python, numpy, load: an interpreter that does nothing, imports numpy, or imports the command
    """

    total: float
    steps: dict[str, float]
    python: float
    numpy: float
    load: float

    @property
    def profile(self) -> dict[str, float]:
        """The time of each part. The sandboxed processes start while the command itself still loads."""
        rest = self.total - self.load - sum(self.steps.values())
        return {
            "start Python": self.python,
            "load the command": self.load - self.python,
            **self.steps,
            "start and end processes, print": rest,
        }


def grading(rounds: int, progress: Callable[[str], None]) -> Grading:
    """Grade the solution of `tiled` repeatedly, and time an idle interpreter next to each grade."""
    solution = find_exercise("tiled").solution
    command = (str(Path(sys.executable).with_name("tilelab")), "grade", str(solution), "--exercise", "tiled", "--json")
    totals, pythons, numpys, loads = [], [], [], []
    steps: list[dict[str, float]] = []
    for number in range(rounds + 1):
        progress(f"grade: round {number} of {rounds}")
        python, _ = _timed(_PYTHON)
        numpy, _ = _timed(_NUMPY)
        load, _ = _timed(_LOAD)
        total, output = _timed(command)
        report = json.loads(output)
        if report["verdict"] != "accepted":
            raise SystemExit(f"the solution of tiled was graded {report['verdict']}: {report['message']}")
        if number:  # the first round fills the file system's caches
            pythons.append(python)
            numpys.append(numpy)
            loads.append(load)
            totals.append(total)
            steps.append(report["seconds"])
    return Grading(
        statistics.median(totals),
        {name: statistics.median(each[name] for each in steps) for name in steps[0]},
        statistics.median(pythons),
        statistics.median(numpys),
        statistics.median(loads),
    )


def _timed(command: tuple[str, ...]) -> tuple[float, str]:
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return time.perf_counter() - begin, done.stdout
