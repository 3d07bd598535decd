"""A heartbeat is seen as long as there is one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from select import select

import pytest

from worker.supervision.heartbeat import Heartbeat, main, silence


def checked(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "worker.supervision.heartbeat", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def heard(descriptor: int) -> bytes:
    """What comes, or has come, within a minute."""
    select([descriptor], [], [], 60)
    return os.read(descriptor, 100)


def test_a_beat_is_healthy_and_silence_is_not(tmp_path):
    file = tmp_path / "heartbeat"
    Heartbeat(file).beat()
    assert checked(file).returncode == 0
    old = time.time() - 100
    os.utime(file, (old, old))
    done = checked(file)
    assert done.returncode == 1
    assert done.stderr.startswith("no heartbeat for 10")
    assert main([str(file), "--seconds", "1000"]) == 0


def test_a_supervisor_hears_beats_until_a_round_takes_too_long(monkeypatch):
    monkeypatch.setattr("worker.supervision.heartbeat.STUCK_SECONDS", 1.0)
    monkeypatch.setattr("worker.supervision.heartbeat.EVERY_SECONDS", 0.1)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        heartbeat = Heartbeat(None, tell=writing)
        for _ in range(6):  # longer than a round may take, in rounds
            time.sleep(0.25)
            heartbeat.beat()
            assert set(heard(reading)) == set(b"\n")
        time.sleep(1.3)
        os.read(reading, 100)
        time.sleep(0.3)
        with pytest.raises(BlockingIOError):
            os.read(reading, 100)
        heartbeat.beat()
        assert heard(reading)
    finally:
        os.close(reading)
        # the thread keeps the other end


def test_no_file_is_no_heartbeat(tmp_path):
    done = checked(tmp_path / "missing")
    assert done.returncode == 1
    assert f"({os.strerror(errno.ENOENT)})" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_clock_that_went_back_is_no_silence(tmp_path):
    file = tmp_path / "heartbeat"
    file.touch()
    ahead = time.time() + 1000
    os.utime(file, (ahead, ahead))
    assert silence(file) == 0


def test_a_file_that_cannot_be_written_ends_nothing(tmp_path):
    beats: list[int] = []
    heartbeat = Heartbeat(tmp_path / "missing" / "heartbeat", lambda: beats.append(1))
    heartbeat.beat()
    heartbeat.beat()
    assert beats == [1, 1]
    assert heartbeat.file is None
