"""The speed of light against speeds measured on an H200, from real counts of the kernels that were measured."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kernels import device
from kernels.analysis.devices import device_named
from kernels.analysis.hardware import as_executed
from kernels.analysis.light import Footprint, light, roofline
from kernels.analysis.sass import Sass, read_sass
from kernels.compile.compilation import Compilation, compile_source
from kernels.counters import Totals
from kernels.evidence import Basis, Light
from kernels.exercise import find_exercise
from kernels.launch import Launch
from kernels.source.source_file import Source
from tests.kernels.analysed import InProcess, analysed
from tests.kernels.device.counted import FOLDER
from tests.kernels.device.kernels import CACHE
from tests.marks import linux
from worker.sandbox.disassembler import disassemble
from worker.steps.analysis import AnalysisJob
from worker.steps.closer_look import count, explain, look_at
from worker.steps.source import read

_LONG = pytest.mark.long("counts ten kernels at two sizes; the short suite has the formulas by hand")
H200 = device_named("h200")
TENSOR_CORES = find_exercise("tensor-cores").solution.parent


@dataclass(frozen=True)
class Measured:
    """A kernel, and its GFLOPS at widths of 2048 and 4096, medians with a cold L2."""

    kernel: str
    tile: int
    speeds: tuple[float, ...]
    rows: int = 0
    columns: int = 0
    threads: tuple[int, int] = (0, 0)

    def launch(self, width: int) -> Launch:
        across, down = self.columns or self.tile, self.rows or self.tile
        block = self.threads if any(self.threads) else (self.tile, self.tile)
        return Launch((width // across, width // down, 1), (*block, 1), 0)


WIDTHS = (2048, 4096)
MEASURED = (
    Measured("naive", 16, (5406, 5194)),
    Measured("naive", 32, (6288, 6051)),
    Measured("naive_swapped", 32, (486, 498)),
    Measured("tiled", 8, (5101, 5110)),
    Measured("tiled", 16, (8134, 8128)),
    Measured("tiled", 32, (9303, 9055)),
    Measured("tiled_bounds", 32, (9259, 8824)),
    Measured("tiled_transposed", 32, (1454, 1489)),
    Measured("coarsened", 32, (9409, 9060), columns=128),
    Measured("register_blocked", 8, (45859, 46748), rows=128, columns=128, threads=(256, 1)),
)


@cache
def _made(kernel: str, tile: int) -> Compilation:
    text = (FOLDER / f"{kernel}.cu").read_text()
    made = compile_source(text, "MatrixMulKernel", "sm_90", {"TILE_WIDTH": str(tile)}, True)
    assert isinstance(made, Compilation), made
    return made


@cache
def _machine_code(kernel: str, tile: int) -> Sass:
    made = _made(kernel, tile)
    text = disassemble(made.cubin).text
    assert text is not None
    return read_sass(text, made.entry)


@cache
def _block(each: Measured, width: int) -> dict[str, int]:
    """Counts of the first block."""
    made = _made(each.kernel, each.tile)
    launch = each.launch(width)
    matrix = np.zeros(width * width, np.float32)
    execution = device.run(
        device.load_program(made.ptx, made.entry),
        launch,
        ("M", "N", "P", width),
        [device.Buffer(name, matrix, initialised=True, columns=width) for name in "MNP"],
        device.Options(budget=device.Budget(10_000_000), observe=False, count=True, blocks=(0,)),
    )
    assert execution.findings == ()
    assert execution.counts is not None
    totals = as_executed(execution.counts, _machine_code(each.kernel, each.tile)).totals
    numbers = {field.name: getattr(totals, field.name) for field in fields(Totals)}
    return {name: number for name, number in numbers.items() if isinstance(number, int)}


def _counted(each: Measured, width: int) -> Totals:
    """Counts of a launch: every block does what the first does, and the same for each further column of M."""
    small, large = _block(each, 256), _block(each, 512)
    blocks = each.launch(width).blocks
    return Totals(
        **{name: blocks * (small[name] + (large[name] - small[name]) * (width - 256) // 256) for name in small}
    )


def _light(each: Measured, width: int) -> Light:
    matrix = 4 * width * width
    return light(
        _counted(each, width), each.launch(width), {"Width": width}, H200, Footprint(2 * matrix, matrix), alike=True
    )


@_LONG
@linux
@pytest.mark.parametrize("at", range(len(WIDTHS)))
def test_no_kernel_was_measured_faster_than_its_bound_and_the_bounds_rank_as_measured(at):
    found = [_light(each, WIDTHS[at]) for each in MEASURED]
    measured = [each.speeds[at] for each in MEASURED]
    assert all(speed <= bound.gflops for speed, bound in zip(measured, found, strict=True))
    assert _spearman(measured, [bound.gflops for bound in found]) >= 0.9


def _spearman(left: list[float], right: list[float]) -> float:
    return float(np.corrcoef(_ranks(left), _ranks(right))[0, 1])


def _ranks(numbers: list[float]) -> list[float]:
    """Ranks from 0; equal numbers share the mean of theirs."""
    return [
        (sum(other < each for other in numbers) + sum(other <= each for other in numbers) - 1) / 2 for each in numbers
    ]


@_LONG
@linux
def test_a_block_does_the_same_for_each_further_column():
    each = MEASURED[3]
    whole = asdict(_counted(each, 1024))
    blocks = each.launch(1024).blocks
    assert {name: blocks * number for name, number in _block(each, 1024).items()}.items() <= whole.items()


@_LONG
@linux
def test_what_limits_a_kernel_is_what_is_wrong_with_it():
    limits = {f"{each.kernel} {each.tile}": _light(each, 2048).limit for each in MEASURED}
    assert limits["naive 16"] == limits["naive_swapped 32"] == "l1_tags"
    assert limits["tiled_transposed 32"] == limits["tiled 32"] == "l1_data"
    assert limits["register_blocked 8"] in {"fp32", "issue"}


def _rungs() -> list[tuple[str, float]]:
    """The rungs on tensor cores, with their GFLOPS at 4,096."""
    rungs = tomllib.loads((TENSOR_CORES / "ladder.toml").read_text("utf-8"))
    return [(name, rung["h200"]["gflops"]["4096"]) for name, rung in rungs.items()]


@_LONG
def test_no_rung_on_tensor_cores_was_measured_faster_than_its_bound_on_the_page():
    rows = []
    for name, speed in _rungs():
        (bound,) = analysed(TENSOR_CORES / "ladder" / f"{name}.cu", "tensor-cores").evidence.light
        assert bound.sizes["rows"] == 4096
        assert speed < bound.gflops
        rows.append(f"| {name} | {bound.gflops:,.0f} | {speed:,.0f} | {speed / bound.gflops:.0%} | {bound.limit} |")
    page = (Path(__file__).parents[2] / "docs" / "speed-of-light.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("| 0")] == rows


FEW_BLOCKS = """//!tilelab grid=(GRID) block=(16, 16)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  int tiles = (Width + 15) / 16;
  for (int tile = blockIdx.x; tile < tiles * tiles; tile += gridDim.x) {
    int row = tile / tiles * 16 + threadIdx.y, col = tile % tiles * 16 + threadIdx.x;
    float sum = 0;
    if (row < Width && col < Width) {
      for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
      P[row * Width + col] = sum;
    }
  }
}"""


@pytest.mark.parametrize(("grid", "runs"), [("4", [64]), ("ceil(Width/16)*ceil(Width/16)", [64, 2048])])
def test_a_large_launch_that_a_few_blocks_share_is_not_run(grid, runs, monkeypatch):
    sizes = []

    def run(program, launch, arguments, *given, **options):
        sizes.append(arguments[-1])
        return device_run(program, launch, arguments, *given, **options)

    device_run = device.run
    monkeypatch.setattr(device, "run", run)
    (bound,) = analysed(FEW_BLOCKS.replace("GRID", grid), size=64).evidence.light
    assert (sorted(set(sizes)), bound.sizes["Width"]) == (runs, runs[-1])


def _bounds(name: str, tile: int) -> list[float]:
    """The milliseconds at 128 by counts at 40: inferred, and from blocks that run."""
    exercise = find_exercise(name)
    at_128 = replace(exercise, ranking=dict.fromkeys(exercise.sizes, 128))
    job, stages = AnalysisJob(exercise.solution.read_bytes(), at_128, "sm_90", CACHE, tile=tile), InProcess()
    source = read(job, stages)
    assert isinstance(source, Source)
    found = []
    for elements in (0, 2**20):
        look = look_at(job, source, sizes=dict.fromkeys(exercise.sizes, 40), ranking_elements=elements)
        made = stages.compile(look.request(look.plan))
        assert isinstance(made, Compilation)
        evidence, _ = explain(look, made, count(look, stages, made, affordable=10**8, observe=False))
        (bound,) = evidence.light
        assert set(bound.sizes.values()) == {128}
        found.append(bound.milliseconds)
    return found


@pytest.mark.parametrize(("exercise", "tile", "least"), [("tiled", 8, 1), ("tiled", 16, 0.7), ("bank-conflicts", 8, 1)])
def test_an_inferred_bound_is_lower_only_if_tiles_reach_past_the_counted_size(exercise, tile, least):
    inferred, counted = _bounds(exercise, tile)
    assert least <= inferred / counted <= 1


# -- by hand -----------------------------------------------------------------------------------------------------------

LAUNCH = Launch((132, 1, 1), (256, 1, 1), 0)
CLOCKS = 132 * 1_980_000
"""Of all multiprocessors of an H200 in a millisecond."""


def _times(totals: Totals, launch: Launch = LAUNCH, **more) -> dict[str, float]:
    found = light(totals, launch, {}, H200, **more)
    return {time.resource: time.milliseconds for time in found.resources}


@pytest.mark.parametrize(
    ("resource", "totals"),
    [
        ("fp32", Totals(flops=CLOCKS * 256)),
        ("issue", Totals(flops=CLOCKS * 128, global_load_requests=CLOCKS, shared_load_requests=CLOCKS)),
        ("tensor", Totals(flops=CLOCKS * 4096, tensor_flops=CLOCKS * 4096, tensor_work=16 * CLOCKS * 4096)),
        ("tensor", Totals(flops=CLOCKS * 8192, tensor_flops=CLOCKS * 8192, tensor_work=8 * CLOCKS * 8192)),
        ("lsu", Totals(global_load_requests=CLOCKS // 2, shared_store_requests=CLOCKS // 2)),
        ("lsu", Totals(global_atomic_requests=CLOCKS)),
        ("l1_tags", Totals(global_load_segments=CLOCKS // 2, global_store_segments=CLOCKS // 2)),
        ("l1_data", Totals(shared_load_wavefronts=CLOCKS // 2, shared_store_wavefronts=CLOCKS // 2)),
        ("l1_data", Totals(shared_load_wavefronts=CLOCKS // 2, global_load_sectors=2 * CLOCKS)),
        ("l1_data", Totals(shared_load_wavefronts=CLOCKS // 2, product_bytes=64 * CLOCKS)),
        ("bulk", Totals(bulk_received_bytes=48 * CLOCKS, bulk_store_bytes=16 * CLOCKS)),
    ],
)
def test_each_resource_takes_a_millisecond_for_what_it_does_in_one(resource, totals):
    assert _times(totals)[resource] == pytest.approx(1)


def test_a_launch_without_tensor_cores_and_bulk_copies_has_no_time_for_them():
    assert not {"tensor", "bulk"} & _times(Totals(flops=10**9)).keys()


def test_memory_takes_each_operand_once():
    totals = Totals(global_load_sectors=2**40, global_store_sectors=2**40)
    times = _times(totals, footprint=Footprint(4_800_000_000, 0))
    assert times["dram"] == pytest.approx(1)
    assert times["l2"] == pytest.approx(4800 / 7000)
    cached = _times(totals, footprint=Footprint(0, 50 * 2**20))
    assert (cached["dram"], cached["l2"] > 0) == (0, True)
    assert _times(totals, footprint=Footprint(0, 50 * 2**20 + 4_800_000_000))["dram"] == pytest.approx(1)


def test_what_is_never_read_need_not_come_from_memory():
    times = _times(Totals(global_load_sectors=10), footprint=Footprint(10**9, 10**9))
    assert times["dram"] == pytest.approx(320 / 4800 / 1e6)
    assert _times(Totals(bulk_load_sectors=10), footprint=Footprint(10**9, 10**9))["dram"] == times["dram"]


def test_few_blocks_leave_multiprocessors_idle():
    totals = Totals(flops=10**9)
    all_busy = _times(totals)["fp32"]
    assert _times(totals, Launch((33, 1, 1), (256, 1, 1), 0))["fp32"] == pytest.approx(4 * all_busy)


def test_the_last_round_counts_only_where_blocks_are_alike():
    totals, launch = Totals(flops=10**9), Launch((133, 1, 1), (256, 1, 1), 0)
    assert _times(totals, launch)["fp32"] == pytest.approx(_times(totals)["fp32"])
    assert _times(totals, launch, alike=True)["fp32"] == pytest.approx(_times(totals)["fp32"] * 2 * 132 / 133)


def test_the_bound_is_the_slowest_resource_and_says_what_it_is():
    found = light(Totals(flops=10**9, shared_load_wavefronts=10**9), LAUNCH, {"Width": 8}, H200)
    slowest = max(found.resources, key=lambda time: time.milliseconds)
    assert (found.limit, found.milliseconds) == ("l1_data", slowest.milliseconds)
    assert found.gflops == pytest.approx(1e9 / found.milliseconds / 1e6)
    assert (found.device, found.sizes, found.basis) == ("NVIDIA H200 SXM", {"Width": 8}, Basis.MODELLED)


def test_nothing_to_do_takes_no_time():
    found = light(Totals(), LAUNCH, {}, H200)
    assert (found.milliseconds, found.gflops) == (0, 0)


def test_s2a_the_courses_ratios_and_bounds():
    assert roofline(1, 1000, 12_000) == 250
    assert roofline(48, 1000, 12_000) == roofline(100, 1000, 12_000) == 12_000
    assert roofline(1, 150, 1000) == 37.5


def _row(each: Measured, width: int, measured: float) -> str:
    bound = _light(each, width)
    return (
        f"| {each.kernel} | {each.tile} | {width:,} | {bound.gflops:,.0f} | {measured:,.0f}"
        f" | {measured / bound.gflops:.0%} | {bound.limit} |"
    )


@_LONG
@linux
def test_the_page_shows_these_bounds_beside_these_speeds():
    page = (Path(__file__).parents[2] / "docs" / "speed-of-light.md").read_text(encoding="utf-8")
    rows = [_row(each, *pair) for each in MEASURED for pair in zip(WIDTHS, each.speeds, strict=True)]
    shown = [line for line in page.splitlines() if line[-2:] == " |" and "GFLOPS" not in line and line[:3] != "| 0"]
    assert shown == rows
