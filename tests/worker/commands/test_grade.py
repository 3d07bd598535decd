"""`tilelab grade` as it is called: options, messages, exit codes. What it grades is tested elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernels.exercise import find_exercise
from worker.commands.root import Exit, tilelab

SOLUTION = find_exercise("tiled").solution
FORBIDDEN = "#include <mine.h>\n"


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(tilelab, ["grade", *arguments], input=stdin)


def one_line(result: Result) -> str:
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert result.stdout == ""
    return lines[0]


@pytest.fixture
def rejected(tmp_path: Path) -> str:
    file = tmp_path / "host.cu"
    file.write_text(FORBIDDEN)
    return str(file)


def test_an_unreadable_file_is_wrong_use(rejected, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "cannot read the file (Permission denied)" in one_line(run(rejected))


def test_a_file_that_breaks_the_rules_is_not_accepted(rejected):
    result = run(rejected)
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "rejected" in result.stdout.splitlines()[0]
    assert "--exercise" not in result.stdout


def test_a_file_for_another_exercise_is_told_how_to_grade_it():
    starter = find_exercise("reduction").starter.read_bytes()
    result = run("-", stdin=starter)
    assert result.exit_code == Exit.NOT_ACCEPTED
    lines = result.stdout.splitlines()
    assert "--exercise reduction" in lines[lines.index("Next step") + 1]
    assert "--exercise" not in run("-", stdin=starter + FORBIDDEN.encode()).stdout


def test_json_is_one_object_and_nothing_else(rejected):
    result = run(rejected, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert report["verdict"] == "rejected"
    assert report["findings"][0]["line"] == 1
    assert len(report["seed"]) == 32


def test_standard_input_is_a_file_too():
    result = run("-", stdin=FORBIDDEN)
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert result.stdout.startswith("standard input: rejected")


@pytest.mark.long("the short suite gives seeds, and grades with new ones")
def test_seeds_are_new_each_time_unless_given(rejected):
    seeds = [json.loads(run(rejected, "--json").stdout)["seed"] for _ in range(2)]
    assert seeds[0] != seeds[1]
    assert json.loads(run(rejected, "--json", "--seed", "AB").stdout)["seed"] == "ab".zfill(32)


def test_without_a_compiler_it_says_what_to_do_instead(monkeypatch, tmp_path):
    file = tmp_path / "my.cu"
    file.write_bytes(SOLUTION.read_bytes())

    def nowhere() -> Path:
        from kernels.compile.nvrtc import NVRTCUnavailable

        raise NVRTCUnavailable("libnvrtc.so.13 was not found")

    monkeypatch.setattr("kernels.compile.nvrtc.library_folder", nowhere)
    monkeypatch.setattr("worker.sandbox.process.Child.request", lambda *_, **__: broken())
    result = run(str(file))
    assert result.exit_code == Exit.SYSTEM_FAULT
    assert "Linux" in one_line(result)


def broken() -> None:
    from worker.sandbox.limits import Failure, SandboxFailure

    raise SandboxFailure(Failure.START, "no compiler")


def test_help_shows_an_example_and_the_exit_codes():
    result = run("--help")
    assert "tilelab grade my.cu --exercise tiled-square --tile 32" in result.stdout
    assert "0 accepted, 1 not accepted, 2 wrong use, 3 system error" in result.stdout


def test_the_parent_stays_light(rejected):
    """numpy takes longer to load than a whole command may take; it belongs to the check process."""
    program = (
        "import sys; from click.testing import CliRunner; from worker.commands.root import tilelab; "
        f"CliRunner().invoke(tilelab, ['grade', {rejected!r}]); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
