"""A wrong output is explained where the data prove it, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kernels.facts import Element
from kernels.judging.compare import (
    NEVER_WRITTEN,
    POISON,
    Product,
    Solved,
    Transposed,
    mismatch,
    show,
    with_poison,
    wrong_elements,
)
from kernels.judging.diagnosis import diagnose
from kernels.judging.inputs import Expected
from kernels.judging.outcomes import explain

TILE = 16


def product_of(width: int, change: Callable[[np.ndarray, np.ndarray], np.ndarray], seed: int = 1) -> Product:
    random = np.random.default_rng(seed)
    left = random.integers(1, 8192, (width, width)) * random.choice([-1.0, 1.0], (width, width))
    right = random.choice([-1.0, 1.0], (width, width))
    actual = np.asarray(change(left, right)).astype(np.float32)
    expected = Expected(left @ right, np.zeros((width, width)))
    return Product(left, right, expected, actual, TILE, ("M", "N", "P"))


def keys(product: Product) -> list[str]:
    wrong = wrong_elements(product.actual, product.expected)
    return [diagnosis.key for diagnosis in diagnose(product, wrong)]


def turned(matrix: np.ndarray, side: int) -> np.ndarray:
    """The matrix with each square of that side transposed."""
    result = matrix.copy()
    for row in range(0, matrix.shape[0], side):
        for column in range(0, matrix.shape[1], side):
            square = slice(row, row + side), slice(column, column + side)
            result[square] = matrix[square].T
    return result


@pytest.mark.parametrize("side", [8, 16])
def test_fragments_of_a_transposed_matrix_are_named(side):
    product = product_of(48, lambda left, right: left @ turned(right, side))
    found = diagnose(product, wrong_elements(product.actual, product.expected))
    assert ("fragments", ("N",)) in [(each.key, each.names) for each in found]
    both = product_of(48, lambda left, right: turned(left, side) @ turned(right, side))
    assert "fragments" in keys(both)
    assert "fragments" not in keys(product_of(40, lambda left, right: left @ right + 1))


@pytest.mark.parametrize("block", [8, 16])
def test_half_sums_of_a_tensor_core_are_a_narrow_format(block):
    def change(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        total = np.zeros(left.shape)
        for k in range(0, len(left), block):
            total = as_half(total + left[:, k : k + block] @ right[k : k + block]).astype(float)
        return total

    assert "narrow_format" in keys(product_of(48, change))


def cells(product: Product) -> list[tuple[str, ...]]:
    """The cells of tiles that the diagnoses name."""
    wrong = wrong_elements(product.actual, product.expected)
    return [each.names for each in diagnose(product, wrong) if each.key == "tile_cells"]


def text(product: Product) -> str:
    wrong = wrong_elements(product.actual, product.expected)
    return " ".join(diagnosis.text for diagnosis in diagnose(product, wrong))


def narrow(values: np.ndarray, bits: int) -> np.ndarray:
    mantissa, exponent = np.frexp(values)
    rounded: np.ndarray = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return rounded


def as_half(values: np.ndarray) -> np.ndarray:
    """Each value in half precision, or infinity."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


def sums_in(left: np.ndarray, right: np.ndarray, bits: int) -> np.ndarray:
    """The product if each product and each step of its sum is rounded."""
    total = np.zeros((left.shape[0], right.shape[1]))
    for k in range(left.shape[1]):
        total = narrow(total + narrow(np.outer(left[:, k], right[k]), bits), bits)
    return total


