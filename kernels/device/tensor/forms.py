"""The meaning of the tensor cores' opcodes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from kernels.device.state.space import kind_of
from kernels.device.tensor.fragments import Fragment, QuadFragment
from kernels.device.tensor.multiplication import Kinds

Shape = tuple[int, int, int]

BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
    "e4m3": 8, "e5m2": 8,
}  # fmt: skip
_DOUBLE_WEIGHT = 256
_TYPE = "|".join(BITS)
_SHAPE = r"m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)"
_SPACE = r"(?:\.(?P<space>global|shared)(?:::cta)?)?"
_MULTIPLY = re.compile(
    rf"mma\.sync\.aligned\.{_SHAPE}\.(?P<a_layout>row|col)\.(?P<b_layout>row|col)(?P<saturates>\.satfinite)?"
    rf"\.(?P<d>{_TYPE})\.(?P<a>{_TYPE})\.(?P<b>{_TYPE})\.(?P<c>{_TYPE})(?:\.(?P<combine>and|xor)\.popc)?"
)
_WMMA = re.compile(
    rf"wmma\.mma(?:\.(?P<combine>and|xor)\.popc)?\.sync\.aligned\.(?P<a_layout>row|col)\.(?P<b_layout>row|col)\.{_SHAPE}"
    rf"(?:\.rn)?\.(?P<d>{_TYPE})(?:\.(?P<a>{_TYPE})\.(?P<b>{_TYPE}))?\.(?P<c>{_TYPE})(?P<saturates>\.satfinite)?"
    # the manual has the rounding before the types, and the compiler behind them
    r"(?:\.rn)?"
)
_ACCESS = re.compile(
    rf"wmma\.(?P<verb>load|store)\.(?P<role>[abcd])\.sync\.aligned\.(?P<layout>row|col)\.{_SHAPE}{_SPACE}\.(?P<kind>{_TYPE})"
)
_EIGHTS = re.compile(
    rf"(?P<verb>ldmatrix|stmatrix)\.sync\.aligned\.m8n8\.x(?P<count>[124])(?P<turned>\.trans)?{_SPACE}\.b16"
)
ELSEWHERE = ".elsewhere"
"""Added to an opcode of `wmma` for a device on which fragments hold their elements at other places."""
MOVE = "movmatrix.sync.aligned.m8n8.trans.b16"

EIGHT = Fragment(8, 8, 16, 2)
"""One of the matrices of `ldmatrix`."""

_INTEGER_SHAPES = {
    8: {(8, 8, 16), (16, 8, 16), (16, 8, 32)},
    4: {(8, 8, 32), (16, 8, 32), (16, 8, 64)},
    1: {(8, 8, 128), (16, 8, 128), (16, 8, 256)},
}
_FLOAT_SHAPES = {
    "f16": {(16, 8, 8), (16, 8, 16)},
    "bf16": {(16, 8, 8), (16, 8, 16)},
    "tf32": {(16, 8, 4), (16, 8, 8)},
    "f64": {(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)},
    "e4m3": {(16, 8, 16), (16, 8, 32)},
    "e5m2": {(16, 8, 16), (16, 8, 32)},
}
_QUADS = (8, 8, 4)
_WIDE = {(16, 16, 16), (8, 32, 16), (32, 8, 16)}
_WMMA_SHAPES = {
    "f16": _WIDE, "bf16": _WIDE, "tf32": {(16, 16, 8)}, "f64": {(8, 8, 4)}, "s8": _WIDE, "u8": _WIDE,
    "s4": {(8, 8, 32)}, "u4": {(8, 8, 32)}, "b1": {(8, 8, 128)},
}  # fmt: skip
_SUMS = {"bf16": {"f32"}, "tf32": {"f32"}, "f64": {"f64"}}
_HALF_REGISTERS = 8
"""A wmma fragment of float16 factors always has so many registers."""


def weight(kinds: Kinds) -> int:
    """The time of an operation on tensor cores, in sixteenths of the time of one of half precision."""
    return _DOUBLE_WEIGHT if kinds.a == "f64" else BITS[kinds.a]


@dataclass(frozen=True, slots=True)
class Multiplication:
    """d = a * b + c. swapped: whether the fragments hold the transposed product, of `b` by `a`."""

    kinds: Kinds
    shape: Shape
    d: Fragment
    a: Fragment
    b: Fragment
    c: Fragment
    swapped: bool = False

    def elsewhere(self) -> Multiplication:
        d, a, b, c = (replace(each, moved=True) for each in (self.d, self.a, self.b, self.c))
        return replace(self, d=d, a=a, b=b, c=c)

    @property
    def operations(self) -> int:
        """The multiplications and additions of one thread's share."""
        m, n, k = self.shape
        return 2 * m * n * k // 32


