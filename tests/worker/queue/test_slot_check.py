"""A real slot that really checks, in sandboxed processes."""

from __future__ import annotations

import base64
import signal

import pytest

from kernels.exercise import find_exercise
from kernels.verdict import Verdict
from tests.marks import linux
from tests.services.processes import alive, children_of
from tests.worker.queue.slots import Server, Slot, until
from worker.contract.messages import CheckWork, ExerciseText, StepKind, StepMessage, Ticket

pytestmark = linux

TILED = find_exercise("tiled")


@pytest.fixture
def server(redis_url):
    server = Server(redis_url)
    yield server
    server.close()


def message(source: str, job: int, definition: str) -> StepMessage:
    text = ExerciseText("tiled", definition, TILED.digest)
    work = CheckWork(base64.b64encode(source.encode()).decode(), text, "sm_90", "", "5eed", evidence=False)
    return StepMessage(Ticket(job, StepKind.CHECK, "t"), 1, 20.0, check=work)


def test_submissions_are_graded_and_no_process_stays(server, redis_url, tmp_path):
    assert TILED.folder
    temporary = tmp_path / "temporary"
    (left := temporary / "tilelab-sandbox-left").mkdir(parents=True)
    definition = (TILED.folder / "exercise.toml").read_text("utf-8")
    right = TILED.solution.read_text("utf-8")
    with Slot(redis_url, tmp_path, "--device", "cpu", PYTHONWARNINGS="default", TMPDIR=str(temporary)) as slot:
        slot.idle()
        assert not left.exists(), "what a killed worker left behind"
        server.send(message(right, 1, definition))
        server.send(message("int main( {", 2, definition))
        server.send(message(right, 3, definition.replace("]", "", 1)))
        first, second, third = (server.record() for _ in range(3))
        assert first.report
        assert first.report.verdict is Verdict.ACCEPTED
        assert second.report
        assert second.report.verdict is Verdict.REJECTED
        assert third.fault
        record = slot.idle(3)
        assert (record.done, record.failed) == (2, 1)
        children = until(lambda: children_of(slot.process.pid))
        slot.send(signal.SIGKILL)
        slot.ended()
        until(lambda: not any(alive(child) for child in children))
