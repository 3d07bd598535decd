"""One element of a tensor core's product in plain Python, from exact fractions: for comparison with the fast way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kernels.device.tensor.multiplication import Kinds

_WIDTHS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2)}
_NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}
_CUT_AT, _CUT_OF_EIGHTS = 25, 13


@dataclass(frozen=True)
class Number:
    """A finite number with the exponent of its leading place, an infinity, or no number."""

    value: Fraction = Fraction(0)
    exponent: int = 0
    infinity: int = 0
    nan: bool = False


def number(bits: int, kind: str) -> Number:
    width, places = _WIDTHS[kind]
    if kind == "tf32":
        bits &= ~0x1FFF
    sign = -1 if bits >> (width + places) & 1 else 1
    exponent, fraction = bits >> places & (1 << width) - 1, bits & (1 << places) - 1
    if kind == "e4m3":
        if exponent == 15 and fraction == 7:
            return Number(nan=True)
    elif exponent == (1 << width) - 1:
        return Number(nan=True) if fraction else Number(infinity=sign)
    place = max(exponent, 1) - (1 << width - 1) + 1
    whole = fraction + (exponent > 0) * (1 << places)
    return Number(sign * whole * Fraction(2) ** (place - places), place)


def as_half(given: Number) -> Number:
    """The same number with the exponent that it has as a float16."""
    if not given.value:
        return given
    place = math.floor(math.log2(abs(given.value)))
    return Number(given.value, max(place, -14))


def product(a: Number, b: Number) -> Number:
    if a.nan or b.nan:
        return Number(nan=True)
    if a.infinity or b.infinity:
        sides = [each.infinity or (each.value > 0) - (each.value < 0) for each in (a, b)]
        return Number(infinity=sides[0] * sides[1]) if all(sides) else Number(nan=True)
    return Number(a.value * b.value, a.exponent + b.exponent)


def added_up(terms: Sequence[Number], cut_at: int = _CUT_AT) -> Number:
    """The sum of one block: all terms cut at the same place."""
    infinities = {each.infinity for each in terms if each.infinity}
    if any(each.nan for each in terms) or len(infinities) > 1:
        return Number(nan=True)
    if infinities:
        return Number(infinity=infinities.pop())
    top = max((each.exponent for each in terms if each.value), default=0)
    unit = Fraction(2) ** (top - cut_at)
    return Number(sum((math.trunc(each.value / unit) for each in terms), 0) * unit)


def shortened(given: Number, places: int) -> Number:
    """The number without what is behind so many places after its first one."""
    if not given.value:
        return given
    unit = Fraction(2) ** (math.floor(math.log2(abs(given.value))) - places)
    return Number(math.trunc(given.value / unit) * unit)


def rounded(given: Number, kind: str, *, cut: bool) -> int:
    """The bits of the nearest number of a format, or of the nearest towards zero."""
    width, places = _WIDTHS[kind]
    sign, top = 1 << (width + places), ((1 << width) - 1) << places
    if given.nan:
        return _NAN[kind]
    if given.infinity:
        return top if given.infinity > 0 else top | sign
    size, lowest = abs(given.value), 2 - (1 << width - 1)
    place = lowest
    while size >= Fraction(2) ** (place + 1):
        place += 1
    units = size / Fraction(2) ** (place - places)
    whole = math.floor(units) if cut else round(units)
    if cut and size >= Fraction(2) ** (1 << width - 1):
        whole = top
        return whole | sign if given.value < 0 else whole
    bits = min(whole + ((place - lowest) << places), top)
    return bits | sign if bits and given.value < 0 else bits


def element(kinds: Kinds, a: Sequence[int], b: Sequence[int], c: int) -> int:
    """The bits of c plus the sum of the products."""
    if kinds.d == "s32":
        return _whole_element(kinds, a, b, c)
    if kinds.c != kinds.d:
        raise NotImplementedError
    pairs = list(zip(a, b, strict=True))
    cut = kinds.d == "f32"
    if kinds.eights:
        terms = [product(number(x, kinds.a), number(y, kinds.b)) for x, y in pairs]
        total = added_up([*terms, number(c, kinds.c)], _CUT_OF_EIGHTS)
        return rounded(shortened(total, _CUT_OF_EIGHTS) if cut else total, kinds.d, cut=cut)
    if kinds.a in {"e4m3", "e5m2"}:
        bits = 0
        for part in (False, True):
            factors = [(as_half(number(x, kinds.a)), as_half(number(y, kinds.b)))
                       for at, (x, y) in enumerate(pairs) if (at % 4 >= 2) == part]  # fmt: skip
            terms = [product(x, y) for x, y in factors]
            bits = rounded(added_up([*terms, number(bits, kinds.d)]), kinds.d, cut=cut)
        return _ordinary_sum(number(bits, kinds.d), number(c, kinds.d), bits & c, kinds.d)
    step = kinds.block or len(pairs)
    for first in range(0, len(pairs), step):
        terms = [product(number(x, kinds.a), number(y, kinds.b)) for x, y in pairs[first : first + step]]
        c = rounded(added_up([*terms, number(c, kinds.c)]), kinds.d, cut=cut)
    return c


def _ordinary_sum(one: Number, other: Number, both: int, kind: str) -> int:
    if one.nan or other.nan or one.infinity * other.infinity < 0:
        return _NAN[kind]
    if one.infinity or other.infinity:
        return rounded(Number(infinity=one.infinity or other.infinity), kind, cut=False)
    bits = rounded(Number(one.value + other.value), kind, cut=False)
    # Only two negative zeros add up to one.
    sign = 1 << sum(_WIDTHS[kind])
    return sign if not one.value and not other.value and both & sign else bits


def _whole_element(kinds: Kinds, a: Sequence[int], b: Sequence[int], c: int) -> int:
    total = c - (c >> 31 << 32)
    for x, y in zip(a, b, strict=True):
        if kinds.combine:
            total += x ^ y if kinds.combine == "xor" else x & y
        else:
            total += _signed(x, kinds.a) * _signed(y, kinds.b)
    if kinds.saturates:
        total = min(max(total, -(2**31)), 2**31 - 1)
    return total & 0xFFFFFFFF


def _signed(bits: int, kind: str) -> int:
    width = int(kind[1:])
    return bits - (bits >> width - 1 << width) if kind[0] == "s" else bits
