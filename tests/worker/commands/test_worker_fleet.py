"""`tilelab worker start`, `status`, `drain` and `resume` as they are called, with a real Redis."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from tests.marks import linux
from tests.services.redis_server import A_WORKER, as_worker
from tests.worker.fleet.test_slot_plan import gpu
from tests.worker.fleet.watched import Watched
from tests.worker.fleet.workers import Seen
from worker.commands.root import tilelab
from worker.contract.credential import Credential
from worker.contract.fleet import SlotRecord, Wanted, WorkerRecord, WorkerState
from worker.gpu.locks import locked
from worker.gpu.nvml import NoGPU

WORKER = [sys.executable, "-m", "worker.commands", "worker"]
NOWHERE = "redis://:secret@127.0.0.1:1/0"
# where the self-test of a machine for tests, without all isolation, must not decide
TRUSTING = "--allow-missing-isolation"


def environment(**more: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("REDIS_", "TILELAB_"))}
    return {**ours, "PYTHONUNBUFFERED": "1", **more}


def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WORKER, *words], capture_output=True, text=True, env=environment(**more), timeout=90, check=False
    )


def called(*words: str, **more: str) -> Result:
    """The same in this process, for what ends before anything is started."""
    ours = {name: None for name in os.environ if name.startswith(("REDIS_", "TILELAB_"))}
    return CliRunner().invoke(tilelab, ["worker", *words], env={**ours, **more})


def one_line(result: Result) -> str:
    assert "secret" not in result.stderr
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def board(redis_url):
    seen = Seen(redis_url)
    yield seen
    seen.close()


def tell(board: Seen, *ids: str) -> None:
    for each in ids:
        slot = SlotRecord("cpu-0", "cpu", "cpu", WorkerState.IDLE)
        board.fleet.tell(WorkerRecord(each, "host", 1, WorkerState.IDLE, (slot,), 1.0))


@pytest.mark.long("starts whole workers; the short suite has them in tests/server/grading/test_processes.py")
@linux
def test_a_worker_from_start_to_end(redis_url, board):
    with Watched(
        [*WORKER, "start", "--cpu-slots", "1", "--gpus", "none", TRUSTING], environment(REDIS_URL=as_worker(redis_url))
    ) as worker:
        record = board.state(WorkerState.IDLE)
        assert record.id in worker.lines[0]
        shown = run("status", "--redis", redis_url)
        assert shown.returncode == 0
        assert record.id in shown.stdout
        assert "idle" in shown.stdout
        drained = run("drain", record.id[:5], "--wait", REDIS_URL=redis_url)
        assert (drained.returncode, drained.stderr) == (0, "")
        assert drained.stdout.splitlines() == [f"{record.id}: asked to drain", f"{record.id}: drained"]
        resumed = run("resume", "--all", "--wait", REDIS_URL=redis_url)
        assert resumed.stdout.splitlines() == [f"{record.id}: asked to work", f"{record.id}: idle"]
        worker.process.send_signal(signal.SIGINT)
        assert worker.ends() == 0
        assert worker.lines[-1] == "worker: stopped"
    assert "No worker has reported" in run("status", "--redis", redis_url).stdout


@pytest.mark.long("starts whole workers; the short suite has them in tests/server/grading/test_processes.py")
@linux
def test_a_worker_writes_json_for_programs(redis_url, board):
    given = environment(REDIS_URL=as_worker(redis_url), TILELAB_LOG="json")
    with Watched([*WORKER, "start", "--cpu-slots", "1", "--gpus", "none", TRUSTING], given) as worker:
        board.state(WorkerState.IDLE)
        worker.process.terminate()
        assert worker.ends() == 0
        said = [json.loads(line) for line in worker.lines]
        assert {"at", "level", "text"} <= set.intersection(*(set(each) for each in said))
        assert any(each.get("logger") for each in said), "the slot's own lines are among them"


def test_status_as_json_and_again_and_again(redis_url, board):
    tell(board, "one", "two")
    found = json.loads(run("status", "--json", REDIS_URL=redis_url).stdout)
    assert [worker["id"] for worker in found["workers"]] == ["one", "two"]
    with Watched([*WORKER, "status", "--watch", "--json", "--redis", redis_url], environment()) as watched:
        watched.wait_for('"one"', 2)
        watched.process.send_signal(signal.SIGINT)
        assert watched.ends() == 130


def test_the_address_may_lie_in_a_file(redis_url, board, tmp_path):
    tell(board, "one")
    file = tmp_path / "url"
    file.write_text(f"{redis_url}\n")
    assert "one" in called("status", REDIS_URL_FILE=str(file)).stdout


@pytest.mark.parametrize("words", [["status"], ["drain", "--all"], ["resume", "--all"]])
def test_without_redis_there_is_one_line(words):
    result = called(*words, REDIS_URL=NOWHERE)
    assert result.exit_code == 3
    assert "127.0.0.1:1" in one_line(result)


@pytest.mark.parametrize("words", [["status"], ["drain", "--all"], ["resume", "--all"], ["start"]])
def test_an_address_that_is_none_is_said(words):
    missing = called(*words)
    assert missing.exit_code == 3
    assert "REDIS_URL is not set" in one_line(missing)
    wrong = called(*words, "--redis", "http://:secret@host/")
    assert wrong.exit_code == 3
    assert "redis://host:6379/0" in one_line(wrong)


def test_who_is_meant_has_to_be_clear(redis_url, board):
    tell(board, "alpha-1", "alpha-2", "beta")
    for words, why in [
        (["gamma"], "gamma: no such worker. Known workers: alpha-1, alpha-2, beta."),
        (["alpha"], "alpha: several workers match: alpha-1, alpha-2."),
        ([], "name one worker, or use --all."),
        (["beta", "--all"], "name one worker, or use --all."),
    ]:
        result = called("drain", *words, "--redis", redis_url)
        assert result.exit_code == 2
        assert one_line(result) == f"tilelab: {why}"
    assert called("drain", "alpha-1", "--redis", redis_url).exit_code == 0
    record = WorkerRecord("alpha-1", "host", 1, WorkerState.IDLE, (), 1.0)
    assert board.fleet.tell(record) is Wanted.DRAIN


def test_waiting_for_a_worker_that_is_silent_ends(redis_url, board, monkeypatch):
    monkeypatch.setattr("worker.commands.worker.orders.SILENT_SECONDS", 1.0)
    tell(board, "one")
    result = called("drain", "one", "--wait", "--redis", redis_url)
    assert result.exit_code == 3
    assert "one is silent" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--queues", "results"], ["--gpus", "x"], ["--cpu-slots", "0", "--gpus", "none"]])
def test_a_worker_with_nothing_to_do_does_not_start(words):
    result = called("start", *words, "--redis", as_worker(NOWHERE))
    assert result.exit_code == 2
    assert words[0] in one_line(result)


def test_a_worker_needs_an_address_of_its_own_for_its_queues():
    assert called("start", "--redis", NOWHERE).exit_code == 3
    for changed in (("worker-host-1", "host-1"), ("key=5e", "key="), ("queues=cpu,gpu", "queues=all")):
        assert called("start", "--redis", as_worker(NOWHERE).replace(*changed)).exit_code == 3
    measures = as_worker(NOWHERE, Credential("host-1", ("gpu",), A_WORKER.key))
    result = called("start", "--queues", "cpu", "--redis", measures)
    assert result.exit_code == 2
    assert "not for cpu" in one_line(result)


def test_a_log_form_that_is_none_is_said():
    result = called("start", "--redis", NOWHERE, TILELAB_LOG="xml")
    assert result.exit_code == 3
    assert "TILELAB_LOG" in one_line(result)


def test_a_gpu_that_is_asked_for_has_to_be_there(monkeypatch):
    def none() -> None:
        raise NoGPU("no driver")

    monkeypatch.setattr("worker.commands.worker.start.usable_gpus", none)
    for asked in ("--gpus all", "--gpus 1", "--queues gpu"):
        result = called("start", *asked.split(), "--redis", as_worker(NOWHERE))
        assert (result.exit_code, result.stderr) == (2, f"tilelab: {asked}: no driver\n")


def test_a_gpu_has_one_worker(monkeypatch, tmp_path):
    monkeypatch.setattr("worker.commands.worker.start.usable_gpus", lambda: (gpu(0), gpu(1)))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with locked([gpu(1)]):
        result = called("start", "--redis", as_worker(NOWHERE))
    assert result.exit_code == 3
    assert "uses GPU 1 (NVIDIA H200, GPU-1)." in result.stderr
