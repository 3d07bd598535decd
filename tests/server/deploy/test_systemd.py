"""The units of systemd: what systemd says of them, and what each may do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.server.deploy.units import FOLDER, ROOT, Unit, read_lines, units

UNITS = units()
SERVICES = [unit for name, unit in UNITS.items() if name.endswith(".service")]
each_service = pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_every_unit(tmp_path: Path):
    shutil.copytree(FOLDER, tmp_path / "units")
    for file in (tmp_path / "units").glob("*.service"):
        file.write_text(file.read_text().replace("/opt/tilelab", str(ROOT)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / "units" / name) for name in UNITS)],
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path / 'units'}:", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@each_service
def test_a_service_has_a_user_and_few_rights(unit: Unit):
    (user,) = unit.words("User")
    assert f"u {user} " in "\n".join(read_lines(FOLDER / "sysusers.conf"))
    assert unit.words("CapabilityBoundingSet") == ()
    assert unit.words("NoNewPrivileges") == ("yes",)
    assert unit.words("ProtectSystem") == ("strict",)
    assert unit.words("PrivateTmp") == ("yes",)


def test_a_worker_can_isolate_submissions_and_reads_no_secret_of_the_server():
    worker = UNITS["tilelab-worker.service"]
    keys = {key for _, key in worker.settings}
    # lockdown.py unshares, filters system calls and writes below /proc; CUDA writes and runs code, and opens devices
    assert not keys & {
        "RestrictNamespaces",
        "SystemCallFilter",
        "MemoryDenyWriteExecute",
        "PrivateDevices",
        "ProtectClock",
        "DeviceAllow",
    }
    assert worker.words("User") != UNITS["tilelab-serve@web.service"].words("User")


def test_a_timer_starts_a_service_that_is_here():
    timers = [name for name in UNITS if name.endswith(".timer")]
    assert timers
    for name in timers:
        assert name.replace(".timer", ".service") in UNITS
