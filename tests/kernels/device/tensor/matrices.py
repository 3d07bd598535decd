"""Random matrices that bring out how tensor cores round: all kinds of exponents, cancellations, infinities, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[Any]

_FORMATS = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 23),
    "f32": (8, 23),
    "f64": (11, 52),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
}
KINDS = 10
_ADDENDS = (2, 4, 8)


def matrices(kind: str, shape: tuple[int, int, int], rng: np.random.Generator, *, addend: bool = False) -> Bits:
    """The bits of random matrices; matrix number n is of kind n % 10."""
    if kind not in _FORMATS:
        return _integers(kind, shape, rng)
    exponent, fraction = _FORMATS[kind]
    bits = np.dtype(f"u{(1 + exponent + fraction) // 8}")
    found = np.zeros(shape, bits)
    for each in range(min(KINDS, shape[0])):
        part = found[each::KINDS]
        usual = each if not addend or each in {0, 1, 3, 5, 9} else int(rng.choice(_ADDENDS))
        shift = int(rng.integers(-8, 9)) if addend and each != 3 else 0
        made = _floats(kind, part.shape, usual, rng, shift)
        if addend and each == 7:
            # Zeros of both signs decide the sign of an empty sum.
            made = np.where(rng.random(part.shape) < 0.7, made & (1 << exponent + fraction), made)
        found[each::KINDS] = made.astype(bits)
    return found


def _integers(kind: str, shape: tuple[int, int, int], rng: np.random.Generator) -> Bits:
    if kind != "s32":
        return rng.integers(0, 2 ** int(kind[1:]), shape, dtype=np.uint8)
    found = rng.integers(0, 2**32, shape, dtype=np.uint32)
    found[1::3] = rng.integers(-1000, 1000, found[1::3].shape).astype(np.int32).view(np.uint32)
    near = found[2::3]
    ends = np.where(rng.integers(0, 2, near.shape), 2**31 - 1, -(2**31)) + rng.integers(-2000, 2000, near.shape)
    near[:] = ends.astype(np.int64).astype(np.uint32)
    return found


def _floats(kind: str, shape: tuple[int, ...], which: int, rng: np.random.Generator, shift: int) -> NDArray[np.uint64]:
    width, places = _FORMATS[kind]
    middle, top = (1 << width - 1) - 1, (1 << width) - 1
    sign, fraction = rng.integers(0, 2, shape), rng.integers(0, 1 << places, shape)
    if which == 0:  # anything, with infinities and NaN
        exponent = rng.integers(0, top + 1, shape)
    elif which == 1:  # anything finite
        exponent = rng.integers(0, top, shape)
    elif which == 2:  # much alike
        exponent = rng.integers(middle - 1, middle + 2, shape) + shift
    elif which == 3:  # small whole numbers
        return _whole(kind, rng.integers(-8, 9, shape))
    elif which == 4:
        exponent = rng.integers(middle - 12, middle + 13, shape) + shift
    elif which == 5:  # subnormals
        exponent = rng.integers(0, 3, shape)
    elif which == 6:  # two magnitudes, which cancel out
        large = rng.integers(0, 2, shape)
        one, other = rng.integers(0, 1 << places, 2)
        fraction = np.where(large, one, other)
        exponent = middle + 3 * large + shift
    elif which == 7:  # mostly zeros
        zero = rng.random(shape) < 0.7
        exponent = np.where(zero, 0, rng.integers(middle - 4, middle + 5, shape) + shift)
        fraction = np.where(zero, 0, fraction)
    elif which == 8:  # a huge spread
        exponent = rng.integers(middle - 30, middle + 31, shape) + shift
    else:  # some infinities and NaN
        special = rng.random(shape) < 0.02
        exponent = np.where(special, top, rng.integers(middle - 3, middle + 4, shape) + shift)
        fraction = np.where(special & (rng.random(shape) < 0.6), 0, fraction)
    exponent = np.clip(exponent, 0, top if which in {0, 9} else top - 1)
    if kind == "tf32":  # half of them as a conversion leaves them
        fraction = np.where(rng.random(shape) < 0.5, fraction & ~0x1FFF, fraction)
    made: NDArray[np.uint64] = sign.astype(np.uint64) << np.uint64(width + places) | exponent.astype(
        np.uint64
    ) << np.uint64(places)
    made |= fraction.astype(np.uint64)
    return made


def _whole(kind: str, values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The bits of small whole numbers, which every format holds."""
    width, places = _FORMATS[kind]
    size = np.abs(values).astype(np.float64)
    fraction, exponent = np.frexp(size)
    bits = ((exponent - 1 + (1 << width - 1) - 1) << places) + ((2 * fraction - 1) * (1 << places)).astype(np.int64)
    signed: NDArray[np.int64] = np.where(size == 0, 0, bits) | (values < 0).astype(np.int64) << (width + places)
    return signed.astype(np.uint64)
