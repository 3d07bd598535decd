"""A search on this machine: each point once, whatever ends a run, and the same choices when it goes on."""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from click.testing import CliRunner

from kernels.evidence import Evidence, Extent, Light, ResourceTime
from kernels.exercise import read_exercise
from kernels.launch import Launch
from kernels.report import Report
from kernels.verdict import Finding, Verdict
from tests.kernels.experiment.made import measured
from tests.worker.experiment.runs import HERE, KERNEL, experiment
from worker.bench.backlog import Graded, Step
from worker.commands.experiment import local_run
from worker.commands.root import WrongUse, tilelab
from worker.contract.messages import CheckWork, StepKind, StepResult, Ticket
from worker.experiment import run as running
from worker.experiment import tuning as tuning_module
from worker.experiment.folder import Folder
from worker.experiment.manifest import DeviceUsed, Manifest
from worker.experiment.plan import Plan
from worker.experiment.setup import Machine, SetupError, set_up
from worker.experiment.tuning import budget, tune
from worker.gpu.nvml import GpuFacts

GPU = Machine(DeviceUsed("stand-in", "stand-in"), "sm_90")
LAUNCH = Launch((1, 1, 1), (16, 16, 1), 0)
FILE = """\
[experiment]
name = "two constants"
exercise = "tiled"
kernels = ["tiled.cu"]

[axes]
A = "1:12"
B = "1:12"

[design]
kind = "tune"
points = 30
seed = 1
goal = "gflops"
"""


def speed(a: int, b: int) -> float:
    return 1000 - 10 * (a - 9) ** 2 - 7 * (b - 4) ** 2 + 3 * (a * b % 3)


class Machines:
    """In place of a pool: models and measures by the constants in the text, and keeps what was asked."""

    def __init__(self, stop_after: int = 10**9, fail: Sequence[int] = ()) -> None:
        self.modelled: list[tuple[int, int]] = []
        self.measured: list[tuple[int, int]] = []
        self._left, self._fail = stop_after, fail

    def __call__(self, *_: object) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def grade(self, works: Iterable[CheckWork], told: Callable[[Graded], None]) -> None:
        for number, work in enumerate(works):
            if self._left == 0:
                raise KeyboardInterrupt
            self._left -= 1
            made = StepResult(Ticket(number, StepKind.CHECK, ""), "", self._report(work))
            told(Graded(number, (Step(made, None, 0.0, None, 1.0),)))

    def _report(self, work: CheckWork) -> Report:
        text = base64.b64decode(work.source).decode()
        a, b = (int(value) for value in re.findall(r"#define [AB] (\d+)", text))
        (self.measured if work.device_class else self.modelled).append((a, b))
        report = Report(Verdict.ACCEPTED, "Correct.", "tiled", "cpu", work.arch, 16)
        if a in self._fail:
            finding = Finding(Verdict.RESOURCE_LIMIT, "Too many registers.")
            return replace(report, verdict=Verdict.RESOURCE_LIMIT, message=finding.message, findings=(finding,))
        if work.device_class:
            return replace(report, device=work.device_class, measurement=measured(speed(a, b)))
        sizes = dict(read_exercise("tiled", work.exercise.definition).ranking)
        bound = 1.2 * speed(a, b)
        light = Light("H200", sizes, (ResourceTime("flops", "cores", 1.0, ""),), "flops", 1.0, bound)
        return replace(report, evidence=Evidence(Extent(sizes, 16, LAUNCH, 1, True), light=(light,)))


@pytest.fixture
def machines(monkeypatch):
    def replaced(*given, **options) -> Machines:
        made = Machines(*given, **options)
        monkeypatch.setattr(running, "Pool", made)
        monkeypatch.setattr(tuning_module, "Pool", made)
        return made

    return replaced