def without(axis_part: tuple[slice, slice]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def change(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        result: np.ndarray = (left @ right).astype(np.float32)
        result[axis_part] = POISON
        return result

    return change


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("transposed", lambda a, b: (a @ b).T),
        ("swapped", lambda a, b: b @ a),
        ("left_transposed", lambda a, b: a.T @ b),
        ("right_transposed", lambda a, b: a @ b.T),
        ("scaled_2", lambda a, b: 2 * (a @ b)),
        ("scaled_-1", lambda a, b: -(a @ b)),
        ("last_tile", lambda a, b: a[:, :32] @ b[:32]),
        ("first_tile", lambda a, b: a[:, :16] @ b[:16]),
        ("last_term", lambda a, b: a[:, :-1] @ b[:-1]),
        ("first_term", lambda a, b: a[:, 1:] @ b[1:]),
        ("tile_missing", lambda a, b: a[:, 16:] @ b[16:]),
        ("tile_twice", lambda a, b: a @ b + a[:, 16:32] @ b[16:32]),
        ("only_one_tile", lambda a, b: a[:, 32:] @ b[32:]),
        ("row_down", lambda a, b: np.roll(a @ b, 1, axis=0)),
        ("column_left", lambda a, b: np.roll(a @ b, -1, axis=1)),
        ("narrow_format", lambda a, b: narrow(a, 8) @ b),
        ("narrow_format", lambda a, b: narrow(a, 11) @ b),
        ("narrow_format", lambda a, b: narrow(a @ b, 11)),
        ("narrow_format", lambda a, b: sums_in(a, b, 8)),
        ("narrow_format", lambda a, b: sums_in(narrow(a, 8), narrow(b, 8), 8)),
        ("narrow_format", lambda a, b: as_half(a @ b)),
        ("never_written", lambda a, b: np.full(a.shape, POISON, np.float32)),
        ("partly_written", without((slice(32, None), slice(None)))),
        ("not_finite", lambda a, b: (a @ b) * np.nan),
        ("zero", lambda a, b: 0 * a),
    ],
)
def test_the_mistake_is_named(key, change):
    assert keys(product_of(37, change))[0] == key


