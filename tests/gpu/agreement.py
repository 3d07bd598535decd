"""Runs prepared kernels on the CPU device and on a GPU and compares what they wrote, bit by bit."""

from __future__ import annotations

import multiprocessing
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from kernels import device
from kernels.device.arithmetic import operation
from kernels.exercise import Role
from kernels.judging.inputs import Matrix
from kernels.judging.judge import arguments, buffers, constants, full_budget
from kernels.judging.plan import CasePlan
from tests.gpu.driver import GPU
from tests.gpu.inputs import Kind, make_factors
from tests.gpu.prepare import Folder, Prepared

ORDER = Path(__file__).parent / "order.toml"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element of one run that differs, by its bits."""

    sizes: str
    kind: Kind
    element: str
    cpu: int
    gpu: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing two outputs showed; any NaN equals any NaN, and +0 is not -0."""

    elements: int
    differing: int
    first: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel with one tile.

    approximate: its instructions whose result PTX promises only within a bound
    order: why its result depends on the order of threads; None where it does not
    objections: what the CPU device had to say, which of a right kernel must be nothing
    differing: elements that had to agree and do not
    excused: elements that differ where `approximate` or `order` says that they may
    """

    name: str
    exercise: str
    tile: int
    sizes: tuple[str, ...]
    runs: int
    elements: int
    differing: int
    excused: int
    first: Difference | None
    approximate: tuple[str, ...]
    order: str | None
    objections: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether all is as it has to be."""
        return not self.differing and not self.objections


@dataclass(frozen=True, slots=True)
class CPUSide:
    """What the CPU device made of one kernel: its outputs in the order of `runs_of`, and what it objected to."""

    outputs: tuple[Matrix, ...]
    approximate: tuple[str, ...]
    objections: tuple[str, ...]


def compare_outputs(cpu: Matrix, gpu: Matrix) -> Comparison:
    """Element by element; `first` is the place of the first difference and its bits on either side."""
    ours, theirs = cpu.view(np.uint32), gpu.view(np.uint32)
    differing = (ours != theirs) & ~(np.isnan(cpu) & np.isnan(gpu))
    if not differing.any():
        return Comparison(cpu.size, 0)
    at = int(np.argmax(differing))
    return Comparison(cpu.size, int(differing.sum()), (at, int(ours[at]), int(theirs[at])))


def runs_of(kernel: Prepared) -> Iterator[tuple[CasePlan, Kind]]:
    """Every size that the exercise tries on the CPU device, with every kind of values."""
    by_size = {tuple(case.sizes.items()): case for case in kernel.plan.cases if case.on_cpu}
    for case in by_size.values():
        for kind in Kind:
            yield case, kind


def order_dependent() -> Mapping[str, str]:
    """Kernel -> why its result depends on the order of its threads."""
    table = tomllib.loads(ORDER.read_text(encoding="utf-8"))
    return {name: entry["reason"] for name, entry in table.items()}


def agree(folder: Path, prepared: Folder, gpu: GPU) -> list[Row]:
    """One row for each prepared kernel. The CPU device runs in a process for each core, the GPU in this one."""
    # Spawned, not forked: a fork would inherit the driver's context, which it must not use.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        cpu_sides = pool.map(partial(on_cpu, folder), prepared.kernels)
        gpu_sides = [on_gpu(folder, gpu, kernel) for kernel in prepared.kernels]
        reasons = order_dependent()
        return [
            row_of(kernel, cpu, theirs, reasons.get(kernel.name))
            for kernel, cpu, theirs in zip(prepared.kernels, cpu_sides, gpu_sides, strict=True)
        ]


def on_gpu(folder: Path, gpu: GPU, kernel: Prepared) -> list[Matrix]:
    """The outputs of all runs, from buffers that held NaN before."""
    outputs = []
    with gpu.load((folder / f"{kernel.stem}.cubin").read_bytes(), kernel.entry) as loaded:
        for case, kind in runs_of(kernel):
            assert case.launch is not None
            arrays = {each.name: each.values for each in buffers(case, dict(make_factors(case, kind)))}
            symbols, values = kernel.named(case.symbols), kernel.named(constants(case))
            outputs.append(_output(case, loaded.run(case.launch, arguments(case), arrays, symbols, values)))
    return outputs


def _output(case: CasePlan, values: Mapping[str, Matrix]) -> Matrix:
    """All that the case has the kernel write, one behind the other."""
    return np.concatenate([values[matrix.name] for matrix in case.matrices if matrix.role is Role.OUTPUT])


def on_cpu(folder: Path, kernel: Prepared) -> CPUSide:
    """The same from the same text on the CPU device."""
    text = (folder / f"{kernel.stem}.ptx").read_text(encoding="utf-8")
    try:
        program = device.load_program(text, kernel.entry)
        device.check(program)
        outputs, objections = _run_all(program, kernel)
    except (device.Unsupported, device.Malformed) as reason:
        return CPUSide((), (), (str(reason),))
    known = {item.opcode: operation(item.opcode) for item in program.instructions}
    approximate = tuple(sorted(opcode for opcode, found in known.items() if found and found.approximate))
    return CPUSide(tuple(outputs), approximate, tuple(dict.fromkeys(objections)))


def _run_all(program: device.Program, kernel: Prepared) -> tuple[list[Matrix], list[str]]:
    outputs, objections = [], []
    for case, kind in runs_of(kernel):
        assert case.launch is not None
        execution = device.run(
            program,
            case.launch,
            arguments(case),
            buffers(case, dict(make_factors(case, kind))),
            device.Options(
                budget=full_budget(case),
                symbols=kernel.named(case.symbols),
                state=kernel.named(constants(case)),
                warp_races=kernel.plan.warp_races,
            ),
        )
        outputs.append(_output(case, execution.values))
        objections += [f"{finding.kind}, line {finding.line}: {finding.message}" for finding in execution.findings]
    return outputs, objections


def row_of(kernel: Prepared, cpu: CPUSide, gpu: list[Matrix], order: str | None) -> Row:
    """Puts the outputs of both devices side by side."""
    runs = list(runs_of(kernel))
    elements = differing = excused = 0
    first: Difference | None = None
    for (case, kind), ours, theirs in zip(runs, cpu.outputs, gpu, strict=bool(cpu.outputs)):
        found = compare_outputs(ours, theirs)
        elements += found.elements
        if cpu.approximate or (order is not None and kind is not Kind.WHOLE):
            excused += found.differing
            continue
        differing += found.differing
        first = first or _difference(case, kind, found)
    return Row(
        name=kernel.name,
        exercise=kernel.plan.exercise,
        tile=kernel.plan.tile,
        sizes=tuple(dict.fromkeys(_size_text(case) for case, _ in runs)),
        runs=len(cpu.outputs),
        elements=elements,
        differing=differing,
        excused=excused,
        first=first,
        approximate=cpu.approximate,
        order=order,
        objections=cpu.objections,
    )


def _size_text(case: CasePlan) -> str:
    return " ".join(f"{name}={value}" for name, value in case.sizes.items())


def _difference(case: CasePlan, kind: Kind, found: Comparison) -> Difference | None:
    if found.first is None:
        return None
    at, ours, theirs = found.first
    for matrix in case.matrices:
        if matrix.role is Role.OUTPUT and at < matrix.rows * matrix.columns:
            break
        at -= matrix.rows * matrix.columns if matrix.role is Role.OUTPUT else 0
    row, column = divmod(at, matrix.row_length)
    return Difference(_size_text(case), kind, f"{matrix.name}[{row}][{column}]", ours, theirs)
