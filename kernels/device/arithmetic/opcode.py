"""The meaning of an arithmetic PTX opcode: operand types, result type and vectorised function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Function = Callable[..., Any]

# The numpy type for each PTX type. numpy has no packed and bfloat types, so they stay bits.
NUMPY_TYPES: dict[str, type[Any]] = {
    "pred": np.bool_,
    "b8": np.uint8, "u8": np.uint8, "s8": np.int8,
    "b16": np.uint16, "u16": np.uint16, "s16": np.int16,
    "b32": np.uint32, "u32": np.uint32, "s32": np.int32,
    "b64": np.uint64, "u64": np.uint64, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "bf16": np.uint16, "f16x2": np.uint32, "bf16x2": np.uint32, "tf32": np.uint32,
    "u16x2": np.uint32, "s16x2": np.uint32, "f32x2": np.uint64, "e4m3x2": np.uint16, "e5m2x2": np.uint16,
}  # fmt: skip

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = UNSIGNED + SIGNED
BITS = ("b16", "b32", "b64")


@dataclass(frozen=True, slots=True)
class Operation:
    """One opcode, ready to run.

    sources: PTX type of each source operand, in the order of the instruction; an immediate counts as one
    result: PTX type of the destination, or a type for each destination
    function: takes an array per source (see NUMPY_TYPES) and returns new arrays of the result types
    approximate: the hardware's last bits may differ; this result is inside PTX's error bound
    flops: floating-point operations per lane; a fused multiply-add counts as two
    exactly: a faster function with the same results, if all are exact, apart from the pattern of NaN
    """

    opcode: str
    sources: tuple[str, ...]
    result: str | tuple[str, ...]
    function: Function
    approximate: bool = False
    flops: int = 0
    exactly: Function | None = None


@dataclass(frozen=True, slots=True)
class Opcode:
    """A dotted opcode, split. Modifiers must be in PTX's order, and an unknown modifier never matches."""

    text: str
    mnemonic: str
    parts: tuple[str, ...]

    @classmethod
    def split(cls, text: str) -> Opcode:
        mnemonic, *parts = text.split(".")
        return cls(text, mnemonic, tuple(parts))

    def match(self, *slots: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the modifier chosen in each slot, or None if the parts don't fit the slots exactly.

        A slot lists its alternatives. If it lists "", it may be left out and then yields "".
        """
        chosen = []
        position = 0
        for slot in slots:
            part = self.parts[position] if position < len(self.parts) else ""
            if part and part in slot:
                position += 1
                chosen.append(part)
            elif "" in slot:
                chosen.append("")
            else:
                return None
        return tuple(chosen) if position == len(self.parts) else None


Family = Callable[[Opcode], Operation | None]


def typed(
    types: tuple[str, ...], sources: int, function: Function, *, more: tuple[str, ...] = (), result: str = ""
) -> Family:
    """Return the family of an opcode whose only modifier is the type of its first operands.

    more: the types of the other operands
    result: its type, if it isn't the same
    """

    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(types)
        return Operation(opcode.text, (*match * sources, *more), result or match[0], function) if match else None

    return family


def optional(*names: str) -> tuple[str, ...]:
    return (*names, "")


def width(type_name: str) -> int:
    """Return the bits of a scalar PTX integer or bit type."""
    return int(type_name[1:])
