"""A worker with real slots, a real Redis and a scripted workplace."""

from __future__ import annotations

import os
import re
import signal
import sys
import time

import pytest

from tests.marks import linux
from tests.services.redis_server import A_WORKER, RedisServer
from tests.worker.fleet.watched import gone, wait_until
from tests.worker.fleet.workers import Seen, working
from tests.worker.queue.slots import Server
from tests.worker.queue.workplaces import message
from worker.contract.broker import queue_length
from worker.contract.fleet import Wanted, WorkerState
from worker.sandbox.limits import Failure
from worker.steps.cpu_check import FAILURES

DIES = [sys.executable, "-c", "raise SystemExit('no library')"]


@pytest.fixture
def board(redis_url):
    seen = Seen(redis_url)
    yield seen
    seen.close()


@pytest.fixture
def server(redis_url):
    server = Server(redis_url)
    yield server
    server.close()


def test_a_worker_tells_of_itself_works_and_leaves_the_board(redis_url, board, server):
    with working(redis_url, slots=2, test="gap") as watched:
        record = board.until(lambda it: all(slot.state is WorkerState.IDLE for slot in it.slots))
        assert record.state is WorkerState.IDLE
        assert record.pid == watched.process.pid
        assert A_WORKER.worker(record.id)
        assert [slot.name for slot in record.slots] == ["cpu-0", "cpu-1"]
        assert "tilelab" in record.versions
        assert "(a gap)" in record.reason
        watched.wait_for("warning: a warning")
        for job in range(3):
            server.send(message("ok", job))
            server.record()
        assert board.until(lambda it: it.done == 3).failed == 0
        watched.process.terminate()
        assert watched.ends() == 0
        assert board.record() is None


def test_a_worker_that_fails_its_self_test_starts_no_slot_and_says_why(redis_url, board):
    with working(redis_url, test="unfit") as watched:
        assert watched.ends() == 3
        shows = "`tilelab worker selftest` shows all"
        assert watched.lines[-1] == f"refusal: no isolation (1 more; {shows})"
        assert "started" not in watched.text
        assert "stopping" not in watched.text
        assert board.record() is None


@pytest.mark.long("the short suite has a worker that tests itself, and one that is stopped")
def test_a_worker_is_on_the_board_while_it_tests_itself_and_can_be_stopped(redis_url, board):
    with working(redis_url, test="endless") as watched:
        first = board.state(WorkerState.STARTING)
        board.until(lambda it: it.beat > first.beat)
        watched.process.send_signal(signal.SIGINT)
        assert watched.ends() == 0
        assert "started" not in watched.text
        assert board.record() is None


def test_a_worker_ends_when_it_is_idle_and_not_during_a_step(redis_url, board, server, tmp_path):
    with working(redis_url, idle=2.0) as watched:
        server.send(message(f"wait {tmp_path / 'go'}", 1))
        board.state(WorkerState.BUSY)
        time.sleep(3.0)
        assert board.state(WorkerState.BUSY)
        (tmp_path / "go").touch()
        assert server.record().ticket.job == 1
        assert watched.ends() == 0
        assert board.record() is None


@pytest.mark.long("the short suite has a worker that faults take out, and one that ends idle")
def test_an_idle_worker_that_took_itself_out_ends_with_the_reason(redis_url, board):
    with working(redis_url, idle=1.0, faults=1, command=DIES) as watched:
        assert watched.ends() == 3
        assert "refusal: cpu-0 failed" in watched.lines[-1]


def test_a_slot_that_is_killed_comes_back_and_its_figures_stay(redis_url, board, server):
    with working(redis_url) as watched:
        server.send(message("ok", 1))
        server.record()
        board.until(lambda it: it.done == 1)
        process = re.search(r"cpu-0 started \(process (\d+)\)", watched.text)
        assert process
        os.kill(int(process[1]), signal.SIGKILL)
        assert "SIGKILL" in watched.wait_for("cpu-0 died")
        server.send(message("ok", 2))
        assert server.record().ticket.job == 2
        assert board.until(lambda it: it.done == 2).failed == 0


