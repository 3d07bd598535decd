"""Turn the tensor cores' instructions into steps."""

from __future__ import annotations

from collections.abc import Callable

from kernels.device.memory.access import Form, Step
from kernels.device.ptx.module import Immediate, Instruction, Malformed, Operand, Unsupported, Vector
from kernels.device.state.operands import Operands, Place
from kernels.device.tensor.access import Addresses, Pieces, matrix_step, rows_step
from kernels.device.tensor.forms import (  # fmt: skip
    MOVE,
    EightRows,
    MatrixAccess,
    Multiplication,
    eight_rows,
    matrix_access,
    multiplication,
)
from kernels.device.tensor.products import multiply_step, transpose_step

Access = Callable[[Form, Place, tuple[int, ...]], Step]
"""Makes the step that loads or stores some words at a place."""

_ROW_WORDS = 4


def tensor_step(operands: Operands, item: Instruction, name: str, access: Access) -> Step:
    """The step of an instruction. name: what the kernel's source calls it. Raises Unsupported or Malformed."""
    if (product := multiplication(item.opcode)) is not None:
        return _product(operands, item, name, product)
    if (matrix := matrix_access(item.opcode)) is not None:
        return _matrix(operands, item, name, matrix, access)
    if (rows := eight_rows(item.opcode)) is not None:
        return _rows(operands, item, name, rows, access)
    if item.opcode == MOVE:
        target, source = operands.target(item.operands[0], 32), operands.source(item.operands[1], 32)
        return transpose_step(item.line, name, target, source)
    raise Unsupported(item.opcode, item.line)


def _parts(operand: Operand, count: int) -> tuple[Operand | None, ...]:
    parts = operand.items if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise Malformed("a fragment with the wrong number of registers")
    return parts


def _product(operands: Operands, item: Instruction, name: str, form: Multiplication) -> Step:
    if len(item.operands) != 4:
        raise Malformed("a multiplication with the wrong number of operands")
    d, *given = item.operands
    targets = [operands.target(part, form.d.register_bits) for part in _parts(d, form.d.registers)]
    sources = [
        [operands.source(part, fragment.register_bits) for part in _parts(operand, fragment.registers)]
        for operand, fragment in zip(given, (form.a, form.b, form.c), strict=True)
    ]
    return multiply_step(form, item.line, name, targets, sources)


def _matrix(operands: Operands, item: Instruction, name: str, form: MatrixAccess, access: Access) -> Step:
    registers, place = (1, 0) if form.store else (0, 1)
    fragment = form.fragment
    find = operands.source if form.store else operands.target
    parts = _parts(item.operands[registers], fragment.registers)
    numbers = [find(part, fragment.register_bits) for part in parts]
    spare = [operands.spare(f"piece {number}") for number in range(1 + _ROW_WORDS)]
    pieces = Pieces(fragment.bits, form.lines, form.line_bytes, spare)
    base = operands.place(item.operands[place])
    words = Form(form.store, form.space, len(pieces.words), "b32", by_warp=True)
    run = access(words, Place(pieces.address, base.displacement), pieces.words)
    return matrix_step(form, matrix_addresses(operands, item, form, name), pieces, (item.line, name), numbers, run)


def matrix_addresses(operands: Operands, item: Instruction, form: MatrixAccess, name: str) -> Addresses:
    base = operands.place(item.operands[0 if form.store else 1]).register
    usual = Immediate(form.line_bytes * 8 // form.fragment.bits)
    stride = operands.source(item.operands[2] if len(item.operands) > 2 else usual, 32)
    return Addresses(base, stride, form.fragment.bits, name, item.line)


def _rows(operands: Operands, item: Instruction, name: str, form: EightRows, access: Access) -> Step:
    registers, place = (1, 0) if form.store else (0, 1)
    find = operands.source if form.store else operands.target
    numbers = [find(part, 32) for part in _parts(item.operands[registers], form.count)]
    words = tuple(operands.spare(f"piece {number}") for number in range(1, 1 + _ROW_WORDS))
    row = Form(form.store, form.space, _ROW_WORDS, "b32", by_warp=True)
    at = operands.place(item.operands[place])
    return rows_step(form, (item.line, name), numbers, words, at, access(row, at, words))
