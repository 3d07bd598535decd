"""Logic, shifts and bit fields beside the sentences of the PTX manual, written in Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.device.arithmetic import operation
from tests.kernels.device.arithmetic.patterns import arrays, differences, lanewise, run

LANES = 6 * 1024
ALL = 0xFFFFFFFF


def check(opcode: str, function, *given: np.ndarray) -> None:
    found = operation(opcode)
    assert found is not None
    operands = given or [arrays(name, LANES, 1, number)[0] for number, name in enumerate(found.sources)]
    wanted = lanewise(function, str(found.result), *operands)
    assert differences(run(opcode, *operands), wanted) == 0


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_logic_and_shifts(bits):
    check(f"and.b{bits}", lambda a, b: a & b)
    check(f"or.b{bits}", lambda a, b: a | b)
    check(f"xor.b{bits}", lambda a, b: a ^ b)
    check(f"not.b{bits}", lambda a: ~a)
    check(f"cnot.b{bits}", lambda a: int(a == 0))
    check(f"shl.b{bits}", lambda a, b: a << min(b, bits))
    for kind in "bus":
        check(f"shr.{kind}{bits}", lambda a, b: a >> min(b, bits))


def test_predicates():
    check("and.pred", lambda a, b: a and b)
    check("or.pred", lambda a, b: a or b)
    check("xor.pred", lambda a, b: a != b)
    check("not.pred", lambda a: not a)


@pytest.mark.parametrize("bits", [32, 64])
def test_counts(bits):
    check(f"popc.b{bits}", lambda a: a.bit_count())
    check(f"clz.b{bits}", lambda a: bits - a.bit_length())
    check(f"brev.b{bits}", lambda a: int(f"{a:0{bits}b}"[::-1], 2))


@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
def test_highest_bit(name):
    top = int(name[1:]) - 1

    def find(a: int) -> int:
        return (~a if a < 0 else a).bit_length() - 1

    check(f"bfind.{name}", find)
    check(f"bfind.shiftamt.{name}", lambda a: top - find(a) if find(a) >= 0 else ALL)


@pytest.mark.parametrize("table", range(0, 256, 5))
def test_truth_table_of_three(table):
    a, b, c = arrays("b32", 192, 3)

    def function(a: int, b: int, c: int) -> int:
        places = range(32)
        return sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in places)

    got = run("lop3.b32", a, b, c, np.full((1, 1), table, np.uint32))
    assert differences(got, lanewise(function, "b32", a, b, c)) == 0


def test_funnel_shifts():
    check("shf.l.wrap.b32", lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32)
    check("shf.r.wrap.b32", lambda a, b, c: (b << 32 | a) >> (c & 31))
    check("shf.l.clamp.b32", lambda a, b, c: ((b << 32 | a) << min(c, 32)) >> 32)
    check("shf.r.clamp.b32", lambda a, b, c: (b << 32 | a) >> min(c, 32))


def chosen(pair: int, selector: int) -> int:
    byte = pair >> 8 * (selector & 7) & 0xFF
    return (0xFF if byte & 0x80 else 0) if selector & 8 else byte


def test_permutation_of_bytes():
    def permute(a: int, b: int, c: int) -> int:
        return sum(chosen(b << 32 | a, c >> 4 * i & 15) << 8 * i for i in range(4))

    check("prmt.b32", permute)


@pytest.mark.parametrize(
    ("mode", "place"),
    [
        ("f4e", lambda i, s: s + i),
        ("b4e", lambda i, s: (s - i) % 8),
        ("rc8", lambda i, s: s),
        ("ecl", max),
        ("ecr", min),
        ("rc16", lambda i, s: 2 * (s & 1) + (i & 1)),
    ],
)
def test_named_permutations(mode, place):
    def permute(a: int, b: int, c: int) -> int:
        return sum(((b << 32 | a) >> 8 * place(i, c & 3) & 0xFF) << 8 * i for i in range(4))

    check(f"prmt.b32.{mode}", permute)


@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
def test_field_extraction_copies_the_sign_bit_beyond_the_field(name):
    msb = int(name[1:]) - 1

    def extract(a: int, start: int, count: int) -> int:
        kept = 0xFF if msb == 31 else ALL
        start, count = start & kept, count & kept
        sign = 0
        if name[0] == "s" and count:
            sign = a >> min(start + count - 1, msb) & 1
        bits = [a >> i + start & 1 if i < count and i + start <= msb else sign for i in range(msb + 1)]
        return sum(bit << i for i, bit in enumerate(bits))

    check(f"bfe.{name}", extract)
    (a,) = arrays(name, LANES, 1, 4)
    rng = np.random.default_rng(6)
    start, count = (rng.integers(0, 80, a.shape).astype(np.uint32) for _ in range(2))
    check(f"bfe.{name}", extract, a, start, count)


@pytest.mark.parametrize("bits", [32, 64])
def test_field_insertion(bits):
    def insert(a: int, b: int, start: int, count: int) -> int:
        kept = 0xFF if bits == 32 else ALL
        start, count = min(start & kept, bits), min(count & kept, bits)
        mask = ((1 << count) - 1) << start
        return b & ~mask | a << start & mask

    check(f"bfi.b{bits}", insert)
    a, b = arrays(f"b{bits}", LANES, 2, 4)
    rng = np.random.default_rng(7)
    start, count = (rng.integers(0, 80, a.shape).astype(np.uint32) for _ in range(2))
    check(f"bfi.b{bits}", insert, a, b, start, count)


def test_masks():
    check("bmsk.clamp.b32", lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32))
    check("bmsk.wrap.b32", lambda a, b: ((1 << (b & 31)) - 1) << (a & 31))
