"""The time for grading, on the page of a submission."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import pytest

from server.grading.attempts import begin, claimed
from server.grading.models import AttemptOutcome
from server.recording.record import record
from server.submissions.models import Mode
from server.submissions.verdicts import failed
from tests.server.course import check_result, later, measure_result, step_of
from tests.server.databases import ON_SQLITE
from tests.server.submissions.graded import handed_in
from worker.contract.messages import StepKind


def shown_times(ada, name):
    """The parts of the time for grading, with their seconds."""
    _, _, shown = ada.page(f"/submissions/{name}").partition('id="durations"')
    return re.findall(r"<dt>([^<]+)</dt><dd>([0-9.]+)", shown)


def test_the_times_of_the_phases_add_up_also_the_wait_for_a_gpu(portal, ada):
    name, job = handed_in(portal.course, "ada", Mode.RANK)
    spent = {"compile": 1.0, "check": 1.5, "measure": 4.0}
    for kind, taken_at, ended_at in ((StepKind.CHECK, 2, 5), (StepKind.MEASURE, 25, 30)):
        with portal.course.sessions.begin() as session:
            step = step_of(session, job, kind)
            begin(session, step, later(taken_at))
            claimed(session, step, "host-1", later(taken_at))
            result = check_result(session, job) if kind is StepKind.CHECK else measure_result(session, job, 5_000.0)
            if result.report is not None:
                result = replace(result, report=replace(result.report, seconds=spent))
        record(portal.course.sessions, result, later(ended_at))
    times = shown_times(ada, name)
    assert times == [
        ("waited", "2.0"), ("compiled", "1.0"), ("checked", "1.5"), ("waited for a GPU", "20.0"), ("measured", "4.0"),
        ("other", "1.5"), ("total", "30.0"),
    ]  # fmt: skip
    _, _, shown = ada.page(f"/submissions/{name}").partition('id="durations"')
    moments = [datetime.fromisoformat(each) for each in re.findall(r'datetime="([^"]+)"', shown.partition("</dl>")[0])]
    assert moments == [later(seconds) for seconds in (0, 2, 5, 25, 30)]
    steps = portal.get("ada", f"/api/v1/submissions/{name}").get_json()["steps"]
    assert [datetime.fromisoformat(step["started_at"]) for step in steps] == [later(2), later(2), later(25)]


@ON_SQLITE
def test_what_a_lost_worker_had_begun_is_named(portal, ada):
    name, job = handed_in(portal.course, "ada")
    with portal.course.sessions.begin() as session:
        step = step_of(session, job)
        begin(session, step, later(2))
        claimed(session, step, "host-1", later(2))
        failed(session, step, AttemptOutcome.LOST, "the worker host-1 stopped beating", later(42))
        begin(session, step, later(43))
        claimed(session, step, "host-2", later(43))
        result = check_result(session, job)
        assert result.report is not None
        result = replace(result, report=replace(result.report, seconds={"compile": 1.0, "check": 1.5}))
    record(portal.course.sessions, result, later(46))
    times = shown_times(ada, name)
    assert times == [
        ("waited", "2.0"), ("compiled", "1.0"), ("checked", "1.5"), ("worker lost, restarted", "40.0"),
        ("other", "1.5"), ("total", "46.0"),
    ]  # fmt: skip


@ON_SQLITE
@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        ({"compile": 0.5, "check": 1.44}, ["3.2", "0.5", "1.4", "0.1"]),
        # Each part is rounded up, to 5.3 seconds of 5.2.
        ({"compile": 0.36, "check": 1.66}, ["3.1", "0.4", "1.7"]),
    ],
    ids=["a rest", "rounding"],
)
def test_times_add_up_if_a_claim_was_seen_late(portal, ada, seconds, shown):
    """The worker began two seconds before the end, and the dispatcher saw its claim only just before the end."""
    name, job = handed_in(portal.course, "ada")
    with portal.course.sessions.begin() as session:
        step = step_of(session, job)
        begin(session, step, later(1))
        claimed(session, step, "host-1", later(5))
        result = check_result(session, job)
        assert result.report is not None
        result = replace(result, report=replace(result.report, seconds=seconds))
    record(portal.course.sessions, result, later(5.2))
    *parts, (_, total) = shown_times(ada, name)
    assert ([spent for _, spent in parts], total) == (shown, "5.2")
    assert sum(round(10 * float(spent)) for _, spent in parts) == 52
