"""The true way: both sandboxed processes, real compiler, real device, through the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernels.exercise import find_exercise
from kernels.verdict import Verdict
from worker.commands.root import Exit
from worker.steps.grading import Job
from worker.steps.grading import grade as grade_job
from worker.steps.stages import SandboxedStages

TILED = find_exercise("tiled")
SOLUTION = TILED.solution.read_text("utf-8")


def grade(tmp_path: Path, source: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    file = tmp_path / "my.cu"
    file.write_text(source, "utf-8")
    command = [sys.executable, "-c", "from worker.commands import main; main()", "grade", str(file), "--json"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("tile", [8, pytest.param(32, marks=pytest.mark.long("the short suite has 8"))])
def test_the_solution_is_accepted(tmp_path, tile):
    code, report = grade(tmp_path, SOLUTION, "--tile", str(tile), "--device", "cpu", "--arch", "sm_88")
    assert (code, report["verdict"], report["tile"]) == (Exit.ACCEPTED, "accepted", tile)
    assert {check["status"] for check in report["checks"]} == {"passed", "not_run"}
    assert report["resources"]["registers"] > 0
    assert set(report["seconds"]) == {"read", "compile", "check", "count"}
    evidence = report["evidence"]
    assert evidence["totals"]["global_load_requests"] > 0
    assert evidence["lines"]
    assert evidence["theory"]
    assert evidence["phases"]["phases"]
    assert len(evidence["checklist"]) == 6
    assert report["occupancy"]["warps_per_sm"] > 0
    assert report["occupancy"]["cc"] == "9.0", "the limits of sm_88 are unknown"


@pytest.mark.long("the short suite has one without known limits")
def test_occupancy_is_for_the_architecture_if_its_limits_are_known(tmp_path):
    _, report = grade(tmp_path, SOLUTION, "--device", "cpu", "--arch", "sm_86", "--tile", "32")
    assert (report["occupancy"]["cc"], report["occupancy"]["max_warps"]) == ("8.6", 48)


def test_a_lost_barrier_is_a_race_between_two_lines_on_every_run(tmp_path):
    lines = SOLUTION.splitlines()
    barriers = [i for i, line in enumerate(lines) if "__syncthreads()" in line]
    lines[barriers[-1]] = ""
    code, report = grade(tmp_path, "\n".join(lines), "--case", "Width=17")
    assert (code, report["verdict"]) == (Exit.NOT_ACCEPTED, "data_race")
    finding = report["findings"][0]
    assert finding["line"] != finding["other_line"]
    assert len(finding["example"]["threads"]) == 2
    between_warps = [each for each in report["findings"] if "If warps run one at a time, `P[" in each["message"]]
    assert [each["kind"] for each in between_warps] == ["data_race"]


def test_a_failing_case_can_be_replayed_exactly(tmp_path):
    wrong = SOLUTION.replace("0.0f", "1.0f")
    _, report = grade(tmp_path, wrong, "--tile", "8")
    arguments = ["--tile", "8", "--case", report["findings"][0]["example"]["case"], "--seed", report["seed"]]
    _, replayed = grade(tmp_path, wrong, *arguments)
    assert replayed["verdict"] == report["verdict"]
    assert replayed["findings"][0]["message"].split(";")[0] == report["findings"][0]["message"].split(";")[0]
    assert len(replayed["checks"]) == 1


PRINTING = SOLUTION.replace("{", '{ if (threadIdx.x + threadIdx.y + blockIdx.x == 0) printf("W %d\\n", Width);', 1)


def test_headers_and_prints_change_no_verdict(tmp_path):
    code, report = grade(tmp_path, "#include <cuda_runtime.h>\n#include <stdio.h>\n" + PRINTING, "--case", "Width=2")
    assert (code, report["verdict"]) == (Exit.ACCEPTED, "accepted")
    assert report["printed"] == "W 2\n"


@pytest.mark.long("the short suite has kernels without an end in the corpus")
def test_an_endless_kernel_ends_soon_and_by_count(tmp_path):
    endless = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) { while (Width) P[0] = M[0]; }"
    code, report = grade(tmp_path, endless)
    assert (code, report["verdict"]) == (Exit.NOT_ACCEPTED, "data_race")
    kinds = {finding["kind"] for finding in report["findings"]}
    assert "time_limit" in kinds


@pytest.mark.one_in(2, "one of two mistakes")
@pytest.mark.parametrize("body", ["P[0] = threadIdx.x;", "P[0] = ;"], ids=["a race", "a compile error"])
def test_a_mistake_is_explained_in_the_sandbox(tmp_path, body):
    kernel = f"__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{ {body} }}"
    code, report = grade(tmp_path, kernel, "--case", "Width=2")

    assert code == Exit.NOT_ACCEPTED
    assert report["explanation"]["step"]


def test_a_check_tells_the_first_output_and_the_processor_time_of_every_step(tmp_path):
    told: list[str] = []
    with SandboxedStages() as stages:
        stages.telling = told.append
        verdict = grade_job(
            Job(PRINTING.encode(), TILED, "sm_90", "5eed" * 8, tmp_path, case="Width=2"), stages
        ).verdict
    first, *others = told
    case = first.partition(": ")[2]
    assert others[0] == f"{first}\n{case}\nW 2\n"
    assert all(each.endswith(f"\n{case}\nW 2\n") for each in others)
    used = stages.cpu_seconds()
    assert verdict is Verdict.ACCEPTED
    assert set(used) == {"compile", "run"}
    assert all(seconds > 0 for seconds in used.values())
