from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from server.bounded_work import TooCostly, WorkFailed, _Processes, bounded, bounded_seconds
from tests.server.slow_texts import large, length, search, unplain

ENDLESS = "a" * 60
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def processes(monkeypatch):
    """New processes, which find the works of the tests."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    processes = _Processes()
    monkeypatch.setattr("server.bounded_work._processes", processes)
    yield processes
    processes.close()


def test_the_result_and_the_processor_time_come_back():
    before = bounded_seconds()

    assert bounded(length, "é\n") == 2
    assert bounded_seconds() > before


@pytest.mark.parametrize(
    ("work", "given", "error"), [(length, 1, WorkFailed), (unplain, "a", WorkFailed), (large, 4_096, TooCostly)]
)
def test_what_the_function_raises_comes_back(work, given, error):
    with pytest.raises(error):
        bounded(work, given)

    assert bounded(length, "a") == 1


def test_a_process_that_ends_by_itself_is_not_the_text_s_fault(processes):
    processes.prepare(["no_such_module"])
    with pytest.raises(WorkFailed):
        bounded(length, "a")


def test_a_search_that_keeps_the_lock_is_ended_and_stops_no_other_thread():
    slept: list[float] = []

    def sleep():
        while not done.is_set():
            began = time.monotonic()
            time.sleep(0.01)
            slept.append(time.monotonic() - began)

    done = threading.Event()
    thread = threading.Thread(target=sleep)
    thread.start()
    before = bounded_seconds()
    with pytest.raises(TooCostly):
        bounded(search, ENDLESS, seconds=0.3)
    done.set()
    thread.join()

    assert len(slept) > 5
    assert bounded_seconds() - before == pytest.approx(0.3)
    assert bounded(length, "a") == 1
