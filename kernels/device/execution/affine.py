"""Integer instructions on values of the form lanes + number, computed on the number alone if this is exact.

Each function takes the operands' values and returns the result. It returns None if only the general way, with an array
per operand, gives the result.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.device.state.values import INTEGER, Lanes, Value, from_array, narrowed, uniform, widened, wrap

Affine = Callable[..., Value | None]


def affine_operation(opcode: str) -> Affine | None:
    """Return the short way for an instruction, or None if there is none."""
    for pattern, make in _TABLE:
        match = pattern.fullmatch(opcode)
        if match:
            return make(*match.groups())
    return None


def add(a: Value, b: Value) -> Value:
    """Return a + b of equal width."""
    bits = a.bits
    if a.lanes is None or b.lanes is None:
        return Value(a.lanes or b.lanes, wrap(a.offset + b.offset, bits), bits)
    a, b = a.integral(), b.integral()
    assert a.lanes is not None
    assert b.lanes is not None
    return _sum(Value(Lanes(a.lanes.array + b.lanes.array), 0, bits), a.offset + b.offset)


def _sum(value: Value, offset: int) -> Value:
    return Value(value.lanes, wrap(value.offset + offset, value.bits), value.bits)


def subtract(a: Value, b: Value) -> Value:
    """Return a - b of equal width."""
    if b.lanes is None:
        return Value(a.lanes, wrap(a.offset - b.offset, a.bits), a.bits)
    return add(a, negate(b))


def negate(a: Value) -> Value:
    if a.lanes is None:
        return uniform(-a.offset, a.bits)
    lanes = a.integral().lanes
    assert lanes is not None
    negative: Lanes = lanes.derive("negative", lambda: Lanes(-lanes.array))
    return Value(negative, wrap(-a.offset, a.bits), a.bits)


def scaled(value: Value, factor: int) -> Value:
    """Return value * factor in the value's width."""
    factor = wrap(factor, value.bits)
    if value.lanes is None:
        return uniform(value.offset * factor, value.bits)
    lanes = value.integral().lanes
    assert lanes is not None
    integer = INTEGER[value.bits].type
    # A loop multiplies the same lanes by the same factor again and again, so the product is kept.
    product: Lanes = lanes.derive(("times", factor), lambda: Lanes(lanes.array * integer(factor)))
    return Value(product, wrap(value.offset * factor, value.bits), value.bits)


def multiply(a: Value, b: Value) -> Value | None:
    """Return the low half of a * b."""
    if a.lanes is None:
        return scaled(b, a.offset)
    if b.lanes is None:
        return scaled(a, b.offset)
    return None


def _multiply_add(a: Value, b: Value, c: Value) -> Value | None:
    product = multiply(a, b)
    return None if product is None else add(product, c)


def _wide(kind: str, bits: str) -> Affine:
    signed, doubled = kind == "s", 2 * int(bits)

    def multiply_wide(a: Value, b: Value) -> Value | None:
        if a.lanes is not None and b.lanes is not None:
            return None
        return multiply(widened(a, doubled, signed=signed), widened(b, doubled, signed=signed))

    return multiply_wide


def _wide_add(kind: str, bits: str) -> Affine:
    multiply_wide = _wide(kind, bits)

    def multiply_wide_add(a: Value, b: Value, c: Value) -> Value | None:
        product = multiply_wide(a, b)
        return None if product is None else add(product, c)

    return multiply_wide_add


def _shift_left(bits: str) -> Affine:
    width = int(bits)

    def shift_left(a: Value, count: Value) -> Value | None:
        if count.lanes is not None:
            return None
        shift = count.unsigned()
        return uniform(0, width) if shift >= width else scaled(a, 1 << shift)

    return shift_left


def _convert(to_kind: str, to_bits: str, from_kind: str, from_bits: str) -> Affine:
    wanted, given, signed = int(to_bits), int(from_bits), from_kind == "s"

    def convert(a: Value) -> Value | None:
        if wanted < 16 or given < 16:
            return None
        return narrowed(a, wanted) if wanted <= given else widened(a, wanted, signed=signed)

    return convert


