"""Mistakes that explain an incorrect output.

A diagnosis needs proof: the mistake must give exactly the incorrect output, element for element.
"""

from __future__ import annotations

import numpy as np

from kernels.judging.compare import Mask, Product, Solved, Sums, Transposed
from kernels.judging.diagnosis import outputs, products, sums, transposes
from kernels.judging.diagnosis.outputs import Diagnosis

__all__ = ["Diagnosis", "diagnose"]


def diagnose(output: Product | Sums | Transposed | Solved, wrong: Mask) -> tuple[Diagnosis, ...]:
    """Every explanation that the data prove, the most helpful first."""
    # A mistake's values may overflow the format that it uses.
    with np.errstate(all="ignore"):
        found = _explanations(output, wrong)
    return tuple(diagnosis for diagnosis in found if diagnosis is not None)


def _explanations(output: Product | Sums | Transposed | Solved, wrong: Mask) -> list[Diagnosis | None]:
    if isinstance(output, Solved):
        return [rule(output, wrong) for rule in outputs.RULES]
    if isinstance(output, Sums):
        return [rule(output, wrong) for rule in sums.RULES]
    if isinstance(output, Transposed):
        return [rule(output, wrong) for rule in transposes.RULES]
    return [*products.reordered(output), *(rule(output, wrong) for rule in products.RULES)]
