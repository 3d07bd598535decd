"""Every point runs once, whatever ends a run, and a point that fails is a result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Self

import pytest

from kernels.exercise import find_exercise
from kernels.experiment.plot.chosen import default_plots
from kernels.experiment.templates import FOLDER
from kernels.rendering.page.experiment_page import render_experiment
from kernels.report import Report
from kernels.verdict import Verdict
from tests.marks import linux
from tests.worker.experiment.runs import HERE, KERNEL, experiment, planned
from worker.bench.backlog import Graded, Step
from worker.contract.messages import CheckWork, StepKind, StepResult, Ticket
from worker.experiment import run as running
from worker.experiment.folder import Folder
from worker.experiment.manifest import DeviceUsed
from worker.experiment.run import check_slots, estimate, processes, run
from worker.experiment.setup import Machine, set_up
from worker.workplaces.gpu import MOST_WORKS, GpuWorkplace

pytestmark = linux

NAIVE = (FOLDER / "naive.cu").read_text("utf-8")
TILELAB = Path(sys.executable).with_name("tilelab")


class Backlogs:
    """In place of a pool: gives every point a verdict, and keeps what was asked."""

    def __init__(self, verdicts: Sequence[Verdict] = (), stop_after: int = 10**9) -> None:
        self.asked: list[list[CheckWork]] = []
        self._verdicts = list(verdicts)
        self._left = stop_after

    def __call__(self, *_: object) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def grade(self, works: Iterable[CheckWork], told: Callable[[Graded], None]) -> None:
        self.asked.append(list(works))
        for number, work in enumerate(self.asked[-1]):
            if self._left == 0:
                raise KeyboardInterrupt
            self._left -= 1
            verdict = self._verdicts.pop(0) if self._verdicts else Verdict.ACCEPTED
            report = Report(verdict, "said", work.exercise.name, "cpu", work.arch, work.tile or 16)
            made = StepResult(Ticket(number, StepKind.CHECK, ""), "", report)
            told(Graded(number, (Step(made, None, 0.0, None, 1.0),)))


@pytest.fixture
def backlogs(monkeypatch):
    def replaced(*given, **options) -> Backlogs:
        made = Backlogs(*given, **options)
        monkeypatch.setattr(running, "Pool", made)
        return made

    return replaced


def begun(tmp_path, *axes: str, text: str = KERNEL):
    manifest, plan = planned(tmp_path, *axes, text=text)
    folder = Folder(tmp_path / "out")
    folder.begin_or_resume(manifest)
    return plan, folder


def test_one_point_of_each_text_runs_all_cases_before_the_others(tmp_path, backlogs):
    found = backlogs()
    plan, folder = begun(tmp_path, "TILE_WIDTH=4,8", "Width=64,128,256")
    assert len(run(plan, folder, tmp_path)) == 6
    first, rest = found.asked
    assert [work.tile for work in first] == [8, 4]  # the last point takes longest
    assert len(rest) == 4
    assert all(len(work.exercise.definition) < len(first[0].exercise.definition) for work in rest)


def test_a_text_that_failed_is_checked_in_full_at_each_size(tmp_path, backlogs):
    found = backlogs([Verdict.DATA_RACE] * 3)
    plan, folder = begun(tmp_path, "Width=64,128,256")
    assert [each.verdict for each in run(plan, folder, tmp_path)] == [Verdict.DATA_RACE] * 3
    cases = [work.exercise.definition.count("inputs") for some in found.asked for work in some]
    assert cases == [cases[0]] * 3


def test_an_interrupted_run_goes_on_and_runs_nothing_twice(tmp_path, backlogs):
    plan, folder = begun(tmp_path, "TILE_WIDTH=4,8", "Width=64,128,256")
    backlogs(stop_after=3)
    with pytest.raises(KeyboardInterrupt):
        run(plan, folder, tmp_path)
    assert len(folder.results()) == 3
    found = backlogs()
    told: list[int] = []
    results = run(plan, folder, tmp_path, told=told.append)
    assert [each.number for each in results] == list(range(6))
    assert sum(map(len, found.asked)) == 3
    assert told == [4, 5, 6]
    lines = (folder.path / "points.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["number"] for line in lines) == list(range(6))
    assert run(plan, folder, tmp_path) == results


def test_a_system_error_runs_again_and_counts_once(tmp_path, backlogs):
    plan, folder = begun(tmp_path, "TILE_WIDTH=4,8,16")
    backlogs([Verdict.ACCEPTED, Verdict.SYSTEM_ERROR])
    run(plan, folder, tmp_path)
    found = backlogs()
    told: list[int] = []
    results = run(plan, folder, tmp_path, told=told.append)
    assert [work.tile for some in found.asked for work in some] == [8]
    assert told == [3]
    assert [each.verdict for each in results] == [Verdict.ACCEPTED] * 3


def test_points_that_are_not_accepted_are_results(tmp_path, backlogs):
    verdicts = [Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT, Verdict.WRONG_ANSWER]
    backlogs(verdicts)
    plan, folder = begun(tmp_path, "TILE_WIDTH=4,8,16")
    assert [each.verdict for each in run(plan, folder, tmp_path)] == verdicts[::-1]


def test_a_size_that_the_exercise_is_not_made_for_does_not_run(tmp_path, backlogs):
    found = backlogs()
    square = find_exercise("tiled-square").solution.read_text("utf-8")
    manifest, plan = planned(tmp_path, "TILE_WIDTH=8,16", "Width=96,104", text=square, exercise="tiled-square")
    folder = Folder(tmp_path / "out")
    folder.begin_or_resume(manifest)
    results = run(plan, folder, tmp_path)
    assert [each.verdict for each in results] == [Verdict.ACCEPTED] * 3 + [Verdict.REJECTED]
    assert sum(map(len, found.asked)) == 3
    assert results[3].finding is not None
    assert results[3].params == {"TILE_WIDTH": 16, "Width": 104}


def test_many_points_are_handed_on_in_parts(tmp_path, backlogs, monkeypatch):
    monkeypatch.setattr(running, "_AT_ONCE", 2)
    found = backlogs()
    plan, folder = begun(tmp_path, "TILE_WIDTH=2,4,8,16,32")
    assert len(run(plan, folder, tmp_path)) == 5
    assert [len(some) for some in found.asked] == [2, 2, 1]


def test_more_points_take_longer_and_a_gpu_less_than_nothing_never():
    assert 0 < estimate(1, 0) < estimate(100, 0)
    assert 0 < estimate(1, 1) < estimate(100, 1)


def test_two_tiles_on_the_cpu_device(tmp_path):
    plan, folder = begun(tmp_path, "TILE_WIDTH=8,16", "Width=64")
    small, large = run(plan, folder, tmp_path)
    assert [small.verdict, large.verdict] == [Verdict.ACCEPTED] * 2
    assert [small.tile, large.tile] == [8, 16]
    assert small.counted is not None
    assert large.counted is not None
    loads = [each.totals.global_load_requests for each in (small.counted, large.counted)]
    assert loads == [64**3 // (16 * 8), 64**3 // (16 * 16)], "the course's formula"
    assert small.measurement is None
    assert large.modelled is not None
    assert large.modelled.sizes == {"Width": 64}
    assert large.occupancy is not None
    assert folder.results() == [small, large]


@pytest.mark.long("the short suite reads the exercise of each layout in tests/worker/experiment/test_plan.py")
def test_each_layout_is_checked_and_counted_with_its_own_inputs(tmp_path):
    """Only the kernel that follows the layout is correct in both. Its loads from columns aren't coalesced."""
    follows = NAIVE.replace("N[k * Width + column]", "N[N_COLUMN_MAJOR ? column * Width + k : k * Width + column]")
    kernels = {"follows.cu": f"#define N_COLUMN_MAJOR 0\n{follows}", "naive.cu": NAIVE}
    text = "\n".join(
        ['[experiment]\nname = "layouts"\nexercise = "naive"', f"kernels = {list(kernels)}",
         "[axes]\nN_COLUMN_MAJOR = [0, 1]\nWidth = 64"]
    )  # fmt: skip
    manifest, plan = set_up(experiment(tmp_path, text, kernels), [], None, HERE)
    folder = Folder(tmp_path / "out")
    folder.begin_or_resume(manifest)
    rows, columns, same, wrong = run(plan, folder, tmp_path)
    assert rows.verdict is columns.verdict is same.verdict is Verdict.ACCEPTED
    assert wrong.verdict is Verdict.WRONG_ANSWER
    assert rows.counted is not None
    assert columns.counted is not None
    assert columns.counted.totals.global_load_sectors > 4 * rows.counted.totals.global_load_sectors


