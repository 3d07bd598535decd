"""The fast approximations, `.approx` and `div.full`.

They are computed in float64 and rounded once. So the result is inside PTX's error bound, but its last bits may differ
from the hardware's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kernels.device.arithmetic.edges import finished32
from kernels.device.arithmetic.half import elementwise
from kernels.device.arithmetic.opcode import Array, Family, Opcode, Operation, optional


def _inverse(a: Array) -> Array:
    return 1.0 / a


def _inverse_root(a: Array) -> Array:
    return 1.0 / np.sqrt(a)


def _approximate(function: Callable[[Array], Array], flops: int = 0) -> Family:
    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(("approx",), optional("ftz"), ("f32",))
        if not match:
            return None
        single = finished32(lambda a: function(a.astype(np.float64)).astype(np.float32), match[1] == "ftz", False)
        return Operation(opcode.text, ("f32",), "f32", single, approximate=True, flops=flops)

    return family


def _coarse(function: Callable[[Array], Array], a: Array) -> Array:
    """Compute the `.approx.ftz.f64` forms: flush subnormals on both sides, and clear the low word of the result."""
    result = _flushed64(function(_flushed64(a)))
    return (result.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)


def _flushed64(a: Array) -> Array:
    return np.where(np.abs(a) < 2.0**-1022, np.copysign(0.0, a), a)


def _approximate64(function: Callable[[Array], Array], precise: bool) -> Family:
    single = _approximate(function, 1)

    def family(opcode: Opcode) -> Operation | None:
        if opcode.match(("approx",), ("ftz",), ("f64",)):
            coarse = partial(_coarse, function)
            return Operation(opcode.text, ("f64",), "f64", coarse, approximate=True, flops=1)
        if precise and opcode.match(("approx",), ("f64",)):
            return Operation(opcode.text, ("f64",), "f64", function, approximate=True, flops=1)
        return single(opcode)

    return family


def _approximate16(function: Callable[[Array], Array], ftz: Mapping[str, tuple[str, ...]]) -> Family:
    """Define ex2 and tanh, which also exist in the 16-bit formats. `.ftz` is at a different position for each type."""
    single = _approximate(function)

    def family(opcode: Opcode) -> Operation | None:
        for type_name, slot in ftz.items():
            if opcode.match(("approx",), slot, (type_name,)):
                half = elementwise(type_name, function)
                return Operation(opcode.text, (type_name,), type_name, half, approximate=True)
        # Of the two, only ex2 flushes.
        return single(opcode) if "ftz" in ftz["bf16"] or "ftz" not in opcode.parts else None

    return family


def _quotient_full(a: Array, b: Array) -> Array:
    result: Array = a / b
    return result


def _quotient_fast(a: Array, b: Array) -> Array:
    """Divide fast. Above 2^126 the divisor's reciprocal underflows: a zero, or NaN for an infinite dividend."""
    large = (np.abs(b) > 2.0**126) & np.isfinite(b)
    lost = np.where(np.isinf(a), np.float32(np.nan), np.copysign(np.float32(0), a * np.sign(b)))
    return np.where(large & ~np.isnan(a), lost, a / b)


def _divide(opcode: Opcode) -> Operation | None:
    found = opcode.match(("approx", "full"), optional("ftz"), ("f32",))
    if not found:
        return None
    quotient = _quotient_fast if found[0] == "approx" else _quotient_full
    function = finished32(quotient, found[1] == "ftz", False)
    return Operation(opcode.text, ("f32", "f32"), "f32", function, approximate=True, flops=1)


_FLUSHES_PAIRS = {"f16": ("",), "f16x2": ("",), "bf16": ("ftz",), "bf16x2": ("ftz",)}
_NEVER_FLUSHES = {"f16": ("",), "f16x2": ("",), "bf16": ("",), "bf16x2": ("",)}

FAMILIES: dict[str, Family] = {
    "div": _divide,
    "rcp": _approximate64(_inverse, precise=False),
    "rsqrt": _approximate64(_inverse_root, precise=True),
    "sqrt": _approximate(np.sqrt, 1),
    "sin": _approximate(np.sin),
    "cos": _approximate(np.cos),
    "lg2": _approximate(np.log2),
    "ex2": _approximate16(np.exp2, _FLUSHES_PAIRS),
    "tanh": _approximate16(np.tanh, _NEVER_FLUSHES),
}
