"""Compares the occupancy that Tilelab computes with the driver's answer, for every kernel and many block sizes."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from kernels.occupancy import Limits, limits_of, occupancy
from tests.gpu.driver import GPU
from tests.gpu.prepare import Prepared, read
from tests.gpu.result import Machine, Result

BLOCK_SIZES = (*range(32, 1025, 32), 1, 31, 33, 100, 500, 1000)
DYNAMIC = (0, 1_024, 10_000, 40_000)
"""Bytes of dynamic shared memory that are tried with every kernel."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Blocks per multiprocessor of one kernel with one launch, as Tilelab and the driver say."""

    name: str
    tile: int
    threads: int
    dynamic: int
    ours: int
    theirs: int


def compare(folder: Path, machine: Machine, day: dt.date) -> Result:
    """Ask both about every kernel, block size and amount of dynamic shared memory."""
    digits = machine.architecture.removeprefix("sm_")
    limits = limits_of(f"{digits[:-1]}.{digits[-1]}")
    with GPU() as gpu:
        found = [each for kernel in read(folder).kernels for each in _answers(folder, gpu, kernel, limits)]
    different = [each for each in found if each.ours != each.theirs]
    kernels = len({(each.name, each.tile) for each in found})
    total = (
        f"{len(found):,} launches of {kernels} compilations: blocks per multiprocessor equal the driver's in"
        f" {len(found) - len(different):,}, differ in {len(different):,}"
    )
    lines = [
        f"{each.name}, tile {each.tile}, {each.threads} threads, {each.dynamic:,} bytes of dynamic shared memory:"
        f" {each.ours} blocks, the driver says {each.theirs}"
        for each in different[:_MOST_SHOWN]
    ]
    shown = [f"- {line}" for line in lines]
    text = "\n".join([_INTRODUCTION.format(made_on=machine.made_on(day), total=total), *shown, ""])
    return Result(text, (*lines, total), bool(different))


def _answers(folder: Path, gpu: GPU, kernel: Prepared, limits: Limits) -> list[Answer]:
    """What both say about one kernel."""
    needs = kernel.resources
    found = []
    with gpu.load((folder / f"{kernel.stem}.cubin").read_bytes(), kernel.entry) as loaded:
        for dynamic in DYNAMIC:
            if needs.shared_bytes + dynamic > _WITHOUT_OPT_IN:
                continue
            for threads in BLOCK_SIZES:
                ours = occupancy(limits, threads, needs.registers, needs.shared_bytes, dynamic, barriers=needs.barriers)
                theirs = loaded.blocks_per_multiprocessor(threads, dynamic)
                found.append(Answer(kernel.name, kernel.plan.tile, threads, dynamic, ours.blocks_per_sm, theirs))
    return found


_WITHOUT_OPT_IN = 49_152
_MOST_SHOWN = 20
_INTRODUCTION = """\
# The occupancy calculation, compared with a driver

This page shows how far `tilelab occupancy` agrees with the driver.

Both compute how many blocks fit on a multiprocessor. The kernels are all correct kernels of `tests/corpus` and every
exercise's solution, with every tile. Each has block sizes from 1 to 1,024 threads and several amounts of dynamic shared
memory.

`make test-gpu` makes this comparison and writes this page.

{made_on}

{total}.
"""
