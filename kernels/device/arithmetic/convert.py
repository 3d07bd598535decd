"""cvt between integers, float16, float32 and float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kernels.device.arithmetic.edges import canonical16, canonical32, clamped, flushed
from kernels.device.arithmetic.opcode import NUMPY_TYPES, Array, Family, Function, Opcode, Operation, optional
from kernels.device.arithmetic.rounding.error_terms import Mode, step, two_sum

_INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
_FLOATS = ("f16", "f32", "f64")
_MODES = ("rn", "rz", "rm", "rp")
_TO_INTEGRAL: dict[str, Callable[..., Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def _integer_saturated(result: str, a: Array) -> Array:
    """Clamp an integer. An unsigned source has no values below zero, and an unsigned result allows none."""
    target = np.iinfo(NUMPY_TYPES[result])
    own = np.iinfo(a.dtype)
    low, high = max(target.min, own.min), min(target.max, own.max)
    clipped: Array = np.clip(a, low, high).astype(target.dtype)
    return clipped


def _holds(result: str, source: str) -> bool:
    """Whether one integer type holds every value of the other. Then PTX has no `.sat`."""
    target, own = np.iinfo(NUMPY_TYPES[result]), np.iinfo(NUMPY_TYPES[source])
    return bool(target.min <= own.min and own.max <= target.max)


def integer_from_float(rounding: str, result: str, ftz: bool, a: Array) -> Array:
    """Round to an integral value and clamp. The result for NaN depends on the types."""
    dtype = NUMPY_TYPES[result]
    info = np.iinfo(dtype)
    whole = _TO_INTEGRAL[rounding](flushed(a) if ftz else a)
    # 2^63 and 2^64 are float64 values, but the integers just below aren't. So compare with 2^63 and 2^64.
    end = float(info.max) + (1 if info.bits < 64 else 0)
    # Usually every lane is inside the range, and none is NaN.
    if whole.min() >= float(info.min) and whole.max() < end:
        return whole.astype(dtype)
    whole = whole.astype(np.float64)
    above = whole >= end
    below = whole <= float(info.min)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(dtype)
    clipped = np.where(above, dtype(info.max), np.where(below, dtype(info.min), inside))
    return np.where(np.isnan(whole), _integer_of_nan(a.dtype, info), clipped)


def _integer_of_nan(source: np.dtype[Any], info: Any) -> Any:
    """Return zero, or only the highest bit if either side has 64 bits."""
    if source != np.float64 and info.bits < 64:
        return info.dtype.type(0)
    return np.uint64(1 << (info.bits - 1)).astype(info.dtype)


def _nearest(result: str, a: Array) -> Array:
    converted: Array = a.astype(NUMPY_TYPES[result])
    return converted


def _parts(a: Array) -> tuple[Array, Array | float]:
    """Return an integer or float array as float64, and the exact rest."""
    if a.dtype.itemsize < 8 or a.dtype.kind == "f":
        return a.astype(np.float64), 0.0
    low = a & a.dtype.type(0xFFFFFFFF)
    return two_sum((a - low).astype(np.float64), low.astype(np.float64))


def directed(result: str, mode: Mode, a: Array) -> Array:
    """Round to nearest, then move one step if the result is on the wrong side of the exact value."""
    total, rest = _parts(a)
    nearest = total.astype(NUMPY_TYPES[result])
    wide = nearest.astype(np.float64)
    same = wide == total
    return step(nearest, (wide > total) | (same & (rest < 0)), (wide < total) | (same & (rest > 0)), mode)


def _finished(function: Function, source: str, result: str, ftz: bool, sat: bool) -> Function:
    """Flush float32 on either side, saturate, and give NaN its single pattern."""
    finish = clamped if sat else {"f16": canonical16, "f32": canonical32}.get(result, lambda a: a)

    def finished(a: Array) -> Array:
        # float16 has no room for float32's subnormals, but a directed rounding depends on them.
        converted = function(flushed(a) if ftz and source == "f32" and result != "f16" else a)
        return finish(flushed(converted) if ftz and result == "f32" else converted)

    return finished


def _float_function(rounding: str, result: str, source: str) -> Function | None:
    """Return the conversion into a float type, or None if PTX needs another rounding modifier."""
    if source in _FLOATS and _bits(source) <= _bits(result):
        if rounding in _TO_INTEGRAL and source == result:
            return _TO_INTEGRAL[rounding]
        return partial(_nearest, result) if not rounding else None
    if rounding == "rn":
        return partial(_nearest, result)
    return partial(directed, result, rounding) if rounding in _MODES else None


def _bits(type_name: str) -> int:
    return int(type_name[1:])


def _to_float(opcode: Opcode) -> Operation | None:
    rounding = optional(*_MODES, *_TO_INTEGRAL)
    match = opcode.match(rounding, optional("ftz"), optional("sat"), _FLOATS, _INTEGERS + _FLOATS)
    if not match:
        return None
    chosen, ftz, sat, result, source = match
    function = _float_function(chosen, result, source)
    if not function or (ftz and "f32" not in (result, source)):
        return None
    finished = _finished(function, source, result, ftz == "ftz", sat == "sat")
    return Operation(opcode.text, (source,), result, finished)


def _to_integer(opcode: Opcode) -> Operation | None:
    match = opcode.match(optional("sat"), _INTEGERS, _INTEGERS)
    if match:
        sat, result, source = match
        if sat and _holds(result, source):
            return None
        return Operation(opcode.text, (source,), result, partial(_integer_saturated if sat else _nearest, result))
    match = opcode.match(tuple(_TO_INTEGRAL), optional("ftz"), optional("sat"), _INTEGERS, _FLOATS)
    if not match:
        return None
    chosen, ftz, _, result, source = match
    if ftz and source != "f32":
        return None
    return Operation(opcode.text, (source,), result, partial(integer_from_float, chosen, result, ftz == "ftz"))


def _convert(opcode: Opcode) -> Operation | None:
    return _to_integer(opcode) or _to_float(opcode)


FAMILIES: dict[str, Family] = {"cvt": _convert}
