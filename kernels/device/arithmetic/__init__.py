"""Vectorised PTX arithmetic, exact to the bit.

`operation(opcode)` says what an arithmetic, logic, comparison, selection or conversion opcode does. An opcode that
is not known in every part, its modifiers included, has no operation: the device then says so instead of guessing.
Callers run the functions under `numpy.errstate(all="ignore")`.
"""

from __future__ import annotations

from functools import lru_cache

from kernels.device.arithmetic import (
    approximate,
    bits,
    compare,
    convert,
    floating,
    half,
    integer,
    narrow,
    product,
)
from kernels.device.arithmetic.opcode import NUMPY_TYPES, Family, Opcode, Operation

__all__ = ["NUMPY_TYPES", "Operation", "operation"]

_MODULES = (integer, product, floating, half, approximate, bits, compare, convert, narrow)
_FAMILIES: tuple[dict[str, Family], ...] = tuple(module.FAMILIES for module in _MODULES)


@lru_cache(maxsize=4096)
def operation(opcode: str, complement: bool = False) -> Operation | None:
    """The meaning of a full dotted opcode, or None.

    complement: setp's form with two destinations, `p|q`; no other opcode has it.
    """
    split = Opcode.split(opcode)
    if complement:
        return compare.with_complement(split)
    for families in _FAMILIES:
        family = families.get(split.mnemonic)
        found = family(split) if family else None
        if found:
            return found
    return None
