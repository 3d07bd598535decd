from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from server.history import source_diff as line_pairs
from server.history.source_diff import MOST_LINES, MOST_MARKED, Row, Side, blocks, in_colours, source_diff


def sides(rows: tuple[Row, ...]) -> list[tuple[str | None, str | None]]:
    return [(text_of(row.left), text_of(row.right)) for row in rows]


def text_of(side: Side | None) -> str | None:
    return None if side is None else "".join(piece.text for piece in side.pieces)


def test_a_changed_line_has_its_changed_words_marked():
    (row,) = source_diff("x = a + 1;", "x = a + 2;").rows
    assert row.left is not None
    assert [(piece.text, piece.changed) for piece in row.left.pieces] == [
        ("x = a + ", False), ("1", True), (";", False),
    ]  # fmt: skip


def test_lines_with_little_in_common_stand_alone():
    assert sides(source_diff("alpha(beta);", "return 1 ? x : y;").rows) == [
        ("alpha(beta);", None), (None, "return 1 ? x : y;"),
    ]  # fmt: skip


LOADS = """int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
"""
GUARDED = """int mCol = ph * TILE_WIDTH + tx;
int nRow = ph * TILE_WIDTH + ty;
int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
Mds[ty][tx] = Row < Width && mCol < Width ? M[Row * Width + mCol] : 0.0f;
Nds[ty][tx] = nRow < Width && Col < Width ? N[nRow * Width + Col] : 0.0f;
"""


def test_a_changed_line_stands_beside_the_one_most_like_it():
    before, after = LOADS.replace("int Row", "const int Row").splitlines(), GUARDED.splitlines()
    assert sides(source_diff("\n".join(before), GUARDED).rows) == [
        (None, after[0]), (None, after[1]), *zip(before, after[2:], strict=True),
    ]  # fmt: skip


def test_where_too_much_changed_lines_are_not_paired(monkeypatch):
    monkeypatch.setattr(line_pairs, "MOST_CELLS", 3)
    found = source_diff("int a = 1;\nint b = 1;", "int a = 2;\nint b = 2;")
    assert [(row.left is None, row.right is None) for row in found.rows] == [(False, True)] * 2 + [(True, False)] * 2


def test_of_crafted_sources_few_words_are_compared_and_all_lines_shown():
    chance = random.Random(1)
    left, right = ("\n".join("a" + "".join(chance.choices("+-*/", k=290)) for _ in range(90)) for _ in range(2))
    found = source_diff(left, right)
    shown = [side for row in found.rows for side in (row.left, row.right) if side is not None]
    assert sum(len(side.pieces) for side in shown) < MOST_MARKED + 500
    assert "\n".join(text for text, _ in sides(found.rows) if text is not None) == left


def test_a_comparison_ends_between_its_pieces_where_nobody_waits_for_it():
    left, right = ("\n".join(f"{word} {number}" for number in range(1_000)) for word in "ab")
    asked: list[int] = []
    source_diff(left, right, go_on=lambda: asked.append(1))
    assert len(asked) > 10
    with pytest.raises(TimeoutError):
        source_diff(left, right, go_on=left_already)


def left_already() -> None:
    raise TimeoutError


def test_what_was_added_and_removed_stands_alone():
    found = source_diff("a\nb\nc\n", "a\nc\nd\n")
    assert sides(found.rows) == [("a", "a"), ("b", None), ("c", "c"), (None, "d")]
    assert (found.added, found.removed) == (1, 1)


def test_long_stretches_that_are_alike_are_folded_unless_all_is_wanted():
    lines = [f"line {i}" for i in range(100)]
    changed = [*lines[:50], "line new", *lines[51:]]
    found = source_diff("\n".join(lines), "\n".join(changed))
    assert [row.hidden for row in found.rows if row.hidden] == [46, 45]
    assert len(source_diff("\n".join(lines), "\n".join(changed), whole=True).rows) == 100


def test_both_sides_can_be_read_back_from_any_difference():
    chance = random.Random(1)
    for _ in range(200):
        left = [chance.choice("abcdef") * chance.randint(1, 3) for _ in range(chance.randint(0, 30))]
        right = [line for line in left if chance.random() > 0.2] + [chance.choice("xyz")] * chance.randint(0, 3)
        shown = sides(source_diff("\n".join(left), "\n".join(right), whole=True).rows)
        assert [a for a, _ in shown if a is not None] == left
        assert [b for _, b in shown if b is not None] == right


def test_a_source_that_is_too_long_is_not_compared():
    assert source_diff("\n" * (MOST_LINES + 1), "x").too_long


def test_nothing_that_could_stay_is_said_to_have_changed():
    chance = random.Random(2)
    for _ in range(300):
        left, right = ([chance.choice("abcd") for _ in range(chance.randint(0, 12))] for _ in range(2))
        found = blocks(left, right)
        alike = [left[block.left : block.left_end] for block in found if block.same]
        assert alike == [right[block.right : block.right_end] for block in found if block.same]
        assert sum(map(len, alike)) == _most_in_common(left, right)


def _most_in_common(left: list[str], right: list[str]) -> int:
    row = [0] * (len(right) + 1)
    for a in left:
        above, row = row, [0]
        for j, b in enumerate(right):
            row.append(above[j] + 1 if a == b else max(above[j + 1], row[j]))
    return row[-1]


_ALONE = [f"unlike {i}" for i in range(MOST_LINES)]
_MIXED = [each for other in _ALONE[:1_000] for each in ("x", other)]
HOSTILE = {
    "one line again and again, alone on one side": (_MIXED, ["x"] * 2_000),
    "the same the other way round": (["x"] * 2_000, _MIXED),
    "backwards": (_ALONE, _ALONE[::-1]),
    "two that take turns": (["a", "b"] * 1_000, ["b", "b", "a"] * 600),
    "words again and again": (["x u " * 70 + str(i) for i in range(9)], ["x " * 140 + f"z{i}" for i in range(9)]),
}  # fmt: skip


@pytest.mark.parametrize("sides", HOSTILE.values(), ids=list(HOSTILE))
def test_no_two_sources_take_more_than_so_many_steps(sides: tuple[list[str], list[str]]):
    left, right = ("\n".join(side) for side in sides)
    most = 60 * (len((left + right).split()) + 2_000)
    _count(lambda: source_diff(left, right), most)


def _count(act: Callable[[], object], most: int) -> None:
    """Fails as soon as more lines of Python ran than that, so that what never ends need not be waited for."""
    taken = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal taken
        taken += 1
        assert taken < most, f"more than {most:,} steps"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        act()
    finally:
        sys.settrace(before)


def test_line_ends_of_other_systems_are_no_difference():
    assert source_diff("a\r\nb\r\n", "a\nb").alike


def test_colours_split_the_pieces_and_keep_the_text_and_its_marks():
    left, right = "int x = a[i]; // one", "int x = a[j]; // one\n__syncthreads();"
    diff = source_diff(left, right)
    painted = in_colours(diff, left, right)
    assert sides(painted.rows) == sides(diff.rows)
    changed, added = (row.right for row in painted.rows)
    assert changed is not None
    assert added is not None
    assert [(piece.text, piece.kind) for piece in changed.pieces if piece.kind] == [
        ("int", "keyword"),
        ("// one", "comment"),
    ]
    assert [piece.text for piece in changed.pieces if piece.changed] == ["j"]
    assert ("__syncthreads", "cuda") in [(piece.text, piece.kind) for piece in added.pieces]
