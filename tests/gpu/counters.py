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
from tests.gpu.count import at_own_size, at_two_sizes, prepare_counted, right_kernels_of_one_tile, tensor_kernels
from tests.gpu.prepare import read
from tests.gpu.profile import launches
from tests.gpu.result import Machine, NotRun, Result

REASONS = Path(__file__).parent / "counters.toml"
_MOST_DIFFERING = 0.05

_METRICS: Mapping[str, tuple[str, ...]] = {
    "global_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "shared_load_requests": ("smsp__sass_inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_ldsm.sum"),
    "shared_store_requests": ("smsp__sass_inst_executed_op_shared_st.sum",),
    "shared_load_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
    "shared_load_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",),
    "shared_store_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",),
}
_JUDGED = (
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
    "shared_load_conflicts",
)


@dataclass(frozen=True, slots=True)
class Counters:
    """What one page compares.

    title, about: of the page
    metrics: our name of a count -> the profiler's, which are added up
    judged: the counts that must be equal. Conflicts of stores also hold what the hardware adds when stores meet.
    seen: the counts that the page only shows
    """

    title: str
    about: str
    metrics: Mapping[str, tuple[str, ...]]
    judged: tuple[str, ...]
    seen: tuple[str, ...]


ORDINARY = Counters(
    "The counts of an analysis, compared with a GPU's counters",
    """\
The kernels are all correct kernels of `tests/corpus` and every exercise's solution, at two sizes.

- Requests and sectors of global memory must be equal.
- Conflicts of shared loads must agree within 0.5 % of their wavefronts. The hardware also counts conflicts when
  accesses of different warps meet by chance.
- Conflicts of shared stores are shown but not judged, because there the share of chance is larger.""",
    _METRICS,
    _JUDGED,
    ("shared_store_conflicts",),
)

TENSOR = Counters(
    "The counts of tensor cores and bulk copies, compared with a GPU's counters",
    """\
The kernels are the correct kernels of the exercises for tensor cores, at the size of their analysis. Others, in
`tests/gpu/probes/tensor`, have single instructions.

- Requests and sectors of global memory must be equal, for bulk copies too.
- Conflicts of shared loads must agree within 0.5 % of their wavefronts. `ldmatrix` is one of these loads.
- Products are instructions of warps. `wmma` and large shapes become several instructions of the machine code.""",
    {
        **_METRICS,
        "bulk_received_bytes": ("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",),
        "bulk_load_sectors": ("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",),
        "bulk_store_bytes": ("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",),
        "tensor_instructions": tuple(
            f"sm__inst_executed_pipe_tensor_op_{kind}.sum" for kind in ("hmma", "imma", "dmma", "gmma")
        ),
    },
    (*_JUDGED, "bulk_load_sectors"),
    (
        "shared_load_requests",
        "shared_load_wavefronts",
        "shared_store_conflicts",
        "bulk_received_bytes",
        "bulk_store_bytes",
        "tensor_instructions",
    ),
)

NOISE = 0.005
"""How far conflicts of loads may be off, of the wavefronts: the hardware counts some where accesses meet by chance."""

_COUNTS = "counts.json"


@dataclass(frozen=True, slots=True)
class Row:
    """One launch: what the CPU device counted and what the GPU did. theirs: without what the profiler doesn't count"""

    name: str
    tile: int
    sizes: str
    ours: Mapping[str, int]
    theirs: Mapping[str, int]
    judged: tuple[str, ...] = _JUDGED

    def differing(self) -> tuple[str, ...]:
        """The counts that had to be equal and are not."""
        return tuple(name for name in self.judged if not self.equal(name))

    def equal(self, name: str) -> bool:
        """Whether a count is as it has to be."""
        noise = NOISE * self.theirs["shared_load_wavefronts"] if name == "shared_load_conflicts" else 0
        return name not in self.theirs or abs(self.ours[name] - self.theirs[name]) <= noise


def keep_counts(folder: Path, totals: Sequence[Totals]) -> None:
    """Writes our counts beside the prepared kernels, one for each launch in order."""
    (folder / _COUNTS).write_text(json.dumps([to_plain(each) for each in totals]), encoding="utf-8")


def rows(folder: Path, report: Path, counters: Counters) -> list[Row]:
    """Our counts beside the profiler's report, launch by launch."""
    ours = [from_plain(Totals, each) for each in json.loads((folder / _COUNTS).read_text(encoding="utf-8"))]
    theirs = list(profiled(report, counters.metrics))
    done = launches(read(folder).kernels)
    return [
        Row(kernel.name, kernel.plan.tile, _sizes(case.sizes), _chosen(mine, counters), counted, counters.judged)
        for (kernel, case), mine, counted in zip(done, ours, theirs, strict=True)
    ]


