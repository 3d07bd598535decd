"""What `tilelab up` says, and the log that it keeps."""

from __future__ import annotations

import logging
import os
import signal
import stat
from pathlib import Path

import pytest

from server.up import terminal_output
from server.up.terminal_output import TerminalOutput, log_to
from worker.supervision.parts import Event, What


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_logs_are_for_their_owner_alone_whoever_made_them(tmp_path, monkeypatch):
    monkeypatch.setattr(terminal_output, "_LOG_BYTES", 100)
    file = tmp_path / "tilelab.log"
    file.touch(0o644)
    log = log_to(file)
    try:
        for number in range(5):
            log.info("line %d %s", number, "x" * 60)
    finally:
        log.handlers[0].close()
    kept = sorted(tmp_path.iterdir())
    assert [each.name for each in kept] == ["tilelab.log", "tilelab.log.1", "tilelab.log.2"]
    assert {mode(each) for each in kept} == {0o600}


def test_a_log_that_cannot_be_written_warns_once_and_goes_on_at_standard_error(tmp_path, capsys):
    file = tmp_path / "missing" / "tilelab.log"
    log = log_to(file)
    log.info("one")
    log.info("two")
    out, err = capsys.readouterr()
    warning, first, second = err.splitlines()
    assert out == ""
    assert "warning" in warning
    assert str(file) in warning
    assert (first[-3:], second[-3:]) == ("one", "two")
    file.parent.mkdir()
    log.info("three")
    log.handlers[0].close()
    assert file.read_text("utf-8").endswith("three\n")
    assert capsys.readouterr().err == ""


def test_a_part_that_hung_is_told_as_such():
    lines: list[str] = []
    event = Event("web", What.DIED, 7, -signal.SIGKILL, 0.2, silent_seconds=30.4)
    TerminalOutput(lines.append, logging.getLogger("test")).event(event, waited_for=True)
    assert "hung (30 s without a sign of life)" in lines[0]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "ended with exit code 1; starts again in 0.2 s (a warning)"),
        (-signal.SIGKILL, "was ended by SIGKILL; starts again in 0.2 s"),
    ],
)
def test_what_a_part_wrote_last_is_no_reason_for_a_signal(code, said):
    lines: list[str] = []
    output = TerminalOutput(lines.append, logging.getLogger("test"))
    output.event(Event("redis", What.DIED, 7, code, 0.2, "a warning"), waited_for=True)
    assert lines == [f"  {'redis':<11} {said}"]
