"""Real-valued factors to compare devices with: in each kind something else can come out differently."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kernels.exercise import Role
from kernels.judging.inputs import Matrix
from kernels.judging.plan import CasePlan

_EDGES = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-149, -(2.0**-149), 2.0**-126, 3.4028235e38, -3.4028235e38], np.float32
)


class Kind(StrEnum):
    """What the factors look like."""

    ORDINARY = "ordinary"  # normally distributed: every product and sum is rounded
    WIDE = "wide"  # the same times 2^-60 to 2^60: cancellation, overflow, absorbed terms
    TINY = "tiny"  # products below 2^-126: subnormal inputs, products and sums, and some that vanish
    EDGES = "edges"  # ordinary, with zeros of both signs, infinities, NaN, the largest and the smallest numbers
    WHOLE = "whole"  # small integers: sums are exact, so the order in which they are added does not show


def make_factors(case: CasePlan, kind: Kind) -> Mapping[str, Matrix]:
    """All inputs by name, row by row; always the same for the same sizes and kind."""
    inputs = [matrix for matrix in case.matrices if matrix.role is Role.INPUT]
    seed = zlib.crc32(f"{sorted(case.sizes.items())} {kind}".encode())
    random = np.random.Generator(np.random.Philox(seed))
    shapes = [(matrix.rows, matrix.columns) for matrix in inputs]
    if kind is Kind.TINY and len(shapes) == 2:
        made = _tiny(random, *shapes)
    else:
        made = [_values(random, kind, shape) for shape in shapes]
    return {matrix.name: values for matrix, values in zip(inputs, made, strict=True)}


def _values(random: np.random.Generator, kind: Kind, shape: tuple[int, int]) -> Matrix:
    if kind is Kind.WHOLE:
        return random.integers(-8, 9, shape).astype(np.float32)
    values = random.standard_normal(shape)
    if kind is Kind.TINY:
        values = np.ldexp(values, random.integers(-133, -120, shape))
    if kind is Kind.WIDE:
        values = np.ldexp(values, random.integers(-60, 61, shape))
    made = values.astype(np.float32)
    if kind is Kind.EDGES:
        # A few in a row, so that most dot products still are numbers.
        chosen = random.random(shape) < 1 / (4 * shape[1])
        made[chosen] = random.choice(_EDGES, int(chosen.sum()))
    return made


def _tiny(random: np.random.Generator, left: tuple[int, int], right: tuple[int, int]) -> list[NDArray[np.float32]]:
    """Every other row around the smallest normal number, every other column around one, the rest around 2^-74."""
    rows = np.where(np.arange(left[0]) % 2, -74, -127)[:, None] + random.integers(-6, 7, left)
    columns = np.where(np.arange(right[1]) % 2, -74, 0)[None, :] + random.integers(-6, 7, right)
    scaled = (np.ldexp(random.standard_normal(each.shape), each) for each in (rows, columns))
    return [each.astype(np.float32) for each in scaled]
