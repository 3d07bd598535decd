"""Vectorised PTX arithmetic, bit-exact.

`operation(opcode)` returns what an arithmetic, logic, comparison, selection or conversion opcode does. An opcode with
any unknown part, even a modifier, has no operation. Then the device refuses it instead of guessing. Callers run the
functions under `numpy.errstate(all="ignore")`.
"""

from __future__ import annotations

from functools import lru_cache

from kernels.device.arithmetic import (
    approximate,
    bits,
    compare,
    convert,
    eight_bits,
    floating,
    half,
    integer,
    narrow,
    product,
)
from kernels.device.arithmetic.opcode import NUMPY_TYPES, Family, Opcode, Operation

__all__ = ["NUMPY_TYPES", "Operation", "operation"]

_MODULES = (integer, product, floating, half, approximate, bits, compare, convert, narrow, eight_bits)
_FAMILIES: tuple[dict[str, Family], ...] = tuple(module.FAMILIES for module in _MODULES)


@lru_cache(maxsize=4096)
def operation(opcode: str, complement: bool = False) -> Operation | None:
    """Return the operation of a full dotted opcode, or None.

    complement: use setp's form with two destinations, `p|q`; no other opcode has it
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
