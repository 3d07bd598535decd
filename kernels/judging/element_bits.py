"""The bits of elements in memory. Numbers of types that numpy doesn't have are float32 outside of memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.arithmetic.eight_bits import from_eight_bits, to_eight_bits
from kernels.device.arithmetic.half import bfloat_of_single, from_bfloat, to_bfloat
from kernels.exercise.values import ElementType

Numbers = NDArray[Any]

DTYPES: Mapping[ElementType, np.dtype[Any]] = {each: np.dtype(each.code) for each in ElementType}
"""The type of an element's bits, which is the type of its number if numpy has it."""

_FORMATS = {ElementType.E4M3: "e4m3", ElementType.E5M2: "e5m2"}


def numbers(bits: Numbers, kind: ElementType) -> Numbers:
    """The numbers with these bits."""
    if kind is ElementType.BFLOAT:
        return from_bfloat(bits)
    return from_eight_bits(bits, _FORMATS[kind]).astype(np.float32) if kind in _FORMATS else bits


def bits(values: Numbers, kind: ElementType) -> Numbers:
    """The bits of numbers, each rounded to the nearest one of its type."""
    if kind is ElementType.BFLOAT:
        single = values.astype(np.float32)
        # most values are exact in float32, which is faster
        return bfloat_of_single(single) if (single == values).all() else to_bfloat(values.astype(np.float64))
    if kind in _FORMATS:
        return to_eight_bits(values.astype(np.float64), _FORMATS[kind])
    return values.astype(DTYPES[kind], copy=False)


def held(values: Numbers, kind: ElementType) -> Numbers:
    """The numbers that elements of a type hold for these values."""
    return numbers(bits(values, kind), kind)
