"""A real slot process with a real Redis: each message is done once, and no result is lost while the slot lives."""

from __future__ import annotations

import base64
import json
import signal
import time
import zlib

import pytest

from kernels.wire import to_plain
from tests.worker.queue.slots import SCRIPTED, WORKER, Server, Slot, until
from tests.worker.queue.workplaces import message, of_version
from worker.contract.claims import Claim, Stand
from worker.contract.fleet import WorkerState
from worker.contract.messages import VERSION, StepKind, StepMessage, Ticket, encode
from worker.queue.outbox import MOST_LETTERS

NAME = f"{WORKER}/cpu-0"
_LONG = pytest.mark.long("the short suite has one of the two")
MINE = Claim(Stand.CLAIMED, NAME)


@pytest.fixture
def server(redis_url):
    server = Server(redis_url)
    yield server
    server.close()


@pytest.fixture
def slot(redis_url, tmp_path):
    with Slot(redis_url, tmp_path) as slot:
        yield slot


def test_a_step_is_claimed_done_and_told_until_it_is_settled(server, slot, tmp_path):
    slot.idle()
    hints = server.client.pubsub(ignore_subscribe_messages=True)
    hints.subscribe("tilelab:progress:7")
    until(lambda: server.client.pubsub_numsub("tilelab:progress:7")[0][1])
    ticket = server.send(message(f"wait {tmp_path / 'go'}", 7))
    record = slot.busy(7)
    assert (record.step, record.queue, record.name) == ("check", "cpu", "cpu-0")
    assert server.claim(ticket) == MINE
    hint = json.loads(until(lambda: hints.get_message(timeout=1))["data"])
    assert hint.keys() == {"step", "attempt", "at", "what"}
    assert (hint["step"], hint["what"]) == ("check", "compiling")
    (tmp_path / "go").touch()

    first = until(server.take)
    assert (first.ticket, first.worker, first.fault) == (ticket, NAME, "")
    slot.idle(1)
    again = until(server.take, "the same, as nobody has settled it")
    assert again == first
    assert server.claim(ticket) == MINE, "until then it is beaten for"
    server.claims.settle(ticket)
    server.send(message("ok", 8))
    assert server.record().ticket.job == 8
    record = slot.idle(2)
    assert (record.done, record.failed, record.busy_ms, record.job) == (2, 0, 4.0, None)
    hints.close()


def test_a_copy_of_a_message_is_dropped(server, slot, tmp_path):
    for _ in range(3):
        server.send(message("ok"))
    assert server.record().ticket.job == 1
    server.send(message("ok", 2))
    assert server.record().ticket.job == 2
    assert slot.idle(2).done == 2


def test_a_message_whose_result_waits_here_is_dropped_though_redis_forgot_the_claim(server, slot):
    ticket = server.send(message("ok"))
    until(server.take)
    slot.idle(1)
    server.client.delete(*server.client.keys("tilelab:claim:*"))
    server.send(message("ok"))
    server.send_body(encode({**to_plain(message("ok")), "news": 1}))
    server.send(message("ok", 2))
    until(lambda: (result := server.take()) and result.ticket.job == 2)
    assert slot.idle(2).done == 2, "one for each job"
    until(lambda: server.claim(ticket) == MINE, "the result is beaten for anew")
    again = until(lambda: (result := server.take()) and result.ticket == ticket and result, "and is sent anew")
    assert (again.fault, again.seconds) == ("", 0.5)


def test_a_slot_takes_no_more_steps_while_nobody_records_and_goes_on_when_somebody_does(server, slot):
    jobs = MOST_LETTERS + 8
    for job in range(jobs):
        server.send(message("ok", job))
    until(lambda: slot.logged("waiting before the next step"))
    assert slot.idle(MOST_LETTERS).done == MOST_LETTERS
    time.sleep(2)
    assert slot.look().done == MOST_LETTERS
    assert server.waiting() == jobs - MOST_LETTERS, "another slot may have them"
    assert server.claim(message("ok", MOST_LETTERS).ticket).stand is Stand.FREE
    # results that are sent again are among them, so that they are counted by job
    recorded: set[int] = set()
    while len(recorded) < jobs:
        recorded.add(server.record().ticket.job)
    assert slot.idle(jobs).done == jobs