def test_a_slot_that_hangs_is_replaced_and_one_at_work_is_not(redis_url, board, server, tmp_path):
    with working(redis_url, silent=3.0) as watched:
        server.send(message(f"wait {tmp_path / 'go'}", 1))
        board.state(WorkerState.BUSY)
        time.sleep(4.0)
        (tmp_path / "go").touch()
        assert server.record().ticket.job == 1
        process = re.search(r"cpu-0 started \(process (\d+)\)", watched.text)
        assert process
        os.kill(int(process[1]), signal.SIGSTOP)
        assert "it hung" in watched.wait_for("cpu-0 died")
        assert watched.text.count("cpu-0 died") == 1
        server.send(message("ok", 2))
        assert server.record().ticket.job == 2


@linux
def test_no_slot_outlives_a_worker_that_is_killed(redis_url, board):
    with working(redis_url, slots=2) as watched:
        board.until(lambda it: all(slot.state is WorkerState.IDLE for slot in it.slots))
        slots = [int(pid) for pid in re.findall(r"started \(process (\d+)\)", watched.text)]
        assert len(slots) == 2
        watched.process.kill()
        wait_until(lambda: gone(*slots))


def test_drain_lets_a_step_end_and_resume_goes_on(redis_url, board, server, tmp_path):
    with working(redis_url) as watched:
        server.send(message(f"wait {tmp_path / 'go'}", 1))
        record = board.state(WorkerState.BUSY)
        assert record.slots[0].job == 1
        board.fleet.want(record.id, Wanted.DRAIN)
        board.state(WorkerState.DRAINING)
        (tmp_path / "go").touch()
        result = server.record()
        assert (result.ticket.job, result.fault, result.given_back) == (1, "", False)
        board.state(WorkerState.DRAINED)
        watched.wait_for("drained")
        server.send(message("ok", 2))
        drained = board.state(WorkerState.DRAINED)
        assert {slot.state for slot in drained.slots} == {WorkerState.DRAINED}
        beat = drained.beat
        board.until(lambda it: it.beat > beat)
        assert queue_length(board.client, "cpu") == 1
        board.fleet.want(record.id, Wanted.WORK)
        assert server.record().ticket.job == 2
        assert board.until(lambda it: it.done == 2).state in {WorkerState.IDLE, WorkerState.BUSY}


@pytest.mark.long("the short suite has a drain that ends before it is resumed")
def test_resume_comes_before_the_drain_is_over(redis_url, board, server, tmp_path):
    with working(redis_url, slots=2):
        server.send(message(f"wait {tmp_path / 'go'}", 1))
        record = board.state(WorkerState.BUSY)
        board.fleet.want(record.id, Wanted.DRAIN)
        board.state(WorkerState.DRAINING)
        board.fleet.want(record.id, Wanted.WORK)
        board.state(WorkerState.BUSY)
        (tmp_path / "go").touch()
        server.record()
        board.until(lambda it: all(slot.state is WorkerState.IDLE for slot in it.slots))


def test_faults_in_a_row_take_the_worker_out_until_it_is_resumed(redis_url, board, server):
    with working(redis_url, faults=3) as watched:
        for job, source in enumerate(["fault a", "fault b", "ok", "fault c", "fault d", "fault e"]):
            server.send(message(source, job))
            server.record()
        record = board.state(WorkerState.OUT)
        assert (record.done, record.failed) == (1, 5)
        assert record.reason == "cpu-0 failed 3 times in a row"
        watched.wait_for(f"out: {record.reason}.")
        watched.wait_for("cpu-0 ended")
        server.send(message("ok", 9))
        beat = board.state(WorkerState.OUT).beat
        board.until(lambda it: it.state is WorkerState.OUT and it.beat > beat)
        assert queue_length(board.client, "cpu") == 1
        board.fleet.want(record.id, Wanted.WORK)
        assert server.record().ticket.job == 9
        assert board.until(lambda it: it.done == 2).reason == ""


TOO_LONG = f"fault {FAILURES[Failure.TIME]} (no response after 120 s)"


