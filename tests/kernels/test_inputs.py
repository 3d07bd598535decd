"""The inputs keep the promises that the verdicts rest on."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.exercise import Binding, InputKind, Layout, Role
from kernels.exercise.values import ElementType
from kernels.judging.inputs import expected_product, factors, from_memory, make_inputs, to_memory
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan

SEED = 0x0123456789ABCDEF0123456789ABCDEF


def case_of(rows: int, length: int, columns: int, kind: InputKind, turn: int = 0, name: str = "") -> CasePlan:
    def matrix(called: str, role: Role, height: int, width: int) -> MatrixPlan:
        return MatrixPlan(called, role, height, width, Layout.ROW_MAJOR, Binding.PARAMETER, None)

    return CasePlan(
        name=name or f"{rows} {length} {columns} {kind}",
        sizes={"R": rows, "K": length, "C": columns},
        inputs=kind,
        turn=turn,
        on_cpu=True,
        matrices=(
            matrix("M", Role.INPUT, rows, length),
            matrix("N", Role.INPUT, length, columns),
            matrix("P", Role.OUTPUT, rows, columns),
        ),
        arguments=(),
        launch=None,
        problem=None,
    )


def pair(case: CasePlan, seed: int = SEED) -> tuple[np.ndarray, np.ndarray]:
    inputs = make_inputs(case, seed)
    left, right = (inputs[matrix.name] for matrix in factors(case))
    return left, right


INTEGERS = [InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT]
SHAPES = [(1, 1, 1), (17, 17, 17), (3, 70, 5), (2, 5000, 3)]


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_integers_stay_exact_in_every_order(shape, kind):
    left, right = pair(case_of(shape[0], shape[1], shape[2], kind))
    assert (np.abs(left.astype(np.int64)) @ np.abs(right.astype(np.int64))).max() <= 2**24
    assert np.array_equal(left, np.rint(left))
    assert np.array_equal(right, np.rint(right))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_term_of_a_short_sum_counts(shape, kind):
    left, right = pair(case_of(shape[0], shape[1], shape[2], kind))
    wide, narrow = (left, right) if kind is InputKind.INTEGERS_LEFT else (right, left)
    assert wide.all()
    assert set(np.unique(narrow)) <= {-1.0, 0.0, 1.0}
    axis = 0 if narrow is right else 1
    nonzeros = np.count_nonzero(narrow, axis=axis)
    assert (nonzeros == min(narrow.shape[axis], 2048)).all()


def test_wide_integers_need_thirteen_bits():
    left, _ = pair(case_of(64, 64, 64, InputKind.INTEGERS_LEFT))
    assert np.abs(left).max() > 2**12
    assert np.abs(left).max() < 2**13


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1, 1), (13, 13, 13), (5, 9, 4), (9, 5, 12)])
def test_permutation_gives_scaled_elements_with_full_mantissas(shape, turn):
    case = case_of(shape[0], shape[1], shape[2], InputKind.PERMUTATION, turn)
    left, right = pair(case)
    sparse_left = np.count_nonzero(left) == shape[0] and (turn + SEED) % 2 == 1
    sparse, full = (left, right.T) if sparse_left else (right.T, left)
    assert (np.count_nonzero(sparse, axis=1) == 1).all()
    mantissas, _ = np.frexp(sparse[sparse != 0])
    assert set(np.abs(mantissas)) == {0.5}
    assert (np.abs(full).astype(np.int64) % 2 == 1).all()
    assert (np.abs(full) > 2**23).all()
    expected = expected_product(case, make_inputs(case, SEED))
    assert expected.values.all()
    assert np.array_equal(expected.values, expected.values.astype(np.float32))
    assert not expected.bound.any()


def test_permutation_takes_both_sides_in_turn():
    sides = set()
    for turn in (0, 1):
        left, _ = pair(case_of(8, 8, 8, InputKind.PERMUTATION, turn))
        sides.add(np.count_nonzero(left) == 8)
    assert sides == {True, False}


def test_real_bound_accepts_float32_and_rejects_tf32():
    case = case_of(29, 29, 29, InputKind.REAL)
    inputs = make_inputs(case, SEED)
    left, right = inputs["M"], inputs["N"]
    expected = expected_product(case, inputs)
    total = np.zeros((29, 29), np.float32)
    for k in range(29):
        total += left[:, k : k + 1] * right[k]
    assert (np.abs(total - expected.values) <= expected.bound).all()
    mantissa, exponent = np.frexp(left.astype(np.float64))
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, 11)), exponent - 11)
    assert (np.abs(rounded @ right - expected.values) > expected.bound).any()


def test_real_values_are_refused_where_the_bound_says_too_little():
    case = case_of(2, 33, 2, InputKind.REAL)
    with pytest.raises(ValueError, match="32 terms"):
        expected_product(case, make_inputs(case, SEED))


@pytest.mark.parametrize("kind", [kind for kind in InputKind if kind is not InputKind.RANDOM])
def test_inputs_depend_on_seed_and_name_alone(kind):
    case = case_of(7, 7, 7, kind, name="a")
    again = [pair(case)[0], pair(case)[0], pair(case, SEED ^ 2)[0], pair(case_of(7, 7, 7, kind, name="b"))[0]]
    assert np.array_equal(again[0], again[1])
    assert not np.array_equal(again[0], again[2])
    assert not np.array_equal(again[0], again[3])


@pytest.mark.parametrize("layout", list(Layout))
def test_memory_keeps_every_element(layout):
    plan = MatrixPlan("M", Role.INPUT, 3, 5, layout, Binding.PARAMETER, None)
    matrix = np.arange(15, dtype=np.float32).reshape(3, 5)
    values = to_memory(matrix, layout, ElementType.FLOAT)
    assert values[1] == (1 if layout is Layout.ROW_MAJOR else 5)
    assert np.array_equal(from_memory(values, plan), matrix)
