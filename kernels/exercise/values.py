"""The values of an operand's elements, for the operation `solution`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernels.expression import Expression


class ElementType(StrEnum):
    FLOAT = "float"
    INT = "int"
    UNSIGNED = "unsigned"
    DOUBLE = "double"
    LONG = "long long"
    CHAR = "char"
    BYTE = "unsigned char"
    SHORT = "short"
    UNSIGNED_SHORT = "unsigned short"
    HALF = "half"
    BFLOAT = "__nv_bfloat16"
    E4M3 = "__nv_fp8_e4m3"
    E5M2 = "__nv_fp8_e5m2"

    @property
    def code(self) -> str:
        """Numpy's name of an element in memory: `f`, `i` or `u`, and its bytes. `u` also for floats without a name."""
        return _CODES[self]

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def bytes(self) -> int:
        return int(self.code[1])

    @property
    def digits(self) -> int:
        """The binary digits of a float."""
        return _FLOATS[self][0]

    @property
    def largest(self) -> float:
        """The largest finite number of a float."""
        return _FLOATS[self][1]

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number of a float with all its digits."""
        return _FLOATS[self][2]

    @property
    def ulp(self) -> float:
        """The last place of a number, as a share of it; 0 for whole numbers."""
        return 2.0 ** (1 - self.digits) if self.is_float else 0.0

    @property
    def whole_range(self) -> tuple[int, int]:
        """The least and the largest whole number for an operand's elements. Every one between is exact."""
        if self.is_float or self is ElementType.LONG:
            most = 1 << (self.digits if self.is_float else ElementType.DOUBLE.digits)
            return -most, most
        bits = 8 * self.bytes
        return (0, (1 << bits) - 1) if self.code[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The C types that an exercise may give, the usual one first."""
        return _SPELLINGS.get(self, (self.value,))


_CODES = {
    ElementType.FLOAT: "f4",
    ElementType.INT: "i4",
    ElementType.UNSIGNED: "u4",
    ElementType.DOUBLE: "f8",
    ElementType.LONG: "i8",
    ElementType.CHAR: "i1",
    ElementType.BYTE: "u1",
    ElementType.SHORT: "i2",
    ElementType.UNSIGNED_SHORT: "u2",
    ElementType.HALF: "f2",
    ElementType.BFLOAT: "u2",
    ElementType.E4M3: "u1",
    ElementType.E5M2: "u1",
}
_FLOATS = {
    ElementType.FLOAT: (24, (2 - 2.0**-23) * 2.0**127, 2.0**-126),
    ElementType.DOUBLE: (53, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022),
    ElementType.HALF: (11, 65504.0, 2.0**-14),
    ElementType.BFLOAT: (8, (2 - 2.0**-7) * 2.0**127, 2.0**-126),
    ElementType.E4M3: (4, 448.0, 2.0**-6),
    ElementType.E5M2: (3, 57344.0, 2.0**-14),
}
_SPELLINGS = {
    ElementType.UNSIGNED: ("unsigned int", "unsigned"),
    ElementType.HALF: ("half", "__half"),
    ElementType.BFLOAT: ("__nv_bfloat16", "nv_bfloat16"),
}


class ValueKind(StrEnum):
    """The pattern of an operand's elements before the launch."""

    INTEGERS = "integers"  # any whole numbers from `low` to `high`
    SORTED = "sorted"  # the same in ascending order
    PERMUTATION = "permutation"  # 0, 1, 2 and so on in random order, each once
    IMAGE = "image"  # brightness from `low` to `high`: a gradient, bright boxes and noise
    ROW_STARTS = "row_starts"  # of a sparse matrix: where each row starts, and last the number of entries
    ROW_COLUMNS = "row_columns"  # of a sparse matrix: each entry's column, ascending within a row
    MANTISSAS = "mantissas"  # floats with full mantissas: 24 bits, or 53 of a double
    REAL = "real"  # floats from -1 to 1
    ZEROS = "zeros"
    GIVEN = "given"  # the exercise's own `numbers`, from the first again after the last

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that describe this kind further."""
        return _FIELDS.get(self, ())

    @property
    def is_float(self) -> bool:
        """Whether only floats can have these values."""
        return self in {ValueKind.MANTISSAS, ValueKind.REAL}

    @property
    def is_whole(self) -> bool:
        """Whether these values are indices, which floats shouldn't hold."""
        return self in {ValueKind.ROW_STARTS, ValueKind.ROW_COLUMNS}


_FIELDS = {
    ValueKind.INTEGERS: ("low", "high"),
    ValueKind.SORTED: ("low", "high"),
    ValueKind.IMAGE: ("low", "high"),
    ValueKind.GIVEN: ("numbers",),
    ValueKind.ROW_STARTS: ("entries", "longest"),
    ValueKind.ROW_COLUMNS: ("rows", "columns"),
}


_LOW, _HIGH = Expression.parse("-8"), Expression.parse("8")
_NONE = Expression.parse("1")


@dataclass(frozen=True, slots=True)
class Values:
    """How an operand's elements are made.

    low, high: the smallest and the largest element
    entries, longest: for ROW_STARTS, the entries of the matrix, and of its longest row
    columns: for ROW_COLUMNS, the columns of the matrix
    rows: for ROW_COLUMNS, the operand with the starts of the rows
    numbers: for GIVEN
    """

    kind: ValueKind
    low: Expression = _LOW
    high: Expression = _HIGH
    entries: Expression = _NONE
    longest: Expression = _NONE
    columns: Expression = _NONE
    rows: str = ""
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may be from the solution's. ulps: in units of its last place."""

    absolute: float = 0.0
    ulps: float = 0.0

    @property
    def text(self) -> str:
        """Such as `1e-05+4ulp`; "" for none."""
        parts = [f"{self.absolute:g}"] if self.absolute else []
        return "+".join([*parts, f"{self.ulps:g}ulp"] if self.ulps else parts)


@dataclass(frozen=True, slots=True)
class WorkRule:
    """What counts as the work of one launch, for a speed. None for what the exercise doesn't say."""

    flops: Expression | None = None
    bytes: Expression | None = None
    elements: Expression | None = None


EXACT = Tolerance()
UNSAID = WorkRule()
