"""Runs the kernels of tests/kernels/counted, whose counters were read on a GPU, and adds up what is counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Budget, Buffer, Options, Program, load_program, run
from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, Counts, Verb
from kernels.launch import Launch

FOLDER = Path(__file__).parents[1] / "counted"


@dataclass(frozen=True)
class Product:
    """A kernel for one tile and one width; `columns` tiles are made by each block."""

    kernel: str
    tile: int
    width: int
    columns: int = 1

    @property
    def launch(self) -> Launch:
        down = -(-self.width // self.tile)
        return Launch((-(-down // self.columns), down, 1), (self.tile, self.tile, 1), 0)

    def counts(self, blocks: tuple[int, ...] | None = None, *, observe: bool = False) -> Counts:
        width = self.width
        matrix = np.zeros(width * width, np.float32)
        buffers = [Buffer(name, matrix, initialised=True, columns=width) for name in "MNP"]
        execution = run(
            _program(self.kernel, self.tile),
            self.launch,
            ("M", "N", "P", width),
            buffers,
            Options(budget=Budget(10_000_000), observe=observe, count=True, blocks=blocks),
        )
        assert execution.findings == ()
        assert execution.counts is not None
        return execution.counts


@cache
def _program(kernel: str, tile: int) -> Program:
    text = (FOLDER / f"{kernel}.cu").read_text()
    made = compile_source(text, "MatrixMulKernel", "sm_90", {"TILE_WIDTH": str(tile)}, True)
    assert isinstance(made, Compilation), made
    return load_program(made.ptx, made.entry)


def total(accesses: tuple[AccessCount, ...], field: str, space: str, verb: Verb, **others: Any) -> int:
    """The sum of one number over all accesses of a kind."""
    chosen = [
        access.values[ACCESS_FIELDS.index(field)].sum()
        for access in accesses
        if (access.space, access.verb) == (space, verb)
        and all(getattr(access, name) == value for name, value in others.items())
    ]
    return int(sum(chosen))


def conflicts(accesses: tuple[AccessCount, ...], verb: Verb) -> int:
    """Passes beyond those that the widths ask for."""
    passes = total(accesses, "wavefronts", "shared", verb)
    return passes - total(accesses, "ideal_wavefronts", "shared", verb)


def as_merged(counts: Counts, width: int) -> tuple[AccessCount, ...]:
    """The accesses, those that may be merged to the given width replaced by one each."""
    merged = [each for each in counts.merged if each.width == width and each.aligned]
    gone = {pc for each in merged for pc in each.pcs}
    return (*merged, *(each for each in counts.accesses if each.pcs[0] not in gone))
