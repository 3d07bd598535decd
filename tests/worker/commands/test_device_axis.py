"""The axis `device`: an experiment for each device class on a server, and the class that is there on one machine."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kernels.experiment.definition import DefinitionError, from_plain_definition, plain_definition, read_definition
from kernels.experiment.plan import PointPlan
from kernels.experiment.roles import UnfitAxis
from tests.worker.experiment.runs import FILE, HERE, KERNEL, experiment
from worker.client import experiments
from worker.client.account import Account
from worker.client.errors import NotDone
from worker.client.experiments import NewExperiment
from worker.commands.experiment.device_axis import device_axis, without_devices
from worker.commands.portal import connection
from worker.commands.root import Exit, WrongUse, tilelab
from worker.experiment.manifest import DeviceUsed
from worker.experiment.setup import Machine, SetupError, set_up

BOTH = FILE.replace("[axes]\n", '[axes]\ndevice = ["h200",\n  "l40s"]\n')
H200 = Machine(DeviceUsed("NVIDIA H200", "h200"), "sm_90")


def test_a_file_keeps_its_device_classes():
    found = read_definition(BOTH)
    assert found.devices == ("h200", "l40s")
    assert [each.name for each in found.axes] == ["TILE_WIDTH", "Width"]
    assert from_plain_definition(plain_definition(found)).devices == found.devices
    assert read_definition(FILE.replace("[axes]\n", "[axes]\ndevice = [1, 2]\n")).axes[0].name == "device"


@pytest.mark.parametrize("given", ['["h200", "h200"]', '["h200", 3]', '["h200", "NVIDIA H200"]'])
def test_a_value_that_is_not_a_device_class_is_refused(given):
    with pytest.raises(DefinitionError) as refused:
        read_definition(FILE.replace("[axes]\n", f"[axes]\ndevice = {given}\n"))
    assert refused.value.line == 7


def test_a_machine_runs_the_points_of_its_own_class(tmp_path):
    said: list[str] = []
    file = experiment(tmp_path, BOTH)
    manifest, plan = set_up(file, (), None, H200, told=said.append)
    assert len(plan.points) == 4
    assert "device" not in manifest.definition["axes"]
    assert "l40s" in said[0]
    with pytest.raises(SetupError) as refused:
        set_up(file, (), None, HERE)
    assert refused.value.line == 7
    assert set_up(file, (), None, HERE, devices=["cpu"])[0].points == 4


def test_a_plan_has_one_device_class():
    with pytest.raises(UnfitAxis) as refused:
        PointPlan(read_definition(BOTH), "tiled", "", {"tiled.cu": KERNEL}, "")
    assert refused.value.axis == "device"


def test_device_classes_of_the_command_line_are_apart_from_other_axes():
    assert device_axis(("T=1,2", "device=h200,cpu")) == (("h200", "cpu"), ("T=1,2",))
    assert device_axis(("device=1,2",)) == ((), ("device=1,2",))
    with pytest.raises(WrongUse):
        device_axis(("device=h200,h200",))


def test_a_text_without_the_axis_keeps_the_numbers_of_its_lines():
    shorter = without_devices(BOTH)
    assert read_definition(shorter) == read_definition(FILE)
    assert shorter.split("\n").index("Width = [16, 32]") == BOTH.split("\n").index("Width = [16, 32]")
    with pytest.raises(WrongUse):
        without_devices('axes = { device = ["h200"], T = 3 }')


@pytest.fixture
def sent(monkeypatch) -> list[NewExperiment]:
    """What was sent to a portal, which refuses the device class b200."""
    sent: list[NewExperiment] = []

    def start(_: object, new: NewExperiment) -> NewExperiment:
        if new.device_class == "b200":
            raise NotDone("No worker measures on b200.", 422, "invalid")
        sent.append(new)
        return SimpleNamespace(id=f"e{len(sent)}", name="tile", points=4)  # type: ignore[return-value]

    monkeypatch.setattr(connection, "find_account", lambda: Account("http://127.0.0.1", "token"))
    monkeypatch.setattr(experiments, "start", start)
    monkeypatch.setattr("kernels.wire.to_plain", vars)
    return sent


@pytest.mark.parametrize("words", [(), ("-a", "device=h200,l40s")])
def test_each_device_class_is_submitted_as_an_experiment(tmp_path, sent, words):
    file = experiment(tmp_path, FILE if words else BOTH)
    command = ["experiment", "submit", str(file), "--course", "demo", *words, "--json"]
    done = CliRunner().invoke(tilelab, command)
    assert done.exit_code == Exit.ACCEPTED, done.output
    assert [each["id"] for each in json.loads(done.stdout)["experiments"]] == ["e1", "e2"]
    assert [each.device_class for each in sent] == ["h200", "l40s"]
    assert all(each.axes == () and not read_definition(each.definition).devices for each in sent)
    assert CliRunner().invoke(tilelab, [*command, "--device-class", "cpu"]).exit_code == Exit.WRONG_USE


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_what_was_started_is_said_even_if_the_next_is_refused(tmp_path, sent, words):
    file = experiment(tmp_path, FILE)
    command = ["experiment", "submit", str(file), "--course", "demo", "-a", "device=h200,b200", *words]
    done = CliRunner().invoke(tilelab, command)
    assert (done.exit_code, len(sent)) == (Exit.WRONG_USE, 1)
    said, other = (done.stderr, done.stdout) if words else (done.stdout, done.stderr)
    assert ("/experiments/e1" in said, "/experiments/e1" in other) == (True, False)
    assert "b200" in done.stderr
