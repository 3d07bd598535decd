"""Products of other types than float: their inputs keep their promises, and nothing but the right output passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernels.exercise import InputKind
from kernels.exercise.product_types import ProductTypes
from kernels.exercise.values import ElementType
from kernels.judging.compare import POISON
from kernels.judging.element_bits import DTYPES, numbers
from kernels.judging.inputs import Matrix, output_of, to_memory
from tests.marks import linux
from tests.worker.gpu.judge_here import COLUMN, ROW, TYPED, Ran, judge, product
from worker.gpu.backend import Memory
from worker.gpu.judge.recipes import SPECIAL_EVERY, Kind, Recipe, recipes, values
from worker.gpu.judge.verification import Damage, Verified, Wrong
from worker.gpu.operands import POISON_WORD

INTEGERS = [InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT]
KINDS = [*INTEGERS, InputKind.PERMUTATION]
LONG = {ElementType.HALF: 300, ElementType.FLOAT: 600, ElementType.INT: 40, ElementType.DOUBLE: 40}
"""Terms of a dot product, more than may be nonzero if a test can afford that."""

types = pytest.mark.parametrize("types", TYPED, ids=lambda types: " ".join((types.left, types.right, types.result)))


def words(matrix: Matrix) -> np.typing.NDArray[np.uint8]:
    return np.ascontiguousarray(matrix).view(np.uint8)


def changed(number: Matrix, kind: ElementType, bit: int) -> Matrix:
    """A number with one bit changed."""
    held = to_memory(np.array([[number]]), ROW, kind).view(f"u{kind.bytes}")
    return numbers((held ^ held.dtype.type(1 << bit)).view(DTYPES[kind]), kind)[0]


@linux
@types
def test_device_and_numpy_agree_on_every_bit(types: ProductTypes) -> None:
    """Both factors of both roles, in both orders; the second shape has groups with one nonzero element."""
    backend, judging = judge()
    for shape in ((7, 33, 5), (3, LONG[types.result], 3)):
        for kind, seed in ((InputKind.INTEGERS_LEFT, 1), (InputKind.INTEGERS_RIGHT, 2), *zip([KINDS[2]] * 2, (4, 5))):
            given = recipes(product(kind, shape, (ROW, COLUMN, ROW), types), kind, seed)
            for recipe in given.values():
                expected = words(to_memory(values(recipe), recipe.layout, recipe.type))
                memory = backend.take(-(-expected.size // 4), guarded=True)
                backend.fill(memory, 0xFFFF_FFFF)
                judging.make(recipe, memory)
                made = backend.read(memory).view(np.uint8)
                assert (made[: expected.size] == expected).all(), recipe
                rest = np.array([POISON_WORD], np.uint32).view(np.uint8)
                assert (made[expected.size :] == rest[4 - made.size + expected.size :]).all()
                assert judging.changed(recipe, memory) is None
                judging.release()


@types
@pytest.mark.parametrize("kind", INTEGERS)
def test_sums_of_integers_are_exact_in_any_order(types: ProductTypes, kind: InputKind) -> None:
    given = recipes(product(kind, (48, 2 * LONG[types.result], 40), types=types), kind, 3)
    a, b = (values(given[name]).astype(np.float64) for name in "AB")
    wide, narrow = (a, b.T) if kind is InputKind.INTEGERS_LEFT else (b.T, a)
    wide_type, narrow_type = (types.left, types.right) if kind is InputKind.INTEGERS_LEFT else (types.right, types.left)
    terms = (narrow != 0).sum(axis=1)
    alone = terms == 1
    assert 0 < alone.sum() < len(terms) / 4
    assert terms.max() <= types.nonzeros(wide_type, narrow_type)
    assert wide.all()
    special = np.abs(wide[:, given["A"].phase :: SPECIAL_EVERY])
    plain = np.delete(np.abs(wide), np.s_[given["A"].phase :: SPECIAL_EVERY], axis=1)
    assert plain.max() <= types.wide(wide_type)
    assert plain.max() > 0.95 * types.wide(wide_type) or types.wide(wide_type) < 20
    assert (special % 2 == 1).all()
    assert special.min() > 2.0 ** (given["A"].digits - 1 if wide_type is types.left else given["B"].digits - 1)
    most = (np.abs(narrow) @ np.abs(wide).T)[~alone].max()
    assert most <= types.nonzeros(wide_type, narrow_type) * types.wide(wide_type) * types.narrow(narrow_type)
    assert np.isin(np.abs(narrow[alone]).max(axis=1), [1, 2, 4, 8]).all()
    signed = narrow_type is not ElementType.BYTE
    assert (narrow.min() < 0) == signed
    assert np.abs(narrow[~alone]).max() > 0.95 * types.narrow(narrow_type)


@types
def test_both_alternatives_of_a_permutation_have_all_digits(types: ProductTypes) -> None:
    case = product(InputKind.PERMUTATION, (30, 20, 30), types=types)
    for seed in (2, 3):
        for recipe in recipes(case, case.inputs, seed).values():
            found = np.abs(values(recipe).astype(np.float64))
            if recipe.kind is Kind.MANTISSAS:
                assert (found % 2 == 1).all()
                assert (found.min() >= 2.0 ** (recipe.digits - 1), found.max() < 2.0**recipe.digits) == (True, True)
            else:
                scales = set(found[found != 0])
                assert scales == {2.0**exponent for exponent in range(recipe.lowest, 5)}


@linux
@types
@pytest.mark.parametrize("kind", KINDS)
def test_the_right_product_passes_and_no_other(types: ProductTypes, kind: InputKind) -> None:
    """A last bit, an unwritten element, an overwritten input and a write past the end, with rows and with columns."""
    for seed, layouts in ((2, (ROW, COLUMN, ROW)), (3, (COLUMN, ROW, COLUMN))):
        ran = Ran(product(kind, (7, 19, 9), layouts, types), seed)
        assert ran.verified(2**63 - seed) == Verified()
        for at in ((0, 0), (6, 8), (3, 5)):
            output = ran.right.copy()
            output[at] = changed(output[at], types.result, 0)
            ran.put(output)
            found = ran.wrong()
            assert found == Wrong(1, at, float(output[at]), float(ran.right[at]), lines=kind in INTEGERS)
        ran.put(ran.right)
        first = ran.memories["A"]
        bits = ran.backend.read(Memory(first.place, 1))[0] ^ 1
        ran.poke(first, 0, int(bits))
        assert ran.verified().changed == {"A": Damage(1, 0, 0)}
        assert ran.verified().wrong is None
        ran.poke(first, 0, int(bits) ^ 1)
        ran.poke(ran.backend.guards(ran.memories["B"])[1], 2, 0)
        assert ran.verified().hurt == {"B": Damage(1, 1, 2)}


@linux
@types
def test_numbers_that_are_no_integers_are_found(types: ProductTypes) -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (6, 8, 9), types=types))
    if not types.result.is_float:
        pytest.skip("the type has only integers")
    for bad in (np.nan, np.inf, -np.inf, 0.5, types.result.largest):
        output = ran.right.copy()
        output[4, 6] = bad
        ran.put(output)
        found = ran.wrong()
        assert found is not None
        assert (found.count, found.element, found.right) == (1, (4, 6), ran.right[4, 6])
    zero = np.where(ran.right == 0, -0.0, ran.right).astype(ran.right.dtype)
    ran.put(zero)
    assert ran.wrong() is None


@linux
@types
@pytest.mark.parametrize("kind", KINDS[1:])
def test_what_was_never_written_is_found(types: ProductTypes, kind: InputKind) -> None:
    ran = Ran(product(kind, (5, 6, 7), types=types))
    ran.backend.fill(ran.out, POISON_WORD)
    found = ran.wrong()
    assert found is not None
    assert found.count == (35 if kind is InputKind.PERMUTATION else 5)
    assert found.unwritten == (types.result.bytes >= 4)


@linux
@types
@pytest.mark.parametrize("kind", KINDS)
def test_a_rounded_operand_makes_the_product_wrong(types: ProductTypes, kind: InputKind) -> None:
    """One bit less than the type has: tensor cores that take a narrower type would lose it."""
    ran = Ran(product(kind, (40, 48, 40), types=types), seed=6)
    a, b = (values(ran.given[name]).astype(np.float64) for name in "AB")
    for left, right in ((_rounded(a, ran.given["A"].digits - 1), b), (a, _rounded(b, ran.given["B"].digits - 1))):
        output = left @ right
        if (output == ran.right).all():
            continue
        ran.put(output)
        assert ran.wrong() is not None
        break
    else:
        raise AssertionError("no rounded operand shows")


def _rounded(matrix: Matrix, bits: int) -> np.typing.NDArray[np.float64]:
    fraction, exponent = np.frexp(matrix)
    rounded: np.typing.NDArray[np.float64] = np.ldexp(np.round(fraction * 2.0**bits), exponent - bits)
    return rounded


@linux
def test_differences_with_many_factors_of_two_are_found() -> None:
    """Modulo 2^64, a difference of 2^56 would pass for one in 256 vectors."""
    doubles = TYPED[-1]
    ran = Ran(product(InputKind.INTEGERS_LEFT, (2, 3, 2), types=doubles))
    output = ran.right.copy()
    output[1, 1] += 2.0**56
    ran.put(output)
    assert all(ran.wrong(vector) is not None for vector in range(600))


@linux
def test_the_last_bytes_before_a_guard_zone_belong_to_it() -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (3, 5, 3), types=TYPED[5]))
    last = ran.memories["A"].words - 1
    held = int(ran.backend.read(Memory(ran.memories["A"].place + 4 * last, 1))[0])
    ran.poke(ran.memories["A"], last, held & 0x00FF_FFFF)
    assert ran.verified() == Verified(hurt={"A": Damage(1, 1, 0)})


def test_a_double_has_bits_beyond_32() -> None:
    (recipe, _) = recipes(product(InputKind.INTEGERS_LEFT, (50, 64, 2), types=TYPED[-1]), KINDS[0], 1).values()
    plain = np.abs(values(replace(recipe, phase=SPECIAL_EVERY))).astype(np.int64)
    assert plain.max() < 2**40
    assert len(np.unique(plain & 0xFF)) == 256


def test_a_recipe_is_of_floats_unless_it_says_more() -> None:
    recipe = Recipe(Kind.WIDE, 2, 2, ROW, 1)
    assert (recipe.type, recipe.more, recipe.digits, recipe.lowest) == (ElementType.FLOAT, 0, 24, -4)
    assert output_of(product(KINDS[0], (1, 1, 1))).type is ElementType.FLOAT
    assert POISON != POISON
