"""Comparison and selection: setp, set, selp and slct."""

from __future__ import annotations

from functools import partial

import numpy as np

from kernels.device.arithmetic.edges import flushed
from kernels.device.arithmetic.opcode import (
    BITS,
    INTEGERS,
    NUMPY_TYPES,
    UNSIGNED,
    Array,
    Family,
    Function,
    Opcode,
    Operation,
    optional,
    typed,
)  # fmt: skip

_ORDER: dict[str, Function] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
_UNSIGNED_ORDER: dict[str, Function] = {
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
# The unordered forms negate the opposite order, so they are true for a NaN. Plain `ne` is false for a NaN.
_FLOAT_ORDER: dict[str, Function] = {
    **_ORDER,
    "ne": lambda a, b: (a < b) | (a > b),
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
_COMBINE: dict[str, Function] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_FLOATS = ("f16", "f32", "f64")
_COMPARISONS = tuple(dict.fromkeys((*_ORDER, *_UNSIGNED_ORDER, *_FLOAT_ORDER)))


def _comparison(name: str, type_name: str, ftz: bool) -> Function | None:
    if type_name in _FLOATS:
        function = _FLOAT_ORDER.get(name)
        if ftz and type_name != "f32":
            return None
        if ftz and function:
            return lambda a, b: function(flushed(a), flushed(b))
        return function
    if ftz:
        return None
    if type_name in BITS:
        return _ORDER[name] if name in ("eq", "ne") else None
    if type_name in UNSIGNED:
        return _ORDER.get(name) or _UNSIGNED_ORDER.get(name)
    return _ORDER.get(name)


def _both(comparison: Function, a: Array, b: Array) -> tuple[Array, Array]:
    result = comparison(a, b)
    return result, ~result


def _combined(comparison: Function, combine: Function, a: Array, b: Array, c: Array) -> Array:
    result: Array = combine(comparison(a, b), c)
    return result


def _combined_both(comparison: Function, combine: Function, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    result = comparison(a, b)
    return combine(result, c), combine(~result, c)


def _set_predicate(opcode: Opcode) -> Operation | None:
    types = BITS + INTEGERS + _FLOATS
    match = opcode.match(_COMPARISONS, optional(*_COMBINE), optional("ftz"), types)
    comparison = _comparison(match[0], match[3], match[2] == "ftz") if match else None
    if not match or not comparison:
        return None
    if match[1]:
        function: Function = partial(_combined, comparison, _COMBINE[match[1]])
        return Operation(opcode.text, (match[3], match[3], "pred"), "pred", function)
    return Operation(opcode.text, (match[3], match[3]), "pred", comparison)


def with_complement(opcode: Opcode) -> Operation | None:
    """Define setp with two destinations, `p|q`: q gets the negated comparison, combined in the same way."""
    single = _set_predicate(opcode) if opcode.mnemonic == "setp" else None
    if not single:
        return None
    if len(single.sources) == 3:
        function: Function = partial(_combined_both, *single.function.args)  # type: ignore[attr-defined]
    else:
        function = partial(_both, single.function)
    return Operation(opcode.text, single.sources, ("pred", "pred"), function)


def _as_value(test: Function, result: str) -> Function:
    """Return a truth value as a number: 1.0 in a float, all ones in an integer."""
    dtype = NUMPY_TYPES[result]
    true = dtype(1.0) if result == "f32" else np.iinfo(dtype).max if result == "u32" else dtype(-1)
    return lambda *operands: np.where(test(*operands), dtype(true), dtype(0))


def _set_value(opcode: Opcode) -> Operation | None:
    types = BITS + INTEGERS + ("f32", "f64")
    match = opcode.match(_COMPARISONS, optional(*_COMBINE), optional("ftz"), ("u32", "s32", "f32"), types)
    comparison = _comparison(match[0], match[4], match[2] == "ftz") if match else None
    if not match or not comparison:
        return None
    if not match[1]:
        return Operation(opcode.text, (match[4],) * 2, match[3], _as_value(comparison, match[3]))
    test = partial(_combined, comparison, _COMBINE[match[1]])
    return Operation(opcode.text, (match[4], match[4], "pred"), match[3], _as_value(test, match[3]))


_SELECTABLE = BITS + INTEGERS + ("f32", "f64")


def _chosen(a: Array, b: Array, c: Array) -> Array:
    """Return a where c holds, otherwise b. It selects with bit masks, which also work for an irregular predicate."""
    signed = np.dtype(f"i{a.dtype.itemsize}")
    left, right = a.view(signed), b.view(signed)
    mask = -c.view(np.int8).astype(signed)
    result: Array = (right ^ ((left ^ right) & mask)).view(a.dtype)
    return result


def _select_sign(opcode: Opcode) -> Operation | None:
    """slct: the first operand if the third isn't negative. A NaN selects the second, -0 the first."""
    match = opcode.match(optional("ftz"), _SELECTABLE, ("s32", "f32"))
    if not match or (match[0] and match[2] != "f32"):
        return None
    sources = (match[1], match[1], match[2])
    return Operation(opcode.text, sources, match[1], partial(_by_sign, ftz=match[0] == "ftz"))


def _by_sign(a: Array, b: Array, c: Array, ftz: bool) -> Array:
    return np.where((flushed(c) if ftz else c) >= 0, a, b)


FAMILIES: dict[str, Family] = {
    "setp": _set_predicate,
    "set": _set_value,
    "selp": typed(_SELECTABLE, 2, _chosen, more=("pred",)),
    "slct": _select_sign,
}
