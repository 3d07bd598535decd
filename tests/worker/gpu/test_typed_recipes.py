"""Products of other types than float: their inputs keep their promises, and nothing but the right output passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kernels.exercise import InputKind
from kernels.exercise.product_types import ProductTypes
from kernels.exercise.values import ElementType
from kernels.judging.element_bits import DTYPES, numbers
from kernels.judging.inputs import Matrix, output_of, to_memory
from tests.marks import linux
from tests.worker.gpu.judge_here import COLUMN, ROW, TYPED, Ran, judge, product
from worker.gpu.backend import Backend, Code, Memory
from worker.gpu.judge.recipes import SPECIAL_EVERY, Kind, mixed, recipes, values
from worker.gpu.judge.verification import Damage, Judge, Verified, Wrong
from worker.gpu.operands import POISON_WORD

INTEGERS = [InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT]
KINDS = [*INTEGERS, InputKind.PERMUTATION]
LONG = {ElementType.HALF: 300, ElementType.FLOAT: 600, ElementType.INT: 40, ElementType.DOUBLE: 40}
"""Terms of a dot product, more than may be nonzero if a test can afford that."""


def _named(*chosen: ProductTypes):
    return pytest.mark.parametrize("types", chosen, ids=lambda types: f"{types.left} {types.right} {types.result}")


every = _named(*TYPED)
each_result = _named(TYPED[0], TYPED[1], TYPED[5], TYPED[-1])


def each_pair(test):
    """All types with all kinds; in the short suite, each type with one kind."""
    rest = pytest.mark.long("the short suite has every type and every kind, but not together")
    pairs = [
        pytest.param(types, kind, marks=[rest] * (number % len(KINDS) != place))
        for number, types in enumerate(TYPED)
        for place, kind in enumerate(KINDS)
    ]
    return pytest.mark.parametrize(("types", "kind"), pairs)(test)


def changed(number: Matrix, kind: ElementType) -> Matrix:
    """A number with its last bit changed."""
    held = to_memory(np.array([[number]]), ROW, kind).view(f"u{kind.bytes}")
    other: Matrix = numbers((held ^ held.dtype.type(1)).view(DTYPES[kind]), kind)[0]
    return other


@pytest.mark.one_in(2, "every second type")
@linux
@every
def test_device_and_numpy_agree_on_every_bit(types: ProductTypes) -> None:
    agree(*judge(), types)


def agree(backend: Backend, judging: Judge, types: ProductTypes, rows: int = 3) -> None:
    wanted = [*((kind, LONG[types.result], 1) for kind in INTEGERS), *((KINDS[2], 9, seed) for seed in (4, 5))]
    for kind, inner, seed in wanted:
        for recipe in recipes(product(kind, (rows, inner, 5), (ROW, COLUMN, ROW), types), kind, seed).values():
            expected = to_memory(values(recipe), recipe.layout, recipe.type).view(np.uint8)
            memory = backend.take(-(-expected.size // 4), guarded=True)
            backend.fill(memory, 0xFFFF_FFFF)
            judging.make(recipe, memory)
            made = backend.read(memory).view(np.uint8)
            assert (made[: expected.size] == expected).all(), recipe
            rest = np.array([POISON_WORD], np.uint32).view(np.uint8)
            assert (made[expected.size :] == rest[4 - made.size + expected.size :]).all()
            judging.release()


@every
@pytest.mark.parametrize("kind", INTEGERS)
def test_sums_of_integers_are_exact_in_any_order(types: ProductTypes, kind: InputKind) -> None:
    given = recipes(product(kind, (48, 2 * LONG[types.result], 40), types=types), kind, 3)
    a, b = (values(given[name]).astype(np.float64) for name in "AB")
    wide, narrow, large, small = (a, b.T, types.left, types.right)
    if kind is InputKind.INTEGERS_RIGHT:
        wide, narrow, large, small = (b.T, a, types.right, types.left)
    terms = (narrow != 0).sum(axis=1)
    alone = terms == 1
    assert 0 < alone.sum() < len(terms) / 4
    assert np.isin(np.abs(narrow[alone]).max(axis=1), [1, 2, 4, 8]).all()
    assert terms.max() <= types.nonzeros(large, small)
    largest, ones = types.wide(large), types.narrow(small)
    assert (np.abs(narrow) @ np.abs(wide).T)[~alone].max() <= types.nonzeros(large, small) * largest * ones
    special = np.arange(wide.shape[1]) % SPECIAL_EVERY == given["A"].phase
    assert (np.abs(wide[:, ~special]).min(), np.abs(wide).min()) == (1, 1) or largest > 300
    assert 0.95 * largest < np.abs(wide[:, ~special]).max() <= largest
    assert 0.95 * ones < np.abs(narrow[~alone]).max() <= ones
    digits = next(recipe.digits for recipe in given.values() if recipe.kind is Kind.WIDE)
    assert (wide[:, special] % 2 == 1).all()
    assert np.abs(wide[:, special]).min() >= 2.0 ** (digits - 1)
    assert (narrow.min() < 0) == (small is not ElementType.BYTE)


@every
def test_both_alternatives_of_a_permutation_have_all_digits(types: ProductTypes) -> None:
    case = product(InputKind.PERMUTATION, (30, 20, 30), types=types)
    for recipe in (each for seed in (2, 3) for each in recipes(case, case.inputs, seed).values()):
        found = np.abs(values(recipe).astype(np.float64))
        if recipe.kind is Kind.SELECTION:
            assert set(found[found != 0]) == {2.0**exponent for exponent in range(recipe.lowest, 5)}
            continue
        assert (found % 2 == 1).all()
        assert found.min() >= 2.0 ** (recipe.digits - 1)
        assert found.max() < 2.0**recipe.digits


@pytest.mark.one_in(4, "a quarter of the types")
@linux
@each_pair
def test_the_right_product_passes_and_no_other(types: ProductTypes, kind: InputKind) -> None:
    layouts = (ROW, COLUMN, ROW) if types.left.bytes < 2 else (COLUMN, ROW, COLUMN)
    only_the_right_one_passes(Ran(product(kind, (7, 19, 9), layouts, types), 3))


def only_the_right_one_passes(ran: Ran) -> None:
    """The right output passes. Then a last bit of it and of an input differs, and a word after the other input."""
    assert ran.verified(2**63 - 3) == Verified()
    output = ran.right.copy()
    output[3, 5] = changed(output[3, 5], output_of(ran.case).type)
    ran.put(output)
    first = ran.memories["A"]
    ran.poke(first, 0, int(ran.backend.read(Memory(first.place, 1))[0]) ^ 1)
    ran.poke(ran.backend.guards(ran.memories["B"])[1], 2, 0)
    wrong = Wrong(1, (3, 5), float(output[3, 5]), float(ran.right[3, 5]), lines=ran.case.inputs in INTEGERS)
    assert ran.verified() == Verified(wrong, {"A": Damage(1, 0, 0)}, {"B": Damage(1, 1, 2)})


@linux
@_named(TYPED[0], TYPED[1], TYPED[-1])
def test_numbers_that_are_no_integers_are_found(types: ProductTypes) -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (8, 8, 9), types=types))
    output = np.where(ran.right == 0, -0.0, ran.right).astype(ran.right.dtype)
    output[2:7, 6] = (np.nan, np.inf, -np.inf, 0.5, types.result.largest)
    ran.put(output)
    found = ran.wrong()
    assert found is not None
    assert (found.count, found.element, found.right) == (5, (2, 6), ran.right[2, 6])


@pytest.mark.one_in(3, "a third of the pairs of a type and a kind")
@linux
@each_result
@pytest.mark.parametrize("kind", KINDS[1:])
def test_what_was_never_written_is_found(types: ProductTypes, kind: InputKind) -> None:
    ran = Ran(product(kind, (5, 6, 7), types=types))
    ran.backend.fill(ran.out, POISON_WORD)
    found = ran.wrong()
    assert found is not None
    assert found.count == (35 if kind is InputKind.PERMUTATION else 5)
    assert found.unwritten == (types.result.bytes >= 4)


@pytest.mark.one_in(3, "a third of the pairs of a type and a kind")
@every
@pytest.mark.parametrize("kind", KINDS)
def test_a_rounded_operand_shows_in_the_product(types: ProductTypes, kind: InputKind) -> None:
    """One bit less than the type has, as tensor cores of a narrower type would take it."""
    given = recipes(product(kind, (40, 48, 40), types=types), kind, 6)
    a, b = (values(given[name]).astype(np.float64) for name in "AB")
    rounded = _rounded(a, given["A"].digits - 1) @ b, a @ _rounded(b, given["B"].digits - 1)
    assert any((found != a @ b).any() for found in rounded)


def _rounded(matrix: Matrix, bits: int) -> np.typing.NDArray[np.float64]:
    fraction, exponent = np.frexp(matrix)
    rounded: np.typing.NDArray[np.float64] = np.ldexp(np.round(fraction * 2.0**bits), exponent - bits)
    return rounded


@linux
def test_differences_with_many_factors_of_two_are_found() -> None:
    """Modulo 2^64, a difference of 2^56 would pass with this vector."""
    vector = next(each for each in range(10_000) if mixed(each + 2 * 0xD6E8_FEB8_6659_FD93) % 256 == 0)
    ran = Ran(product(InputKind.INTEGERS_LEFT, (2, 3, 2), types=TYPED[-1]))
    output = ran.right.copy()
    output[1, 1] += 2.0**56
    ran.put(output)
    assert ran.wrong(vector) is not None


@linux
def test_the_last_bytes_before_a_guard_zone_belong_to_it() -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (3, 5, 3), types=TYPED[5]))
    last = Memory(ran.memories["A"].place + 4 * (ran.memories["A"].words - 1), 1)
    ran.backend.fill(last, int(ran.backend.read(last)[0]) & 0x00FF_FFFF)
    assert ran.verified() == Verified(hurt={"A": Damage(1, 1, 0)})


def test_a_wide_double_uses_all_of_its_bits() -> None:
    (recipe, _) = recipes(product(InputKind.INTEGERS_LEFT, (50, 64, 2), types=TYPED[-1]), KINDS[0], 1).values()
    plain = np.abs(values(replace(recipe, phase=SPECIAL_EVERY))).astype(np.int64)
    assert 0.95 * 2**40 < plain.max() < 2**40
    assert len(np.unique(plain & 0xFF)) == 256


@pytest.fixture(scope="module")
def on_gpu(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[Backend, Judge]]:
    from worker.gpu.cupy_backend import opened
    from worker.gpu.judge.code import judge_code
    from worker.gpu.nvml import gpus

    wire, backend = judge_code(gpus()[0].arch, tmp_path_factory.mktemp("judge")), opened("")()
    both = backend, Judge(backend, Code(wire.ptx, wire.cubin_bytes))
    return lambda: both


@pytest.mark.gpu
@every
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_makes_and_verifies_every_type(types: ProductTypes, kind: InputKind, on_gpu) -> None:
    backend, judging = on_gpu()
    agree(backend, judging, types, rows=301)
    for layouts in ((ROW, COLUMN, ROW), (COLUMN, ROW, COLUMN)):
        only_the_right_one_passes(Ran(product(kind, (70, 1100, 2100), layouts, types), 3, on_gpu))