@dataclass(frozen=True, slots=True)
class MatrixAccess:
    """A load or store of a whole matrix.

    space: "generic" if only the address shows the space
    factor: whether it isn't a sum
    lines: how many lines of consecutive elements the matrix has in memory
    turned: whether these lines are the fragment's columns
    """

    store: bool
    space: str
    factor: bool
    fragment: Fragment
    lines: int
    turned: bool

    def elsewhere(self) -> MatrixAccess:
        return replace(self, fragment=replace(self.fragment, moved=True))

    @property
    def line_bytes(self) -> int:
        return self.fragment.rows * self.fragment.columns // self.lines * self.fragment.bits // 8


@dataclass(frozen=True, slots=True)
class EightRows:
    """A load or store of matrices of 8 by 8 elements, whose rows are anywhere."""

    store: bool
    space: str
    count: int
    turned: bool

    @property
    def rows(self) -> int:
        return 8 * self.count


@lru_cache(maxsize=256)
def multiplication(opcode: str) -> Multiplication | None:
    """Parse a multiplication; None if it isn't one that the device knows."""
    if opcode.endswith(ELSEWHERE):
        usual = multiplication(opcode.removesuffix(ELSEWHERE))
        return None if usual is None else usual.elsewhere()
    if match := _MULTIPLY.fullmatch(opcode):
        return _plain(match)
    match = _WMMA.fullmatch(opcode)
    return None if match is None else _of_wmma(match)


def _kinds(match: re.Match[str], *, quads: bool = False) -> Kinds:
    factor = match["a"] or "f16"
    return Kinds(
        match["d"], factor, match["b"] or factor, match["c"], bool(match["saturates"]), match["combine"] or "", quads
    )


def _shape(match: re.Match[str]) -> Shape:
    return int(match["m"]), int(match["n"]), int(match["k"])


def _fits(kinds: Kinds) -> bool:
    """Whether the types of factors and sums go together."""
    a, b = kinds.a, kinds.b
    if a[0] in "sub":
        if a == "bf16":
            return b == a and kinds.d == kinds.c == "f32"
        alike = BITS[a] == BITS[b] and b[0] in "sub" and bool(kinds.combine) == (a == "b1")
        return alike and kinds.d == kinds.c == "s32"
    sums = _SUMS.get(a, {"f16", "f32"})
    alike = a == b or {a, b} == {"e4m3", "e5m2"}
    return alike and not kinds.saturates and {kinds.d, kinds.c} <= sums


def _plain(match: re.Match[str]) -> Multiplication | None:
    shape, layouts = _shape(match), (match["a_layout"], match["b_layout"])
    kinds = _kinds(match, quads=shape == _QUADS and match["a"] == "f16")
    if not _fits(kinds):
        return None
    if kinds.quads:
        left, right = (
            QuadFragment(32, 4, 16, 4, holds="row" if rows else "column")
            for rows in (layouts[0] == "row", layouts[1] == "col")
        )
        return Multiplication(kinds, shape, _quad_sum(kinds.d), left, right, _quad_sum(kinds.c))
    shapes = _FLOAT_SHAPES.get(kinds.a) or _INTEGER_SHAPES[BITS[kinds.a]]
    if layouts != ("row", "col") or shape not in shapes:
        return None
    m, n, k = shape
    a, b = _factor(m, k, kinds.a), _factor(n, k, kinds.b, paired=False)
    return Multiplication(kinds, shape, _sum(m, n, kinds.d), a, b, _sum(m, n, kinds.c))


