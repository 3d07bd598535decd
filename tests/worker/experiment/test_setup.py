"""What is wrong with an experiment is found before it starts, with the file and the line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.experiment.axes import parse_axis
from tests.worker.experiment.runs import FILE, HERE, KERNEL, experiment, planned
from worker.experiment.setup import SetupError, set_up


def test_a_file_gives_its_points_and_all_that_a_run_needs(tmp_path):
    manifest, plan = set_up(experiment(tmp_path), (), None, HERE)
    assert manifest.points == len(plan.points) == 4
    assert manifest.kernels[0].text == KERNEL
    assert len(manifest.seed) == 32
    assert "tilelab" in manifest.versions


def test_axes_of_the_command_line_replace_those_of_the_file(tmp_path):
    axes = [parse_axis("Width=16,32,64")]
    assert set_up(experiment(tmp_path), axes, None, HERE)[0].points == 6


@pytest.mark.parametrize("axis", ["TILE_WIDTH=4", "fmad=0,1"])
def test_a_list_has_its_own_rows(tmp_path, axis):
    rows = '[design]\nkind = "list"\nrows = [{ TILE_WIDTH = 8, Width = 32 }]\n'
    file = experiment(tmp_path, FILE + rows)
    assert set_up(file, (), None, HERE)[0].points == 1
    with pytest.raises(SetupError) as refused:
        set_up(file, [parse_axis(axis)], None, HERE)
    assert refused.value.line == 14


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"tiled"\n', '"tild"\n', 3),
        ('exercise = "tiled"', 'exercise = "../tiled"', 3),
        ('exercise = "tiled"', 'exercise = "/etc"', 3),
        ('exercise = "tiled"', 'exercise = ".."', 3),
        ('["tiled.cu"]', '["other.cu"]', 4),
        ('["tiled.cu"]', '["."]', 4),
        ('["tiled.cu"]', '["link.cu"]', 4),
        ('["tiled.cu"]', '["long.cu"]', 4),
        ('["tiled.cu"]', '["latin.cu"]', 4),
        ("TILE_WIDTH = [4, 8]", "TILE_WIDTH = [4, 7]", 7),
        ("TILE_WIDTH = [4, 8]", "TILE_WIDTH = [4, 8]\nBM = [1]", 8),
        ("TILE_WIDTH = [4, 8]", "TILE_WIDTH = [4, 8]\nfmad = [0, 2]", 8),
        ("TILE_WIDTH = [4, 8]", "TILE_WIDTH = [4, 8]\nmaxrregcount = [8]", 8),
        ("TILE_WIDTH = [4, 8]", "TILE_WIDTH = [4, 8]\nuse_fast_math = [1]", 8),
        ("Width = [16, 32]", "Width = [0]", 8),
        ("Width = [16, 32]", "Width = [1000000]", 8),
        ("TILE_WIDTH == 0", "TILE_WIDTH > 100", 10),
        ("[16, 32]", '"1:9999"\n"A" = "1:9999"', 9),
        ("TILE_WIDTH = [4, 8]", "TILE_WIDTH = [4", 8),
    ],
)
def test_a_mistake_is_found_with_its_line(tmp_path, old, new, line):
    (tmp_path / "a").mkdir()
    (tmp_path / "secret.cu").write_text(KERNEL, "utf-8")
    (tmp_path / "a" / "link.cu").symlink_to(tmp_path / "secret.cu")
    (tmp_path / "a" / "long.cu").write_text("//" + "x" * 70_000, "utf-8")
    (tmp_path / "a" / "latin.cu").write_bytes(b"// \xe4\n")
    file = experiment(tmp_path / "a", FILE.replace(old, new, 1))
    with pytest.raises(SetupError) as refused:
        set_up(file, (), None, HERE)
    assert refused.value.line == line
    assert str(file) in str(refused.value)


def test_a_size_beyond_an_exercises_largest_number_is_refused(tmp_path):
    exercise = find_exercise("reduction")
    text = exercise.solution.read_text("utf-8")
    name = exercise.sizes[0]
    planned(tmp_path, f"{name}=1048576", text=text, exercise="reduction")
    with pytest.raises(SetupError, match="at most 1,048,576"):
        planned(tmp_path, f"{name}=1048577", text=text, exercise="reduction")


def test_too_many_points_are_found_before_they_are_listed(tmp_path):
    text = KERNEL.replace("#ifndef", "#define A 1\n#define B 2\n#define C 3\n#ifndef", 1)
    with pytest.raises(SetupError, match="random design"):
        planned(tmp_path, "A=1:1000", "B=1:1000", "C=1:1000", text=text)


@pytest.mark.parametrize(
    ("name", "content"), [("no.toml", None), ("no.cu", None), ("a.toml", b"\xff\xfe"), ("a.toml", b"#" * 500_000)]
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SetupError):
        set_up(tmp_path / name, [parse_axis("T=1")], None, HERE)


def test_the_ladder_stands_for_its_kernels(tmp_path):
    file = experiment(tmp_path, FILE.replace('["tiled.cu"]', '"ladder"').replace("TILE_WIDTH = [4, 8]\n", "")
                      .replace("Width % TILE_WIDTH == 0", "Width > 0"))  # fmt: skip
    manifest, plan = set_up(file, (), None, HERE)
    assert [each.name for each in manifest.kernels][:2] == ["01_uncoalesced.cu", "02_transposed_tiles.cu"]
    assert manifest.points == len(plan.points) == 2 * len(manifest.kernels)
    assert manifest.definition["experiment"]["kernels"] == [each.name for each in manifest.kernels]
    again, _ = set_up(Path("ladder"), [parse_axis("Width=16,32")], None, HERE)
    assert again.kernels == manifest.kernels


def test_a_kernel_on_a_server_is_fetched_and_its_text_kept(tmp_path):
    file = experiment(tmp_path, FILE.replace('["tiled.cu"]', '[{ best = "demo/tiled" }]'))
    manifest, _ = set_up(file, (), None, HERE, fetch=lambda wanted: f"// {wanted.best}\n{KERNEL}")
    assert [each.name for each in manifest.kernels] == ["best-demo-tiled.cu"]
    assert manifest.kernels[0].text == f"// demo/tiled\n{KERNEL}"
    assert manifest.definition["experiment"]["kernels"] == ["best-demo-tiled.cu"]
    with pytest.raises(SetupError, match="on a server") as refused:
        set_up(file, (), None, HERE)
    assert refused.value.line == 4


def test_an_exercise_without_a_ladder_has_no_such_kernels(tmp_path):
    text = FILE.replace('["tiled.cu"]', '"ladder"').replace('"tiled"\n', '"naive"\n')
    with pytest.raises(SetupError, match="no ladder") as refused:
        set_up(experiment(tmp_path, text), (), None, HERE)
    assert refused.value.line == 4


def test_kernels_of_the_command_line_keep_their_names_apart(tmp_path):
    (tmp_path / "other").mkdir()
    files = [tmp_path / "one.cu", tmp_path / "two.cu", tmp_path / "other" / "two.cu"]
    for file in files:
        file.write_text(KERNEL, "utf-8")
    manifest, _ = set_up(files[0], (), None, HERE, files[1:])
    assert [each.name for each in manifest.kernels] == ["one.cu", f"{tmp_path.name}/two.cu", "other/two.cu"]
    assert manifest.points == 3
    for wrong in ((files[0],), (experiment(tmp_path),), (tmp_path / "none.cu",)):
        with pytest.raises(SetupError):
            set_up(files[0], (), None, HERE, wrong)
    with pytest.raises(SetupError):
        set_up(experiment(tmp_path), (), None, HERE, files)


def test_many_and_long_names_of_kernels_make_a_name_of_an_experiment(tmp_path):
    files = [tmp_path / f"a_kernel_with_a_name_{number}.cu" for number in range(20)]
    files.append(tmp_path / f"{'x' * 240}.cu")
    for file in files:
        file.write_text(KERNEL, "utf-8")
    for some in (files, files[::-1], files[-1:]):
        manifest, _ = set_up(some[0], [parse_axis("Width=64")], None, HERE, some[1:])
        assert [each.name for each in manifest.kernels] == [file.name for file in some]


def test_an_exercise_whose_folder_has_a_long_name_is_refused(tmp_path):
    folder = tmp_path / ("x" * 120) / ("y" * 120)
    shutil.copytree(find_exercise("tiled").root, folder)
    with pytest.raises(SetupError):
        planned(tmp_path, "Width=64", exercise=str(folder))


def test_a_kernel_that_is_not_there_is_reported_before_its_axes(tmp_path):
    with pytest.raises(SetupError, match="no such file"):
        set_up(tmp_path / "other.cu", (), None, HERE)


def test_a_kernel_needs_an_axis_and_a_file_names_its_exercise(tmp_path):
    with pytest.raises(SetupError):
        planned(tmp_path)
    with pytest.raises(SetupError):
        set_up(experiment(tmp_path), (), "tiled", HERE)