_BITWISE: dict[str, Callable[[int, int], int]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def _bitwise(name: str, kind: str) -> Affine:
    combine = _BITWISE[name]
    bits = 1 if kind == "pred" else int(kind[1:])

    def bitwise(a: Value, b: Value) -> Value | None:
        if a.lanes is None and b.lanes is None:
            return uniform(combine(a.offset, b.offset), bits)
        if bits == 1:
            # `and` and `or` of two predicates, one of which is the same in all threads
            constant, other = (a, b) if a.lanes is None else (b, a)
            if constant.lanes is not None or name == "xor":
                return None
            return other if constant.offset == (name == "and") else constant
        return None

    return bitwise


def _not(kind: str) -> Affine:
    bits = 1 if kind == "pred" else int(kind[1:])
    return lambda a: uniform(~a.offset, bits) if a.lanes is None else None


def _shift_right(kind: str, bits: str) -> Affine:
    width = int(bits)

    def shift_right(a: Value, count: Value) -> Value | None:
        if a.lanes is not None or count.lanes is not None:
            return None
        number = a.signed() if kind == "s" else a.unsigned()
        return uniform(number >> min(count.unsigned(), width), width)

    return shift_right


def _extreme(name: str, kind: str, bits: str) -> Affine:
    choose = min if name == "min" else max
    width = int(bits)

    def extreme(a: Value, b: Value) -> Value | None:
        if a.lanes is not None or b.lanes is not None:
            return None
        if kind == "s":
            return uniform(choose(a.signed(), b.signed()), width)
        return uniform(choose(a.unsigned(), b.unsigned()), width)

    return extreme


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip


def _compare(name: str, kind: str, bits: str) -> Affine:
    holds = _COMPARE[name]
    half = 1 << int(bits) - 1
    low_limit, high_limit = (0, 2 * half) if kind == "u" else (-half, half)

    def compare(a: Value, b: Value) -> Value | None:
        if a.lanes is None and b.lanes is None:
            if kind == "u":
                return uniform(holds(a.unsigned(), b.unsigned()), 1)
            return uniform(holds(a.signed(), b.signed()), 1)
        a, b = a.integral(), b.integral()
        (a_low, a_high), (b_low, b_high) = a.range(), b.range()
        # Outside these limits, a number wraps around in its type or has its sign bit set.
        if min(a_low, b_low) < low_limit or max(a_high, b_high) >= min(high_limit, half):
            return None
        return _decided(a_low, a_high, b_low, b_high) or _shifted(a, b)

    def _decided(a_low: int, a_high: int, b_low: int, b_high: int) -> Value | None:
        """Return the result if the ranges alone give it for all threads."""
        if name in {"eq", "ne"}:
            return uniform(name == "ne", 1) if a_high < b_low or b_high < a_low else None
        outcomes = {holds(x, y) for x in (a_low, a_high) for y in (b_low, b_high)}
        return uniform(outcomes.pop(), 1) if len(outcomes) == 1 else None

    def _shifted(a: Value, b: Value) -> Value | None:
        """Compare without per-thread additions: lanes + p < q is lanes < q - p."""
        if b.lanes is None and a.lanes is not None:
            bound = b.offset - a.offset
            if -half <= bound < half:
                integer = INTEGER[a.bits].type
                return from_array(np.asarray(holds(a.lanes.array, integer(bound))))
        return None

    return compare


def _select(kind: str) -> Affine:
    def select(a: Value, b: Value, condition: Value) -> Value | None:
        if condition.lanes is not None:
            return None
        return a if condition.offset else b

    return select


def _constant_maker(function: Affine) -> Callable[..., Affine]:
    return lambda *_: function


_SIGN_WIDTH = r"([su])(16|32|64)"
_TABLE: tuple[tuple[re.Pattern[str], Callable[..., Affine]], ...] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (r"add\.[su](?:16|32|64)", _constant_maker(add)),
        (r"sub\.[su](?:16|32|64)", _constant_maker(subtract)),
        (r"neg\.s(?:16|32|64)", _constant_maker(negate)),
        (r"mul\.lo\.[su](?:16|32|64)", _constant_maker(multiply)),
        (r"mad\.lo\.[su](?:16|32|64)", _constant_maker(_multiply_add)),
        (r"mul\.wide\.([su])(16|32)", _wide),
        (r"mad\.wide\.([su])(16|32)", _wide_add),
        (r"shl\.b(16|32|64)", _shift_left),
        (r"shr\.([sub])(16|32|64)", _shift_right),
        (rf"cvt\.{_SIGN_WIDTH}\.{_SIGN_WIDTH}", _convert),
        (r"(and|or|xor)\.(pred|b16|b32|b64)", _bitwise),
        (r"not\.(pred|b16|b32|b64)", _not),
        (rf"(min|max)\.{_SIGN_WIDTH}", _extreme),
        (r"setp\.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)\.([sub])(16|32|64)", _compare),
        (r"selp\.([subf](?:16|32|64))", _select),
    )
)
