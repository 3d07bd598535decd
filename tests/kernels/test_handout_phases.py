"""Tables of phases that a handout asks for: read with bounds, drawn and written without any kernel."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.exercise import Exercise, ExerciseError, find_exercise, list_exercises
from kernels.phases.handout import handout_phases
from kernels.phases.textbook import textbook_table
from kernels.rendering.page.render import render_handout_phases
from kernels.rendering.phases import render_handout

TILED = find_exercise("tiled")
PATH = Path("mine/handout.md")
BLOCK = "```phases\nWidth = 4\ntile = 2\n```\n"
RECTANGLES = {"A_HEIGHT": 4, "A_WIDTH": 2, "B_WIDTH": 6}


def read(text: str, exercise: Exercise = TILED):
    return handout_phases(text, exercise, PATH)


def test_blocks_are_found_with_their_lines():
    (first, second) = read(f"# A title\r\n\r\nSome text.\n{BLOCK}\n~~~phases\ntile = 2\n\n Width=3\n~~~")
    assert [(each.line, each.last, each.table.sizes) for each in (first, second)] == [
        (4, 7, {"Width": 4}),
        (9, 13, {"Width": 3}),
    ]
    (unclosed,) = read(BLOCK.removesuffix("```\n"))
    assert (unclosed.line, unclosed.table.tile) == (1, 2)


@pytest.mark.parametrize(
    "text",
    [
        f"````text\n{BLOCK}````\n",
        f"~~~\n{BLOCK}~~~\n",
        " " + BLOCK,
        "- a\n\n  ```phases\n  Width = 4\n  tile = 2\n  ```\n",
        BLOCK.replace("phases", "phases2"),
        BLOCK.replace("```", "``"),
        f"```text\n    ```\n{BLOCK}",
    ],
)
def test_examples_and_other_blocks_are_left_alone(text):
    assert read(text) == ()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (BLOCK.replace("tile = 2\n", ""), "line 1: phases.tile"),
        (BLOCK.replace("Width", "Widht"), "line 1: phases.Widht"),
        (BLOCK.replace("= 4", "= 0"), "line 1: phases.Width"),
        (BLOCK.replace("= 4", "= 9999999"), "line 1: phases.Width"),
        (BLOCK.replace("= 4", "= 99999999"), "line 2"),
        (BLOCK.replace("= 4", "= -1"), "line 2"),
        (BLOCK.replace("= 4", "= <b>"), "line 2"),
        (BLOCK.replace("tile = 2", "tile = 2\nWidth = 3"), "line 4"),
        (BLOCK.replace("= 4", "= 17"), "line 1"),
        (BLOCK.replace("= 4", "= 8"), "line 1"),
        (BLOCK.replace("= 2", "= 5"), "line 1"),
        (f"# A title\n\n{BLOCK * 5}", "line 19"),
    ],
)
def test_a_mistake_is_refused_with_its_line(text, field):
    with pytest.raises(ExerciseError) as caught:
        read(text)
    assert (caught.value.path, caught.value.field) == (PATH, field)
    assert caught.value.reason


@pytest.mark.parametrize("text", ["`" * 130_000, "~" * 130_000, "```phases\n" * 13_000, "~~~\n" * 32_000])
def test_hostile_fences_are_read_in_linear_time(text):
    began = time.process_time()
    with contextlib.suppress(ExerciseError):
        read(text)
    assert time.process_time() - began < 0.3


@pytest.mark.parametrize("name", ["reduction", "convolution", "foo-kernel"])
def test_only_products_of_matrices_have_phases(name):
    exercise = find_exercise(name)
    sizes = "".join(f"{size} = 4\n" for size in exercise.sizes)
    with pytest.raises(ExerciseError, match="line 1"):
        read(f"```phases\n{sizes}tile = 2\n```\n", exercise)


def test_a_long_name_of_a_matrix_is_refused():
    operands = tuple(replace(each, name=each.name * 20) for each in TILED.operands)
    with pytest.raises(ExerciseError, match="20 characters"):
        read(BLOCK, replace(TILED, operands=operands))


def test_rectangles_of_any_names_and_sizes_have_phases():
    table = textbook_table(find_exercise("lab6-blocked"), RECTANGLES, 2)
    assert dict(table.matrices) == {"A": (4, 2), "B": (2, 6), "C": (4, 6), "Ads": (2, 2), "Bds": (2, 2)}
    assert (table.launch.grid, len(table.phases)) == ((3, 2, 1), 1)


def test_a_column_major_matrix_has_its_own_positions():
    table = textbook_table(find_exercise("corner-turning"), {"Width": 4}, 2)
    right = [each for each in table.phases[0].blocks[0].fetches if each.cell.startswith("Nds")]
    assert [each.linear for each in right] == ["N[0]", "N[4]", "N[1]", "N[5]"]


def test_the_largest_tables_stay_small_on_a_page():
    table = textbook_table(find_exercise("lab6-blocked"), {"A_HEIGHT": 16, "A_WIDTH": 4, "B_WIDTH": 16}, 4)
    assert len(render_handout_phases(table, "a-")) < 200_000


def test_two_tables_on_a_page_share_no_id():
    table = textbook_table(TILED, {"Width": 3}, 2)
    pages = [render_handout_phases(table, prefix) for prefix in ("a-", "b-")]
    first, second = (set(re.findall(r'\bid="([^"]+)"', page)) for page in pages)
    assert len(first) == len(second) == 8 + 2 * 8
    assert not first & second


def test_on_a_terminal_tables_and_figures_become_text():
    handout = f"# A title\n\n![Tiles of M\nand N.](tiles.svg)\n\n{BLOCK}\nThe end.\n"
    shown = render_handout(handout, read(handout))
    assert "```phases" not in shown
    assert "tiles.svg" not in shown
    assert "Figure: Tiles of M\nand N.\n" in shown
    assert "M[0][0] -> Mds[0][0]" in shown
    assert shown.endswith("\n```\n\nThe end.\n")


@pytest.mark.parametrize("exercise", list_exercises(), ids=lambda each: each.name)
def test_handouts_of_tilelab_have_no_mistake_and_all_their_figures(exercise):
    handout = exercise.handout.read_text("utf-8")
    handout_phases(handout, exercise, exercise.handout)
    named = re.findall(r"!\[([^\]]+)\]\(([\w-]+\.svg)\)", handout)
    assert {file for _, file in named} == {file.name for file in exercise.root.glob("*.svg")}
    assert all(len(words) > 40 for words, _ in named), "a figure's description says what it shows"
