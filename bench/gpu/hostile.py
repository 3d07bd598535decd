"""The state of a worker after hundreds of hostile kernels: its measurements, processes and memory."""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.gpu.gpu_verdicts import judge_alone
from bench.gpu.machine import Machine, Measure, grade_again, grade_first, measured_by
from bench.gpu.section import Data, Run, percent, table
from bench.gpu.subjects import RIGHT, Subject, cheats
from worker.gpu.nvml import NoGPU, memory_used, processes

NUMBER = 200
BATCH = 25
MEASUREMENTS = 5
MOST_CHANGE = 0.005

_TEXT = """\
The GPU runs the kernels of `tests/cheats` in a row, again and again, without the CPU device's check. Before and after
them, the same worker measures a correct kernel (`tiled`, 32x32) {measurements} times. The last table counts what is
left on the machine, before the worker starts and after it has ended."""


def run(section: Run) -> None:
    """Count, measure, attack, measure, count."""
    machine, number = section.machine, section.options.get("hostile", NUMBER)
    data: Data = {"number": number, "verdicts": {}, "left before": _left(machine)}
    hostile = list(itertools.islice(itertools.cycle(_hostile()), number))
    with machine.spares() as spares:
        measure = measured_by(spares)
        report, known = grade_first(machine, RIGHT, measure)
        section.say(f"the solution of tiled: {report.verdict}")

        def measured() -> list[float]:
            again = [grade_again(machine, RIGHT, known, measure).measurement for _ in range(MEASUREMENTS)]
            return [each.ms_median for each in again if each is not None]

        data["before"] = measured()
        for start in range(0, number, BATCH):
            _attack(machine, hostile[start : start + BATCH], measure, data)
            section.say(f"{min(start + BATCH, number)} of {number} hostile kernels")
            section.keep(_text(data), data, done=False)
        data["after"] = measured()
    data["left after"] = _settled(machine, data["left before"])
    section.keep(_text(data), data)


def _hostile() -> list[Subject]:
    return [each.subject for each in cheats() if each.honesty == "cheat"]


def _attack(machine: Machine, batch: list[Subject], measure: Measure, data: Data) -> None:
    for outcome in judge_alone(machine, batch, measure):
        verdict = outcome.verdict if outcome.reached else f"{outcome.verdict} (never reached the GPU)"
        data["verdicts"][verdict] = data["verdicts"].get(verdict, 0) + 1


def _left(machine: Machine) -> dict[str, int]:
    """Return our own processes, temporary folders, and the memory in use on the GPU."""
    left = {
        "processes started here": len(_descendants(os.getpid())),
        "temporary folders": len(list(Path(tempfile.gettempdir()).glob("tilelab-*"))),
    }
    gpu = machine.gpus[0]
    if gpu is not None:
        try:
            left["bytes of GPU memory"] = memory_used(gpu)
            left["processes on the GPU"] = len(processes(gpu))
        except NoGPU:
            pass
    return left


def _settled(machine: Machine, before: dict[str, int]) -> dict[str, int]:
    """Wait a moment until the driver has released memory."""
    for _ in range(20):
        left = _left(machine)
        if all(left.get(name, 0) <= count for name, count in before.items()):
            break
        time.sleep(0.5)
    return left


def _descendants(pid: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        children = {child for child, its in parents.items() if its == parent} - found
        found |= children
        waiting += children
    return found


def _text(data: Data) -> list[str]:
    lines = [_TEXT.format(measurements=MEASUREMENTS), ""]
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(data["verdicts"].items()))
    lines.append(f"{sum(data['verdicts'].values())} hostile kernels: {verdicts}.")
    if data.get("before") and data.get("after"):
        before, after = median(data["before"]), median(data["after"])
        lines.append(
            f"The correct kernel took {before:.4f} ms before and {after:.4f} ms after: {after / before - 1:+.2%}."
            f" The goal is at most {percent(MOST_CHANGE)}."
        )
    if "left after" in data:
        names = list(data["left before"])
        rows = [[name, f"{data['left before'][name]:,}", f"{data['left after'].get(name, 0):,}"] for name in names]
        lines += ["", *table(["what is left", "before", "after"], rows)]
    return lines
