"""What the tensor cores compute, bit for bit as an H100 does.

A block of products is added up like this: the products are exact. They and the addend are aligned to the largest
exponent among them, where a product's exponent is the sum of its factors' exponents. Each is cut to 25 bits behind
that place. The sum of what is left is exact, and is then cut to float32, or rounded to float16. A zero sum is +0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.arithmetic.edges import canonical16, canonical32
from kernels.device.arithmetic.eight_bits import halves_of
from kernels.device.arithmetic.half import from_bfloat, to_half
from kernels.device.arithmetic.rounding.fused import fma32, fma64
from kernels.device.tensor.fragments import Matrices

Float = NDArray[np.float64]
_FRACTION = 25
_BIAS, _PLACES = 1023, 52
"""Of the exponent of a double."""
_ZERO = np.int16(-8192)
"""The exponent of a zero: it never is the largest, even in a sum with another."""
_WHOLE_IN_FLOAT32 = 2.0**24
_FRACTION_OF_EIGHTS = 13
_WHOLE_IN_FLOAT64 = 2.0**53
_BEYOND_FLOAT32 = 2.0**128
_MOST_TERMS = 1 << 18
"""So many products are computed at a time."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Floats with the exponent of each one's leading place; a subnormal has the exponent of the smallest normal."""

    values: Float
    exponents: NDArray[np.int16]

    def some(self, part: slice) -> Numbers:
        return Numbers(self.values[part], self.exponents[part])


def _numbers(values: Float, exponents: NDArray[np.int64]) -> Numbers:
    return Numbers(values, np.where(values == 0, _ZERO, exponents).astype(np.int16))


@cache
def _table(kind: str) -> Numbers:
    """All numbers of a 16-bit format, by their bits."""
    bits = np.arange(2**16, dtype=np.uint16)
    if kind == "f16":
        return _numbers(bits.view(np.float16).astype(np.float64), np.maximum(bits >> 10 & 31, 1).astype(np.int64) - 15)
    single = from_bfloat(bits)
    return _numbers(single.astype(np.float64), np.maximum(bits >> 7 & 255, 1).astype(np.int64) - 127)


def decoded(bits: Matrices, kind: str) -> Numbers:
    """The numbers with these bits. A factor of type tf32 ignores its low bits."""
    if kind in {"e4m3", "e5m2"}:
        return decoded(halves_of(kind)[bits], "f16")
    if kind in {"f16", "bf16"}:
        table = _table(kind)
        return Numbers(table.values[bits], table.exponents[bits])
    whole = bits & np.uint32(0xFFFFE000) if kind == "tf32" else bits
    exponents = np.maximum(whole >> 23 & 255, 1).astype(np.int64) - 127
    return _numbers(whole.view(np.float32).astype(np.float64), exponents)


def _whole_product(a: Float, b: Float, c: Float, most: float) -> Float | None:
    """a * b + c for whole numbers whose sums stay below `most`, where nothing is ever rounded; otherwise None."""
    reach = np.abs(a).max(initial=0) * np.abs(b).max(initial=0) * a.shape[-1] + np.abs(c).max(initial=0)
    if not reach < most or any((part != np.rint(part)).any() for part in (a, b, c)):
        return None
    kind = np.float32 if most <= _WHOLE_IN_FLOAT32 else np.float64
    product: NDArray[Any] = np.matmul(a.astype(kind), b.astype(kind).swapaxes(1, 2))
    total: Float = product.astype(np.float64) + c
    return total


