"""Addresses as values: the memory windows, and the addresses of functions, which are outside all memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernels.device.ptx.module import Instruction, Module, Symbol, Variable

GENERIC_SHIFT = 36
"""The number of bits of an address below its window's number."""

FUNCTION_BASE = 3 << GENERIC_SHIFT
_APART = 16
_POINTER_BYTES = 8


def function_addresses(module: Module) -> dict[str, int]:
    """Return the address of each function whose address the module uses as a value."""
    named: set[str] = set()
    variables = list(module.variables.values())
    for function in module.functions.values():
        variables += function.variables
        for item in function.body:
            if isinstance(item, Instruction) and not item.opcode.startswith("call"):
                named.update(operand.name for operand in item.operands if isinstance(operand, Symbol))
    named.update(symbol for variable in variables for _, symbol in variable.pointers)
    used = [each.name for each in module.functions.values() if each.defined and each.name in named and not each.entry]
    return {name: FUNCTION_BASE + _APART * number for number, name in enumerate(used, 1)}


def with_addresses(variable: Variable, addresses: Mapping[str, int]) -> Variable:
    """Return the variable with the addresses of functions in its initial bytes."""
    held = [(offset, addresses[name]) for offset, name in variable.pointers if name in addresses]
    if not held or variable.data is None:
        return variable
    data = bytearray(variable.data)
    for offset, address in held:
        place = slice(offset, offset + _POINTER_BYTES)
        whole = int.from_bytes(data[place], "little") + address & (1 << 8 * _POINTER_BYTES) - 1
        data[place] = whole.to_bytes(_POINTER_BYTES, "little")
    return replace(variable, data=bytes(data))