def test_two_slots_share_the_messages(server, slot, redis_url, tmp_path):
    with Slot(redis_url, tmp_path, name="cpu-1") as other:
        slot.idle()
        other.idle()
        for job in range(2):
            server.send(message(f"wait {tmp_path / 'go'}", job))
        slot.wait(lambda it: it.state is WorkerState.BUSY)
        other.wait(lambda it: it.state is WorkerState.BUSY)
        (tmp_path / "go").touch()
        assert {server.record().ticket.job for _ in range(2)} == {0, 1}


def test_faults_are_counted_until_a_step_ends_well(server, slot):
    for job, source in enumerate(["fault no disk", "raise it", "fault no disk"]):
        server.send(message(source, job))
        result = server.record()
        assert result.fault
        assert not result.given_back
    assert slot.idle(3).failed_in_row == 3
    server.send(message("ok", 9))
    server.record()
    record = slot.idle(4)
    assert (record.done, record.failed, record.failed_in_row) == (1, 3, 0)


def test_a_report_that_is_too_large_to_be_sent_is_a_fault(server, slot):
    ticket = server.send(message("big"))
    result = server.record()
    assert (result.ticket, result.report) == (ticket, None)
    assert "Cannot send the result" in result.fault


def test_what_cannot_be_read_is_dropped_and_the_slot_goes_on(server, slot):
    bomb = base64.b64encode(zlib.compress(b"[" * (65 * 2**20))).decode()
    for body in ("", "nonsense", None, 7, {"a": 1}, bomb, encode(message("ok"))[:-9]):
        server.send_body(body)
    server.app.send_task("tilelab.other", ("x",), queue="cpu")
    server.app.send_task("tilelab.step", (), queue="cpu")
    server.app.send_task("tilelab.step", ("x",), queue="cpu", serializer="pickle")
    measure = Ticket(3, StepKind.MEASURE, "t")
    server.send(StepMessage(measure, 1, 600.0, check=message("ok").check))
    server.send(message("ok", 2))
    assert server.record().ticket.job == 2
    assert server.claim(measure).stand is Stand.FREE
    assert slot.logged("this slot runs other steps")
    assert slot.idle(1).done == 1
    until(lambda: server.client.hlen("unacked") == 0, "everything is acknowledged")


def test_a_message_of_another_version_is_left_to_others_and_costs_no_attempt(server, slot):
    later = of_version(VERSION + 1, message("ok", 5))
    server.send_body(encode({**later, "news": 1}))
    record = slot.wait(lambda it: it.failed == 1)
    assert record.failed_in_row == 1, "so that a worker that was left behind takes itself out"
    assert slot.logged(f"has version {VERSION + 1}, but this is version {VERSION}")
    assert server.claim(message("ok", 5).ticket).stand is Stand.FREE
    assert not server.waiting("results")


def test_a_message_without_what_it_should_hold_is_answered_with_a_fault(server, slot):
    server.send_body(encode({**to_plain(message("ok", 5)), "news": 1}))
    result = server.record()
    assert result.ticket.job == 5
    assert "can't read the message" in result.fault
    server.send_body(encode({"version": VERSION + 1, "ticket": "?"}))
    server.send(message("ok", 6))
    assert server.record().ticket.job == 6


def test_a_killed_slot_leaves_a_claim_that_runs_out(server, slot, tmp_path):
    ticket = server.send(message(f"wait {tmp_path / 'go'}", lease=1.0))
    slot.busy(1)
    slot.send(signal.SIGKILL)
    slot.ended()
    until(lambda: server.claim(ticket).stand is Stand.FREE)
    assert server.waiting() == 0, "the broker sends nothing anew by itself for hours"