def _quad_sum(kind: str) -> Fragment:
    return QuadFragment(32, 8, BITS[kind], 8, holds="row" if kind == "f16" else "mixed")


def _factor(rows: int, columns: int, kind: str, *, paired: bool = True, registers: int = 0) -> Fragment:
    bits = BITS[kind]
    fragment = Fragment(rows, columns, bits, max(1, 32 // bits), paired)
    if not registers:
        return fragment
    return Fragment(rows, columns, bits, max(1, 32 // bits), paired, registers // fragment.registers)


def _sum(rows: int, columns: int, kind: str) -> Fragment:
    return Fragment(rows, columns, BITS[kind], 2)


def _of_wmma(match: re.Match[str]) -> Multiplication | None:
    shape, kinds = _shape(match), _kinds(match)
    if kinds.a == "tf32":
        kinds = replace(kinds, block=4)
    if not _fits(kinds) or shape not in _WMMA_SHAPES.get(kinds.a, ()):
        return None
    d, a, b, c = (
        _wmma_fragment(role, shape, kind)
        for role, kind in (("d", kinds.d), ("a", kinds.a), ("b", kinds.b), ("c", kinds.c))
    )
    return Multiplication(kinds, shape, d, a, b, c, swapped=_swapped(shape))


def _swapped(shape: Shape) -> bool:
    return shape[1] > shape[0]


def _wmma_fragment(role: str, shape: Shape, kind: str) -> Fragment:
    """The fragment as an H100 lays it out, which CUDA leaves open.

    m8n32k16 is computed as the transposed product of m32n8k16.
    """
    m, n, k = shape
    if role in "cd":
        return _sum(n, m, kind) if _swapped(shape) else _sum(m, n, kind)
    paired = (role == "a") != _swapped(shape)
    return _factor(m if role == "a" else n, k, kind, paired=paired, registers=_HALF_REGISTERS if kind == "f16" else 0)


@lru_cache(maxsize=256)
def matrix_access(opcode: str) -> MatrixAccess | None:
    """Parse a wmma load or store; None if it isn't one that the device knows."""
    if opcode.endswith(ELSEWHERE):
        usual = matrix_access(opcode.removesuffix(ELSEWHERE))
        return None if usual is None else usual.elsewhere()
    match = _ACCESS.fullmatch(opcode)
    if match is None or (match["verb"] == "store") != (match["role"] == "d"):
        return None
    shape, role, kind = _shape(match), match["role"], match["kind"]
    factors = [name for name, shapes in _WMMA_SHAPES.items() if shape in shapes]
    sums = {each for name in factors for each in _SUMS.get(name, {"f16", "f32"} if name == "f16" else {"s32"})}
    if kind not in (sums if role in "cd" else factors):
        return None
    fragment = _wmma_fragment(role, shape, kind)
    rows = {"a": shape[0], "b": shape[2]}.get(role, shape[0])
    columns = {"a": shape[2], "b": shape[1]}.get(role, shape[1])
    by_rows = match["layout"] == "row"
    # The fragment's rows are columns of `b`, and of a transposed sum.
    transposed = role == "b" or (role in "cd" and _swapped(shape))
    space = "generic" if match["space"] is None else kind_of(match["space"])
    lines = rows if by_rows else columns
    return MatrixAccess(match["verb"] == "store", space, role in "ab", fragment, lines, by_rows == transposed)


def eight_rows(opcode: str) -> EightRows | None:
    """Parse `ldmatrix` or `stmatrix`; None if it isn't one that the device knows."""
    match = _EIGHTS.fullmatch(opcode)
    if match is None:
        return None
    space = "generic" if match["space"] is None else kind_of(match["space"])
    return EightRows(match["verb"] == "stmatrix", space, int(match["count"]), bool(match["turned"]))
