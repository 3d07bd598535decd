"""Exercises: the ones in the tree, and what a teacher's own is refused for."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from kernels.exercise import (
    BUILT_IN,
    AnalysisRule,
    ExerciseError,
    GoalRule,
    InputKind,
    Operation,
    find_exercise,
    list_exercises,
    load_exercise,
    read_exercise,
)
from kernels.exercise.mistake_line import mistake_line

EXERCISES = {exercise.name: exercise for exercise in list_exercises()}
OWN_TILES = [1, 2, 3, 5, 7, 8, 12, 16, 24, 31, 32, 64, 128]


@pytest.fixture
def folder(tmp_path):
    """A copy of `tiled` to spoil."""
    return shutil.copytree(BUILT_IN / "tiled", tmp_path / "mine")


def spoil(folder, old, new):
    path = folder / "exercise.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_courses_exercises_are_there():
    assert {"naive", "tiled", "tiled-square"} <= EXERCISES.keys()
    assert {"column-major", "corner-turning", "coarsened", "coalescing", "bank-conflicts"} <= EXERCISES.keys()
    assert {"lab6-blocked", "lab6-occupancy", "single-block"} <= EXERCISES.keys()
    assert {"reduction", "divergence", "foo-kernel"} <= EXERCISES.keys()


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_has_its_texts(name):
    exercise = EXERCISES[name]
    assert exercise.handout.read_text("utf-8").startswith("# ")
    assert exercise.kernel in exercise.starter.read_text("utf-8")
    assert exercise.kernel in exercise.solution.read_text("utf-8")


@pytest.mark.parametrize(("name", "tile"), [(e.name, t) for e in EXERCISES.values() for t in e.tiles])
def test_cases_differ_and_the_ranking_size_is_left_to_a_gpu(name, tile):
    exercise = EXERCISES[name]
    cases = exercise.cases(tile)
    assert len({case.name for case in cases}) == len(cases)
    assert len(cases) <= 20
    ranked = [case for case in cases if case.sizes == exercise.ranking and case.inputs is exercise.plain_inputs]
    assert len(ranked) == 1
    # what a single block can hold is small enough for the CPU device, too
    assert [case for case in cases if not case.on_cpu] == ([] if name == "single-block" else ranked)


@pytest.mark.parametrize("tile", [8, 16, 32])
def test_tiled_covers_the_sizes_around_the_tile_and_several_phases(tile):
    widths = {case.sizes["Width"] for case in EXERCISES["tiled"].cases(tile) if case.on_cpu}
    assert {1, 2, tile - 1, tile, tile + 1, 2 * tile} <= widths
    assert max(widths) > 2 * tile
    assert max(widths) <= 72


@pytest.mark.parametrize("tile", [8, 16, 32])
def test_tiled_square_asks_for_multiples_only_and_for_three_tiles(tile):
    widths = {case.sizes["Width"] for case in EXERCISES["tiled-square"].cases(tile) if case.on_cpu}
    assert all(width % tile == 0 for width in widths)
    assert {tile, 2 * tile, 3 * tile} <= widths
    assert max(widths) <= 96


@pytest.mark.parametrize("name", ["naive", "tiled"])
@pytest.mark.parametrize("tile", [8, 16, 32])
def test_every_kind_of_input_is_tried_at_two_sizes_and_at_one_that_is_no_multiple(name, tile):
    widths = defaultdict(set)
    for case in EXERCISES[name].cases(tile):
        widths[case.inputs].add(case.sizes["Width"])
    for kind in InputKind.of(Operation.MATMUL):
        assert len(widths[kind]) >= 2
        assert any(width % tile and width > 2 for width in widths[kind])


@pytest.mark.parametrize(
    ("name", "tile"), [(e.name, t) for e in EXERCISES.values() for t in OWN_TILES if t <= e.largest_tile]
)
def test_any_tile_of_a_students_own_gives_cases_that_run_on_the_cpu(name, tile):
    exercise = EXERCISES[name]
    on_cpu = [case for case in exercise.cases(tile) if case.on_cpu]
    assert on_cpu
    for case in on_cpu:
        assert min(case.sizes.values()) >= 1
        assert case.inputs is not InputKind.REAL or exercise.dot_product_length(case.sizes) <= 32


def test_an_exercise_outside_the_repository_is_found_by_its_path(folder):
    assert find_exercise(str(folder)).name == "mine"


def test_a_folder_of_a_teachers_own_comes_first(folder):
    spoil(folder, "Tiled matrix multiplication for any Width", "Mine")
    shutil.move(folder, folder.parent / "tiled")
    assert find_exercise("tiled", [folder.parent]).title == "Mine"
    assert {e.name for e in list_exercises([folder.parent])} == EXERCISES.keys()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ExerciseError, match=r"^tilled: .* Known exercises: .*tiled-square"):
        find_exercise("tilled")


@pytest.mark.parametrize("name", ["..", "no/such/folder", "/"])
def test_a_path_without_an_exercise_is_refused(name):
    with pytest.raises(ExerciseError):
        find_exercise(name)


def test_the_digest_stays_with_a_new_title_and_handout_and_changes_with_a_case(folder):
    before = load_exercise(folder).digest
    spoil(folder, "Tiled matrix multiplication for any Width", "Another title")
    (folder / "handout.md").write_text("# A typo less\n")
    assert load_exercise(folder).digest == before
    spoil(folder, "Width = 37", "Width = 41")
    assert load_exercise(folder).digest != before


@pytest.mark.parametrize(
    ("old", "new", "field", "reason"),
    [
        ('kernel = "MatrixMulKernel"', "", "kernel", "missing"),
        ('kernel = "MatrixMulKernel"', 'kernel = "Matrix Mul"', "kernel", "C identifier"),
        ('kernel = "MatrixMulKernel"', "kernel = 3", "kernel", "expected a string"),
        ('metric = "gflops"', 'metric = "tflops"', "metric", 'expected one of "gflops", "gbps", "elements", "time"'),
        ('metric = "gflops"', 'metric = "gflops"\nfmadd = true', "fmadd", "no such field"),
        ('metric = "gflops"', 'metric = "gflops"\nfmad = 1', "fmad", "true or false"),
        ('metric = "gflops"', 'metric = "gflops"\nmax_registers = 8', "max_registers", "16 to 255"),
        ('metric = "gflops"', 'metric = "gflops"\nwarp_races = "maybe"', "warp_races", '"error", "warning"'),
        ("default = 16", "default = 15", "tile.default", "tile.allowed"),
        ("default = 16", "default = 16.0", "tile.default", "whole numbers"),
        ("default = 16", "default = true", "tile.default", "whole numbers"),
        ("default = 16", "default = 16\ndefualt = 16", "tile.defualt", "no such field"),
        ("largest = 128", "largest = 4", "tile.allowed", "between 1 and"),
        ("Width = 2048", "Width = 2048\nHeight = 1", "ranking.Height", "no such field"),
        ("Width = 2048", "", "ranking.Width", "missing"),
        ("{ Width = 37 }", '{ Width = "Widht + 1" }', "cases[7].sizes.Width", "`Widht`"),
        ("{ Width = 37 }", "{ Height = 37 }", "cases[7].sizes", "every size must be given"),
        ("{ Width = 37 }", '{ Width = "1/(TILE_WIDTH-16)" }', "cases", "with TILE_WIDTH 16: "),
        ('["real"]', '["reals"]', "cases[6].inputs", "integers_left"),
        ('["real"]', "[]", "cases[6].inputs", "at least one"),
        ('block = "(TILE_WIDTH, TILE_WIDTH)"', 'block = "(TILE, 1)"', "launch.block", "`TILE` is not known"),
        ('block = "(TILE_WIDTH, TILE_WIDTH)"', 'block = "(1,1,1,1)"', "launch.block", "one to three"),
        ('type = "int"', 'type = "long"', "parameters[3].type", "expected `int`"),
        (', size = "Width" }', "}", "parameters[3].operand", "either"),
        ('size = "Width"', 'size = "Height"', "parameters", "`Height`"),
        ('name = "Width", size', 'name = "P", size', "parameters", "name `P`"),
        ('block = "(TILE_WIDTH, TILE_WIDTH)"', 'block = "(1, 1)"\nshared = "50000"', "launch.shared", "49,152"),
        ('operand = "P"', 'operand = "Q"', "parameters", "exactly one: M, N, P"),
        ('role = "output"', 'role = "input"', "operands", "two inputs (left, then right) and one output"),
        ('name = "P", role', 'name = "N", role', "operands", "the same name"),
        ('cols = "Width" }', 'cols = "Width + 1" }', "operands", "does not give"),
        ("largest_on_cpu = 300", "largest_on_cpu = 0", "largest_on_cpu", "whole numbers"),
        ("sizes = [", "sizes = [[", "", "not TOML"),
        ('sizes = ["Width"]', "sizes = []", "sizes", "at least one"),
        ('operation = "matmul"', 'operation = "matmul"\nsection = 4', "section", "only a sum has sections"),
        ('operation = "matmul"', 'operation = "sum"', "operands", "a sum has one input and one output"),
        ('operation = "matmul"', 'operation = "transpose"', "operands", "a transpose has one input"),
        (
            'operation = "matmul"',
            'operation = "analysis"',
            "cases[0].inputs",
            '"integers_left" makes no sense for "analysis"; it takes "integers", "mantissas"',
        ),
        ('["real"]', '["integers"]', "cases[6].inputs", '"integers" makes no sense for "matmul"'),
        (
            "[launch]",
            "[macros.Width]\ndefault = 2\nlargest = 4\n[launch]",
            "macros.Width",
            "the name of a size or of the tile already",
        ),
        (
            "[launch]",
            "[macros.COARSE_FACTOR]\ndefault = 5\nlargest = 4\n[launch]",
            "macros.COARSE_FACTOR.default",
            "must not be larger",
        ),
        ("[launch]", "[macros]\nCOARSE_FACTOR = 4\n[launch]", "macros.COARSE_FACTOR", "expected a table"),
        (
            "[launch]",
            '[[constants]]\nsymbol = "d_SIZE"\nvalue = "BLOCK"\n[launch]',
            "constants[0].value",
            ": Width, TILE_WIDTH",
        ),
        ("[analysis]\nWidth = 256", "[analysis]\nHeight = 3", "analysis.Height", "no such field"),
        ("[analysis]\nWidth = 256", "[analysis]\ntile = 8", "analysis.Width", "missing"),
        ('kernel = "MatrixMulKernel"', 'kernal = "MatrixMulKernel"', "kernal", "mean `kernel`?"),
        ("largest = 128", "larges = 128", "tile.larges", "mean `largest`?"),
        ('role = "output"', 'roel = "output"', "operands[2].roel", "mean `role`?"),
        ("tile = 2", "tiles = 2", "phases.tiles", "no such field"),
        ("tile = 2", "tile = 64", "phases", "4,096 threads"),
        (
            "[launch]",
            '[[goals]]\ntext = "few"\ncounter = "loads"\nat_most = 3\n[launch]',
            "goals[0].counter",
            "no such counter; there are: async_load_requests,",
        ),
        (
            "[launch]",
            '[[goals]]\ntext = "few"\ncounter = "branches"\nat_most = -1\n[launch]',
            "goals[0].at_most",
            "from 0 up",
        ),
        (
            'metric = "gflops"',
            'metric = "gflops"\nsize_macros = { WIDTH = "Width" }',
            "size_macros",
            "different sets of values, each compiled by itself; at most 6 are allowed",
        ),
        (
            'metric = "gflops"',
            'metric = "gflops"\nsize_macros = { TILE_WIDTH = "Width" }',
            "size_macros",
            "`TILE_WIDTH` is the name of the tile",
        ),
    ],
)
def test_a_malformed_exercise_is_refused_with_file_field_and_reason(folder, old, new, field, reason):
    spoil(folder, old, new)
    with pytest.raises(ExerciseError, match=re.escape(reason)) as caught:
        load_exercise(folder)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{folder / 'exercise.toml'}: {field}")


@pytest.mark.parametrize("file", ["exercise.toml", "handout.md", "starter.cu", "solution.cu"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    with pytest.raises(ExerciseError, match="missing") as caught:
        load_exercise(folder)
    assert caught.value.path == folder / file


def test_what_only_describes_is_outside_the_digest(folder):
    before = load_exercise(folder)
    path = folder / "exercise.toml"
    path.write_text(
        path.read_text()
        .replace("[phases]\nWidth = 4", "[phases]\nWidth = 8")
        .replace("[analysis]\nWidth = 256", "[analysis]\nWidth = 64")
        .replace("[tile]", "curve = false\n[tile]")
        + '[[goals]]\ntext = "No conflicts"\ncounter = "shared_load_conflicts"\nat_most = 0\n'
    )
    exercise = load_exercise(folder)
    assert exercise.digest == before.digest
    assert exercise.analysis_sizes(16) == {"Width": 64}
    assert exercise.phases == AnalysisRule({"Width": 8}, 2)
    assert exercise.goals == (*before.goals, GoalRule("No conflicts", "shared_load_conflicts", 0.0))
    assert not exercise.curve


def test_without_sizes_for_an_analysis_the_largest_case_of_the_cpu_device_is_taken(folder):
    spoil(folder, "[analysis]\nWidth = 256", "")
    exercise = load_exercise(folder)
    assert exercise.analysis is None
    assert exercise.analysis_sizes(16) == {"Width": 67}


@pytest.mark.parametrize(("largest", "fits"), [(1024, True), (1025, False), (4096, False)])
def test_the_largest_tile_fits_into_a_block_of_one_dimension(tmp_path, largest, fits):
    shutil.copytree(BUILT_IN / "reduction", tmp_path / "reduction")
    spoil(tmp_path / "reduction", "largest = 1024", f"largest = {largest}")
    spoil(tmp_path / "reduction", "largest_on_cpu = 10_000", "largest_on_cpu = 100_000")
    if fits:
        assert load_exercise(tmp_path / "reduction").largest_tile == largest
    else:
        with pytest.raises(ExerciseError) as caught:
            load_exercise(tmp_path / "reduction")
        assert caught.value.field == "tile.largest"


def test_a_macro_of_the_file_moves_the_cases(folder):
    spoil(folder, "[launch]", "[macros.COARSE_FACTOR]\ndefault = 4\nlargest = 8\n[launch]")
    spoil(folder, "{ Width = 37 }", '{ Width = "COARSE_FACTOR*TILE_WIDTH" }')
    exercise = load_exercise(folder)
    sizes = [{case.sizes["Width"] for case in exercise.cases(16, own)} for own in (None, {"COARSE_FACTOR": 2})]
    assert (sizes[0] - sizes[1], 32 in sizes[1]) == ({64}, True)


def test_cases_that_are_all_too_large_for_the_cpu_device_are_refused(folder):
    text = (folder / "exercise.toml").read_text()
    head, *_ = text.split("[[cases]]")
    (folder / "exercise.toml").write_text(head + '[[cases]]\nsizes = { Width = 500 }\ninputs = ["integers_left"]\n')
    with pytest.raises(ExerciseError, match="no case is small enough"):
        load_exercise(folder)


DOCUMENTATION = Path(__file__).parents[2] / "docs" / "exercises.md"


def test_the_example_in_the_documentation_is_an_exercise(folder):
    example = DOCUMENTATION.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    (folder / "exercise.toml").write_text(example)
    assert load_exercise(folder).kernel == "matrixMulCUDA"


@pytest.mark.parametrize(
    "where",
    [
        "",
        "tile.",
        "launch.",
        "operands[0].",
        "parameters[0].",
        "cases[0].",
        "goals[0].",
        "constants[0].",
        "tolerance.",
        "work.",
        "then[0].",
    ],
)
def test_every_field_is_documented(folder, where):
    table = where.rstrip(".").split("[")[0]
    text = (folder / "exercise.toml").read_text()
    text += '[[goals]]\ntext = "x"\ncounter = "branches"\nat_most = 0\n'
    text += '[[constants]]\nsymbol = "x"\nvalue = 3\n'
    text += "[tolerance]\nulps = 1\n[work]\nbytes = 1\n"
    text += '[[then]]\nkernel = "x"\ngrid = "1"\nblock = "1"\n'
    anchor = {
        "": "kernel = ",
        "tile": "default = ",
        "launch": "block = ",
        "operands": 'name = "M", role = ',
        "parameters": "type = ",
        "cases": "sizes = { Width = 1",
        "goals": "counter = ",
        "constants": "value = 3",
        "tolerance": "ulps = 1",
        "work": "bytes = 1",
        "then": 'kernel = "x"',
    }[table]
    separator = ", " if table in {"operands", "parameters"} else "\n"
    (folder / "exercise.toml").write_text(text.replace(anchor, f"surprise = 1{separator}{anchor}", 1))
    with pytest.raises(ExerciseError, match="no such field") as caught:
        load_exercise(folder)
    assert caught.value.field == f"{where}surprise"
    fields = caught.value.reason.split("are: ")[1].split(", ")
    heading = f"### `{table}`" if table else "## Fields"
    section = DOCUMENTATION.read_text("utf-8").split(heading)[1].split("\n#")[0]
    assert [field for field in fields if f"`{field}`" not in section] == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("metric =", "metrics =", 'metrics = "gflops"'),
        ("[tile]\ndefault", "[tile]\ndefautl", "defautl = 16"),
        ('name = "P", role', 'name = "P", rule', '    { name = "P", rule'),
        ("[ranking]", "[ranking", "[ranking"),
        ('at_most = "8*', 'at_most = "?*', 'at_most = "?*'),
        ('inputs = ["real"]', 'inptus = ["real"]', 'inptus = ["real"]'),
        ("[analysis]\nWidth", "[analysis]\nHeight", "Height = 256"),
    ],
)
def test_a_mistake_has_its_line(old: str, new: str, line: str) -> None:
    text = (BUILT_IN / "tiled" / "exercise.toml").read_text().replace(old, new, 1)
    assert text.count(line) == 1
    with pytest.raises(ExerciseError) as refused:
        read_exercise("mine", text)
    found = mistake_line(text, refused.value)
    assert found is not None
    assert text.split("\n")[found - 1].startswith(line)
