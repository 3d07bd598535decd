"""`tilelab experiment repeat` and `compare`: which folders they take, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.kernels.experiment.made import result
from tests.worker.experiment.runs import HERE, planned
from worker.commands.experiment import local_run
from worker.commands.root import Exit, tilelab
from worker.experiment.folder import Folder
from worker.experiment.manifest import DeviceUsed
from worker.experiment.setup import Machine


def called(*words: object) -> Result:
    return CliRunner().invoke(tilelab, ["experiment", *map(str, words)])


def ran(path: Path, machine: Machine, gflops: float | None) -> Folder:
    """A folder with one accepted point."""
    manifest, _ = planned(path.parent, "TILE_WIDTH=4", machine=machine)
    made = Folder(path)
    made.begin_or_resume(manifest)
    made.fill([result(0, gflops)])
    return made


@pytest.fixture
def repeats(monkeypatch) -> list[Path]:
    """The folders of repeats, which find what `ran` found on the CPU device."""
    folders: list[Path] = []

    def run_here(_manifest: object, _plan: object, folder: Folder, _gpu: object) -> object:
        folders.append(folder.path)
        return [result(0)]

    monkeypatch.setattr(local_run, "run_here", run_here)
    return folders


def test_a_measured_run_is_not_repeated_without_a_gpu(tmp_path, repeats):
    ran(tmp_path / "gpu", Machine(DeviceUsed("NVIDIA H200", "h200"), "sm_90"), 1000.0)
    refused = called("repeat", tmp_path / "gpu", "--device", "cpu")
    assert (refused.exit_code, repeats) == (Exit.WRONG_USE, [])
    assert "NVIDIA H200" in refused.stderr
    assert not (tmp_path / "gpu-repeat").exists()


def test_a_repeat_is_next_to_its_folder_from_everywhere(tmp_path, repeats, monkeypatch):
    ran(tmp_path / "my", HERE, None)
    (tmp_path / "my" / "sub").mkdir()
    for here, there in ((".", "my"), ("my", "."), ("my/sub", "..")):
        monkeypatch.chdir(tmp_path / here)
        assert called("repeat", there, "--device", "cpu").exit_code == Exit.ACCEPTED
        for file in (tmp_path / "my-repeat").iterdir():
            file.unlink()
    assert [each.resolve() for each in repeats] == [tmp_path / "my-repeat"] * 3


def test_an_energy_has_no_interval_so_it_is_not_compared(tmp_path):
    folder = ran(tmp_path / "gpu", Machine(DeviceUsed("NVIDIA H200", "h200"), "sm_90"), 1000.0).path
    assert called("compare", folder, folder, "--y", "energy").exit_code == Exit.WRONG_USE
    for name in ("gflops", "bound", "occupancy", "global_load_requests"):
        assert called("compare", folder, folder, "--y", name).exit_code == Exit.ACCEPTED
