"""The 8-bit formats e4m3 and e5m2, whose numbers a float16 holds exactly. Only e5m2 has infinities."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from kernels.device.arithmetic.edges import CANONICAL16
from kernels.device.arithmetic.half import halves, joined
from kernels.device.arithmetic.opcode import Array, Family, Opcode, Operation, optional

CANONICAL8 = np.uint8(0x7F)
_SIGN = np.uint8(0x80)
_LARGEST = {"e4m3": 0x7E, "e5m2": 0x7B}
"""The bits of the largest finite number."""


@cache
def halves_of(kind: str) -> Array:
    """The float16 bits of each number of a format."""
    bits = np.arange(256, dtype=np.uint16)
    sign = (bits & 0x80) << 8
    if kind == "e5m2":
        halves = bits << 8
        return np.where(np.isnan(halves.view(np.float16)), CANONICAL16, halves).astype(np.uint16)
    exponent, fraction = (bits >> 3 & 15).astype(np.int64), (bits & 7).astype(np.int64)
    value = np.where(exponent == 0, fraction * 2.0**-9, (fraction + 8) * 2.0 ** (exponent - 10))
    halves = value.astype(np.float16).view(np.uint16) | sign
    return np.where(bits & 0x7F == 0x7F, CANONICAL16, halves).astype(np.uint16)


def from_eight_bits(bits: Array, kind: str) -> Array:
    """Convert bits of a format to float16."""
    halves: Array = halves_of(kind)[bits].view(np.float16)
    return halves


def to_eight_bits(exact: Array, kind: str) -> Array:
    """Round float64 values to the nearest number of a format. Too large ones become the largest finite number."""
    finite = from_eight_bits(np.arange(_LARGEST[kind] + 1), kind).astype(np.float64)
    magnitude = np.where(np.isnan(exact), 0.0, np.minimum(np.abs(exact), finite[-1]))
    # The numbers are ordered as their bits are. Each one takes what is nearer to it than to the one below.
    above = np.searchsorted(finite, magnitude).astype(np.uint8)
    below = np.maximum(above, 1) - np.uint8(1)
    to_above, to_below = finite[above] - magnitude, magnitude - finite[below]
    nearest = np.where((to_below < to_above) | ((to_below == to_above) & (below % 2 == 0)), below, above)
    signed = np.where(np.signbit(exact), nearest | _SIGN, nearest).astype(np.uint8)
    return np.where(np.isnan(exact), CANONICAL8, signed)


def _narrowed(kind: str, relu: bool, a: Array) -> Array:
    exact = a.astype(np.float64)
    return to_eight_bits(np.where(exact <= 0, 0.0, exact) if relu else exact, kind)


def _pair(high: Array, low: Array) -> Array:
    return (high.astype(np.uint16) << 8) | low


def _to_pair(opcode: Opcode) -> Operation | None:
    """`cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.{f32,f16x2}`; of floats, the high element comes first."""
    match = opcode.match(("rn",), ("satfinite",), optional("relu"), ("e4m3x2", "e5m2x2"), ("f32", "f16x2"))
    if not match:
        return None
    _, _, relu, packed, source = match
    narrow = partial(_narrowed, packed.removesuffix("x2"), bool(relu))
    if source == "f32":
        return Operation(opcode.text, ("f32", "f32"), packed, lambda a, b: _pair(narrow(a), narrow(b)))

    def pair(a: Array) -> Array:
        low, high = (narrow(part.view(np.float16)) for part in halves(a))
        return _pair(high, low)

    return Operation(opcode.text, ("f16x2",), packed, pair)


def _widened(kind: str, relu: bool, packed: Array) -> Array:
    high, low = (from_eight_bits((packed >> np.uint16(shift)) & np.uint16(255), kind) for shift in (8, 0))
    if relu:
        high, low = (np.where(each <= 0, np.float16(0), each) for each in (high, low))
    return joined(high, low)


def _from_pair(opcode: Opcode) -> Operation | None:
    """`cvt.rn{.relu}.f16x2.{e4m3x2,e5m2x2}`."""
    match = opcode.match(("rn",), optional("relu"), ("f16x2",), ("e4m3x2", "e5m2x2"))
    if not match:
        return None
    _, relu, _, packed = match
    return Operation(opcode.text, (packed,), "f16x2", partial(_widened, packed.removesuffix("x2"), bool(relu)))


def _convert(opcode: Opcode) -> Operation | None:
    return _to_pair(opcode) or _from_pair(opcode)


FAMILIES: dict[str, Family] = {"cvt": _convert}
