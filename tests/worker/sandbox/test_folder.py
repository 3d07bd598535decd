from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.marks import linux
from worker.sandbox.folder import OwnFolder, sweep

pytestmark = linux

ROOT = Path(__file__).resolve().parents[3]


def test_a_child_that_was_never_asked_ends_with_its_parent_and_its_folder_is_swept(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]);"
        "from worker.sandbox.process import Child; child = Child('compile');"
        "print(child._process.pid, child._folder.path, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(ROOT)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        sweep()
        assert Path(folder).is_dir(), "its owner lives"
        parent.kill()
    deadline = time.monotonic() + 10
    while _alive(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert not _alive(int(pid))
    assert Path(folder).is_dir()
    sweep()
    assert not list(tmp_path.iterdir())


def test_sweeping_spares_what_lives_and_what_is_not_ours(monkeypatch, tmp_path):
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    for folder in (place, elsewhere, place / "tilelab-1000", place / "tilelab-sandbox-dead"):
        folder.mkdir()
    (elsewhere / "kept").touch()
    (place / "tilelab-sandbox-link").symlink_to(elsewhere)
    (place / "tilelab-sandbox-dead" / "link").symlink_to(elsewhere)
    (place / "tilelab-sandbox-file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    mine = OwnFolder()
    before = set(place.iterdir())

    with monkeypatch.context() as somebody_else:
        somebody_else.setattr(os, "geteuid", lambda: os.getuid() + 1)
        sweep()
    assert set(place.iterdir()) == before

    sweep()
    assert set(place.iterdir()) == before - {place / "tilelab-sandbox-dead"}
    assert (elsewhere / "kept").exists()
    mine.close()
    mine.close()
    assert not Path(mine.path).exists()


def test_a_folder_that_is_swept_before_it_is_locked_is_made_anew(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = tempfile.mkdtemp

    def swept_at_once(**given):
        monkeypatch.setattr(tempfile, "mkdtemp", made)
        path = made(**given)
        sweep()
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", swept_at_once)
    folder = OwnFolder()
    assert Path(folder.path).is_dir()
    folder.close()


def test_folders_within_folders_without_end_stop_nobody(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine, left = OwnFolder(), tmp_path / "tilelab-sandbox-left"
    left.mkdir()
    try:
        for folder in (mine.path, left):
            _dig(folder, 1200)
        sweep()
        mine.close()
    finally:
        subprocess.run(["rm", "-rf", mine.path, left], check=True)


def _dig(folder: str | Path, depth: int) -> None:
    """That many folders, each in the one before."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def _alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended and waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
