"""float32 and float64 arithmetic that IEEE 754 defines: exact, in every rounding mode."""

from __future__ import annotations

from functools import partial

import numpy as np

from kernels.device.arithmetic.edges import NO_FACTORS, Factors, finished32
from kernels.device.arithmetic.opcode import Array, Family, Function, Opcode, Operation, optional, typed  # fmt: skip
from kernels.device.arithmetic.rounding import directed, fused

_MODES = ("rn", "rz", "rm", "rp")


def _in_mode(nearest: Function, directed_one: Function, mode: str) -> Function:
    return nearest if mode in ("", "rn") else partial(directed_one, mode)


def _rounded(
    sources: int,
    flops: int,
    nearest: tuple[Function, Function],
    other: tuple[Function, Function],
    modes: tuple[str, ...],
    sat: tuple[str, ...] = ("",),
    factors: Factors = NO_FACTORS,
) -> Family:
    """Define a family with `.rnd{.ftz}{.sat}.f32` and `.rnd.f64`. The pairs hold its functions for f32 and f64."""

    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(modes, optional("ftz"), sat, ("f32",))
        if match:
            function = _in_mode(nearest[0], other[0], match[0])
            function = finished32(function, match[1] == "ftz", match[2] == "sat", factors)
            exactly = None
            if match[0] in ("", "rn") and not match[1] and not match[2]:
                exactly = fused.multiply_add if sources == 3 else nearest[0]
            return Operation(opcode.text, ("f32",) * sources, "f32", function, flops=flops, exactly=exactly)
        match = opcode.match(modes, ("f64",))
        if not match:
            return None
        function = _in_mode(nearest[1], other[1], match[0])
        return Operation(opcode.text, ("f64",) * sources, "f64", function, flops=flops)

    return family


def _reciprocal(a: Array) -> Array:
    result: Array = np.divide(a.dtype.type(1), a)
    return result


def _sign_change(function: Function) -> Family:
    """Define abs and neg, which only change the sign. But float32 has a single NaN."""

    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(optional("ftz"), ("f32",))
        if match:
            return Operation(opcode.text, ("f32",), "f32", finished32(function, match[0] == "ftz", False))
        return Operation(opcode.text, ("f64",), "f64", function) if opcode.match(("f64",)) else None

    return family


def ordered(a: Array, b: Array, largest: bool) -> Array:
    """Return the smaller or the larger operand. A number wins over a NaN, and -0 is below +0."""
    chosen = np.fmax(a, b) if largest else np.fmin(a, b)
    zeros = (a == b) & (chosen == 0)
    if not zeros.any():
        return chosen
    # Equal operands can only differ in the sign of a zero.
    bits = np.dtype(f"u{a.dtype.itemsize}")
    combine = np.bitwise_and if largest else np.bitwise_or
    return np.where(zeros, combine(a.view(bits), b.view(bits)).view(a.dtype), chosen)


def _extreme32(largest: bool, nan: bool, exclusive: bool) -> Function:
    def extreme(a: Array, b: Array) -> Array:
        sign = np.signbit(a) ^ np.signbit(b)
        if exclusive:
            a, b = np.abs(a), np.abs(b)
        chosen = ordered(a, b, largest)
        if exclusive:
            chosen = np.where(sign, -chosen, chosen)
        return np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), chosen) if nan else chosen

    return extreme


def _extreme(largest: bool) -> Family:
    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(optional("ftz"), optional("NaN"), optional("xorsign"), optional("abs"), ("f32",))
        if match and bool(match[2]) == bool(match[3]):
            function = _extreme32(largest, match[1] == "NaN", match[2] == "xorsign")
            return Operation(opcode.text, ("f32", "f32"), "f32", finished32(function, match[0] == "ftz", False))
        if not opcode.match(("f64",)):
            return None
        return Operation(opcode.text, ("f64", "f64"), "f64", partial(ordered, largest=largest))

    return family


def _subnormal(a: Array) -> Array:
    result: Array = (a != 0) & (np.abs(a) < np.finfo(a.dtype).smallest_normal)
    return result


_PROPERTIES: dict[str, Function] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ~_subnormal(a),  # PTX counts zeros as normal
    "subnormal": _subnormal,
}


def _test_property(opcode: Opcode) -> Operation | None:
    match = opcode.match(tuple(_PROPERTIES), ("f32", "f64"))
    return Operation(opcode.text, (match[1],), "pred", _PROPERTIES[match[0]]) if match else None


_SAT = optional("sat")
_UP = 2.0**64
_FUSED = _rounded(
    3, 2, (fused.fma32, fused.fma64), (fused.fma32_directed, fused.fma64_directed), _MODES, _SAT, (_UP, 1.0, _UP)
)

FAMILIES: dict[str, Family] = {
    "add": _rounded(2, 1, (np.add,) * 2, (directed.add32, directed.add64), optional(*_MODES), _SAT),
    "sub": _rounded(2, 1, (np.subtract,) * 2, (directed.sub32, directed.sub64), optional(*_MODES), _SAT),
    "mul": _rounded(2, 1, (np.multiply,) * 2, (directed.mul32, directed.mul64), optional(*_MODES), _SAT, (_UP, 1.0)),
    "fma": _FUSED,
    "mad": _FUSED,
    "div": _rounded(2, 1, (np.divide,) * 2, (directed.div32, directed.div64), _MODES, ("",), (_UP, 1.0)),
    "rcp": _rounded(1, 1, (_reciprocal,) * 2, (directed.rcp32, directed.rcp64), _MODES, ("",), (1 / _UP,)),
    "sqrt": _rounded(1, 1, (np.sqrt,) * 2, (directed.sqrt32, directed.sqrt64), _MODES),
    "abs": _sign_change(np.abs),
    "neg": _sign_change(np.negative),
    "min": _extreme(largest=False),
    "max": _extreme(largest=True),
    "copysign": typed(("f32", "f64"), 2, lambda a, b: np.copysign(b, a)),  # the first operand gives the sign
    "testp": _test_property,
}
