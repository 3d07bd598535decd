"""The inputs and the error bounds of products of each type."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernels.exercise import InputKind
from kernels.exercise.product_types import ProductTypes
from kernels.exercise.values import ElementType
from kernels.judging.element_bits import held
from kernels.judging.inputs import expected_product, make_inputs
from tests.kernels.test_inputs import SEED, case_of

HALF, BFLOAT, E4M3, E5M2 = ElementType.HALF, ElementType.BFLOAT, ElementType.E4M3, ElementType.E5M2
FLOAT, DOUBLE, INT = ElementType.FLOAT, ElementType.DOUBLE, ElementType.INT
CHAR, BYTE = ElementType.CHAR, ElementType.BYTE
FLOATS = [
    ProductTypes(FLOAT, FLOAT, FLOAT),
    ProductTypes(DOUBLE, DOUBLE, DOUBLE),
    ProductTypes(HALF, HALF, FLOAT),
    ProductTypes(HALF, HALF, HALF),
    ProductTypes(BFLOAT, BFLOAT, FLOAT),
    ProductTypes(E4M3, E5M2, FLOAT),
    ProductTypes(E5M2, E5M2, HALF),
]
ALL = [*FLOATS, ProductTypes(CHAR, CHAR, INT), ProductTypes(BYTE, CHAR, INT), ProductTypes(BYTE, BYTE, INT)]
EXACT_UP_TO = {FLOAT: 2**24, HALF: 2**11, DOUBLE: 2**53, INT: 2**31 - 1}


def typed_case(types, shape, kind, turn=0):
    case = case_of(shape[0], shape[1], shape[2], kind, turn)
    kinds = types.left, types.right, types.result
    typed = tuple(replace(each, type=own) for each, own in zip(case.matrices, kinds, strict=True))
    return replace(case, matrices=typed)


def factors_of(types, shape, kind, turn=0):
    case = typed_case(types, shape, kind, turn)
    made = make_inputs(case, SEED)
    for matrix in case.inputs_of_kernel:
        assert np.array_equal(held(made[matrix.name], matrix.type), made[matrix.name])
    return made["M"].astype(np.float64), made["N"].astype(np.float64)


@pytest.mark.parametrize("types", ALL, ids=str)
@pytest.mark.parametrize("kind", [InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT])
@pytest.mark.parametrize("shape", [(5, 16, 7), (2, 40000, 2)])
def test_integers_stay_exact_in_every_order(types, kind, shape):
    left, right = factors_of(types, shape, kind)
    exact = EXACT_UP_TO[types.result] if types.left not in {E4M3, E5M2} else min(EXACT_UP_TO[types.result], 2**13)
    assert (np.abs(left) @ np.abs(right)).max() <= exact
    wide = left if kind is InputKind.INTEGERS_LEFT else right
    assert (wide == np.rint(wide)).all()
    assert wide.all()
    assert (wide.min() > 0) == ((types.left is BYTE and wide is left) or (types.right is BYTE and wide is right))


@pytest.mark.parametrize("types", ALL, ids=str)
@pytest.mark.parametrize("turn", [0, 1])
def test_a_permutation_needs_all_digits_and_its_products_are_exact(types, turn):
    case = typed_case(types, (24, 24, 24), InputKind.PERMUTATION, turn)
    expected = expected_product(case, make_inputs(case, SEED))
    assert np.array_equal(held(expected.values, types.result), expected.values)
    assert expected.values.all()
    if types.left is types.right and types.result is not INT:
        assert (np.ldexp(np.frexp(expected.values)[0], types.left.digits) % 2 == 1).all()


def cut(values, places):
    """The values without what is more than that many places behind each one's first."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.trunc(np.ldexp(mantissa, places)), exponent - places)


def added_up(terms, block, places, result):
    """As tensor cores do it: addends aligned to the largest exponent and cut, then the sum rounded to the result."""
    total = np.zeros(terms.shape[1:])
    for start in range(0, len(terms), block):
        addends = np.concatenate([terms[start : start + block], total[np.newaxis]])
        unit = np.exp2(np.frexp(np.abs(addends).max(axis=0))[1] - 1.0 - places)
        exact = (np.trunc(addends / np.where(unit, unit, 1)) * unit).sum(axis=0)
        total = cut(exact, 24) if result is FLOAT else held(exact, result).astype(np.float64)
    return total


def reals(types, shape=(12, 32, 12)):
    case = typed_case(types, shape, InputKind.REAL)
    made = make_inputs(case, SEED)
    left, right = made["M"].astype(np.float64), made["N"].astype(np.float64)
    return expected_product(case, made), left.T[:, :, np.newaxis] * right[:, np.newaxis]


@pytest.mark.parametrize("types", FLOATS[2:], ids=str)
@pytest.mark.parametrize("block", [1, 4, 8, 16, 32])
def test_the_bound_of_reals_allows_every_tensor_core(types, block):
    expected, terms = reals(types)
    random = np.random.default_rng(3)
    for places in (23, 24, 25) if types.left in {HALF, BFLOAT} else (13, 25):
        for order in (np.arange(32), random.permutation(32), np.argsort(np.abs(terms[:, 0, 0]))):
            found = added_up(terms[order], block, places, types.result)
            assert (np.abs(found - expected.values) <= expected.bound).all()


def test_the_bound_holds_where_each_cut_loses_most():
    types = ProductTypes(HALF, HALF, FLOAT)
    case = typed_case(types, (1, 32, 1), InputKind.REAL)
    tiny = 2.0**-12 - 2.0**-22
    left, right = np.full((1, 32), tiny), np.full((32, 1), tiny)
    left[0, 0] = right[0, 0] = 1
    expected = expected_product(case, {"M": left, "N": right})
    found = added_up((left.T * right)[:, :, np.newaxis], 1, 23, FLOAT)
    assert 0 < np.abs(found - expected.values).max() <= expected.bound.min()


@pytest.mark.parametrize("types", [ProductTypes(HALF, HALF, FLOAT), ProductTypes(BFLOAT, BFLOAT, FLOAT)], ids=str)
def test_the_bound_of_reals_refuses_sums_in_half(types):
    expected, terms = reals(types)
    found = added_up(terms, 16, 25, HALF)
    assert (np.abs(found - expected.values) > expected.bound).any()