def begun(folder: Path, text: str = FILE, machine: Machine = GPU) -> tuple[Manifest, Folder]:
    folder.mkdir(exist_ok=True)
    file = experiment(folder, text, {"tiled.cu": "#define A 1\n#define B 1\n" + KERNEL})
    manifest, _ = set_up(file, (), None, machine)
    made = Folder(folder / "out")
    return made.begin_or_resume(manifest), made


def test_the_best_point_is_found_and_everything_is_said(tmp_path, machines):
    found = machines()
    manifest, folder = begun(tmp_path)
    assert (manifest.points, budget(manifest)) == (144, 30)
    results = tune(manifest, folder, tmp_path)
    tuning = folder.tuning()
    assert tuning is not None
    best = next(each for each in results if each.number == tuning.best)
    assert best.params == {"A": 9, "B": 4}
    assert len(found.measured) == len(results) == len(tuning.tried) <= 30
    assert tuning.stopped is not None
    assert tuning.modelled == len(folder.models().results()) == len(found.modelled)
    assert best.modelled is not None, "a measured point keeps its model"
    assert best.counted is not None


def test_a_search_that_was_interrupted_ends_as_if_it_was_not(tmp_path, machines):
    machines()
    manifest, whole = begun(tmp_path / "whole")
    tune(manifest, whole, tmp_path)
    ran = []
    for _ in range(20):
        some = machines(stop_after=7)
        manifest, folder = begun(tmp_path / "parts")
        try:
            tune(manifest, folder, tmp_path)
        except KeyboardInterrupt:
            ran.append(some)
            continue
        break
    ran.append(some)
    assert len(ran) > 3
    for asked in ([one for each in ran for one in each.measured], [one for each in ran for one in each.modelled]):
        assert len(asked) == len(set(asked)), "nothing ran twice"
    assert folder.tuning() == whole.tuning()
    assert [each.params for each in folder.results()] == [each.params for each in whole.results()]


def test_a_complete_search_runs_nothing_again(tmp_path, machines):
    machines()
    manifest, folder = begun(tmp_path)
    first = tune(manifest, folder, tmp_path)
    again = machines()
    told: list[int] = []
    assert tune(manifest, folder, tmp_path, told=told.append) == first
    assert not again.modelled
    assert not again.measured


def test_points_that_cannot_run_are_results_and_cost_nothing(tmp_path, machines):
    found = machines(fail=range(1, 13, 2))
    manifest, folder = begun(tmp_path)
    results = tune(manifest, folder, tmp_path)
    failed = [each for each in results if each.verdict is Verdict.RESOURCE_LIMIT]
    tuning = folder.tuning()
    assert tuning is not None
    assert [each.number for each in failed] == sorted(tuning.unfit)
    assert len(results) == len(failed) + len(tuning.tried)
    assert all(a % 2 == 0 for a, _ in found.measured)


@pytest.mark.one_in(2, "one of two")
@pytest.mark.parametrize("stop_after", [60, 10**9])
def test_a_search_that_goes_on_has_a_gpu(tmp_path, machines, monkeypatch, capsys, stop_after):
    """Refused points have results, but don't use the budget. A search makes all its choices again."""
    found = machines(stop_after, fail=range(1, 13, 2))
    manifest, folder = begun(tmp_path)
    with contextlib.suppress(KeyboardInterrupt):
        tune(manifest, folder, tmp_path)
    left = 30 - len(found.measured)
    assert len(folder.results()) >= 30
    machines(fail=range(1, 13, 2))
    opened: list[str] = []

    def places(_: object, gpu: GpuFacts, *__: object) -> tuple[()]:
        opened.append(gpu.name)
        return ()

    monkeypatch.setattr(local_run, "_places", places)
    gpu = GpuFacts(0, "stand-in", 2**35, "9.0", "", "580", 0)
    results = local_run.run_here(manifest, Plan(manifest), folder, gpu)
    assert opened == ["stand-in"]
    assert (f"{left} of 144" in capsys.readouterr().err) == (left > 0)
    assert sum(each.measurement is not None for each in results) == 30


