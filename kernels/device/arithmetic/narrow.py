"""cvt to and from the formats of tensor cores: bfloat16, packed pairs and tf32."""

from __future__ import annotations

from functools import partial

import numpy as np

from kernels.device.arithmetic.convert import directed, integer_from_float
from kernels.device.arithmetic.edges import CANONICAL16, CANONICAL32, canonical16
from kernels.device.arithmetic.half import from_bfloat, joined, to_bfloat
from kernels.device.arithmetic.opcode import Array, Family, Function, Opcode, Operation, optional
from kernels.device.arithmetic.rounding.error_terms import odd_sum

_INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
_TO_INTEGRAL = ("rni", "rzi", "rmi", "rpi")
_TF32_LOST = np.uint32(0x1FFF)


def _half(mode: str, a: Array) -> Array:
    return canonical16(a.astype(np.float16) if mode == "rn" else directed("f16", mode, a))


def _bfloat(mode: str, a: Array) -> Array:
    if mode == "rn":
        return to_bfloat(a.astype(np.float64))
    # Rounding towards zero drops the low bits.
    cut = (a.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(a), CANONICAL16, cut)


def _rectified(a: Array) -> Array:
    positive: Array = np.where(a <= 0, np.float32(0), a)
    return positive


_FROM_SINGLE: dict[str, Function] = {"f16": _half, "bf16": _bfloat}


def _from_single(opcode: Opcode) -> Operation | None:
    """`cvt.{rn,rz}{.relu}.{f16,bf16}{x2}.f32`; the packed forms take the high element first."""
    match = opcode.match(("rn", "rz"), optional("relu"), ("f16", "bf16", "f16x2", "bf16x2"), ("f32",))
    if not match:
        return None
    mode, relu, type_name, _ = match
    narrow = partial(_FROM_SINGLE[type_name.removesuffix("x2")], mode)

    def single(a: Array) -> Array:
        result: Array = narrow(_rectified(a) if relu else a)
        return result

    if not type_name.endswith("x2"):
        return Operation(opcode.text, ("f32",), type_name, single)
    return Operation(opcode.text, ("f32", "f32"), type_name, lambda a, b: joined(single(a), single(b)))


def _tf32_function(mode: str, relu: bool, a: Array) -> Array:
    """Round off the low 13 bits of a float32 mantissa: to nearest away, to nearest even, or cut."""
    a = _rectified(a) if relu else a
    bits: Array = a.view(np.uint32)
    if mode == "rna":
        # Only the oldest of the three keeps a NaN, with its low bits cut.
        return np.where(np.isfinite(a), bits + np.uint32(0x1000), bits) & ~_TF32_LOST
    if mode == "rn":
        bits = np.where(np.isinf(a), bits, bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1)))
    return np.where(np.isnan(a), CANONICAL32, bits) & ~_TF32_LOST


def _tf32(opcode: Opcode) -> Operation | None:
    match = opcode.match(("rna", "rn", "rz"), optional("relu"), ("tf32",), ("f32",))
    if not match or (match[0] == "rna" and match[1]):
        return None
    return Operation(opcode.text, ("f32",), "tf32", partial(_tf32_function, match[0], bool(match[1])))


def _bfloat_of_number(a: Array) -> Array:
    if a.dtype == np.float64:
        # The GPU converts through float32 as well, which only matters for a NaN.
        kept = (a.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return np.where(np.isnan(a), kept, to_bfloat(a))
    if a.dtype.itemsize < 8:
        return to_bfloat(a.astype(np.float64))
    low = a & a.dtype.type(0xFFFFFFFF)
    return to_bfloat(odd_sum((a - low).astype(np.float64), low.astype(np.float64)))


def _to_bfloat(opcode: Opcode) -> Operation | None:
    match = opcode.match(("rn",), ("bf16",), (*_INTEGERS, "f16", "f64"))
    return Operation(opcode.text, (match[2],), "bf16", _bfloat_of_number) if match else None


def _integer_from_bfloat(rounding: str, result: str, a: Array) -> Array:
    return integer_from_float(rounding, result, False, from_bfloat(a))


def _from_bfloat(opcode: Opcode) -> Operation | None:
    if opcode.match(("f32",), ("bf16",)):
        return Operation(opcode.text, ("bf16",), "f32", from_bfloat)
    if opcode.match(("f64",), ("bf16",)):
        return Operation(opcode.text, ("bf16",), "f64", lambda a: from_bfloat(a).astype(np.float64))
    if opcode.match(("rn",), ("f16",), ("bf16",)):
        return Operation(opcode.text, ("bf16",), "f16", lambda a: _half("rn", from_bfloat(a)))
    match = opcode.match(_TO_INTEGRAL, _INTEGERS, ("bf16",))
    if not match:
        return None
    return Operation(opcode.text, ("bf16",), match[1], partial(_integer_from_bfloat, match[0], match[1]))


def _convert(opcode: Opcode) -> Operation | None:
    return _from_single(opcode) or _tf32(opcode) or _to_bfloat(opcode) or _from_bfloat(opcode)


FAMILIES: dict[str, Family] = {"cvt": _convert}
