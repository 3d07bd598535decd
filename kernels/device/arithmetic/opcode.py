"""What a PTX opcode of the arithmetic family means: its operand types, its result and its vectorised function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Function = Callable[..., Any]

# How a lane array of each PTX type is held. The packed and bfloat types have no numpy counterpart and stay bits.
NUMPY_TYPES: dict[str, type[Any]] = {
    "pred": np.bool_,
    "b8": np.uint8, "u8": np.uint8, "s8": np.int8,
    "b16": np.uint16, "u16": np.uint16, "s16": np.int16,
    "b32": np.uint32, "u32": np.uint32, "s32": np.int32,
    "b64": np.uint64, "u64": np.uint64, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "bf16": np.uint16, "f16x2": np.uint32, "bf16x2": np.uint32, "tf32": np.uint32,
    "u16x2": np.uint32, "s16x2": np.uint32, "f32x2": np.uint64,
}  # fmt: skip

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = UNSIGNED + SIGNED
BITS = ("b16", "b32", "b64")


@dataclass(frozen=True, slots=True)
class Operation:
    """One opcode, ready to run.

    sources: PTX type of each source operand, in the order of the instruction; an immediate counts as one.
    result: PTX type of the destination, or one for each destination.
    function: takes one array for each source (see NUMPY_TYPES) and returns new arrays of the result types.
    approximate: the hardware's result may differ in its last bits; ours is inside the bound that PTX promises.
    flops: floating-point operations a lane, an addition or a product one, a fused multiply-add two.
    """

    opcode: str
    sources: tuple[str, ...]
    result: str | tuple[str, ...]
    function: Function
    approximate: bool = False
    flops: int = 0


@dataclass(frozen=True, slots=True)
class Opcode:
    """A dotted opcode, split. Its modifiers are read strictly and in PTX's order: what is unknown never fits."""

    text: str
    mnemonic: str
    parts: tuple[str, ...]

    @classmethod
    def split(cls, text: str) -> Opcode:
        mnemonic, *parts = text.split(".")
        return cls(text, mnemonic, tuple(parts))

    def match(self, *slots: tuple[str, ...]) -> tuple[str, ...] | None:
        """The modifier chosen in each slot, or None when the parts do not fit the slots exactly.

        A slot lists its alternatives; one that lists "" may be left out and then yields "".
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


def optional(*names: str) -> tuple[str, ...]:
    """A slot that may be left out."""
    return (*names, "")


def width(type_name: str) -> int:
    """Bits of a scalar PTX integer or bit type."""
    return int(type_name[1:])
