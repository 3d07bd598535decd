"""Nothing but the right output passes, and what the judge says of a wrong one is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from kernels.exercise import InputKind, Operation
from kernels.judging.compare import POISON
from kernels.judging.inputs import expected_product, output_of
from tests.marks import linux, some_of
from tests.worker.gpu.judge_here import COLUMN, ROW, Ran, judge, product, sums, transpose
from worker.contract.measure_work import WireCode
from worker.gpu.backend import GUARD_WORDS
from worker.gpu.judge import code as judge_code_module
from worker.gpu.judge.code import judge_code
from worker.gpu.judge.kernels import GUARD, Count
from worker.gpu.judge.recipes import Kind, mixed, recipes, values
from worker.gpu.judge.rehearsal import rehearse_judge
from worker.gpu.judge.verification import Damage, Verified, Wrong

pytestmark = linux

INTEGERS = [InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT]
LAYOUTS = [(ROW, ROW, ROW), (ROW, COLUMN, ROW), (COLUMN, ROW, COLUMN), (ROW, ROW, COLUMN)]
SHAPES = [(1, 1, 1), (5, 7, 3), (33, 65, 17), (1, 40, 1), (9, 1, 300), (70, 4, 1), (3, 2500, 6)]
RIGHT = Verified()
each_layout = pytest.mark.parametrize("layouts", some_of(LAYOUTS, 4, " ".join, "the short suite has all rows"))


@pytest.mark.one_in(2, "integers of one side, and permutations")
@each_layout
@pytest.mark.parametrize("kind", [*INTEGERS, InputKind.PERMUTATION])
def test_the_right_product_passes(kind: InputKind, layouts) -> None:
    for number, shape in enumerate(SHAPES if layouts == LAYOUTS[0] else SHAPES[1:3]):
        ran = Ran(product(kind, shape, layouts), seed=number)
        assert ran.verified(vector=2**63 - 1 - number) == RIGHT, shape


@pytest.mark.one_in(5, "two of six vectors and layouts")
@pytest.mark.parametrize("layout", [ROW, COLUMN])
@pytest.mark.parametrize("vector", [0, 1, 2**63 - 1])
def test_a_product_is_checked_with_the_whole_vector(vector: int, layout) -> None:
    ran = Ran(product(InputKind.INTEGERS_RIGHT, (6, 300, 9), (ROW, ROW, layout)), seed=2)
    assert ran.wrong(vector) is None
    a, b = (values(ran.given[name]).astype(np.int64).astype(np.uint64) for name in "AB")
    if layout is COLUMN:
        a, b = b.T, a.T
    step = 0xD6E8_FEB8_6659_FD93
    numbers = [mixed(vector + (index + 1) * step) for index in range(b.shape[1])]
    inner = b @ np.array(numbers, np.uint64)
    memory = ran.judge._kernels._vectors
    assert memory is not None
    held = ran.backend.read(memory).view(np.uint64)
    assert (held[: inner.size] == inner).all()
    assert (held[inner.size :][: len(a)] == a @ inner).all()


@pytest.mark.one_in(2, "integers of one side")
@each_layout
@pytest.mark.parametrize("kind", INTEGERS)
def test_one_element_next_to_the_right_one_is_found_and_named(kind: InputKind, layouts) -> None:
    ran = Ran(product(kind, (21, 33, 170), layouts), seed=5)
    for at in ((0, 0), (20, 169), (7, 140)):
        wrong = ran.right.copy()
        # the next integer, or the next number where float has no integer for each
        wrong[at] = max(wrong[at] + 1, np.nextafter(wrong[at], np.float32(np.inf)))
        ran.put(wrong)
        assert ran.wrong() == Wrong(1, at, float(wrong[at]), float(ran.right[at]), lines=True)


@pytest.mark.one_in(3, "a third of the numbers")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.5, 2.0**27 + 16, 3e38, 1e-40])
def test_what_is_no_such_integer_is_found(bad: float) -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (9, 12, 10)))
    wrong = ran.right.copy()
    wrong[4, 6] = np.float32(bad) if abs(bad) != 0.5 else wrong[4, 6] + np.float32(0.5)
    ran.put(wrong)
    found = ran.wrong()
    assert found is not None
    assert (found.count, found.element, found.right) == (1, (4, 6), ran.right[4, 6])
    assert not found.unwritten


def test_numbers_that_are_no_integers_but_would_cancel_are_found() -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (4, 4, 4)))
    wrong = ran.right.copy()
    wrong[2] += np.array([0.25, -0.25, 0.75, -0.75], np.float32)
    ran.put(wrong)
    found = ran.wrong()
    assert found is not None
    assert found.count == 1


@pytest.mark.parametrize("kind", [*INTEGERS, InputKind.PERMUTATION])
def test_an_output_that_nobody_wrote_is_told_as_such(kind: InputKind) -> None:
    ran = Ran(product(kind, (6, 7, 8)))
    wrong = ran.right.copy()
    wrong[3:] = POISON
    ran.put(wrong)
    found = ran.wrong()
    assert found is not None
    assert found.unwritten
    assert found.element == (3, 0)
    assert found.count == (24 if kind is InputKind.PERMUTATION else 3)


@pytest.mark.one_in(2, "integers of one side, and permutations")
@pytest.mark.parametrize("kind", [*INTEGERS, InputKind.PERMUTATION])
def test_old_zero_and_rearranged_outputs_are_found(kind: InputKind) -> None:
    ran = Ran(product(kind, (12, 30, 12)), seed=6)
    old = Ran(product(kind, (12, 30, 12)), seed=8).right
    ran = Ran(product(kind, (12, 30, 12)), seed=6)
    swapped = ran.right[[1, 0, *range(2, 12)]]
    for output in (old, np.zeros_like(ran.right), swapped, ran.right.T, -ran.right, ran.right[:, ::-1]):
        ran.put(np.ascontiguousarray(output))
        assert ran.wrong() is not None


def test_columns_that_are_swapped_are_found() -> None:
    ran = Ran(product(InputKind.INTEGERS_RIGHT, (8, 8, 8)))
    ran.put(np.ascontiguousarray(ran.right[:, [1, 0, 2, 3, 4, 5, 6, 7]]))
    found = ran.wrong()
    assert found is not None
    assert found.count == 8


def test_errors_whose_sum_is_nothing_are_found() -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (5, 6, 300)))
    wrong = ran.right.copy()
    wrong[1, 3], wrong[1, 290] = wrong[1, 3] + 1, wrong[1, 290] - 1
    wrong[2, 3] -= 1
    ran.put(wrong)
    found = ran.wrong()
    assert found is not None
    assert (found.count, found.element) == (2, (1, 3))


def test_minus_zero_is_zero_and_nothing_else_is() -> None:
    case = product(InputKind.INTEGERS_LEFT, (200, 8, 200))

    def has_zero(seed: int) -> bool:
        made = {name: values(recipe) for name, recipe in recipes(case, case.inputs, seed).items()}
        return bool((expected_product(case, made).values == 0).any())

    ran = Ran(case, seed=next(seed for seed in range(100) if has_zero(seed)))
    output = np.where(ran.right == 0, np.float32(-0.0), ran.right)
    assert np.signbit(output[ran.right == 0]).all()
    ran.put(output)
    assert ran.wrong() is None
    for bad in (np.nan, np.inf, 0.25):
        ran.put(np.where(ran.right == 0, np.float32(bad), ran.right))
        found = ran.wrong()
        assert found is not None
        assert (ran.right[found.element], found.right) == (0, 0)


@pytest.mark.parametrize("seed", [2, 3])
@each_layout
def test_one_last_bit_of_a_permuted_output_is_found(seed: int, layouts) -> None:
    ran = Ran(product(InputKind.PERMUTATION, (13, 20, 11), layouts), seed)
    for at in ((0, 0), (12, 10), (5, 7)):
        wrong = ran.right.copy()
        wrong[at] = np.nextafter(wrong[at], np.float32(np.inf))
        ran.put(wrong)
        assert ran.wrong() == Wrong(1, at, float(wrong[at]), float(ran.right[at]))


@pytest.mark.parametrize("seed", [2, 3])
def test_a_rounded_operand_makes_permuted_outputs_wrong(seed: int) -> None:
    ran = Ran(product(InputKind.PERMUTATION, (13, 20, 11)), seed)
    dense = next(recipe for recipe in ran.given.values() if recipe.kind is Kind.MANTISSAS)
    rounded = (ran.right.view(np.uint32) & 0xFFFF_FFFE).view(np.float32)
    ran.put(rounded)
    found = ran.wrong()
    assert found is not None
    assert found.count == ran.right.size, dense


@pytest.mark.one_in(3, "a third of the shapes and layouts")
@pytest.mark.parametrize(
    ("shape", "section", "out"),
    [((1, 1), 1, (1, 1)), ((1000, 1), 64, (16, 1)), ((30, 41), 41, (30, 1)), ((12, 20), 10, (12, 2)),
     ((7, 9), 70, (1, 1))],
)  # fmt: skip
@pytest.mark.parametrize("layout", [ROW, COLUMN])
def test_sums(shape, section, out, layout) -> None:
    ran = Ran(sums(shape, section, out, layout), seed=9)
    assert ran.verified() == RIGHT
    for at in ((0, 0), (out[0] - 1, out[1] - 1), (out[0] // 2, 0)):
        wrong = ran.right.copy()
        # the next integer, or the next number where float has no integer for each
        wrong[at] = max(wrong[at] + 1, np.nextafter(wrong[at], np.float32(np.inf)))
        ran.put(wrong)
        assert ran.wrong() == Wrong(1, at, float(wrong[at]), float(ran.right[at]))
    ran.put(np.full_like(ran.right, POISON))
    found = ran.wrong()
    assert found is not None
    assert (found.count, found.element, found.unwritten) == (ran.right.size, (0, 0), True)


@pytest.mark.one_in(3, "a third of the shapes and layouts")
@pytest.mark.parametrize("layouts", [(ROW, ROW), (COLUMN, ROW), (ROW, COLUMN), (COLUMN, COLUMN)])
@pytest.mark.parametrize("shape", [(1, 1), (33, 70), (1, 9), (9, 1)])
def test_transposes(shape: tuple[int, int], layouts) -> None:
    ran = Ran(transpose(*shape, layouts), seed=10)
    assert ran.verified() == RIGHT
    at = shape[1] - 1, shape[0] - 1
    wrong = ran.right.copy()
    wrong[at] = np.nextafter(wrong[at], np.float32(0))
    ran.put(wrong)
    assert ran.wrong() == Wrong(1, at, float(wrong[at]), float(ran.right[at]))


def test_of_an_analysis_only_the_output_is_free() -> None:
    ran = Ran(replace(sums((20, 30), 0, (20, 1)), operation=Operation.ANALYSIS), seed=9)
    ran.put(np.full((20, 1), POISON))
    assert ran.wrong() is None
    assert ran.verified() == RIGHT
    ran.poke(ran.memories["A"], 599, 0)
    assert ran.verified().changed == {"A": Damage(1, 19, 29)}


@pytest.mark.one_in(2, "one layout")
@pytest.mark.parametrize("layout", [ROW, COLUMN])
def test_an_input_that_was_written_to_is_found(layout) -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (6, 1100, 4), (layout, ROW, ROW)))
    assert ran.judge.changed(ran.given["A"], ran.memories["A"]) is None
    ran.poke(ran.memories["A"], 17, 0)
    ran.poke(ran.memories["A"], 6_500, 0x7FC0_0000)
    first = (0, 17) if layout is ROW else (17 % 6, 17 // 6)
    assert ran.judge.changed(ran.given["A"], ran.memories["A"]) == Damage(2, *first)
    assert ran.verified().changed == {"A": Damage(2, *first)}
    # The check of the output rests on the recipes, so this changes nothing there.
    assert ran.verified().wrong is None


def test_a_zero_that_became_minus_zero_was_written() -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (2, 4100, 2)))
    held = ran.backend.read(ran.memories["B"])
    at = int(np.argmin(held))
    assert held[at] == 0
    ran.poke(ran.memories["B"], at, 0x8000_0000)
    assert ran.judge.changed(ran.given["B"], ran.memories["B"]) == Damage(1, at // 2, at % 2)


@pytest.mark.one_in(2, "every second place")
@pytest.mark.parametrize(
    ("zone", "at", "expected"),
    [(1, 0, (1, 0)), (1, GUARD_WORDS - 1, (1, GUARD_WORDS - 1)), (0, GUARD_WORDS - 1, (-1, 0)),
     (0, 0, (-1, GUARD_WORDS - 1))],
)  # fmt: skip
def test_a_write_beside_memory_is_found(zone: int, at: int, expected: tuple[int, int]) -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (3, 3, 3)))
    assert ran.judge.guards_hurt([(output_of(ran.case), ran.out)]) == []
    ran.poke(ran.backend.guards(ran.out)[zone], at, 0)
    assert ran.judge.guards_hurt([(output_of(ran.case), ran.out)]) == [(output_of(ran.case), Damage(1, *expected))]
    assert ran.verified().hurt == {"C": Damage(1, *expected)}
    assert not ran.verified()


def test_guards_hold_a_number_that_spoils_every_sum() -> None:
    assert np.isnan(np.array([GUARD], np.uint32).view(np.float32)[0])
    assert np.array([POISON]).view(np.uint32)[0] != GUARD


def test_everything_is_read_at_once(monkeypatch) -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (8, 9, 10)))
    read = Mock(wraps=ran.backend.read)
    monkeypatch.setattr(ran.backend, "read", read)
    assert ran.verified()
    assert read.call_count == 1


def test_the_judge_takes_memory_again_after_a_release() -> None:
    for _ in range(3):
        ran = Ran(product(InputKind.INTEGERS_LEFT, (8, 9, 10)))
        assert ran.verified()
        backend, _ = judge()
        in_use = len(backend._arrays)
        assert ran.verified()
        assert len(backend._arrays) == in_use


class TestCode:
    def test_it_is_kept_and_a_damaged_file_is_made_anew(self, tmp_path: Path, monkeypatch) -> None:
        compiled = Mock(return_value=WireCode(".entry mul\nmul", "Y3ViaW4="))
        monkeypatch.setattr(judge_code_module, "_compiled", compiled)
        folder = tmp_path / "deep" / "cache"
        first = judge_code("sm_90", folder)
        assert judge_code("sm_90", folder) == first
        assert compiled.call_count == 1
        (file,) = folder.iterdir()
        text = file.read_text()
        damaged = ("", text[: len(text) // 2], text.replace("mul", "add", 1), "{}", text.split("\n")[0] + "\n[]")
        for content in (*(each.encode() for each in damaged), b"\xff\xfe\x00"):
            compiled.reset_mock()
            file.write_bytes(content)
            assert judge_code("sm_90", folder) == first
            assert compiled.call_count == 1
            assert file.read_text() == text
        assert [each.name for each in folder.iterdir()] == [file.name]

    def test_another_architecture_has_a_file_of_its_own(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.setattr(judge_code_module, "_compiled", lambda text, arch: WireCode(arch, ""))
        assert judge_code("sm_80", tmp_path).ptx == "sm_80"
        assert judge_code("sm_90", tmp_path).ptx == "sm_90"
        assert len(list(tmp_path.iterdir())) == 2

    def test_without_a_folder_it_still_compiles(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.setattr(judge_code_module, "_compiled", lambda text, arch: WireCode(arch, ""))
        (tmp_path / "file").write_text("")
        assert judge_code("sm_90", tmp_path / "file").ptx == "sm_90"

    def test_a_name_that_is_no_architecture_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="architecture"):
            judge_code("../sm_90", tmp_path)


def test_the_rehearsal_finds_that_every_comparison_works() -> None:
    ran = Ran(product(InputKind.INTEGERS_LEFT, (2, 2, 2)))
    rehearse_judge(ran.backend, ran.judge)
    with pytest.raises(RuntimeError):
        rehearse_judge(ran.backend, Mock(wraps=ran.judge, differences=lambda *_: [Count(0, 0)]))
