"""The device's events compared with Nsight Compute's own clock, for the same kernels."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.gpu.machine import NotRun, grade_first, measured_by, speed_at
from bench.gpu.section import Data, Run, percent, table
from bench.gpu.subjects import Subject, ladder, references

METRIC = "gpu__time_duration.sum"
WIDTHS = (2048, 4096)
WITHIN = 0.01
_SECONDS = 240
_WARM_UP = 5
_UNITS = {"nsecond": 1e-6, "ns": 1e-6, "usecond": 1e-3, "us": 1e-3, "msecond": 1.0, "ms": 1.0, "second": 1e3, "s": 1e3}

_TEXT = """\
`ncu --clock-control none --metrics gpu__time_duration.sum` runs the same machine code in a separate process. It also
empties the caches before each launch. The table compares its median of {launches} launches with the median of a grade's
repeats."""


def run(section: Run) -> None:
    """Grade each kernel, then let the profiler watch all of them."""
    if shutil.which("ncu") is None:
        raise NotRun("Nsight Compute (ncu) is not installed")
    machine, launches = section.machine, section.options.get("launches", 15)
    rows: list[Data] = []
    with tempfile.TemporaryDirectory() as name, machine.spares() as spares:
        folder = Path(name)
        for number, subject in enumerate(_subjects()):
            report, known = grade_first(machine, subject, measured_by(spares))
            if report.measurement is None:
                section.say(f"{subject.name} is left out: {report.verdict}")
                continue
            ours = {width: speed_at(report.measurement, width) for width in WIDTHS}
            times = {width: found[0] for width, found in ours.items() if found is not None}
            rows.append({"name": subject.name, "events": times, "ncu": {}})
            _write(folder, number, subject, known.compiled[0])
            try:
                for width in times:
                    rows[-1]["ncu"][width] = median(_profiled(folder, number, subject, machine.arch, width, launches))
            except (NotRun, subprocess.TimeoutExpired, OSError, ValueError) as reason:
                section.say(f"{subject.name}: {reason}")
                rows[-1]["why"] = str(reason)[-400:]
            section.say(f"{subject.name}: {rows[-1]['events']} {rows[-1]['ncu']}")
            section.keep(_text(rows, launches), {"rows": rows, "launches": launches}, done=False)
    section.keep(_text(rows, launches), {"rows": rows, "launches": launches})


def _subjects() -> list[Subject]:
    top = ladder()[-1].name
    known = [each.subject for each in references() if each.subject.source != ladder()[-1].source]
    return [*known, *(rung for rung in ladder() if int(rung.name[:2]) > 9 or rung.name == top)]


def _write(folder: Path, number: int, subject: Subject, made: object) -> None:
    from kernels.compile.compilation import Compilation

    assert isinstance(made, Compilation)
    (folder / f"{number}.cubin").write_bytes(made.cubin)
    (folder / f"{number}.entry").write_text(made.entry, encoding="utf-8")
    (folder / f"{number}.cu").write_bytes(subject.source)


def _profiled(folder: Path, number: int, subject: Subject, arch: str, width: int, launches: int) -> list[float]:
    """Return the milliseconds of each launch. The first few are warm-ups."""
    program = [sys.executable, "-m", "bench.gpu.launch", str(folder / str(number)), subject.exercise]
    program += [str(subject.tile or 0), str(width), str(launches + _WARM_UP)]
    watch = ["ncu", "--clock-control", "none", "--metrics", METRIC, "--csv", "--page", "raw"]
    done = subprocess.run([*watch, *program], capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        raise NotRun(f"ncu ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
    return read_times(done.stdout)[_WARM_UP:]


def read_times(text: str) -> list[float]:
    """Return the milliseconds of each launch, from `ncu --csv --page raw`: a line of names, of units, and of each
    launch.
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise NotRun(f"ncu says: {text[-300:]}")
    rows = list(csv.DictReader(lines[start:]))
    factor = _UNITS[rows[0][METRIC]]
    return [float(row[METRIC].replace(",", "")) * factor for row in rows[1:] if row["ID"]]


def _text(rows: list[Data], launches: int) -> list[str]:
    head = ["kernel"]
    for width in WIDTHS:
        head += [f"events at {width}, ms", "Nsight Compute", "difference"]
    cells = [[row["name"], *(cell for width in WIDTHS for cell in _cells(row, width))] for row in rows]
    differences = [
        row["events"][width] / row["ncu"][width] - 1 for row in rows for width in WIDTHS if width in row["ncu"]
    ]
    lines = [_TEXT.format(launches=launches), "", *table(head, cells), ""]
    if differences:
        good = sum(abs(each) <= WITHIN for each in differences)
        lines.append(
            f"{good} of {len(differences)} are within {percent(WITHIN, 0)}; the largest difference is"
            f" {max(differences, key=abs):+.2%}."
        )
    reasons = {row["why"] for row in rows if "why" in row}
    return [*lines, *(f"Not profiled: {reason}" for reason in sorted(reasons))]


def _cells(row: Data, width: int) -> list[str]:
    ours, theirs = row["events"].get(width), row["ncu"].get(width)
    return [
        f"{ours:.4f}" if ours else "-",
        f"{theirs:.4f}" if theirs else "-",
        f"{ours / theirs - 1:+.2%}" if ours and theirs else "-",
    ]
