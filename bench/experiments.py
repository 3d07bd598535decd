"""Whether a point costs as much to read, export and draw among 100,000 points as among 1,000.

python -m bench.experiments

The points are made up, with all parts that a run on a GPU writes. The figures are microseconds of processor time a
point. Every command reads the folder first, so `read` is a part of all others. The speed of a shared machine changes.
So each step is measured with the few points before and after the many.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

from kernels.counters import Totals
from kernels.evidence import Light, ResourceTime
from kernels.experiment.export import csv_parts, json_parts, t4_parts
from kernels.experiment.parquet import to_parquet
from kernels.experiment.plot.chosen import plot
from kernels.experiment.plot.model import Kind, Request
from kernels.experiment.result import Counted, PointResult
from kernels.rendering.experiment import results_text
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.experiment_page import render_experiment
from kernels.rendering.plot.terminal import plot_text
from kernels.rendering.text_style import Style
from tests.kernels.experiment.made import failed, measured, result
from worker.experiment.folder import Folder

SIZES = (1_000, 100_000)
_TILES, _SIDE = (4, 8, 16, 32), 10
_RESOURCES = ("fp32", "issue", "lsu", "l1_tags", "l1_data", "l2", "dram")
_AXES = {Kind.BARS: {"x": "TILE_WIDTH", "by": "A"}, Kind.HEATMAP: {"x": "TILE_WIDTH", "by": "A"}}
_REPEATS = 3

T = TypeVar("T")


def main() -> None:
    """Measure both sizes, and print a line for each step."""
    print(f"{'':<16}{f'{SIZES[0]:,} points':>16}{f'{SIZES[1]:,} points':>16}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / f"{size}" for size in SIZES]
        for folder, size in zip(folders, SIZES, strict=True):
            folder.mkdir()
            Folder(folder).fill(made_up(size))
        small, large = (partial(_read, folder) for folder in folders)
        results = small(), _compare("read", small, large)
    gc.freeze()  # as the commands do
    for (what, step), larger in zip(_steps(results[0]).items(), _steps(results[1]).values(), strict=True):
        _compare(what, step, larger)


def _compare(what: str, small: Callable[[], object], large: Callable[[], T]) -> T:
    """Print what a step costs a point, and return what the large one made."""
    times = [_timed(small)[0] for _ in range(_REPEATS)]
    spent, made = _timed(large)
    times += [_timed(small)[0] for _ in range(_REPEATS)]
    one, other = 1e6 * median(times) / SIZES[0], 1e6 * spent / SIZES[1]
    print(f"{what:<16}{one:>16,.1f}{other:>16,.1f}{other / one:>8.2f}", flush=True)
    return made


def _timed(step: Callable[[], T]) -> tuple[float, T]:
    """Seconds of processor time, without those to free what was made."""
    begin = time.process_time()
    made = step()
    return time.process_time() - begin, made


def _read(folder: Path) -> list[PointResult]:
    return Folder(folder).results()


def made_up(points: int) -> Iterator[PointResult]:
    """A grid of three axes, in which one point of 50 fails."""
    for number in range(points):
        speed = 1000.0 + 7919 * number % 30_000
        made = failed(number) if number % 50 == 49 else _measured(number, speed)
        rest, tile = divmod(number, len(_TILES))
        yield replace(made, params={"TILE_WIDTH": _TILES[tile], "A": rest % _SIDE, "B": rest // _SIDE})


def _measured(number: int, speed: float) -> PointResult:
    times = tuple(ResourceTime(each, each, 1.0, f"The time of {each} alone.") for each in _RESOURCES)
    return replace(
        result(number, speed),
        measurement=measured(speed, curve=(measured(speed),)),
        counted=Counted(8192, 30, True, "", Totals(flops=2**34, global_bytes=2**31, compute_to_memory=8.0)),
        modelled=Light("NVIDIA H200 SXM", {"Width": 2048}, times, "issue", 1.0, 1.5 * speed),
    )


def _steps(results: list[PointResult]) -> dict[str, Callable[[], object]]:
    plots = {f"plot {kind}": Request(kind, **_AXES.get(kind, {})) for kind in Kind}
    return {
        "show": lambda: results_text("made up", results, len(results), Style()),
        "export csv": lambda: _all(csv_parts(results)),
        "export json": lambda: _all(json_parts(results)),
        "export t4": lambda: _all(t4_parts(results, {})),
        "export parquet": lambda: to_parquet(results),
        "page": lambda: render_experiment({"experiment": {"name": "made up"}}, results, {}),
        "terminal": lambda: plot_text(plot(results, Request(x="TILE_WIDTH", by="A")), Style()),
        **{what: partial(_drawn, results, request) for what, request in plots.items()},
    }


def _drawn(results: list[PointResult], request: Request) -> str:
    return plot_svg(plot(results, request))


def _all(parts: Iterator[str]) -> None:
    for part in parts:
        part.encode()


if __name__ == "__main__":
    main()
