"""The time of one ranked grade: warm as in a worker, and cold as a separate command."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.gpu.machine import Recording, measured_by
from bench.gpu.section import Data, Run, table
from bench.gpu.subjects import KERNELS, Subject, ladder
from kernels.exercise import find_exercise
from worker.gpu.spares import Spares
from worker.steps.grading import grade

ROUNDS = 5
COLD_ROUNDS = 3
MOST = {"warm": 1.0, "measure": 0.5, "cold": 4.0}
_STEPS = ("read", "compile", "check", "measure", "count")
_COMMAND = "import sys; from worker.commands import main; sys.exit(main())"

_TEXT = """\
A grade reads the source, and returns the verdict with all checks, the ranking measurement and the curve. The table has
medians of {rounds} grades, in seconds.

- **Warm**: the processes that compile, check and measure are already running.
- **With evidence**: the CPU device also makes its counts, during the measurement.
- **Cold**: `tilelab grade FILE --device cuda:0`, from the start of the command to its end.
- **slowest** is the longest total. The first cold grade also compiles the judge's kernels, which later grades reuse.
- **busy** is the time in which the GPU ran required kernels."""


def run(section: Run) -> None:
    """Time warm grades without and with evidence, then cold ones."""
    rounds = section.options.get("rounds", ROUNDS)
    rows: list[Data] = []
    data: Data = {"rounds": rounds, "rows": rows, "asked for": MOST}
    with section.machine.spares() as spares:
        for subject in _subjects():
            for evidence in (False, True):
                found = [_warm(section, subject, spares, evidence) for _ in range(rounds + 1)][1:]
                _add(section, data, subject, "warm, with evidence" if evidence else "warm", found)
    for subject in _subjects():
        found = [_cold(section, subject) for _ in range(COLD_ROUNDS)]
        _add(section, data, subject, "cold", found)
    section.keep(_text(data), data)


def _subjects() -> list[Subject]:
    tiled = find_exercise("tiled", ()).solution.read_bytes()
    naive = (KERNELS / "naive_16.cu").read_bytes()
    return [Subject("tiled", tiled, tile=32), Subject("naive", naive), *ladder()[-1:]]


def _add(section: Run, data: Data, subject: Subject, kind: str, found: list[Data]) -> None:
    keys = [key for key in ("total", *_STEPS, "busy") if any(key in each for each in found)]
    row = {key: median([each[key] for each in found if key in each]) for key in keys}
    row["slowest"] = max(each["total"] for each in found)
    verdicts = sorted({each["verdict"] for each in found})
    data["rows"].append({"name": subject.name, "kind": kind, "verdicts": verdicts, **row})
    section.say(f"{subject.name}, {kind}: {row['total']:.2f} s, {verdicts}")
    section.keep(_text(data), data, done=False)


def _warm(section: Run, subject: Subject, spares: Spares, evidence: bool) -> Data:
    job = section.machine.job(subject, evidence=evidence)
    with Recording(measured_by(spares)) as stages:
        stages.wait_ready()
        time.sleep(1.2)  # until the new spare runner is warm, too
        began = time.perf_counter()
        report = grade(job, stages)
        total = time.perf_counter() - began
    busy = report.measurement.busy_ms / 1e3 if report.measurement is not None else 0.0
    return {"total": total, "verdict": report.verdict.value, "busy": busy, **report.seconds}


def _cold(section: Run, subject: Subject) -> Data:
    gpu = section.machine.gpus[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cu"
        file.write_bytes(subject.source)
        arguments = [str(file), "--json", "--device", "cpu" if gpu is None else f"cuda:{gpu}"]
        if subject.tile is not None:
            arguments += ["--tile", str(subject.tile)]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, "grade", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        total = time.perf_counter() - began
    if not done.stdout.startswith("{"):
        return {"total": total, "verdict": f"exit {done.returncode}: {done.stderr[-200:]}"}
    report = json.loads(done.stdout)
    busy = (report["measurement"] or {}).get("busy_ms", 0.0) / 1e3
    return {"total": total, "verdict": report["verdict"], "busy": busy, **report["seconds"]}


def _text(data: Data) -> list[str]:
    keys = ("total", "slowest", *_STEPS, "busy")
    rows = [
        [f"{row['name']}, {row['kind']}", *(f"{row[key]:.3f}" if key in row else "-" for key in keys)]
        for row in data["rows"]
    ]
    asked = "The goal: at most {warm} s warm, including {measure} s for measuring, and {cold} s cold.".format(**MOST)
    return [_TEXT.format(rounds=data["rounds"]), "", *table(["kernel", *keys], rows), "", asked]