@pytest.mark.parametrize("revoked", [False, pytest.param(True, marks=_LONG)])
def test_a_slot_that_was_frozen_past_its_lease_drops_the_result(server, slot, tmp_path, revoked):
    ticket = server.send(message(f"wait {tmp_path / 'go'}", lease=1.0))
    slot.busy(1)
    slot.send(signal.SIGSTOP)
    until(lambda: server.claim(ticket).stand is Stand.FREE)
    if revoked:
        server.claims.revoke(ticket)
    slot.send(signal.SIGCONT)
    until(lambda: slot.logged("lost the claim"))
    slot.wait(lambda it: it.state is WorkerState.IDLE)
    server.send(message("ok", 2))
    assert server.record().ticket.job == 2
    assert server.take() is None
    record = slot.idle(1)
    assert (record.done, record.failed) == (1, 0), "it is not the slot's fault"


def test_a_revoked_claim_ends_the_step(server, slot, tmp_path):
    ticket = server.send(message(f"wait {tmp_path / 'go'}", lease=2.0))
    slot.busy(1)
    server.claims.revoke(ticket)
    slot.wait(lambda it: it.state is WorkerState.IDLE)
    assert server.take() is None
    assert server.claim(ticket).stand is Stand.REVOKED


def test_asked_to_end_it_finishes_the_step_in_work_and_begins_no_other(server, slot, tmp_path):
    server.send(message(f"wait {tmp_path / 'go'}"))
    slot.busy(1)
    slot.send(signal.SIGTERM)
    server.send(message("ok", 2))
    time.sleep(0.5)
    assert slot.process.poll() is None
    (tmp_path / "go").touch()
    result = server.record()
    assert (result.ticket.job, result.fault, result.given_back) == (1, "", False)
    assert slot.ended() == 0
    assert server.waiting() == 1
    assert slot.look()
    assert slot.records[-1].state is WorkerState.STOPPING


def test_an_idle_slot_ends_at_once_when_asked(server, slot):
    slot.idle()
    slot.send(signal.SIGTERM)
    assert slot.ended() == 0


DIFFERENT = (signal.SIGTERM, signal.SIGINT)
"""Of two alike, a process that is not run in between gets one."""


@pytest.mark.parametrize("signals", [1, pytest.param(2, marks=_LONG)])
def test_a_step_that_does_not_end_in_time_is_given_back(server, redis_url, tmp_path, signals):
    grace = "0.5" if signals == 1 else "600"
    with Slot(redis_url, tmp_path, *SCRIPTED, "--grace-seconds", grace) as slot:
        ticket = server.send(message(f"wait {tmp_path / 'never'}"))
        slot.busy(1)
        for number in DIFFERENT[:signals]:
            slot.send(number)
        result = server.record()
        assert (result.ticket, result.report, result.given_back) == (ticket, None, True)
        assert "stops" in result.fault
        assert slot.ended() == 0
        assert slot.look()
        assert slot.records[-1].failed == 0


def test_the_third_signal_waits_for_nothing(server, slot, tmp_path):
    server.send(message(f"wait {tmp_path / 'never'}"))
    slot.busy(1)
    for number in (*DIFFERENT, signal.SIGTERM):
        slot.send(number)
        time.sleep(0.05)
    assert slot.ended() in {0, 128 + signal.SIGTERM}


def test_every_line_names_its_job_and_none_the_password(server, slot, redis_url):
    server.send(message("fault no disk", 77))
    server.record()
    slot.idle(1)
    about = [line for line in slot.lines() if line.get("job") == 77]
    assert {"begun", "ended after 0.50 s: no disk"} <= {line["text"] for line in about}
    assert all((line["step"], line["attempt"], line["worker"]) == ("check", 1, NAME) for line in about)
    assert redis_url.split(":")[2].split("@")[0] not in slot.log.read_text()
    assert "t0" not in {line.get("token") for line in slot.lines()}
