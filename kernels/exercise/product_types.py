"""The element types of a product: which ones fit, and the numbers for which every correct kernel's sums are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernels.exercise.values import ElementType

_FP8 = frozenset({ElementType.E4M3, ElementType.E5M2})
_WHOLE = frozenset({ElementType.CHAR, ElementType.BYTE})

_RESULTS: Mapping[ElementType, tuple[ElementType, ...]] = {
    ElementType.FLOAT: (ElementType.FLOAT,),
    ElementType.DOUBLE: (ElementType.DOUBLE,),
    ElementType.HALF: (ElementType.FLOAT, ElementType.HALF),
    ElementType.BFLOAT: (ElementType.FLOAT,),
    **dict.fromkeys(_FP8, (ElementType.FLOAT, ElementType.HALF)),
    **dict.fromkeys(_WHOLE, (ElementType.INT,)),
}

_WIDEST = {ElementType.FLOAT: 2**13 - 1, ElementType.HALF: 15, ElementType.DOUBLE: 2**40 - 1}
_LARGEST_INT = 2**31 - 1
_FP8_DIGITS = 13
"""Some tensor cores keep no more binary digits of a sum of fp8 products."""

_CUT = 2.0**-21
"""What tensor cores may lose with each product, as a share of the sum of all products' sizes.

They align the products of a block and the sum so far to the largest one, and cut each 23 or more places behind its
first: 2^-23 for the product, 2^-23 for the sum. The new sum is cut to a float: 2^-23. The rest is for what these add to
each other.
"""

_CUT_FP8 = 2.0 ** (2 - _FP8_DIGITS)
"""The same for fp8, with 13 places."""


@dataclass(frozen=True, slots=True)
class ProductTypes:
    """The types of both factors and of the result."""

    left: ElementType
    right: ElementType
    result: ElementType

    @property
    def problem(self) -> str:
        """Why they don't fit; "" if they do."""
        factors = {self.left, self.right}
        if len(factors) > 1 and not (factors <= _FP8 or factors <= _WHOLE):
            return f"a matmul can't have factors of the types `{self.left}` and `{self.right}`"
        if self.left not in _RESULTS:
            return f"a matmul can't have factors of the type `{self.left}`"
        if self.result not in _RESULTS[self.left]:
            fitting = " or ".join(f"`{each}`" for each in _RESULTS[self.left])
            return f"a product of `{self.left}` is {fitting}"
        return ""

    def wide(self, factor: ElementType) -> int:
        """The largest element of a wide factor."""
        most = factor.whole_range[1]
        return min(most - 1, _WIDEST[self.result]) if factor.is_float else most

    def narrow(self, factor: ElementType) -> int:
        """The largest element of a narrow factor: 1, or all that is exact anyway."""
        return 1 if factor.is_float else factor.whole_range[1]

    def nonzeros(self, wide: ElementType, narrow: ElementType) -> int:
        """The most terms that a dot product of a wide factor and a narrow one may have, so that it is exact."""
        return self.largest_sum // (self.wide(wide) * self.narrow(narrow))

    @property
    def largest_sum(self) -> int:
        """The largest sum of whole numbers that is exact in every order."""
        if not self.result.is_float:
            return _LARGEST_INT
        digits = self.result.digits
        return 1 << (min(digits, _FP8_DIGITS) if self.left in _FP8 else digits)

    @property
    def step(self) -> float:
        """The relative error of each multiplication and addition of reals, as a share of the sum of their sizes."""
        rounded = self.result.ulp / 2
        if self.left is ElementType.DOUBLE:
            return 2 * rounded  # the judge's own sum has the same error
        return rounded if self.left is ElementType.FLOAT else rounded + (_CUT_FP8 if self.left in _FP8 else _CUT)


FLOATS = ProductTypes(ElementType.FLOAT, ElementType.FLOAT, ElementType.FLOAT)
