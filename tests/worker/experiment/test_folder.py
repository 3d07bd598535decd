"""A folder keeps each result, whatever ends a run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from io import FileIO

import pytest

from kernels.experiment.result import from_json, to_json
from kernels.verdict import Verdict
from tests.kernels.experiment.made import failed, result
from tests.worker.experiment.runs import planned
from worker.experiment import folder as module
from worker.experiment.folder import Folder, FolderError
from worker.experiment.run import missing

KILLED = """
import os, signal, sys
from pathlib import Path
from tests.kernels.experiment.made import result
from worker.experiment.folder import Folder
with Folder(Path(sys.argv[1])).writing() as keep:
    keep(result(0))
    keep(result(1))
    with open(Path(sys.argv[1]) / "points.jsonl", "ab") as file:
        file.write(b'{"number": 2, "par')
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path):
    manifest, _ = planned(tmp_path, "TILE_WIDTH=4,8")
    made = Folder(tmp_path / "out")
    made.begin_or_resume(manifest)
    return made


def test_a_result_reads_back():
    for each in (result(0), result(1, 1000.0), failed(2)):
        assert from_json(to_json(each)) == each


def test_what_was_written_before_a_kill_is_there_and_the_torn_line_is_dropped(folder):
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder.path)], check=False)
    assert done.returncode == -9
    assert folder.results() == [result(0), result(1)]
    with folder.writing() as keep:
        keep(result(2))
    assert folder.results() == [result(0), result(1), result(2)]
    assert (folder.path / "points.jsonl").read_bytes().count(b"\n") == 3


def test_only_new_lines_are_read_again_until_the_file_is_another(folder, monkeypatch):
    read: list[int] = []

    def noted(data):
        read.append(data["number"])
        return from_json(data)

    monkeypatch.setattr(module, "from_json", noted)
    with folder.writing() as keep:
        keep(result(0))
        assert folder.results() == [result(0)]
        keep(result(1))
        assert folder.results() == folder.results() == [result(0), result(1)]
    assert read == [0, 1]
    folder.clear()
    assert folder.results() == []
    with folder.writing() as keep:
        keep(result(3))
    assert [each.number for each in folder.results()] == [3]
    (folder.path / "points.jsonl").unlink()
    with folder.writing() as keep:
        for number in (4, 5, 6):
            keep(result(number))
    assert [each.number for each in folder.results()] == [4, 5, 6], "the file may have the number of the old one"


def test_results_of_another_tuner_fill_an_empty_folder(folder):
    folder.fill([result(0), failed(1)])
    assert folder.results() == [result(0), failed(1)]
    with pytest.raises(FolderError):
        folder.fill([result(2)])


def test_the_last_result_of_a_point_counts(folder):
    error = replace(failed(0), verdict=Verdict.SYSTEM_ERROR)
    with folder.writing() as keep:
        keep(error)
        keep(result(0))
    assert folder.results() == [result(0)]


def test_a_point_with_a_system_error_is_still_to_run(tmp_path):
    _, plan = planned(tmp_path, "TILE_WIDTH=2,4,8,16")
    error = replace(failed(1), verdict=Verdict.SYSTEM_ERROR)
    assert missing(plan, [result(0), error, failed(2)]) == [1, 3]


@pytest.mark.parametrize("written", [0, 10])
def test_a_full_disk_ends_the_run_and_the_torn_line_is_dropped(folder, written):
    class Full(FileIO):
        def write(self, data) -> int:
            return super().write(bytes(data)[:written])

    with folder.writing() as keep:
        keep(result(0))
    with Full(folder.path / "points.jsonl", "ab") as full, pytest.raises(FolderError):
        folder._add(full, result(1))
    with folder.writing() as keep:
        keep(result(1))
    assert folder.results() == [result(0), result(1)]


def test_two_runs_cannot_write_at_once(folder):
    with folder.writing(), pytest.raises(FolderError), folder.writing():
        pass


def test_a_run_that_is_still_writing_is_not_cleared(folder):
    with folder.writing(), pytest.raises(FolderError):
        folder.clear()
    assert folder.begun()


def test_a_folder_that_cannot_be_made_is_refused(folder, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError):
        Folder(tmp_path / "file" / "out").begin_or_resume(folder.manifest())


def test_a_line_that_is_not_a_result_is_named(folder):
    with folder.writing() as keep:
        keep(result(0))
    with (folder.path / "points.jsonl").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(FolderError, match="line 2"):
        folder.results()


def test_only_the_same_run_goes_on(folder, tmp_path):
    same, _ = planned(tmp_path, "TILE_WIDTH=4,8")
    before = folder.manifest()
    assert folder.begin_or_resume(same) == before
    assert before.seed != same.seed, "the inputs stay those of the first run"
    for other in (
        planned(tmp_path, "TILE_WIDTH=4,16")[0],
        replace(same, arch="sm_80"),
        replace(same, versions={**same.versions, "tilelab": "9"}),
        planned(tmp_path, "TILE_WIDTH=4,8", text="// another\n" + same.kernels[0].text)[0],
    ):
        with pytest.raises(FolderError):
            folder.begin_or_resume(other)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("all of it")
    for use in (Folder(tmp_path).begun, Folder(tmp_path).clear, Folder(tmp_path).manifest):
        with pytest.raises(FolderError):
            use()
    assert (tmp_path / "thesis.tex").exists()


def test_clearing_a_run_leaves_what_is_not_its_own(folder):
    (folder.path / "notes.txt").write_text("mine")
    folder.clear()
    assert [each.name for each in folder.path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}'])
def test_a_manifest_that_cannot_be_read_is_refused(folder, text):
    (folder.path / "manifest.json").write_text(text)
    with pytest.raises(FolderError):
        folder.manifest()