def test_the_command_says_what_the_search_did(tmp_path, machines):
    machines()
    manifest, folder = begun(tmp_path)
    tune(manifest, folder, tmp_path)
    shown = [CliRunner().invoke(tilelab, ["experiment", "show", str(folder.path), *more]) for more in ([], ["--json"])]
    assert [each.exit_code for each in shown] == [0, 0]
    tuning = json.loads(shown[1].stdout)["tuning"]
    text = " ".join(shown[0].stdout.split())
    assert f"{len(tuning['tried'])} of 144 points tried." in text
    assert f"{tuning['modelled']} points modelled first." in text
    assert "Best: A=9, B=4, 1,000 GFLOPS (measured)." in text


def test_run_searches_and_its_report_has_the_best_point(tmp_path, machines):
    machines()
    text = FILE.replace('"gflops"', '"bound"')
    file = experiment(tmp_path, text, {"tiled.cu": "#define A 1\n#define B 1\n" + KERNEL})
    words = ["experiment", "run", str(file), "--device", "cpu", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(tilelab, words)
    assert done.exit_code == 0
    assert "30 of 144 points tried." in done.stdout
    assert "30 of 144 points to run" in done.stderr
    assert "Best: A=9, B=4" in (tmp_path / "out" / "report.html").read_text("utf-8")


@pytest.mark.long("the short suite has a search without counts by the energy")
def test_without_counts_every_choice_is_measured(tmp_path, machines):
    found = machines()
    manifest, folder = begun(tmp_path, FILE + "[measure]\ncounts = false\n")
    assert len(tune(manifest, folder, tmp_path)) == len(found.measured) == 30
    assert not found.modelled
    assert folder.models().results() == []


def test_on_the_cpu_device_a_modelled_goal_is_looked_for(tmp_path, machines):
    found = machines()
    manifest, folder = begun(tmp_path, FILE.replace('"gflops"', '"bound"'), HERE)
    results = tune(manifest, folder, tmp_path)
    assert len(results) == len(found.modelled) == 30
    tuning = folder.tuning()
    assert tuning is not None
    assert next(each.params for each in results if each.number == tuning.best) == {"A": 9, "B": 4}


@pytest.mark.parametrize(
    ("old", "new", "machine"),
    [
        ('"gflops"', '"gflops"', HERE),
        ('"gflops"', '"ms"', HERE),
        ('"gflops"', '"energy"', HERE),
        ('"gflops"', '"loads"\n[measure]\ncounts = false', GPU),
    ],
)
def test_a_goal_that_no_point_can_have_is_refused_with_its_line(tmp_path, old, new, machine):
    with pytest.raises(SetupError) as refused:
        begun(tmp_path, FILE.replace(old, new), machine)
    assert refused.value.line == 14


def test_the_energy_is_a_goal_on_a_gpu_also_without_counts(tmp_path, machines):
    found = machines()
    manifest, folder = begun(tmp_path, FILE.replace('"gflops"', '"energy"\n[measure]\ncounts = false'))
    assert len(tune(manifest, folder, tmp_path)) == len(found.measured) == 30


def test_a_search_writes_what_it_did(tmp_path, machines):
    machines()
    manifest, folder = begun(tmp_path)
    tune(manifest, folder, tmp_path)
    said = json.loads((folder.path / "tuning.json").read_text())
    assert {"goal", "space", "budget", "tried", "modelled", "pruned", "unfit", "best", "stopped"} <= said.keys()
    folder.clear()
    assert not any(folder.path.iterdir())


@pytest.mark.parametrize("name", ["points.jsonl", "modelled.jsonl"])
def test_a_search_whose_results_cannot_be_read_does_not_go_on(tmp_path, machines, name):
    machines()
    manifest, folder = begun(tmp_path)
    (folder.path / name).write_text("{}\n")
    with pytest.raises(WrongUse, match=name):
        local_run.run_here(manifest, Plan(manifest), folder, None)
