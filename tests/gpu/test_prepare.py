"""What is prepared for another machine, and what happens where there is no GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from tests.gpu import driver, prepare
from tests.gpu.agreement import on_cpu, runs_of
from tests.marks import linux

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.long("it tests the tests for a GPU, which aren't in the short suite")
@linux
def test_what_is_prepared_runs_on_the_cpu_device_without_the_source(tmp_path, monkeypatch):
    naive = find_exercise("naive")
    paths = sorted(prepare.PROBES.glob("*.cu"))
    probes = [prepare.Chosen(f"probe: {path.stem}", path, naive, 16) for path in paths]
    monkeypatch.setattr(prepare, "right_kernels", lambda: iter(probes))

    made = prepare.prepare(tmp_path / "here", "sm_90")
    folder = (tmp_path / "here").rename(tmp_path / "there")

    assert prepare.read(folder) == made
    assert len(made.kernels) == len(probes) >= 4
    for kernel in made.kernels:
        side = on_cpu(folder, kernel)
        assert not side.objections
        assert not side.approximate
        assert len(side.outputs) == len(list(runs_of(kernel)))


@pytest.mark.long("it tests the tests for a GPU, which aren't in the short suite")
def test_every_right_kernel_and_every_solution_is_compared():
    names = [each.name for each in prepare.right_kernels()]
    for expected in ("naive: solution.cu", "tiled: solution.cu", "tiled_kahan", "probe: global_atomic_add"):
        assert expected in names
    assert names.count("tiled_kahan") == len(prepare.TILES)


@pytest.mark.long("it tests the tests for a GPU, which aren't in the short suite")
def test_without_a_gpu_nothing_is_run_and_nothing_claimed():
    try:
        driver.GPU()
    except driver.NoGPU:
        done = subprocess.run([sys.executable, "-m", "tests.gpu"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("not run: no NVIDIA ")
        assert done.stdout.count("\n") == 1
    else:
        pytest.skip("there is a GPU here")
