"""Compares the counts of the CPU device with the GPU's own, as Nsight Compute reads them.

`prepare FOLDER` where there is a compiler, then on the GPU machine `ncu ... -m tests.gpu.profile FOLDER` (the command
that `prepare` prints), then `compare FOLDER REPORT.csv`.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.evidence import Totals
from kernels.wire import from_plain, to_plain
from tests.gpu.driver import driver_version
from tests.gpu.prepare import read
from tests.gpu.profile import launches

METRICS: Mapping[str, str] = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
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

NOISE = 0.001
"""How far conflicts of loads may be off: the hardware's own count varies by that much."""

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
        return tuple(name for name in JUDGED if not _equal(name, self.ours[name], self.theirs[name]))


def _equal(name: str, ours: int, theirs: int) -> bool:
    allowed = NOISE * max(ours, theirs) if name == "shared_load_conflicts" else 0
    return abs(ours - theirs) <= allowed


def keep_counts(folder: Path, totals: Sequence[Totals]) -> None:
    """Writes our counts beside the prepared kernels, one for each launch in order."""
    (folder / _COUNTS).write_text(json.dumps([to_plain(each) for each in totals]), encoding="utf-8")


def rows(folder: Path, report: Path) -> list[Row]:
    """Our counts beside the profiler's report, launch by launch."""
    ours = [from_plain(Totals, each) for each in json.loads((folder / _COUNTS).read_text(encoding="utf-8"))]
    theirs = list(_profiled(report))
    done = launches(read(folder).kernels)
    return [
        Row(kernel.name, kernel.plan.tile, _sizes(case.sizes), _chosen(mine), counted)
        for (kernel, case), mine, counted in zip(done, ours, theirs, strict=True)
    ]


def _chosen(totals: Totals) -> dict[str, int]:
    return {name: int(getattr(totals, name)) for name in METRICS}


def _sizes(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def _profiled(report: Path) -> Iterator[dict[str, int]]:
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
        lines.append(
            f"| {row.name} | {row.tile} | {row.sizes} | {' | '.join(cells)} | {stores} | {verdict} |"
        )
    return lines


def _cell(name: str, row: Row) -> str:
    ours, theirs = row.ours[name], row.theirs[name]
    return f"{ours:,}" if _equal(name, ours, theirs) else f"**{ours:,} / {theirs:,}**"


def summary(found: Sequence[Row]) -> str:
    """One line: how many rows are equal."""
    good = sum(not row.differing() for row in found)
    loads = sum(not {"shared_load_conflicts"} & set(row.differing()) for row in found)
    kernels = len({row.name for row in found})
    return (
        f"{good} of {len(found)} launches of {kernels} kernels have equal counts ({good / len(found):.1%}); "
        f"conflicts of shared loads agree in {loads}"
    )


def command(folder: Path) -> str:
    """What runs on the GPU machine."""
    return (
        f"ncu --csv --page raw --clock-control none --metrics {','.join(METRICS.values())} "
        f"python3 -m tests.gpu.profile {folder}"
    )


def main() -> int:
    """Prepare or compare; exit code 1 where fewer than 95 of 100 rows are equal."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.counters", description=__doc__)
    parser.add_argument("do", choices=["prepare", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("report", type=Path, nargs="?")
    parser.add_argument("--page", type=Path, help="also write the result to this file")
    asked = parser.parse_args()
    if asked.do == "prepare":
        from tests.gpu.count import prepare_counted

        keep_counts(asked.folder, prepare_counted(asked.folder))
        print(command(asked.folder))
        return 0
    found = rows(asked.folder, asked.report)
    print("\n".join([*(line for row in found for line in _difference(row)), summary(found)]))
    if asked.page is not None:
        day = dt.datetime.now(tz=dt.UTC).date()
        head = f"Driver {driver_version()}, {day.isoformat()}. {summary(found)}."
        asked.page.write_text("\n".join([head, "", *table(found), ""]), encoding="utf-8")
    return int(sum(not row.differing() for row in found) < 0.95 * len(found))


def _difference(row: Row) -> Iterator[str]:
    for name in row.differing():
        yield f"{row.name}, tile {row.tile}, {row.sizes}: {name} {row.ours[name]:,}, GPU {row.theirs[name]:,}"


if __name__ == "__main__":
    sys.exit(main())
