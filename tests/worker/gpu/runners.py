"""Runners for the tests: on the CPU device, with a probe in the judge's place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernels.exercise import Operation
from kernels.judging.plan import Plan
from kernels.verdict import Severity
from worker.contract.measure_work import MeasureRequest, Prepare, WireCode
from worker.gpu import spares

ROOT = Path(__file__).resolve().parents[3]
PREPARE = Prepare(WireCode("", ""), "13.5")
PROBE = (
    f"import sys; sys.path[:0] = sys.argv[6:] + [{str(ROOT)!r}]; "
    "from tests.worker.gpu import runner_probe; runner_probe.install(); "
)
DRIVER_THREAD = (
    "from worker.gpu import runner; warm_up = runner.warm_up; "
    "runner.warm_up = lambda *given: (runner_probe.start_driver_thread(), warm_up(*given))[1]; "
)


def put_before(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Have every runner run some code first."""
    command = spares.DeviceChild._command

    def changed(self: spares.DeviceChild, step: str, answers: int) -> list[str]:
        words = command(self, step, answers)
        place = words.index("-c") + 1
        words[place] = code + words[place]
        return words

    monkeypatch.setattr(spares.DeviceChild, "_command", changed)


def request(action: str, *arguments: object) -> MeasureRequest:
    """What makes the probe do something."""
    plan = Plan("probe", Operation.MATMUL, 16, "00", Severity.ERROR, ())
    return MeasureRequest(plan, (), None, (), json.dumps([action, *arguments]))


def gone(pid: int) -> bool:
    """Whether a process was ended and reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