def of_cells(left_cell: str, right_cell: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The product if each thread uses these cells of the tiles."""

    def change(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        edge = -len(left) % TILE
        left, right = (np.pad(each, (0, edge)) for each in (left, right))
        shape = (len(left) // TILE, TILE) * 2
        # r, p and c count tiles, the other letters cells in them.
        cells = f"r{left_cell[0]}p{left_cell[1]},p{right_cell[0]}c{right_cell[1]}"
        result: np.ndarray = np.einsum(f"{cells}->rycx", left.reshape(shape), right.reshape(shape))
        return result.reshape(left.shape)[: len(left) - edge, : len(left) - edge]

    return change


@pytest.mark.parametrize("width", [2, 16, 37])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("left", "right", "named"),
    [
        ("yk", "xk", ("M", "ty", "k", "N", "tx", "k")),
        ("ky", "kx", ("M", "k", "ty", "N", "k", "tx")),
        ("ky", "xk", ("M", "k", "ty", "N", "tx", "k")),
        ("xk", "ky", ("M", "tx", "k", "N", "k", "ty")),
    ],
)
def test_the_cells_of_tiles_that_a_kernel_multiplies_are_named(left, right, named, width, seed):
    product = product_of(width, of_cells(left, right), seed)
    assert named in cells(product)
    # In a single tile, the whole matrix is transposed, too.
    assert ("right_transposed" in keys(product)) is ((left, right) == ("yk", "xk") and width < 37)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.__setitem__((slice(32, None), slice(None)), 0), "rows of the last, partial tile"),
        (lambda r: r.__setitem__((slice(None), slice(32, None)), 0), "columns of the last, partial tile"),
        (lambda r: r.__setitem__((5, 7), 1.0), "a single element"),
        (lambda r: r.__setitem__((slice(None), -1), 1.0), "the last column"),
    ],
)
def test_the_place_is_named(change, words):
    def changed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        result: np.ndarray = a @ b
        change(result)
        return result

    assert words in text(product_of(37, changed))


def test_one_element_does_not_tell_a_format():
    product = product_of(1, lambda a, b: narrow(a, 8) @ b)
    assert product.actual != product.expected.values
    assert "narrow_format" not in keys(product)


@pytest.mark.parametrize("shape", [(32, 40), (40, 32)])
def test_a_transpose_with_partial_tiles_gets_its_place_alone(shape):
    given = np.arange(1.0, 1281.0).reshape(shape)
    expected = Expected(given.T, np.zeros(given.T.shape))
    actual = given.T.astype(np.float32)
    actual[3, 5] += 1
    output = Transposed(given, expected, actual, TILE, ("from", "to"))
    found = diagnose(output, wrong_elements(actual, expected))
    assert [diagnosis.key for diagnosis in found] == ["a single element"]


def test_an_output_that_is_wrong_everywhere_gets_no_made_up_reason():
    random = np.random.default_rng(5)
    noise = product_of(37, lambda a, b: a @ b + random.integers(1, 50, a.shape))
    assert keys(noise) == []


def test_right_outputs_have_no_mismatch_and_zero_has_no_sign():
    right = product_of(5, lambda a, b: a @ b)
    assert mismatch(right, wrong_elements(right.actual, right.expected)) is None
    zero = replace(
        right, expected=Expected(np.zeros((5, 5)), np.zeros((5, 5))), actual=np.full((5, 5), -0.0, np.float32)
    )
    assert not wrong_elements(zero.actual, zero.expected).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, POISON])
def test_no_bound_lets_nan_or_infinity_pass(value):
    expected = Expected(np.zeros((1, 1)), np.full((1, 1), np.inf))
    assert wrong_elements(np.array([[value]], np.float32), expected).all()


def test_the_first_wrong_element_is_shown():
    product = product_of(3, lambda a, b: a @ b + np.diag([0.0, 0.0, 5.0]))
    found = mismatch(product, wrong_elements(product.actual, product.expected))
    assert found is not None
    assert (found.element, found.wrong, found.elements) == (Element("P", (2, 2)), 1, 9)
    assert int(found.found) == int(found.right) + 5


def test_an_element_that_nobody_wrote_is_called_so():
    product = product_of(3, without((slice(1, 2), slice(1, 2))))
    found = mismatch(product, wrong_elements(product.actual, product.expected))
    assert found is not None
    assert (str(found.element), found.found) == ("P[1][1]", NEVER_WRITTEN)


def test_an_unwritten_whole_number_has_no_value():
    actual = with_poison(np.array([[1, 2]], np.int16), np.array([[False, True]]))
    expected = Expected(np.array([[1.0, 2.0]]), np.zeros((1, 2)))
    solved = Solved(expected, actual, TILE, ("P",), vector=False, name_of=lambda *at: Element("P", at))
    found = mismatch(solved, wrong_elements(actual, expected))
    assert found is not None
    assert (found.found, found.values) == (NEVER_WRITTEN, ())


def test_the_place_of_elements_never_written_is_said_once():
    product = product_of(37, without((slice(32, None), slice(None))))
    assert text(product).count("partial tile") == 1


def real_product(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Product:
    random = np.random.default_rng(7)
    left, right = random.random((13, 13)) * 9, random.random((13, 13)) * 9
    actual = np.asarray(change(left, right)).astype(np.float32)
    return Product(left, right, Expected(left @ right, np.full((13, 13), 1e-3)), actual, TILE, ("M", "N", "P"))


def test_whole_numbers_are_named_where_fractions_are_due():
    assert keys(real_product(lambda a, b: np.trunc(a @ b))) == ["whole_numbers"]
    assert keys(real_product(lambda a, b: np.trunc(a @ b) + 0.5)) == []


@pytest.mark.parametrize(
    "change", [lambda a, b: np.trunc(a) @ b, lambda a, b: a @ np.trunc(b), lambda a, b: np.trunc(a) @ np.trunc(b)]
)
def test_inputs_without_fractions_are_named(change):
    assert keys(real_product(change))[0] == "cut_factors"


def test_other_sums_and_sums_of_zero_do_not_prove_cut_inputs():
    assert "cut_factors" not in keys(real_product(lambda a, b: np.rint(a) @ b))
    product = real_product(lambda a, b: 0 * a)
    left = product.left / 10
    small = replace(product, left=left, expected=Expected(left @ product.right, product.expected.bound))
    of_zero = diagnose(small, wrong_elements(small.actual, small.expected))
    cut = diagnose(given := real_product(lambda a, b: np.trunc(a) @ b), wrong_elements(given.actual, given.expected))
    assert "cut_factors" in {each.key for each in of_zero}
    assert "cut_factors" not in {each.key for each in explain([of_zero])}
    assert "cut_factors" in {each.key for each in explain([of_zero, cut])}


def test_whole_numbers_are_not_named_where_whole_numbers_are_due_or_all_are_zero():
    random = np.random.default_rng(5)
    assert keys(product_of(37, lambda a, b: a @ b + random.integers(1, 50, a.shape))) == []
    assert "whole_numbers" not in keys(real_product(lambda a, b: 0 * a))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2121957.0, "2121957"),
        (np.float32(2121957.2), "2121957.2"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (2.0**53, "9007199254740992"),
        (2.0**60, "1.1529215e+18"),
        (0.0001220703125, "0.00012207031"),
        (1.5e-5, "1.5e-05"),
        (np.inf, "inf"),
        (np.nan, "NaN"),
    ],
)
def test_numbers_have_one_format(value, shown):
    assert show(float(value)) == shown
