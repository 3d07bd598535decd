"""`tilelab grade` where a GPU measures: the place on the ladder, and the profile. The CPU device stands for the GPU.

A script stands for Nsight Compute.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernels.exercise import find_exercise
from tests.marks import linux
from tests.worker.gpu.measuring import judge_wire, kernel
from worker.commands.root import Exit, tilelab
from worker.contract.measure_work import Prepare
from worker.gpu.nvml import GpuFacts
from worker.gpu.profile import nsight as stage
from worker.gpu.spares import Runner
from worker.steps.stages import SandboxedStages

_LONG = pytest.mark.long("the short suite has one report with a profile")

pytestmark = linux

GPU = GpuFacts(0, "NVIDIA H200", 150 * 10**9, "9.0", "GPU-0", "580", 1980)
CASES = '[[cases]]\nsizes = { Width = 2 }\ninputs = ["integers_right"]\n'
LADDER = """
[01_slow]
title = "slow"
idea = "any"
[01_slow.cpu]
gflops = { 48 = 1e-9 }
cublas_share = { 48 = 1e-9 }

[02_fast]
title = "fast"
idea = "a faster one"
[02_fast.cpu]
gflops = { 48 = 1e9 }
cublas_share = { 48 = 1 }
"""
TABLE = (
    '"ID","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum",'
    '"sm__throughput.avg.pct_of_peak_sustained_elapsed","sm__warps_active.avg.pct_of_peak_sustained_active"\n'
    '"","%","ns","%","%"\n"0","91.25","1,847,296","74.5","99.87"\n'
)


class OnCpu(SandboxedStages):
    """The GPU's part in a process of its own, on the CPU device."""

    def open_gpu(self, index: int | None, arch: str, cache: Path) -> None:
        self._gpu = Runner(None, Prepare(judge_wire(), "13.5"))


@pytest.fixture(autouse=True)
def gpu(monkeypatch, tmp_path):
    monkeypatch.setattr("worker.commands.kernel.grade.choose", lambda device: None if device == "cpu" else GPU)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("worker.gpu.judge.code.judge_code", lambda arch, cache: judge_wire())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an exercise whose ranking size is small."""
    tiled, mine = find_exercise("tiled").root, tmp_path / "exercises" / "mine"
    (mine / "ladder").mkdir(parents=True)
    for name in ("handout.md", "starter.cu", "solution.cu"):
        (mine / name).write_text((tiled / name).read_text())
    head = (tiled / "exercise.toml").read_text().partition("[[cases]]")[0]
    head = head.replace("Width = 2048", "Width = 48").replace("largest_on_cpu = 300", "largest_on_cpu = 40")
    (mine / "exercise.toml").write_text(head.replace("Width = 256", "Width = 32") + CASES)
    (mine / "ladder.toml").write_text(LADDER)
    for rung in ("01_slow", "02_fast"):
        (mine / "ladder" / f"{rung}.cu").write_text("")
    return mine.parent


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.cu"
    path.write_text(kernel())
    return path


@pytest.fixture
def ncu(tmp_path, monkeypatch):
    """Puts a script in the place of Nsight Compute; "$report" is what it is to write."""

    def put(body: str) -> None:
        table, script = tmp_path / "table.csv", tmp_path / "ncu"
        table.write_text(TABLE)
        script.write_text(
            f'#!/bin/sh\nif [ "$1" = --import ]; then cat {table}; exit; fi\n'
            'while [ "$1" != --export ]; do shift; done\nreport=$2\n' + body
        )
        script.chmod(0o755)
        monkeypatch.setattr(stage, "find_ncu", lambda: script)

    return put


def run(*arguments: object) -> Result:
    with OnCpu() as stages:
        return CliRunner().invoke(tilelab, ["grade", *map(str, arguments)], obj=stages)


def graded(file: Path, folder: Path, *more: object) -> Result:
    return run(file, "--exercises", folder, "--exercise", "mine", *more)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "cpu", "--profile", "x.ncu-rep"], "needs a GPU"),
        (["--profile", "my.cu"], "must end in .ncu-rep"),
        (["--profile", "/nonexistent/x.ncu-rep"], "folder does not exist"),
    ],
)
def test_what_cannot_be_profiled_is_wrong_use_in_one_line(file, arguments, words):
    result = run(file, *arguments)
    assert result.exit_code == Exit.WRONG_USE
    (line,) = result.stderr.strip().splitlines()
    assert words in line
    assert result.stdout == ""
    assert file.read_text() == kernel()


def test_the_place_and_the_profile_stand_in_the_report(file, folder, ncu, tmp_path):
    ncu('echo some bytes >"$report"\n')
    target = tmp_path / "out.ncu-rep"
    result = graded(file, folder, "--profile", target)
    assert result.exit_code == Exit.ACCEPTED, result.output
    told = " ".join(result.stdout.split())
    assert "rung 1 (slow: 0.00) and rung 2 (fast: 1,000,000,000)" in told
    assert "Next idea: a faster one." in told
    assert (
        "Profiled with Nsight Compute: 1.847 ms, occupancy 99.9 %, SMs at 74.5 % of their throughput, memory at 91.2 %."
    ) in told
    assert "Open the full report with: ncu-ui " in told
    assert target.read_text() == "some bytes\n"
    assert result.stderr == ""


@_LONG
def test_json_stays_one_object_beside_a_profile(file, folder, ncu, tmp_path):
    ncu('echo some bytes >"$report"\n')
    result = graded(file, folder, "--profile", tmp_path / "out.ncu-rep", "--json")
    assert result.exit_code == Exit.ACCEPTED
    assert json.loads(result.stdout)["measurement"]["sizes"] == {"Width": 48}
    assert result.stderr.startswith("tilelab: Profiled ")
    assert "1.847 ms" in result.stderr


@_LONG
def test_a_profile_that_fails_changes_nothing_but_one_line(file, folder, ncu, tmp_path):
    ncu("echo '==ERROR== ERR_NVGPUCTRPERM - no permission'\nexit 1\n")
    result = graded(file, folder, "--profile", tmp_path / "out.ncu-rep")
    assert result.exit_code == Exit.ACCEPTED
    assert "Measured on" in result.stdout
    assert "Profiled" not in result.stdout
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("tilelab: no profile: only root can use the driver's performance counters.")
    assert not (tmp_path / "out.ncu-rep").exists()


def test_a_kernel_that_is_wrong_is_not_profiled(file, folder, ncu, tmp_path):
    ncu(f"touch {tmp_path}/started\n")
    file.write_text(kernel(before="  sum += 1;\n"))
    result = graded(file, folder, "--profile", tmp_path / "out.ncu-rep")
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert result.stderr.startswith("tilelab: no profile: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "started").exists()


@_LONG
def test_a_ladder_that_cannot_be_used_costs_no_report(file, folder):
    (folder / "mine" / "ladder.toml").write_text("[")
    result = graded(file, folder)
    assert result.exit_code == Exit.ACCEPTED, result.output
    assert "Measured on" in result.stdout
    assert "rung" not in result.stdout
