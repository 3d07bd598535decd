"""How the command ends where nobody planned it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernels.exercise import find_exercise
from tests.marks import linux
from worker.commands.root import Exit, tilelab

ROOT = Path(__file__).resolve().parents[3]
MAIN = (sys.executable, "-c", "from worker.commands import main; main()")


@pytest.fixture
def failing(monkeypatch):
    """Run `tilelab grade`, with a fault in it."""

    def run(error: BaseException, **environment: str) -> Result:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr("worker.steps.source.read_source", fail)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return CliRunner().invoke(tilelab, ["grade", str(find_exercise("tiled").solution)])

    return run


def test_a_fault_of_our_own_is_one_line_that_says_where_to_turn(failing):
    result = failing(KeyError("two\nlines \x1b[31m"))

    assert result.exit_code == Exit.SYSTEM_FAULT
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert "internal error (KeyError: " in line
    assert "worker/steps/source.py:" in line
    assert "your course staff" in line
    assert "\x1b" not in line


def test_a_fault_in_a_verb_of_the_server_speaks_of_no_kernel(monkeypatch):
    monkeypatch.setattr("server.commands.database.connect", lambda _: os.environ["NOTHING_IS_CALLED_SO"])
    monkeypatch.setenv("DATABASE_URL", "sqlite://")
    result = CliRunner().invoke(tilelab, ["admin", "audit"])

    assert result.exit_code == Exit.SYSTEM_FAULT
    (line,) = result.stderr.splitlines()
    assert "internal error (KeyError: " in line
    assert "kernel" not in line
    assert "to Tilelab's maintainers" in line


def test_the_traceback_is_there_for_who_asks_for_it(failing):
    result = failing(KeyError("x"), TILELAB_DEBUG="1")

    assert result.exit_code == Exit.SYSTEM_FAULT
    assert "Traceback (most recent call last)" in result.stderr


def test_an_interrupted_command_ends_without_a_word(failing):
    result = failing(KeyboardInterrupt())

    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")


def test_a_reader_that_leaves_in_the_middle_is_no_fault(failing):
    result = failing(BrokenPipeError())

    assert (result.exit_code, result.stdout, result.stderr) == (141, "", "")


@pytest.mark.one_in(3, "one of three commands")
@pytest.mark.parametrize(("arguments", "code"), [(["exercises"], 141), (["exercises", "tiled"], 141), (["--help"], 1)])
def test_a_reader_that_never_reads_gets_nothing_and_no_complaint(arguments, code):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*MAIN, *arguments], stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    finally:
        os.close(writer)

    assert (done.stderr, done.returncode) == (b"", code)


@linux
def test_an_interrupt_while_it_waits_for_a_file_leaves_no_process_behind():
    with subprocess.Popen(
        [*MAIN, "grade", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        # Whoever runs the tests in the background may have them ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as command:
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children")
        deadline = time.monotonic() + 30
        while not waits_for_input(command.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        started = [int(pid) for pid in children.read_text().split()]
        command.send_signal(signal.SIGINT)
        output, complaint = command.communicate(timeout=30)

    assert (command.returncode, output, complaint) == (130, b"", b"")
    assert len(started) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)


def waits_for_input(pid: int) -> bool:
    """Whether the process sits in a read of its standard input."""
    return Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 ")
