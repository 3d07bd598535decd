"""The steps of multiplications, and of the move within a matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.device.memory.access import Step
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.unset_values import spoiled
from kernels.device.tensor.forms import EIGHT, Multiplication
from kernels.device.tensor.multiplication import multiply_add
from kernels.device.tensor.warps import Origins, Warps, element_origins, product_origins, register_origins


def multiply_step(
    form: Multiplication, line: int | None, name: str, targets: Sequence[int | None], sources: Sequence[Sequence[int]]
) -> Step:
    """d = a * b + c. sources: the registers of a, b and c."""
    fragments = form.a, form.b, form.c

    def multiply(machine: Machine, mask: Mask | None) -> None:
        warps = Warps(machine, mask, line, name)
        if not machine.multiplies:
            return
        a, b, c = (
            fragment.matrices(warps.gather(numbers, fragment.register_bits))
            for fragment, numbers in zip(fragments, sources, strict=True)
        )
        d = multiply_add(form.kinds, b, a, c) if form.swapped else multiply_add(form.kinds, a, b, c)
        origins = [warps.origins(numbers) for numbers in sources] if machine.unset.origins else [None] * 3
        warps.write(targets, form.d.words(d), mask)
        if machine.unset.origins:
            warps.note_origins(targets, _product_origins(form, origins, len(d)), mask)

    return multiply


def _product_origins(form: Multiplication, origins: Sequence[Origins | None], warps: int) -> Origins | None:
    """An element of the product is unset if any element of its row, its column or the addend is."""
    if all(each is None for each in origins):
        return None
    a, b, c = (
        None if each is None else element_origins(fragment, spoiled(each))
        for fragment, each in zip((form.a, form.b, form.c), origins, strict=True)
    )
    if form.kinds.quads:
        quads = [each.reshape(warps, 4, -1).max(axis=2) for each in (a, b) if each is not None]
        whole = np.repeat(np.max(quads, axis=0), 8, axis=1)[:, :, np.newaxis] if quads else None
        a, b = whole, None
    elif form.swapped:
        a, b = b, a
    return register_origins(form.d, product_origins((a, b, c), (warps, form.d.rows, form.d.columns)))


def transpose_step(line: int | None, name: str, target: int | None, source: int) -> Step:
    """The step of `movmatrix`, which transposes a matrix of 8 by 8 elements."""

    def transpose(machine: Machine, mask: Mask | None) -> None:
        warps = Warps(machine, mask, line, name)
        origins = warps.origins([source])
        turned = np.ascontiguousarray(EIGHT.matrices(warps.gather([source], 32)).swapaxes(1, 2))
        warps.write([target], EIGHT.words(turned), mask)
        if machine.unset.origins:
            found = None if origins is None else register_origins(EIGHT, element_origins(EIGHT, origins).swapaxes(1, 2))
            warps.note_origins([target], found, mask)

    return transpose
