"""`tilelab worker` as it is called: verbs, options, exit codes. What a self-test finds is tested elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.marks import linux
from worker.commands.root import Exit, tilelab
from worker.selftest.local_grader import LocalGrader
from worker.selftest.selftest import SelfTestKernel, Surroundings


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tilelab, ["worker", *arguments])


@pytest.fixture
def without_processes(monkeypatch):
    """A machine whose sandbox does not start."""

    def fail(self: LocalGrader, kernel: SelfTestKernel | None = None) -> Surroundings:
        raise OSError("no processes left")

    monkeypatch.setattr(LocalGrader, "grade", fail)
    monkeypatch.setattr(LocalGrader, "surroundings", fail)


def test_the_group_lists_its_verbs_and_loads_none():
    sys.modules.pop("worker.commands.worker.selftest", None)
    result = run("--help")
    assert result.exit_code == 0
    assert "selftest" in result.stdout
    assert "grade " not in result.stdout
    assert "worker.commands.worker.selftest" not in sys.modules


def test_every_verb_has_the_description_that_the_group_gives():
    group = tilelab.get_command(None, "worker")  # type: ignore[arg-type]
    for name in group.list_commands(None):  # type: ignore[union-attr]
        command = group.get_command(None, name)  # type: ignore[union-attr]
        assert command.help.startswith(group.verbs[name]), name  # type: ignore[union-attr]


def test_an_unknown_verb_is_wrong_use():
    assert run("levitate").exit_code == Exit.WRONG_USE
    # a verb of the command itself is none of the group's
    assert run("grade").exit_code == Exit.WRONG_USE


@pytest.mark.parametrize("device", ["gpu", "cuda", "cuda:x", "cuda:-1"])
def test_an_unknown_device_is_wrong_use_in_one_line(device):
    result = run("selftest", "--device", device)
    assert result.exit_code == Exit.WRONG_USE
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_an_unfit_worker_ends_with_code_3_and_says_why(without_processes):
    result = run("selftest", "--device", "cpu")
    assert result.exit_code == Exit.SYSTEM_FAULT
    assert "no processes left" in result.stdout


def test_json_of_an_unfit_worker_is_one_object(without_processes):
    result = run("selftest", "--device", "cpu", "--json")
    assert result.exit_code == Exit.SYSTEM_FAULT
    plain = json.loads(result.stdout)
    assert plain["ok"] is False
    assert {"name", "expected", "found", "seconds", "ok"} == plain["checks"][0].keys()
    assert plain["problems"]


@pytest.mark.long("tests the whole machine; the short suite has the parts in tests/worker/test_selftest.py")
@linux
def test_a_fit_worker_ends_with_code_0(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = run("selftest", "--device", "cpu")
    assert result.exit_code == Exit.ACCEPTED, result.stdout
    assert "Isolation of each step's process" in result.stdout
