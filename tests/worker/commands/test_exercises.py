"""`tilelab exercises`."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernels.exercise import BUILT_IN, find_exercise
from kernels.report import Report
from kernels.verdict import Finding, Verdict
from tests.marks import linux
from worker.commands.kernel.exercise_check import Proof, Prover
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


def test_folders_with_a_mistake_are_named_after_the_others(tmp_path: Path):
    for name, change in (("mine", ""), ("worse", "unknown = 1\n"), ("worst", "[")):
        shutil.copytree(BUILT_IN / "naive", tmp_path / name)
        definition = tmp_path / name / "exercise.toml"
        definition.write_text(change + definition.read_text())
    result = run("--exercises", str(tmp_path))
    assert result.exit_code == 2
    assert "mine: " in result.stdout
    assert "tiled: " in result.stdout
    first, second = result.stderr.splitlines()
    assert "worse/exercise.toml" in first
    assert "worst/exercise.toml" in second
    listed = run("--exercises", str(tmp_path), "--json")
    assert (listed.exit_code, "mine" in [entry["name"] for entry in json.loads(listed.stdout)]) == (2, True)
    assert run("--exercises", str(tmp_path / "none")).exit_code == 2


def test_a_handout_has_its_phases_and_figures_as_text():
    written = find_exercise("tiled").handout.read_text("utf-8")
    shown = run("tiled").stdout
    kept = [line for line in written.splitlines() if not re.match(r"```phases|Width = |tile = |!\[|exists", line)]
    assert [line for line in kept if line not in shown.splitlines()] == []
    assert "M[0][2] -> Mds[0][0]" in shown
    assert "```phases" not in shown
    assert json.loads(run("tiled", "--json").stdout)["handout"] == written


def test_a_handout_without_phases_and_a_starter_are_written_as_they_are():
    assert run("naive").stdout == find_exercise("naive").handout.read_text("utf-8")
    assert run("tiled", "--starter").stdout == find_exercise("tiled").starter.read_text("utf-8")


def proof(file: str, verdict: Verdict, problem: str = "", line: int | None = None) -> Proof:
    found = Finding(verdict, "A mistake.", line)
    report = Report(verdict, "A mistake.", "mine", "cpu", "sm_90", 16, findings=(found,))
    return Proof(file, 16, report, problem)


@pytest.mark.parametrize(("problem", "code"), [("", 0), ("other", 1)])
def test_a_check_shows_each_kernel_with_its_verdict_and_line(monkeypatch, problem, code):
    proofs = [proof("solution.cu", Verdict.ACCEPTED), proof("wrong/a.cu", Verdict.OUT_OF_BOUNDS, problem, line=7)]
    monkeypatch.setattr(Prover, "proofs", lambda _: iter(proofs))
    result = run("check", str(BUILT_IN / "naive"))
    assert result.exit_code == code
    assert f"wrong/a.cu   {Verdict.OUT_OF_BOUNDS.words}" in result.stdout
    assert problem in result.stdout
    assert ("wrong  wrong/a.cu" in result.stdout) == bool(problem)
    plain = json.loads(run("check", str(BUILT_IN / "naive"), "--json").stdout)
    assert (plain["exercise"], plain["ok"]) == ("naive", not problem)
    assert [(each["verdict"], each["line"]) for each in plain["kernels"]] == [("accepted", None), ("out_of_bounds", 7)]


def test_a_check_shows_a_reason_of_several_kernels_once(monkeypatch):
    proofs = [proof(f"wrong/{name}.cu", Verdict.SYSTEM_ERROR, "other") for name in "abc"]
    monkeypatch.setattr(Prover, "proofs", lambda _: iter(proofs))
    assert run("check", str(BUILT_IN / "naive")).stdout.count("A mistake.") == 1


def test_a_check_warns_of_a_mistake_that_hardly_shows(monkeypatch):
    weak = replace(proof("wrong/a.cu", Verdict.WRONG_ANSWER), warning="hardly")
    monkeypatch.setattr(Prover, "proofs", lambda _: iter([weak]))
    result = run("check", str(BUILT_IN / "naive"))
    assert (result.exit_code, "hardly" in result.stdout) == (0, True)
    plain = json.loads(run("check", str(BUILT_IN / "naive"), "--json").stdout)
    assert (plain["ok"], plain["kernels"][0]["warning"]) == (True, "hardly")


def test_a_check_refuses_phases_with_a_mistake_by_their_line(tmp_path):
    mine = shutil.copytree(BUILT_IN / "tiled", tmp_path / "mine")
    handout = mine / "handout.md"
    handout.write_text("# A title\n\n```phases\nWidth = 3\n```\n")
    result = run("check", str(mine))
    assert result.exit_code == 2
    assert f"{handout}: line 3: phases.tile: " in result.stderr
    assert run("mine", "--exercises", str(tmp_path)).stdout == handout.read_text()
    handout.write_bytes(b"\xff")
    assert run("check", str(mine)).exit_code == 2


def test_a_check_needs_the_folder_of_an_exercise(tmp_path):
    result = run("check", str(tmp_path))
    assert (result.exit_code, str(tmp_path) in result.stderr) == (2, True)
    assert run("tiled", str(tmp_path)).exit_code == 2


@linux
@pytest.mark.long("grades seven kernels in new processes")
def test_a_check_grades_a_whole_exercise(tmp_path):
    mine = shutil.copytree(BUILT_IN / "vector-addition", tmp_path / "mine")
    definition = mine / "exercise.toml"
    definition.write_text(definition.read_text().replace("[64, 128, 256, 512]", "[256]"))
    for old, new in (("line = 3", "line = 2"), ('verdict = "wrong_answer"', 'verdict = "data_race"')):
        table = mine / "wrong.toml"
        table.write_text(table.read_text().replace(old, new, 1))
    (mine / "starter.cu").write_text((mine / "solution.cu").read_text())
    found = json.loads(run("check", str(mine), "--json").stdout)
    assert {each["file"] for each in found["kernels"] if each["problem"]} == {
        "starter.cu",
        "wrong/unguarded.cu",
        "wrong/last_block_missing.cu",
    }


def test_the_ladder_is_listed_with_its_figures():
    lines = run("tiled", "--ladder").stdout.splitlines()
    assert lines[0] == " 1 uncoalesced, 32x32: one thread for each element of P"
    assert lines[1].startswith("     h200, GFLOPS: ")
    assert " % of cuBLAS)" in lines[1]
    listed = json.loads(run("tiled", "--ladder", "--json").stdout)
    assert [rung["number"] for rung in listed] == list(range(1, len(listed) + 1))
    assert set(listed[0]["figures"]["h200"]) == {"gflops", "cublas_share"}


def test_a_rung_that_was_not_measured_says_so(tmp_path: Path):
    mine = shutil.copytree(BUILT_IN / "tiled", tmp_path / "mine")
    (mine / "ladder.toml").write_text('[01_uncoalesced]\ntitle = "slow"\nidea = "begin"\n')
    lines = run("mine", "--exercises", str(tmp_path), "--ladder").stdout.splitlines()
    assert lines == [" 1 slow: begin", "     not measured yet"]


def test_a_rung_is_written_as_it_is():
    folder = BUILT_IN / "tiled" / "ladder"
    assert run("tiled", "--rung", "1").stdout == (folder / "01_uncoalesced.cu").read_text("utf-8")


def test_what_a_ladder_does_not_have_is_said_in_one_line(tmp_path: Path):
    mine = shutil.copytree(BUILT_IN / "tiled", tmp_path / "mine")
    (mine / "ladder.toml").write_text("[first]\n")
    own = ["mine", "--exercises", str(tmp_path)]
    for arguments in (
        ["--ladder"],
        ["--rung", "1"],
        ["naive", "--ladder"],
        ["tiled", "--rung", "99"],
        ["tiled", "--rung", "1", "--starter"],
        [*own, "--ladder"],
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert len(result.stderr.strip().splitlines()) == 1
        assert result.stdout == ""


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


def test_the_kernels_of_all_launches_are_listed(tmp_path: Path):
    mine = shutil.copytree(BUILT_IN / "vector-addition", tmp_path / "mine")
    section = DOCUMENTATION.read_text("utf-8").split("### Several launches")[1]
    (mine / "exercise.toml").write_text(section.split("```toml\n")[1].split("```")[0])
    listed = json.loads(run("mine", "--exercises", str(tmp_path), "--json").stdout)
    kernels = [
        "__global__ void partialSums(const int* values, int* partial, int n)",
        "__global__ void addSums(const int* partial, int* sum, int count)",
    ]
    assert listed["kernels"] == kernels
    assert listed["launches"] == ["partialSums", "addSums"]
    lines = [line.strip() for line in run("--exercises", str(tmp_path)).stdout.splitlines()]
    assert lines.index(kernels[1]) == lines.index(kernels[0]) + 1
