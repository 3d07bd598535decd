"""What the judge's kernels make is what numpy makes, and keeps the promises of exact inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.exercise import InputKind, Layout
from kernels.exercise.values import ElementType
from kernels.judging.inputs import NONZERO_LIMIT, WIDE_LIMIT, to_memory
from tests.marks import linux
from tests.worker.gpu.judge_here import COLUMN, ROW, judge, product, sums, transpose
from worker.gpu.judge.recipes import SPECIAL_EVERY, Kind, Lines, Recipe, elements, mixed, recipes, values

KINDS, LINES = list(Kind), list(Lines)
SHAPES = [(1, 1), (7, 5), (33, 70), (5, 1100), (1, 2500), (2500, 1), (3, 4100), (4100, 3), (2, 6145)]
kinds, lines = st.sampled_from(KINDS), st.sampled_from(LINES)
seeds, sides = st.integers(0, 2**63 - 1), st.integers(1, 40)


@pytest.mark.one_in(3, "two of five kinds; test_typed_recipes.py has each with a type")
@linux
@pytest.mark.parametrize("layout", [ROW, pytest.param(COLUMN, marks=pytest.mark.long("the short suite has rows"))])
@pytest.mark.parametrize("kind", KINDS)
def test_device_and_numpy_agree_to_the_last_bit(kind: Kind, layout: Layout) -> None:
    backend, judging = judge()
    for rows, columns in SHAPES:
        for along in LINES:
            seed = mixed(rows * columns)
            length = columns if along is Lines.ROWS else rows
            phase = seed % min(SPECIAL_EVERY, length)
            recipe = Recipe(kind, rows, columns, layout, seed, along, limit=1000, phase=phase)
            memory = backend.take(rows * columns)
            backend.fill(memory, 0xFFFF_FFFF)
            judging.make(recipe, memory)
            made = to_memory(values(recipe), layout, ElementType.FLOAT).view(np.uint32)
            assert (backend.read(memory) == made).all(), (recipe, "made")
            assert judging.changed(recipe, memory) is None
            judging.release()


@settings(deadline=None, max_examples=60)
@given(kinds, lines, sides, sides, seeds)
def test_an_element_is_the_same_whatever_is_asked_for_beside_it(
    kind: Kind, along: Lines, rows: int, columns: int, seed: int
) -> None:
    recipe = Recipe(kind, rows, columns, ROW, seed, along, limit=9)
    row, column = rows // 2, columns // 3
    alone = elements(recipe, np.array([row]), np.array([column]))
    assert alone[0] == values(recipe)[row, column]


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from([InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT]),
    sides,
    st.one_of(sides, st.integers(2040, 2060), st.integers(4090, 6200)),
    sides,
    seeds,
)
def test_products_of_integers_are_exact_in_any_order(
    kind: InputKind, rows: int, inner: int, columns: int, seed: int
) -> None:
    made = {n: values(recipe) for n, recipe in recipes(product(kind, (rows, inner, columns)), kind, seed).items()}
    a, b = made["A"].astype(np.float64), made["B"].astype(np.float64)
    wide, narrow = (a, b.T) if kind is InputKind.INTEGERS_LEFT else (b.T, a)
    terms = (narrow != 0).sum(axis=1)
    sizes = np.abs(narrow) @ np.abs(wide).T
    # One term alone is exact whatever it is; more of them are, as long as they stay where float holds every integer.
    alone = terms == 1
    assert sizes[~alone].max(initial=0) <= 2**24
    assert sizes[alone].max(initial=0) <= 2**27
    assert terms.max() <= NONZERO_LIMIT
    assert wide.all()
    assert (wide == np.round(wide)).all()
    assert np.isin(narrow[~alone], [-1, 0, 1]).all()
    assert np.isin(np.abs(narrow), [0, 1, 2, 4, 8]).all()


@pytest.mark.parametrize("kind", [InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT])
@pytest.mark.parametrize("seed", range(5))
def test_every_product_of_integers_shows_what_a_narrower_format_loses(kind: InputKind, seed: int) -> None:
    """Here 22 of the 24 bits of a float: two numbers of 11 bits each, as tensor cores take them."""
    made = recipes(product(kind, (64, 256, 64)), kind, seed)
    a, b = (values(recipe).astype(np.float64) for recipe in made.values())
    rounded_a, rounded_b = _rounded(a, 22), _rounded(b, 22)
    assert (rounded_a @ b != a @ b).any() or (a @ rounded_b != a @ b).any()
    special = {recipe.phase for recipe in made.values()}
    assert len(special) == 1


def _rounded(matrix: np.typing.NDArray[np.float64], bits: int) -> np.typing.NDArray[np.float64]:
    fraction, exponent = np.frexp(matrix)
    rounded: np.typing.NDArray[np.float64] = np.ldexp(np.round(fraction * 2.0**bits), exponent - bits)
    return rounded


def test_integers_use_their_range_and_both_signs() -> None:
    recipe = Recipe(Kind.WIDE, 300, 300, ROW, 5, phase=3)
    special = np.arange(300) % SPECIAL_EVERY == 3
    wide, full = values(recipe)[:, ~special], values(recipe)[:, special]
    assert (np.abs(wide).max(), np.abs(wide).min()) == (WIDE_LIMIT, 1)
    assert len(np.unique(wide)) > 15_800
    assert (np.abs(full).astype(np.int64) % 2 == 1).all()
    assert np.abs(full).min() >= 2**23
    for kind in (Kind.WIDE, Kind.MANTISSAS):
        assert 0.48 < (values(Recipe(kind, 300, 300, ROW, 5)) > 0).mean() < 0.52
    narrow = values(Recipe(Kind.NARROW, 300, 300, ROW, 5))
    assert 0.48 < (narrow[narrow != 0] > 0).mean() < 0.52


def test_one_line_in_sixteen_of_a_narrow_factor_is_special() -> None:
    narrow = values(Recipe(Kind.NARROW, 4000, 64, ROW, 9, phase=5))
    terms = (narrow != 0).sum(axis=1)
    alone = terms == 1
    assert 0.05 < alone.mean() < 0.075
    assert set(terms) == {1, 60}
    assert (narrow[~alone][:, 5::SPECIAL_EVERY] == 0).all()
    places = np.argmax(narrow[alone] != 0, axis=1)
    assert set(places) == {5, 21, 37, 53}
    assert set(np.abs(narrow[alone]).max(axis=1)) == {1, 2, 4, 8}


def test_every_mantissa_has_24_bits_and_is_odd() -> None:
    found = np.abs(values(Recipe(Kind.MANTISSAS, 200, 200, ROW, 6)).astype(np.int64))
    assert (found % 2 == 1).all()
    assert found.min() >= 2**23
    assert found.max() < 2**24


@settings(deadline=None, max_examples=60)
@given(lines, st.integers(1, 300), st.integers(1, 300), seeds)
def test_a_selection_takes_every_place_before_it_takes_one_twice(
    along: Lines, rows: int, columns: int, seed: int
) -> None:
    found = values(Recipe(Kind.SELECTION, rows, columns, ROW, seed, along))
    found = found if along is Lines.ROWS else found.T
    assert ((found != 0).sum(axis=1) == 1).all()
    exponents = np.log2(np.abs(found[found != 0]))
    assert (exponents == np.round(exponents)).all()
    assert np.abs(exponents).max() <= 4
    uses = (found != 0).sum(axis=0)
    assert uses.max() - uses.min() <= 1


def test_a_long_selection_stays_whole_to_the_end() -> None:
    recipe = Recipe(Kind.SELECTION, 2**20, 2**20 - 3, ROW, 11)
    start, step = recipe.walk
    some = [0, 1, 2**19 + 5, 2**20 - 1]
    places = [((start + line * step) % 2**64 >> 32) * recipe.length >> 32 for line in some]
    first = places[0]
    stride = (places[1] - first) % recipe.length
    assert places == [(first + line * stride) % recipe.length for line in some]


def test_matrices_of_a_case_have_nothing_in_common() -> None:
    case = product(InputKind.INTEGERS_LEFT, (9, 9, 9))
    first, again, other = (recipes(case, InputKind.INTEGERS_LEFT, seed) for seed in (4, 4, 5))
    assert first == again
    every = [recipe.seed for made in (first, other) for recipe in made.values()]
    assert len(set(every)) == 4


def test_the_seed_says_which_factor_selects() -> None:
    case = product(InputKind.PERMUTATION, (4, 5, 6))
    chosen = [[r.kind for r in recipes(case, InputKind.PERMUTATION, seed).values()] for seed in (2, 3)]
    assert chosen == [[Kind.MANTISSAS, Kind.SELECTION], [Kind.SELECTION, Kind.MANTISSAS]]


def test_a_section_never_adds_up_to_more_than_float_holds() -> None:
    for section in (1, 512, 4096, 2**22):
        (recipe,) = recipes(sums((1, 1), section, (1, 1)), InputKind.INTEGERS, 3).values()
        assert 1 <= recipe.limit <= WIDE_LIMIT
        assert recipe.limit * section <= 2**23


def test_only_what_is_exact_has_a_recipe() -> None:
    with pytest.raises(ValueError, match="real"):
        recipes(product(InputKind.REAL, (2, 2, 2)), InputKind.REAL, 1)
    assert recipes(transpose(3, 4), InputKind.MANTISSAS, 1)["A"].kind is Kind.MANTISSAS


def test_numbers_are_mixed_as_published() -> None:
    assert mixed(0x9E37_79B9_7F4A_7C15) == 0xE220_A839_7B1D_CDAF  # SplitMix64's first number from seed 0
