"""Prometheus' own promtool evaluates the alert rules on scrapes of real failures."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from tests.alerts import promtool as tool
from tests.alerts.failures import FAILURES, record
from tests.alerts.promtool import NoPromtool, promtool
from tests.alerts.recording import FILE, MINUTES, RULES, as_text, evaluated
from tests.marks import linux

SOON = MINUTES["before"] + 21
"""Once every alert has waited that fires within 10 minutes, and what was counted at the failure is not forgotten."""


def alert(name: str, **labels: str) -> dict[str, str]:
    return {"alertname": f"Tilelab{name}", **labels}


EXPECTED = {
    "quiet day": [],
    "no worker": [alert("NothingIsGraded", queue="cpu")],
    "no worker that measures": [alert("NothingIsGraded", queue="gpu.cpu")],
    "stuck queue": [alert("WaitIsLong", queue="cpu")],
    "no dispatcher": [alert("PartIsDown", process="dispatcher")],
    "no recorder": [alert("PartIsDown", process="recorder")],
    "no portal": [alert("PartIsDown")],
    "no Redis": [alert("PartIsDown")],
    "no database": [alert("PartIsDown")],
    "no mail server": [alert("EmailsWait")],
    "mailbox that refuses": [],
    "no platform": [alert("ScoresAreRefused")],
    "wrong clock": [alert("ClockIsWrong")],
    "old backup": [alert("BackupIsOld")],
    "forged result": [alert("ResultsAreRefused", why="unsigned")],
    "slot that dies": [alert("Faults"), alert("WorkerIsOut")],
    "full disk": [alert("DiskIsNearlyFull")],
}
LATE = dict.fromkeys(("mailbox that refuses", "no platform"), MINUTES["during"])
BY_MINUTE = {
    name: {MINUTES["before"]: [], LATE.get(name, SOON): alerts, MINUTES["after"]: []}
    for name, alerts in EXPECTED.items()
}


@linux
def test_a_network_that_never_answers_does_not_hold_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tool, "_FOLDER", tmp_path / "build")
    monkeypatch.setattr(tool, "_SECONDS", 0.1)
    began = time.monotonic()
    with pytest.raises(NoPromtool):
        promtool.__wrapped__()
    assert time.monotonic() - began < 30


@pytest.fixture(scope="module")
def _promtool() -> None:
    try:
        promtool()
    except NoPromtool as error:
        pytest.skip(str(error))


def test_every_alert_has_its_failure_and_every_failure_its_recording():
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    assert {each["alertname"] for alerts in EXPECTED.values() for each in alerts} == {r["alert"] for r in rules}
    assert EXPECTED.keys() == FAILURES.keys()


@pytest.mark.usefixtures("_promtool")
def test_each_alert_fires_on_its_failure_and_no_other_alert_does(tmp_path: Path):
    assert not evaluated(FILE.read_text(), BY_MINUTE, tmp_path)


@pytest.mark.usefixtures("_promtool")
@pytest.mark.timeout(1200)
@pytest.mark.long("provokes each failure in minutes; the short suite has what was recorded of them")
def test_each_alert_fires_on_its_failure_now(tmp_path: Path):
    assert not evaluated(as_text(record(tmp_path / "house", lambda _name: None)), BY_MINUTE, tmp_path)
