"""`tilelab analyze` as it is called: what it prints, its options, messages and exit codes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kernels.analysis.model import from_json
from kernels.exercise import find_exercise
from kernels.rendering.analysis import FIRST_LOOK, render_analysis
from kernels.rendering.text_style import Style
from tests.marks import linux
from worker.commands.root import Exit, tilelab

_LONG = pytest.mark.long("the short suite analyses small launches")

SOLUTION = str(find_exercise("tiled").solution)
NAIVE = str(find_exercise("naive").solution)
SQUARE = str(find_exercise("tiled-square").solution)
KEYS = {
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_conflicts", "shared_store_conflicts", "divergent_branches", "flops", "global_bytes",
    "ptx_global_load_requests", "ptx_shared_load_requests",
}  # fmt: skip


@pytest.fixture(autouse=True)
def stages(kept, monkeypatch) -> None:
    """In processes that are kept."""
    monkeypatch.setattr("worker.commands.kernel.analyze.start_stages", lambda: nullcontext(kept.stages()))


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(tilelab, ["analyze", *arguments], input=stdin)


def analysed(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == Exit.ACCEPTED, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_size_has_to_be_a_number():
    assert run(SOLUTION, "--size", "many").exit_code == Exit.WRONG_USE


def test_json_is_one_object_that_reads_back():
    found = analysed(SOLUTION, "--size", "256", "--tile", "16")
    analysis = from_json(found)
    assert found["schema"] == 1
    assert (found["exercise"], found["device"], found["arch"], found["tile"]) == ("tiled", "cpu", "sm_90", 16)
    assert found["sizes"] == {"Width": 256}
    assert found["launch"] == {"grid": [16, 16, 1], "block": [16, 16, 1], "shared": 0, "cluster": [1, 1, 1]}
    assert set(found["evidence"]["totals"]) >= KEYS
    assert analysis.resources is not None
    assert analysis.resources.registers > 0
    assert set(found["seconds"]) >= {"compile", "count"}
    assert found["findings"] == []


@_LONG
@linux
def test_the_totals_are_those_of_a_gpu_s_counters():
    totals = analysed(SOLUTION, "--size", "256", "--tile", "16")["evidence"]["totals"]
    assert totals["global_load_requests"] == 65_536
    assert totals["global_load_sectors"] == 262_144
    assert (totals["global_store_requests"], totals["global_store_sectors"]) == (2_048, 8_192)
    assert totals["shared_load_conflicts"] == totals["shared_store_conflicts"] == 0
    assert totals["ptx_shared_load_requests"] == 1_048_576 > totals["shared_load_requests"]


@_LONG
def test_a_large_size_is_counted_from_some_of_its_blocks_and_exact():
    found = analysed(SOLUTION, "--size", "1024", "--tile", "16")
    extent = found["evidence"]["extent"]
    assert extent["blocks_run"] < 64 * 64
    assert extent["exact"]
    assert found["evidence"]["totals"]["global_load_requests"] == 1024**3 // (16 * 16)


def test_the_text_shows_what_to_look_at_first_before_everything_else():
    result = run(NAIVE, "--exercise", "naive", "--size", "128")
    assert result.exit_code == Exit.ACCEPTED
    parts = [
        "What to look at first", "Line by line (counted)", "Each access (counted)", "Totals (counted)",
        "The course's formulas and the counts", "Checklist (gains are modelled)",
    ]  # fmt: skip
    places = [result.stdout.index(part) for part in parts]
    assert places == sorted(places)
    assert "\033" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_the_margin_holds_the_counts_of_its_line():
    lines = run(NAIVE, "--exercise", "naive", "--size", "128").stdout.splitlines()
    (line,) = [line for line in lines if "Pvalue += M[Row" in line]
    assert line.split()[0] == "131,072"
    assert " 14 " in line


def test_a_file_can_come_from_standard_input():
    result = run("-", "--exercise", "naive", "--size", "32", stdin=Path(NAIVE).read_bytes())
    assert result.exit_code == Exit.ACCEPTED
    assert result.stdout.startswith("standard input")


def test_a_file_for_another_exercise_names_it():
    result = run(str(find_exercise("reduction").starter))
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "--exercise reduction" in result.stdout


def test_what_does_not_compile_cannot_be_analysed(tmp_path):
    file = tmp_path / "broken.cu"
    file.write_text("__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) { oops }\n")
    result = run(str(file))
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "cannot be analysed" in result.stdout
    assert "Compile error at" in result.stdout
    found = json.loads(run(str(file), "--json").stdout)
    assert found["message"]
    assert found["evidence"]["extent"] is None


def test_a_launch_that_no_device_makes_cannot_be_analysed(tmp_path):
    file = tmp_path / "large.cu"
    file.write_text("//!tilelab block=(64,64)\n" + Path(SOLUTION).read_text())
    result = run(str(file))
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "Resource limit at line 1" in result.stdout


def test_an_instruction_that_is_not_known_is_named_with_its_line(tmp_path):
    file = tmp_path / "odd.cu"
    file.write_text(
        "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {\n"
        '    asm volatile("nanosleep.u32 20;");\n'
        '    asm volatile("tcgen05.fence::before_thread_sync;");\n'
        "    P[0] = 0.0f;\n}\n"
    )
    result = run(str(file), "--size", "16", "--arch", "sm_90")
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "'tcgen05.fence'" in result.stdout


def test_a_kernel_that_reads_outside_is_shown_with_its_finding(tmp_path):
    file = tmp_path / "outside.cu"
    file.write_text(
        "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    P[i] = M[i + Width * Width];\n}\n"
    )
    result = run(str(file), "--exercise", "naive", "--size", "16")
    assert result.exit_code == Exit.ACCEPTED
    assert "Out of bounds at line 3" in result.stdout
    assert "Correct them before you look at speed" in result.stdout


@_LONG
def test_blocks_that_no_sample_shows_make_an_estimate_even_where_the_first_ends_at_once(tmp_path):
    text = Path(SOLUTION).read_text()
    opened = text.index("{", text.index("__global__")) + 1
    path = tmp_path / "kernel.cu"
    path.write_text(text[:opened] + " if ((blockIdx.x + blockIdx.y) % 61 == 0) return;" + text[opened:])

    extent = analysed(str(path), "--size", "1024", "--tile", "16")["evidence"]["extent"]

    assert extent["blocks_run"] < 1000
    assert not extent["exact"]
    assert "blocks" in extent["note"]


@_LONG
def test_a_kernel_is_compiled_for_the_compute_capability_that_is_asked_for():
    found = analysed(SOLUTION, "--size", "32", "--cc", "7.5")
    assert found["arch"] == "sm_75"
    assert found["occupancy"]["cc"] == "7.5"
    assert found["occupancy"]["max_warps"] == 32
    assert analysed(SOLUTION, "--size", "32", "--device", "t4")["arch"] == "sm_75"
    assert analysed(SOLUTION, "--size", "32", "--arch", "sm_86")["occupancy"]["cc"] == "8.6"


def test_a_compute_capability_that_the_compiler_does_not_know_gets_a_command_to_copy():
    result = run(SOLUTION, "--size", "32", "--cc", "5.0")
    assert result.exit_code == Exit.ACCEPTED, result.output
    head = " ".join(result.stdout.partition(FIRST_LOOK)[0].split())
    assert "sm_75" in head
    assert "see the occupancy on 5.0" in head
    command = head[head.index("tilelab occupancy") :].partition(" --cc 5.0")[0] + " --cc 5.0"
    answer = CliRunner().invoke(tilelab, [*command.split()[1:], "--json"])
    assert answer.exit_code == Exit.ACCEPTED, command
    figures = json.loads(answer.stdout)["figures"]
    assert (figures["threads"], figures["static"]) == (256, 2048)


def test_a_tile_of_the_file_that_the_usual_size_does_not_fit_is_counted_at_one_that_does(tmp_path):
    file = tmp_path / "ten.cu"
    file.write_text("#define TILE_WIDTH 10\n" + Path(SQUARE).read_text())
    assert analysed(str(file), "-e", "tiled-square")["sizes"] == {"Width": 250}


ENDLESS = """__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    for (int k = 0; k < Width; ) P[k] = M[k];
}
"""


@_LONG
def test_the_counts_of_an_endless_kernel_are_told_for_what_they_are(tmp_path):
    file = tmp_path / "endless.cu"
    file.write_text(ENDLESS)
    # in the largest block each step counts most, so that the end comes soonest
    found = analysed(str(file), "--size", "32", "--tile", "32")
    text = render_analysis(from_json(found), ENDLESS, "endless.cu", Style())
    head = " ".join(text.partition(FIRST_LOOK)[0].split())
    assert "Time limit" in head
    assert "It stopped early" in head
    for title in ("formulas", "Speed of light", "Checklist"):
        assert title not in text
    assert not found["evidence"]["extent"]["exact"]
    assert len(found["evidence"]["advice"]) == 1


def test_a_wrong_result_is_told_before_the_counts(tmp_path):
    file = tmp_path / "wrong.cu"
    text = Path(NAIVE).read_text()
    assert "+=" in text
    file.write_text(text.replace("+=", "-=", 1))
    head = run(str(file), "-e", "naive", "--size", "32").stdout.partition(FIRST_LOOK)[0]
    assert "This kernel is incorrect" in head
    assert "Wrong answer" in head


@_LONG
def test_a_right_kernel_is_told_nothing_of_the_kind():
    for exercise in ("naive", "reduction", "bank-conflicts", "column-major", "foo-kernel"):
        assert not analysed(str(find_exercise(exercise).solution), "-e", exercise)["findings"], exercise


@_LONG
def test_a_kernel_that_goes_wrong_in_some_blocks_is_counted_from_a_sample_too():
    coarsened = str(find_exercise("coarsened").solution)
    result = run(coarsened, "--exercise", "tiled", "--size", "1024", "--tile", "16", "--json")
    found = json.loads(result.stdout)

    assert {finding["kind"] for finding in found["findings"]} == {"out_of_bounds"}
    assert found["evidence"]["extent"]["blocks_run"] < 64 * 64
