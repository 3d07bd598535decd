"""`tilelab exercises`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from click.testing import CliRunner, Result

from kernels.exercise import BUILT_IN, find_exercise
from worker.commands.root import tilelab

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "exercises.md"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tilelab, ["exercises", *arguments])


def test_the_list_names_every_exercise_with_its_kernel():
    result = run()
    assert result.exit_code == 0
    for name in ("naive", "tiled", "tiled-square"):
        assert f"{name}: {find_exercise(name).title}" in result.stdout
    assert "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)" in result.stdout


def test_the_list_as_json():
    listed = json.loads(run("--json").stdout)
    tiled = next(entry for entry in listed if entry["name"] == "tiled")
    assert tiled["tiles"] == [2, 4, 8, 16, 32]
    assert "Width=17 integers_left" in tiled["cases"]


def test_a_handout_and_a_starter_are_written_as_they_are():
    assert run("tiled").stdout == find_exercise("tiled").handout.read_text("utf-8")
    assert run("tiled", "--starter").stdout == find_exercise("tiled").starter.read_text("utf-8")


def test_a_folder_of_ones_own(tmp_path: Path):
    shutil.copytree(BUILT_IN / "tiled", tmp_path / "mine")
    assert "mine: " in run("--exercises", str(tmp_path)).stdout
    assert run("mine", "--exercises", str(tmp_path), "--json").exit_code == 0


def test_what_a_file_has_to_declare_is_listed(tmp_path: Path):
    mine = shutil.copytree(BUILT_IN / "tiled", tmp_path / "mine")
    definition = DOCUMENTATION.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    definition += '[[constants]]\nsymbol = "d_BLOCK_SIZE"\nvalue = "BLOCK_SIZE"\n'
    (mine / "exercise.toml").write_text(definition)
    lines = [line.strip() for line in run("--exercises", str(tmp_path)).stdout.splitlines()]
    title = next(index for index, line in enumerate(lines) if line.startswith("mine: "))
    at = lines.index("__global__ void matrixMulCUDA()", title)
    assert lines[at - 4 : at] == [
        "__device__ float d_A[A_HEIGHT][A_WIDTH];",
        "__device__ float d_B[A_WIDTH][B_WIDTH];",
        "__device__ float d_C[A_HEIGHT][B_WIDTH];",
        "__constant__ int d_BLOCK_SIZE;",
    ]
    listed = json.loads(run("--exercises", str(tmp_path), "--json").stdout)
    assert next(entry for entry in listed if entry["name"] == "mine")["globals"] == lines[at - 4 : at]


def test_what_is_not_there_is_said_in_one_line():
    for arguments in (["nope"], ["--starter"], ["--exercises", "/nonexistent/exercises"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert len(result.stderr.strip().splitlines()) == 1
        assert result.stdout == ""
