"""One worker for each GPU, by its unique number."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.worker.fleet.test_slot_plan import gpu
from worker.gpu.locks import GpuInUse, SlotLock, locked

HOLDS = """
import sys
from pathlib import Path
from tests.worker.fleet.test_slot_plan import gpu
from worker.gpu.locks import locked
with locked([gpu(0)], Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_another_process_cannot_have_it_until_the_first_is_gone(tmp_path):
    folder = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(GpuInUse) as refused, locked([gpu(1), gpu(0)], folder):
            pass
        assert str(refused.value).startswith(
            f"another worker (process {other.pid}) already uses GPU 0 (NVIDIA H200, GPU-0)."
        )
        with locked([gpu(1)], folder):
            pass
        other.kill()
        other.wait()
    with locked([gpu(0)], folder):
        pass


def test_a_folder_of_somebody_else_is_not_used(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o777)
    link = tmp_path / "link"
    (tmp_path / "place").mkdir(mode=0o700)
    link.symlink_to(tmp_path / "place")
    for place in (folder, link):
        with pytest.raises(GpuInUse, match="only this user can write to"), locked([gpu(0)], place):
            pass


def test_slots_measure_one_after_the_other(tmp_path):
    with SlotLock(tmp_path / "gpu") as one, SlotLock(tmp_path / "gpu") as other:
        assert one.take(lambda: True)
        tries = iter([True, True, False])
        assert not other.take(lambda: next(tries))
        assert other.waited > 0
        one.release()
        assert other.take(lambda: True)


@pytest.mark.parametrize("prepared", ["a link", "open to all"])
def test_slots_share_no_folder_of_somebody_else(tmp_path, prepared):
    folder = tmp_path / "gpu"
    if prepared == "a link":
        folder.mkdir(mode=0o700)
        (folder / "lock").symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(GpuInUse):
        SlotLock(folder)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(GpuInUse, match="Set TMPDIR"), locked([gpu(0)], tmp_path / "file" / "run"):
        pass


def test_without_a_gpu_nothing_is_held(tmp_path):
    with locked([], tmp_path / "run"):
        assert not list(tmp_path.iterdir())
