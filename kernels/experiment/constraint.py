"""Conditions on the values of a point, such as `BM % TM == 0 and BM * BN <= 1024`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.expression import Expression, ExpressionError

_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
# Shifts are arithmetic, so `<<` and `>>` don't compare.
_COMPARISON = re.compile(r"<=|>=|==|!=|(?<!<)<(?!<)|(?<!>)>(?!>)")
_AND = re.compile(r"\band\b|&&")


LONGEST = 500
"""Characters of a condition. Each of its comparisons costs time at each combination of values."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    left: Expression
    compare: str
    right: Expression

    def holds(self, values: Mapping[str, int]) -> bool:
        return _COMPARE[self.compare](self.left.value(values), self.right.value(values))


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition that every point meets: its text and the names it uses.

    cost: how much work one evaluation is, in operations
    """

    text: str
    names: frozenset[str]
    cost: int
    _parts: tuple[_Comparison, ...]

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Read a condition; raises ExpressionError."""
        if len(text) > LONGEST:
            raise ExpressionError(f"it is longer than {LONGEST} characters; split it into several conditions")
        parts = tuple(_comparison(part) for part in _AND.split(text))
        names = frozenset[str]().union(*(part.left.names | part.right.names for part in parts))
        cost = sum(1 + part.left.cost + part.right.cost for part in parts)
        return cls(text.strip(), names, cost, parts)

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether these values meet it; values that divide by zero don't. They have all of its names."""
        try:
            return all(part.holds(values) for part in self._parts)
        except ExpressionError:
            return False


def _comparison(text: str) -> _Comparison:
    found = list(_COMPARISON.finditer(text))
    if len(found) != 1:
        raise ExpressionError(f"`{text.strip()}` needs one comparison, such as `<=` or `==`")
    sign = found[0]
    return _Comparison(Expression.parse(text[: sign.start()]), sign[0], Expression.parse(text[sign.end() :]))
