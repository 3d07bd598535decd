"""Compares the counts of the CPU device with the GPU's own, as Nsight Compute reads them."""

from __future__ import annotations

import csv
import datetime as dt
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.counters import Totals
from kernels.wire import from_plain, to_plain
from tests.gpu.count import prepare_counted
from tests.gpu.prepare import read
from tests.gpu.profile import launches
from tests.gpu.result import Machine, NotRun, Result

REASONS = Path(__file__).parent / "counters.toml"
_MOST_DIFFERING = 0.05

METRICS: Mapping[str, str] = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}
"""Our name of a count -> the profiler's."""

JUDGED = (
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
    "shared_load_conflicts",
)
"""The counts that must be equal. Conflicts of stores also hold what the hardware adds when stores meet."""

NOISE = 0.005
"""How far conflicts of loads may be off, of the wavefronts: the hardware counts some where accesses meet by chance."""

_COUNTS = "counts.json"


@dataclass(frozen=True, slots=True)
class Row:
    """One launch: what the CPU device counted and what the GPU did."""

    name: str
    tile: int
    sizes: str
    ours: Mapping[str, int]
    theirs: Mapping[str, int]

    def differing(self) -> tuple[str, ...]:
        """The counts that had to be equal and are not."""
        return tuple(name for name in JUDGED if not self.equal(name))

    def equal(self, name: str) -> bool:
        """Whether a count is as it has to be."""
        noise = NOISE * self.theirs["shared_load_wavefronts"] if name == "shared_load_conflicts" else 0
        return abs(self.ours[name] - self.theirs[name]) <= noise


def keep_counts(folder: Path, totals: Sequence[Totals]) -> None:
    """Writes our counts beside the prepared kernels, one for each launch in order."""
    (folder / _COUNTS).write_text(json.dumps([to_plain(each) for each in totals]), encoding="utf-8")


def rows(folder: Path, report: Path) -> list[Row]:
    """Our counts beside the profiler's report, launch by launch."""
    ours = [from_plain(Totals, each) for each in json.loads((folder / _COUNTS).read_text(encoding="utf-8"))]
    theirs = list(profiled(report))
    done = launches(read(folder).kernels)
    return [
        Row(kernel.name, kernel.plan.tile, _sizes(case.sizes), _chosen(mine), counted)
        for (kernel, case), mine, counted in zip(done, ours, theirs, strict=True)
    ]


def _chosen(totals: Totals) -> dict[str, int]:
    return {name: int(getattr(totals, name)) for name in METRICS}


def _sizes(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def profiled(report: Path) -> Iterator[dict[str, int]]:
    """One entry for each launch, from `ncu --csv --page raw`: a line of names, a line of units, a line a launch."""
    text = report.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(text) if line.startswith('"ID"'))
    table = csv.DictReader(text[start:])
    for entry in table:
        if entry["ID"]:
            yield {name: int(float(entry[metric].replace(",", ""))) for name, metric in METRICS.items()}


def table(found: Sequence[Row]) -> list[str]:
    """The rows as a table for a page; a count that had to be equal and is not stands as ours / theirs."""
    columns = ["kernel", "tile", "size", *(name.replace("_", " ") for name in JUDGED)]
    columns += ["shared store conflicts (GPU)", "equal"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in found:
        cells = [_cell(name, row) for name in JUDGED]
        stores = f"{row.ours['shared_store_conflicts']:,} ({row.theirs['shared_store_conflicts']:,})"
        verdict = "no" if row.differing() else "yes"
        lines.append(f"| {row.name} | {row.tile} | {row.sizes} | {' | '.join(cells)} | {stores} | {verdict} |")
    return lines


def _cell(name: str, row: Row) -> str:
    ours, theirs = row.ours[name], row.theirs[name]
    return f"{ours:,}" if row.equal(name) else f"**{ours:,} / {theirs:,}**"


def summary(found: Sequence[Row]) -> str:
    """One line: how many rows are equal."""
    good = sum(not row.differing() for row in found)
    loads = sum(not {"shared_load_conflicts"} & set(row.differing()) for row in found)
    kernels = len({row.name for row in found})
    return (
        f"{good} of {len(found)} launches of {kernels} kernels have equal counts ({good / len(found):.1%}); "
        f"conflicts of shared loads agree in {loads}"
    )


def prepare(folder: Path, architecture: str) -> None:
    """Compile every right kernel and keep what the CPU device counts at each of its sizes."""
    keep_counts(folder, prepare_counted(folder, architecture))


def compare(folder: Path, machine: Machine, day: dt.date) -> Result:
    """Let Nsight Compute watch every launch, and put its counts beside ours; raises NotRun where it cannot."""
    if shutil.which("ncu") is None:
        raise NotRun("no Nsight Compute (ncu) here")
    report = folder / "ncu.csv"
    metrics = ",".join(METRICS.values())
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", metrics]
    with report.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            [*command, sys.executable, "-m", "tests.gpu.profile", str(folder)], stdout=stream, check=False
        )
    if done.returncode != 0:
        raise NotRun(f"Nsight Compute ended with {done.returncode}: {report.read_text('utf-8')[-300:]}")
    found = rows(folder, report)
    few = sum(bool(row.differing()) for row in found) > _MOST_DIFFERING * len(found)
    differences = [line for row in found for line in _differences(row)]
    return Result(page(found, machine, day), (*differences, summary(found)), few)


def _differences(row: Row) -> Iterator[str]:
    for name in row.differing():
        yield f"{row.name}, tile {row.tile}, {row.sizes}: {name} {row.ours[name]:,}, GPU {row.theirs[name]:,}"


def page(found: Sequence[Row], machine: Machine, day: dt.date) -> str:
    """The whole page."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    different = [row for row in found if row.differing()]
    why = [f"- `{name}`: {reasons.get(name, 'not known')}" for name in dict.fromkeys(row.name for row in different)]
    explained = ["", "## Differences and their reasons", "", *why] if why else []
    head = _INTRODUCTION.format(made_on=machine.made_on(day), summary=summary(found))
    return "\n".join([head, *table(found), *explained, ""])


_INTRODUCTION = """\
# The counts of an analysis, compared with a GPU's counters

This page shows how far `tilelab analyze` counts what the hardware counts.

The table compares its counts with Nsight Compute's for the same machine code.
The kernels are all correct kernels of `tests/corpus` and every exercise's solution, at two sizes.

- Requests and sectors of global memory must be equal.
- Conflicts of shared loads must agree within 0.5 % of their wavefronts. The hardware also counts conflicts when
  accesses of different warps meet by chance.
- Conflicts of shared stores are shown but not judged, because there the share of chance is larger.
- In a cell with two numbers, the first is Tilelab's and the second the GPU's.

`make test-gpu` makes this comparison and writes this page.

{made_on}

{summary}.
"""