def _chosen(totals: Totals, counters: Counters) -> dict[str, int]:
    return {name: int(getattr(totals, name)) for name in counters.metrics}


def _sizes(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def profiled(report: Path, metrics: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, int]]:
    """One entry for each launch, from `ncu --csv --page raw`: a line of names, a line of units, a line a launch."""
    text = report.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(text) if line.startswith('"ID"'))
    table = csv.DictReader(text[start:])
    for entry in table:
        if entry["ID"]:
            values = {
                name: [_number(entry[each]) for each in several if each in entry] for name, several in metrics.items()
            }
            yield {name: sum(found) for name, found in values.items() if found}


def _number(cell: str) -> int:
    return int(float(cell.replace(",", "")))


def table(found: Sequence[Row], counters: Counters) -> list[str]:
    """The rows as a table for a page; a count that had to be equal and is not stands as ours / theirs."""
    columns = ["kernel", "tile", "size", *(name.replace("_", " ") for name in counters.judged)]
    columns += [*(f"{name.replace('_', ' ')} (GPU)" for name in counters.seen), "equal"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in found:
        cells = [_cell(name, row) for name in counters.judged]
        cells += [f"{row.ours[name]:,} ({_theirs(name, row)})" for name in counters.seen]
        verdict = "no" if row.differing() else "yes"
        lines.append(f"| {row.name} | {row.tile} | {row.sizes} | {' | '.join(cells)} | {verdict} |")
    return lines


def _cell(name: str, row: Row) -> str:
    return f"{row.ours[name]:,}" if row.equal(name) else f"**{row.ours[name]:,} / {_theirs(name, row)}**"


def _theirs(name: str, row: Row) -> str:
    return f"{row.theirs[name]:,}" if name in row.theirs else "not counted"


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
    keep_counts(folder, prepare_counted(folder, architecture, right_kernels_of_one_tile(), at_two_sizes))


def prepare_tensor(folder: Path, architecture: str) -> None:
    """The same for kernels with tensor cores."""
    keep_counts(folder, prepare_counted(folder, architecture, tensor_kernels(), at_own_size))


def compare(folder: Path, machine: Machine, day: dt.date) -> Result:
    return _compare(folder, machine, day, ORDINARY)


def compare_tensor(folder: Path, machine: Machine, day: dt.date) -> Result:
    return _compare(folder, machine, day, TENSOR)


def _offered(metrics: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The metrics that the profiler knows; all of them if it doesn't list any."""
    wanted = [each for several in metrics.values() for each in several]
    asked = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False)
    known = {line.split()[0] for line in asked.stdout.splitlines() if line[:1].isalpha()}
    # Without a GPU or the permission, it lists none. It lists those of machine code only sometimes.
    return [each for each in wanted if not known or "__sass_" in each or each.partition(".")[0] in known]


def _compare(folder: Path, machine: Machine, day: dt.date, counters: Counters) -> Result:
    """Let Nsight Compute watch every launch, and put its counts beside ours; raises NotRun where it cannot."""
    if shutil.which("ncu") is None:
        raise NotRun("no Nsight Compute (ncu) here")
    report = folder / "ncu.csv"
    metrics = ",".join(_offered(counters.metrics))
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", metrics]
    with report.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            [*command, sys.executable, "-m", "tests.gpu.profile", str(folder)], stdout=stream, check=False
        )
    if done.returncode != 0:
        raise NotRun(f"Nsight Compute ended with {done.returncode}: {report.read_text('utf-8')[-300:]}")
    found = rows(folder, report, counters)
    few = sum(bool(row.differing()) for row in found) > _MOST_DIFFERING * len(found)
    differences = [line for row in found for line in _differences(row)]
    return Result(page(found, machine, day, counters), (*differences, summary(found)), few)


def _differences(row: Row) -> Iterator[str]:
    for name in row.differing():
        yield f"{row.name}, tile {row.tile}, {row.sizes}: {name} {row.ours[name]:,}, GPU {_theirs(name, row)}"


def page(found: Sequence[Row], machine: Machine, day: dt.date, counters: Counters) -> str:
    """The whole page."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    different = [row for row in found if row.differing()]
    why = [f"- `{name}`: {reasons.get(name, 'not known')}" for name in dict.fromkeys(row.name for row in different)]
    explained = ["", "## Differences and their reasons", "", *why] if why else []
    head = _INTRODUCTION.format(
        title=counters.title, about=counters.about, made_on=machine.made_on(day), summary=summary(found)
    )
    return "\n".join([head, *table(found, counters), *explained, ""])


_INTRODUCTION = """\
# {title}

This page shows how far `tilelab analyze` counts what the hardware counts.

The table compares its counts with Nsight Compute's for the same machine code.
{about}
- In a cell with two numbers, the first is Tilelab's and the second the GPU's.

`make test-gpu` makes this comparison and writes this page.

{made_on}

{summary}.
"""
