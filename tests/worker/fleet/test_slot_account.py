from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernels.wire import to_plain
from worker.contract.fleet import SlotRecord, WorkerState
from worker.slots.account import SlotAccount
from worker.slots.plan import Slot
from worker.supervision.parts import STEADY_SECONDS

FRESH = SlotRecord("cpu-0", "cpu", "cpu", WorkerState.IDLE)


@pytest.fixture
def account():
    return SlotAccount(Slot("cpu-0", "cpu"))


def tell(account: SlotAccount, **changes: object) -> None:
    account.told(json.dumps(to_plain(replace(FRESH, **changes))))  # type: ignore[arg-type]


def test_figures_of_processes_that_are_gone_stay(account):
    tell(account, done=3, failed=1, busy_ms=2.5)
    account.gone()
    assert account.record.state is WorkerState.STARTING
    tell(account, done=2, failed=2, failed_in_row=2, busy_ms=1.0)
    record = account.record
    assert (record.done, record.failed, record.busy_ms, record.state) == (5, 3, 3.5, WorkerState.IDLE)


@pytest.mark.parametrize(
    ("worker", "there", "shown"),
    [
        (WorkerState.DRAINED, False, WorkerState.DRAINED),
        (WorkerState.DRAINING, False, WorkerState.DRAINED),
        (WorkerState.DRAINING, True, WorkerState.STARTING),
        (WorkerState.OUT, False, WorkerState.OUT),
        (WorkerState.STOPPING, False, WorkerState.STOPPING),
        (WorkerState.STARTING, False, WorkerState.STARTING),
    ],
)
def test_a_slot_whose_worker_rests_is_not_starting(account, worker, there, shown):
    tell(account, done=3)
    account.gone()
    seen = account.as_seen(worker, there=there)
    assert (seen.state, seen.done) == (shown, 3)


def test_faults_in_a_row_go_on_over_processes_until_a_step_ends_well(account):
    tell(account, failed=2, failed_in_row=2)
    account.gone()
    tell(account, failed=1, failed_in_row=1)
    assert account.record.failed_in_row == 3
    tell(account, done=1, failed=1)
    assert account.record.failed_in_row == 0
    tell(account, done=2, failed=2, failed_in_row=1)
    assert account.record.failed_in_row == 1


def test_a_death_with_a_step_in_work_is_a_fault(account):
    tell(account, state=WorkerState.BUSY, job=7)
    account.died(10 * STEADY_SECONDS)
    assert (account.record.failed, account.record.failed_in_row, account.record.job) == (1, 1, None)


def test_a_death_soon_after_the_start_counts_in_the_row_alone(account):
    account.died(0.1)
    assert (account.record.failed, account.record.failed_in_row) == (0, 1)
    tell(account)
    account.died(10 * STEADY_SECONDS)
    assert account.record.failed_in_row == 1
    account.forgive()
    assert account.record.failed_in_row == 0


@pytest.mark.parametrize("line", ["", "{", "[]", "{}", '{"name": 7}', "[" * 10_000, "x" * 10_000])
def test_a_line_that_is_no_record_is_left_out(account, line):
    before = account.record
    account.told(line)
    tell(account, name="cpu-1", done=9)
    assert account.record == before
