"""What the CPU device counts of right kernels, as `tilelab analyze` shows it, for comparison with a GPU's counters."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from kernels import device
from kernels.analysis.hardware import as_executed
from kernels.analysis.sass import Sass, read_sass
from kernels.compile import nvrtc
from kernels.counters import Totals
from kernels.exercise import Exercise, find_exercise, list_exercises
from kernels.exercise.sizes import fitted
from kernels.judging.inputs import make_inputs
from kernels.judging.judge import arguments, buffers, constants
from kernels.judging.plan import CasePlan, Plan, make_plan, plan_at
from kernels.source.source_file import Source
from tests.gpu.prepare import PROBES, Chosen, Folder, PlanOf, Prepared, compile_one, right_kernels, write
from tests.gpu.profile import launches
from worker.sandbox.disassembler import disassemble

_TILE = 16
_SIZE, _DIVISIBLE, _RAGGED = 128, 64, 100
_ENDLESS = device.Budget(1 << 40)


def prepare_counted(folder: Path, architecture: str, chosen: Iterable[Chosen], plan_of: PlanOf) -> list[Totals]:
    """Compile kernels into the folder; what each of their launches counts, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as headers:
        compiled = tuple(compile_one(folder, Path(headers), architecture, each, plan_of) for each in chosen)
    made = Folder(nvrtc.installed_version(), architecture, compiled)
    write(folder, made)
    with ProcessPoolExecutor() as pool:
        each_kernel = pool.map(partial(_count, folder), made.kernels)
        return [totals for several in each_kernel for totals in several]


def right_kernels_of_one_tile() -> Iterator[Chosen]:
    """Solutions with every tile, the rest with one."""
    for each in right_kernels():
        if each.tile == _TILE or each.path == each.exercise.solution:
            yield each


def tensor_kernels() -> Iterator[Chosen]:
    """The correct kernels of the exercises for tensor cores, and probes of single instructions."""
    for exercise in list_exercises():
        if not exercise.name.startswith(("tensor-", "hopper-")):
            continue
        more = (path for part in ("right", "ladder") for path in sorted((exercise.solution.parent / part).glob("*.cu")))
        for path in (exercise.solution, *more):
            yield Chosen(f"{exercise.name}: {path.name}", path, exercise, exercise.tile)
    naive = find_exercise("naive")
    for path in sorted((PROBES / "tensor").glob("*.cu")):
        yield Chosen(f"probe: {path.stem}", path, naive, naive.tile)


def at_own_size(exercise: Exercise, source: Source, tile: int) -> Plan:
    """The size of the exercise's analysis, with the file's own tile."""
    own = source.plan.tile.value or tile
    return plan_at(
        exercise, source, own, fitted(exercise, exercise.analysis_sizes(own, source.macros), own, source.macros)
    )


def at_two_sizes(exercise: Exercise, source: Source, tile: int) -> Plan:
    """A size of whole tiles, and one that is not where the exercise has such; where macros hold the size, its own."""
    plan = make_plan(exercise, source, tile, seed="0")
    ragged = any(size % plan.tile for case in plan.cases for size in case.sizes.values())
    several = [dict.fromkeys(exercise.sizes, size) for size in (_SIZE, _RAGGED if ragged else _DIVISIBLE)]
    if exercise.size_macros:
        several = [exercise.analysis_sizes(plan.tile)]
    plans = (plan_at(exercise, source, plan.tile, sizes) for sizes in several)
    return replace(plan, cases=tuple(case for each in plans for case in each.cases))


def _count(folder: Path, kernel: Prepared) -> list[Totals]:
    program = device.load_program((folder / f"{kernel.stem}.ptx").read_text(encoding="utf-8"), kernel.entry)
    text = disassemble((folder / f"{kernel.stem}.cubin").read_bytes()).text
    assert text is not None, "the disassembler must be there: without it there is nothing to compare"
    sass = read_sass(text, kernel.entry)
    return [_totals(program, kernel, case, sass) for _, case in launches((kernel,))]


def _totals(program: device.Program, kernel: Prepared, case: CasePlan, sass: Sass) -> Totals:
    assert case.launch is not None
    execution = device.run(
        program,
        case.launch,
        arguments(case),
        buffers(case, make_inputs(case, seed=1)),
        device.Options(
            budget=_ENDLESS,
            symbols=kernel.named(case.symbols),
            state=kernel.named(constants(case)),
            observe=False,
            count=True,
        ),
    )
    assert execution.counts is not None
    return as_executed(execution.counts, sass).totals