def test_a_gpu_process_takes_many_points():
    assert [processes(points) for points in (3, MOST_WORKS, MOST_WORKS + 1, 10 * MOST_WORKS)] == [1, 1, 2, 10]


def test_checks_without_counts_leave_cores_to_the_gpu(monkeypatch):
    monkeypatch.setattr(running, "cores", lambda: 12)
    assert check_slots(0, counts=False) == 12
    assert check_slots(1, counts=True) == 11
    assert check_slots(1, counts=False) == 8
    monkeypatch.setattr(running, "cores", lambda: 1)
    assert check_slots(1, counts=True) == check_slots(1, counts=False) == 1


@pytest.mark.long("the short suite measures with such a workplace in tests/worker/test_workplace_gpu.py")
def test_with_the_cpu_device_in_the_gpus_place_each_size_is_measured(tmp_path):
    machine = Machine(DeviceUsed("stand-in", "stand-in"), "sm_90")
    manifest, plan = planned(tmp_path, "TILE_WIDTH=4,8", "Width=8,24", machine=machine)
    folder = Folder(tmp_path / "out")
    folder.begin_or_resume(manifest)
    place = GpuWorkplace(None, "stand-in", "sm_90", tmp_path)
    try:
        results = run(plan, folder, tmp_path, [[place]])
    finally:
        place.close()
    assert [each.device for each in results] == ["stand-in"] * 4
    for each in results:
        assert each.measurement is not None
        assert each.measurement.sizes == each.sizes == {"Width": each.params["Width"]}
        assert [dict(speed.sizes) for speed in each.measurement.curve] in ([], [dict(each.sizes)])
        assert each.counted is not None
    assert folder.results() == results
    page = render_experiment(manifest.definition, results, {})
    assert page.count('<svg class="chart plot') == len(list(default_plots(results))) > 0


@pytest.mark.long("the short suite kills a process that writes, in tests/worker/experiment/test_folder.py")
def test_a_killed_command_goes_on_and_runs_nothing_twice(tmp_path):
    (tmp_path / "my.cu").write_text(KERNEL, "utf-8")
    words = [str(TILELAB), "experiment", "run", "my.cu", "-a", "TILE_WIDTH=4,8,16", "-a", "Width=64,128"]
    words += ["--device", "cpu", "--json"]
    points = tmp_path / "my" / "points.jsonl"
    first = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not points.exists() or points.read_bytes().count(b"\n") < 2:
        assert time.monotonic() < deadline
        assert first.poll() is None
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    kept = points.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    after = points.read_bytes()
    assert after.startswith(kept)
    assert sorted(json.loads(line)["number"] for line in after.splitlines()) == list(range(6))
    assert len(json.loads(done.stdout)["points"]) == 6
    assert (tmp_path / "my" / "report.html").is_file()