@pytest.mark.long("the short suite takes out a worker that is unfit")
def test_what_was_handed_in_takes_no_worker_out_that_is_fit(redis_url, board, server):
    with working(redis_url, faults=3) as watched:
        for job in range(3):
            server.send(message(TOO_LONG, job))
            assert server.record().fault
        watched.wait_for("testing this machine")
        watched.wait_for("this machine is fit", 2)
        server.send(message("ok", 4))
        assert server.record().ticket.job == 4
        record = board.until(lambda it: it.done == 1)
        assert (record.failed, record.reason) == (3, "")


def test_a_new_self_test_takes_out_a_worker_that_is_unfit_by_now(redis_url, board, server):
    with working(redis_url, faults=3, test="worn") as watched:
        for job in range(3):
            server.send(message(TOO_LONG, job))
            server.record()
        record = board.state(WorkerState.OUT)
        assert re.fullmatch(r"cpu-0 .* 3 .*: no isolation", record.reason)
        assert watched.process.poll() is None
        board.fleet.want(record.id, Wanted.WORK)
        server.send(message("ok", 4))
        assert server.record().ticket.job == 4
        board.fleet.want(record.id, Wanted.TEST)
        watched.wait_for("another worker graded the same source differently. Testing")
        board.state(WorkerState.OUT)


def test_a_slot_that_only_dies_takes_the_worker_out_and_says_how(redis_url, board):
    with working(redis_url, faults=3, command=DIES):
        record = board.state(WorkerState.OUT)
        assert re.fullmatch(r"cpu-0 .* 3 .*: exit code 1, no library", record.reason)


@pytest.mark.long("the short suite has a worker that is out, and a Redis that is away")
def test_a_worker_that_is_out_stays_out_when_redis_forgets_everything(redis_url, board):
    with working(redis_url, faults=2, command=DIES):
        board.state(WorkerState.OUT)
        board.client.flushall()
        beat = board.state(WorkerState.OUT).beat
        again = board.until(lambda it: it.beat > beat)
        later = board.until(lambda it: it.beat > again.beat)
        assert later.state is WorkerState.OUT


def test_a_slot_that_is_wrongly_called_ends_the_worker(redis_url, board):
    with working(redis_url, command=[sys.executable, "-c", "print('bad option'); raise SystemExit(2)"]) as watched:
        assert watched.ends() == 3
        assert watched.lines[-1] == "refusal: cpu-0 can't run (exit code 2: bad option)"


def test_a_step_that_takes_too_long_is_given_back(redis_url, board, server):
    with working(redis_url, grace=0.2) as watched:
        server.send(message("wait /nowhere/at/all", 1))
        board.state(WorkerState.BUSY)
        watched.process.terminate()
        result = server.record()
        assert result.given_back
        assert watched.ends() == 0


@pytest.mark.long("the short suite gives a step back at a worker's end, and drains one that ends its step")
def test_drain_gives_back_what_takes_longer_than_the_grace_and_says_so(redis_url, board, server, tmp_path):
    with working(redis_url, grace=0.5) as watched:
        server.send(message(f"wait {tmp_path / 'never'}"))
        record = board.state(WorkerState.BUSY)
        board.fleet.want(record.id, Wanted.DRAIN)
        watched.wait_for("draining: running steps have 0.5 s to finish; then they return to the queue")
        assert server.record().given_back
        board.state(WorkerState.DRAINED)


def test_a_worker_waits_for_redis_and_outlives_it(tmp_path):
    with RedisServer(tmp_path) as redis:
        redis.stop()
        with working(redis.url) as watched:
            line = watched.wait_for("Trying again.")
            assert "127.0.0.1" in line
            assert redis._password not in watched.text
            redis.start()
            watched.wait_for("Redis answers again")
            board = Seen(redis.url)
            board.state(WorkerState.IDLE)
            redis.kill()
            watched.wait_for("Trying again.", 2)
            redis.start()
            board.state(WorkerState.IDLE)
            board.close()
            watched.process.terminate()
            assert watched.ends() == 0