def _sums(a: Numbers, b: Numbers, c: Numbers, fraction: int = _FRACTION) -> Float:
    """The exact sums of one block before they are rounded into a type. fraction: where each addend is cut."""
    if (whole := _whole_product(a.values, b.values, c.values, 2.0 ** (fraction - 1))) is not None:
        return whole
    step = max(1, _MOST_TERMS // (c.values[0].size * a.values.shape[-1]))
    parts = [slice(start, start + step) for start in range(0, len(a.values), step)]
    return np.concatenate([_cut_sums(a.some(part), b.some(part), c.some(part), fraction) for part in parts])


def _cut_sums(a: Numbers, b: Numbers, c: Numbers, fraction: int) -> Float:
    # One place of the depth after the other: numpy is several times slower along a short last axis.
    top = c.exponents.copy()
    for left, right in _outer(a.exponents, b.exponents):
        np.maximum(top, left + right, out=top)
    top[top <= _ZERO // 2] = 0
    scale = (_BIAS + fraction - top.astype(np.int64) << _PLACES).view(np.float64)
    total: Float = np.trunc(c.values * scale)
    term = np.empty_like(total)
    for left, right in _outer(a.values, b.values):
        np.multiply(left, right, out=term)
        term *= scale
        total += np.trunc(term, out=term)
    total /= scale
    return total


def _outer(a: NDArray[Any], b: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """For each place of the depth, a column of each matrix `a`, and a row with the same places of `b`."""
    columns, rows = (np.ascontiguousarray(np.moveaxis(each, -1, 0)) for each in (a, b))
    yield from zip(columns[..., np.newaxis], rows[:, :, np.newaxis], strict=True)


def _float32_bits(exact: Float) -> Matrices:
    nearest, size = exact.astype(np.float32), np.abs(exact)
    # The next number towards zero has the bits below. What is too large for any float32 is infinite.
    beyond = (np.abs(nearest, dtype=np.float64) > size) & (size < _BEYOND_FLOAT32)
    cut = (nearest.view(np.uint32) - beyond).view(np.float32)
    return canonical32(cut + np.float32(0)).view(np.uint32)


def _float16_bits(exact: Float) -> Matrices:
    return canonical16(to_half(exact) + np.float16(0)).view(np.uint16)


_BITS: Mapping[str, Callable[[Float], Matrices]] = {"f32": _float32_bits, "f16": _float16_bits}


def _in_blocks(kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    if kinds.c == kinds.d:
        length = a.shape[-1]
        step = kinds.block or length
        for part in (slice(first, first + step) for first in range(0, length, step)):
            c = _BITS[kinds.d](
                _sums(decoded(a[..., part], kinds.a), decoded(b[..., part], kinds.b), decoded(c, kinds.c))
            )
        return c
    # Sums of two types are computed in float32.
    addend = c if kinds.c == "f32" else canonical32(c.view(np.float16).astype(np.float32)).view(np.uint32)
    sums = _in_blocks(replace(kinds, c="f32", d="f32"), a, b, addend)
    if kinds.d == "f32":
        return sums
    return canonical16(sums.view(np.float32).astype(np.float16)).view(np.uint16)


def _eight_bit_floats(kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    """An H100 multiplies such matrices as float16: first both low elements of each word, then the high ones.

    Only their sum is added to `c`, in the ordinary way.
    """
    first = np.arange(a.shape[-1]) % 4 < 2
    bits = np.zeros_like(c)
    for part in (first, ~first):
        bits = _BITS[kinds.d](_sums(decoded(a[..., part], kinds.a), decoded(b[..., part], kinds.b),
                                    decoded(bits, kinds.d)))  # fmt: skip
    if kinds.d == "f32":
        return canonical32(bits.view(np.float32) + c.view(np.float32)).view(np.uint32)
    return canonical16(bits.view(np.float16) + c.view(np.float16)).view(np.uint16)


def _eights_together(kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    """The same for `wgmma`: one block, in which 13 bits are kept, also of a float32 sum."""
    left, right = _with_own_exponents(a, kinds.a), _with_own_exponents(b, kinds.b)
    exact = _sums(left, right, decoded(c, kinds.c), _FRACTION_OF_EIGHTS)
    if kinds.d == "f32":
        part, exponent = np.frexp(exact)
        exact = np.ldexp(np.trunc(np.ldexp(part, _FRACTION_OF_EIGHTS + 1)), exponent - _FRACTION_OF_EIGHTS - 1)
    return _BITS[kinds.d](exact)


def _with_own_exponents(bits: Matrices, kind: str) -> Numbers:
    """8-bit floats with the exponents of their own format, in which a subnormal has the smallest."""
    places, bias = (3, 7) if kind == "e4m3" else (2, 15)
    exponents = np.maximum(bits >> places & (1 << 7 - places) - 1, 1).astype(np.int64) - bias
    return _numbers(decoded(bits, kind).values, exponents)


def _on_ordinary_cores(kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    """m8n8k4 of float16, which newer devices compute without tensor cores."""
    left, right = (decoded(each, "f16").values.astype(np.float32).reshape(-1, 8, 4) for each in (a, b))
    pairs = [(left[:, :, np.newaxis, k], right[:, np.newaxis, :, k]) for k in range(a.shape[-1])]
    own = decoded(c, kinds.c).values.astype(np.float32).reshape(-1, 8, 8)
    if kinds.d == "f32":
        total = np.zeros_like(own)
        for x, y in pairs:
            total = fma32(x, y, total)
        total = own + total
    else:
        (x, y), (u, v), (p, q), (r, s) = pairs
        total = own + fma32(u, v, x * y) + fma32(r, s, p * q)
    if kinds.d == "f32":
        return canonical32(total).view(np.uint32).reshape(c.shape)
    return to_half(total.astype(np.float64)).view(np.uint16).reshape(c.shape)


def _doubles(_kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    left, right, total = (each.view(np.float64) for each in (a, b, c))
    if (whole := _whole_product(left, right, total, _WHOLE_IN_FLOAT64)) is not None:
        return (whole + 0.0).view(np.uint64)
    for k in range(a.shape[-1]):
        total = fma64(left[:, :, np.newaxis, k], right[:, np.newaxis, :, k], total)
    return np.ascontiguousarray(total).view(np.uint64)


def _signed(bits: Matrices, kind: str) -> NDArray[np.float32]:
    values = bits.astype(np.float32)
    width = int(kind[1:])
    return values - (values >= 2 ** (width - 1)) * np.float32(2**width) if kind[0] == "s" else values


def _integers(kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    product = np.matmul(_signed(a, kinds.a), _signed(b, kinds.b).swapaxes(1, 2)).astype(np.int64)
    total = product + c.view(np.int32)
    if kinds.saturates:
        total = np.clip(total, -(2**31), 2**31 - 1)
    return _wrapped(total)


def _wrapped(total: NDArray[np.int64]) -> Matrices:
    bits: Matrices = total.astype(np.int32).view(np.uint32)
    return bits


def _single_bits(kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    """Count the bits that two rows have in common, or in which they differ."""
    left, right = a.astype(np.float32), b.astype(np.float32)
    count = np.matmul(left, right.swapaxes(1, 2))
    if kinds.combine == "xor":
        count = left.sum(axis=-1)[:, :, np.newaxis] + right.sum(axis=-1)[:, np.newaxis] - 2 * count
    return _wrapped(count.astype(np.int64) + c.view(np.int32))


@dataclass(frozen=True, slots=True)
class Kinds:
    """The types of a multiplication d = a * b + c.

    saturates: whether integers are limited instead of wrapping around
    combine: "and" or "xor" for single bits
    quads: whether it is m8n8k4 of float16
    block: how many products are added up at a time; 0 for all
    eights: whether 8-bit factors are multiplied as they are, by `wgmma`
    """

    d: str
    a: str
    b: str
    c: str
    saturates: bool = False
    combine: str = ""
    quads: bool = False
    block: int = 0
    eights: bool = False


def multiply_add(kinds: Kinds, a: Matrices, b: Matrices, c: Matrices) -> Matrices:
    """The bits of a * b + c for many matrices. `b` has the common dimension along its columns, like `a`."""
    with np.errstate(all="ignore"):
        return _function(kinds)(kinds, a, b, c)


def _function(kinds: Kinds) -> Callable[[Kinds, Matrices, Matrices, Matrices], Matrices]:
    if kinds.quads:
        return _on_ordinary_cores
    if kinds.a in {"e4m3", "e5m2"}:
        return _eights_together if kinds.eights else _eight_bit_floats
    if kinds.a == "f64":
        return _doubles
    if kinds.a == "b1":
        return _single_bits
    return _integers if kinds.d == "s32" else _in_blocks
