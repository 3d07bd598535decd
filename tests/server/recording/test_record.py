"""Recording: once, for the attempt that counts, whatever a worker sends."""

from __future__ import annotations

import base64
import json
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from kernels.verdict import Finding, Verdict
from kernels.wire import to_plain
from server.database.engine import Sessions
from server.dispatching.dispatch import take
from server.grading.contradictions import Contradiction, recent_contradictions
from server.grading.models import AttemptOutcome, Job, JobState, Result, Step, StepState
from server.grading.reports import unpack
from server.recording import record as recording
from server.recording.record import Letter, Recorded, Unread, read_result, record, record_all
from server.submissions.models import Mode
from server.submissions.verdicts import AGAIN_AFTER
from tests.server.course import (
    AFTER_ANY_PAUSE,
    NOW,
    WORKER,
    ACourse,
    check_result,
    measure_result,
    measure_work,
    measured,
    report_for,
    result_of,
    step_of,
)
from tests.server.databases import ON_BOTH
from worker.contract.messages import CPU_QUEUE, MessageError, StepKind, StepResult, Ticket, encode


def sent(made: Sessions, queue: str = CPU_QUEUE) -> None:
    with made.begin() as session:
        take(session, queue, slots=50, cap=50, now=AFTER_ANY_PAUSE)


def in_flight(course: ACourse, **more) -> int:
    """A job whose check step is under way."""
    job = course.job("ada", **more)
    sent(course.sessions)
    return job


def told(course: ACourse, job: int, verdict: Verdict = Verdict.ACCEPTED, **more) -> StepResult:
    with course.sessions.begin() as session:
        return check_result(session, job, verdict, **more)


@ON_BOTH
def test_a_result_that_comes_twice_is_recorded_once(course, made):
    job = in_flight(course)
    result = told(course, job, Verdict.WRONG_ANSWER)
    assert record(made, result) is Recorded.FINAL
    assert record(made, result) is Recorded.REPEATED
    with made.begin() as session:
        assert session.scalar(select(func.count()).select_from(Result)) == 1


def test_two_workers_that_contradict_one_another_are_noted_and_reported(course, made):
    found: list[Contradiction] = []
    for name, verdict, worker in (
        ("ada", Verdict.DATA_RACE, "host-1"), ("bob", Verdict.TIME_LIMIT, "host-2"),
        ("cy", Verdict.WRONG_ANSWER, "host-1"), ("dan", Verdict.WRONG_ANSWER, "host-2"),
        ("eve", Verdict.DATA_RACE, "host-1"), ("fay", Verdict.ACCEPTED, "host-1"),
    ):  # fmt: skip
        job = course.job(name)
        sent(made)
        result = told(course, job, verdict)
        _, contradictions = record_all(made, [Letter(replace(result, worker=worker))])
        found += contradictions
    assert [(one.first.worker, one.second.worker, one.second.verdict) for one in found] == [
        ("host-2", "host-1", "data_race")
    ]
    with made.begin() as session:
        shown = recent_contradictions(session, datetime.now(UTC))
    assert [(one.first, one.second) for one in shown] == [(found[0].first, found[0].second)]


@ON_BOTH
def test_of_two_that_end_together_the_second_contradicts_the_first(course, made):
    jobs = [course.job("ada"), course.job("bob"), course.job("cy")]
    sent(made)
    verdicts = (Verdict.WRONG_ANSWER, Verdict.DATA_RACE, Verdict.DATA_RACE)
    results = [
        replace(told(course, job, verdict), worker=f"host-{number}")
        for number, (job, verdict) in enumerate(zip(jobs, verdicts, strict=True))
    ]
    _, found = record_all(made, [Letter(result) for result in results])
    assert [(one.first.worker, one.second.worker) for one in found] == [("host-0", "host-1")]


@ON_BOTH
def test_of_two_recorders_at_once_one_records(course, made):
    job = in_flight(course)
    result = told(course, job)
    with ThreadPoolExecutor(4) as pool:
        found = sorted(pool.map(lambda _: record(made, result), range(4)))
    assert found == [Recorded.GOES_ON, *[Recorded.REPEATED] * 3]
    with made.begin() as session:
        assert [step.kind for step in session.get_one(Job, job).steps] == [StepKind.CHECK, StepKind.MEASURE]


@ON_BOTH
def test_a_transaction_that_breaks_leaves_nothing_and_the_next_try_records(course, made, monkeypatch):
    job = in_flight(course)
    result = told(course, job, Verdict.WRONG_ANSWER)
    from server.standings.service import update_leaderboards as whole

    def broken(session: Session, *rest: object) -> None:
        session.flush()
        raise ZeroDivisionError

    monkeypatch.setattr(recording, "update_leaderboards", broken)
    with pytest.raises(ZeroDivisionError):
        record(made, result)
    with made.begin() as session:
        assert step_of(session, job).state is StepState.SENT
        assert result_of(session, job) is None
    monkeypatch.setattr(recording, "update_leaderboards", whole)
    assert record(made, result) is Recorded.FINAL


@ON_BOTH
def test_a_fault_queues_the_step_again_in_its_old_place_and_the_third_ends_the_job(course, made):
    job = in_flight(course)
    with made.begin() as session:
        turn = step_of(session, job).turn
    for attempt in (1, 2, 3):
        fault = told(course, job, report=None, measure=None, fault=f"the disk is full ({attempt})")
        assert record(made, fault) is (Recorded.AGAIN if attempt < 3 else Recorded.GIVEN_UP)
        assert record(made, fault) is Recorded.REPEATED
        with made.begin() as session:
            step = step_of(session, job)
            assert step.turn == turn
            assert step.attempts[-1].outcome is AttemptOutcome.FAULT
            assert step.attempts[-1].worker == WORKER
        sent(made)
    with made.begin() as session:
        graded = session.get_one(Job, job)
        assert (graded.state, graded.verdict) == (JobState.DONE, Verdict.SYSTEM_ERROR)
        assert step_of(session, job).fault == "the disk is full (3)"
        result = result_of(session, job)
        assert result is not None
        assert "disk" not in json.dumps(unpack(result.report)), "what failed is for staff"


def test_after_a_fault_a_step_waits_a_moment_and_lets_others_go_first(course, made):
    job, other = in_flight(course), course.job("bob")
    fault = told(course, job, report=None, measure=None, fault="the disk is full")
    record(made, fault, NOW)

    def taken(now: datetime) -> list[int]:
        with made.begin() as session:
            return [step.job_id for step in take(session, CPU_QUEUE, slots=50, cap=50, now=now)]

    assert taken(NOW) == [other]
    assert taken(NOW + AGAIN_AFTER[0] - timedelta(seconds=1)) == []
    assert taken(NOW + AGAIN_AFTER[0]) == [job]


def test_a_step_that_is_given_back_costs_no_attempt(course, made):
    job = in_flight(course)
    for _ in range(5):
        back = told(course, job, report=None, measure=None, fault="Given back", given_back=True)
        assert record(made, back) is Recorded.AGAIN
        assert record(made, back) is Recorded.FENCED
        sent(made)
    with made.begin() as session:
        step = step_of(session, job)
        assert (step.attempt, len(step.attempts), step.state) == (1, 1, StepState.SENT)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("exercise", {"exercise": "naive"}),
        ("arch", {"arch": "sm_70"}),
        ("seed", {"seed": "0"}),
        ("fault of a worker's own", {"verdict": Verdict.SYSTEM_ERROR, "message": "a fault of a worker's own"}),
        ("without a measurement", {"measurement": measured(9000.0)}),
    ],
)
def test_a_report_that_does_not_fit_the_job_is_a_fault_of_its_worker(course, made, what, change):
    job = in_flight(course)
    result = told(course, job, Verdict.WRONG_ANSWER)
    assert result.report is not None
    wrong = replace(result, report=replace(result.report, **change))
    assert record(made, wrong) is Recorded.AGAIN
    with made.begin() as session:
        step = step_of(session, job)
        assert what in (step.fault or "")
        assert result_of(session, job) is None


def test_a_report_on_code_for_this_capability_alone_fits_the_job(course, made):
    job = in_flight(course)
    result = told(course, job, Verdict.WRONG_ANSWER)
    assert result.report is not None
    own = replace(result, report=replace(result.report, arch=f"{result.report.arch}a"))
    assert record(made, own) is Recorded.FINAL


def test_a_measurement_nobody_wanted_is_refused(course, made):
    job = in_flight(course, mode=Mode.CHECK)
    with made.begin() as session:
        row = session.get_one(Job, job)
        work = measure_work(row, report_for(row))
    assert record(made, told(course, job, measure=work)) is Recorded.AGAIN
    sent(made)
    assert record(made, told(course, job)) is Recorded.FINAL


def test_a_wrong_kernel_is_not_measured(course, made):
    job = in_flight(course)
    with made.begin() as session:
        row = session.get_one(Job, job)
        work = measure_work(row, report_for(row))
    assert record(made, told(course, job, Verdict.DATA_RACE, measure=work)) is Recorded.AGAIN
    sent(made)
    wrong = replace(work, verdict=Verdict.DATA_RACE)
    assert record(made, told(course, job, measure=wrong)) is Recorded.AGAIN


@pytest.mark.parametrize(
    ("why", "change"),
    [
        ("'a100'", {"environment": measured(1.0, "a100").environment}),
        ("metric of the exercise", {"metric": "time"}),
        ("other code", {"ptx_digest": "e" * 64}),
        ("impossible", {"ms_median": float("nan")}),
        ("impossible", {"gflops": float("inf")}),
        ("impossible", {"melements": -1.0}),
        ("impossible", {"ms_median": 0.0}),
    ],
)
def test_numbers_that_cannot_be_of_this_kernel_are_refused(course, made, why, change):
    job = in_flight(course)
    record(made, told(course, job))
    sent(made, "gpu.h200")
    with made.begin() as session:
        result = measure_result(session, job, 5000.0)
    assert result.report is not None
    assert result.report.measurement is not None
    wrong = replace(result.report, measurement=replace(result.report.measurement, **change))
    assert record(made, replace(result, report=wrong)) is Recorded.AGAIN
    with made.begin() as session:
        assert why in (step_of(session, job, StepKind.MEASURE).fault or "")


def test_work_that_is_too_large_to_send_ends_the_job(course, made, monkeypatch):
    job = in_flight(course)
    monkeypatch.setattr(recording, "WORK_BYTES", 100)
    assert record(made, told(course, job)) is Recorded.GIVEN_UP
    with made.begin() as session:
        assert session.get_one(Job, job).verdict is Verdict.SYSTEM_ERROR
        assert step_of(session, job).attempt == 1


def test_a_result_for_what_nobody_knows_is_fenced(course, made):
    result = StepResult(Ticket(4711, StepKind.CHECK, "t"), WORKER, None, fault="?")
    assert record(made, result) is Recorded.FENCED


def test_a_result_of_another_version_goes_back_for_a_while_and_costs_no_attempt(course, made):
    job = in_flight(course)
    plain = to_plain(told(course, job, Verdict.WRONG_ANSWER)) | {"version": 99}
    found = read_result(base64.b64encode(zlib.compress(json.dumps(plain).encode())).decode())
    assert isinstance(found, Unread)
    assert found.other_version
    pause = timedelta(seconds=30)
    back = Letter(StepResult(found.ticket, "", None, fault=found.why, given_back=True), pause=pause)
    for outcome in (Recorded.AGAIN, Recorded.FENCED):
        (entry,), _ = record_all(made, [back], NOW)
        assert entry is not None
        assert entry.outcome is outcome
    with made.begin() as session:
        step = step_of(session, job)
        assert (step.attempt, step.state, step.fault, step.attempts) == (0, StepState.QUEUED, None, [])
        assert not take(session, CPU_QUEUE, slots=1, cap=1, now=NOW + pause / 2)
        assert take(session, CPU_QUEUE, slots=1, cap=1, now=NOW + pause)


def test_a_report_without_a_verdict_is_a_fault_of_its_worker(course, made):
    job = in_flight(course)
    plain = to_plain(told(course, job, Verdict.WRONG_ANSWER))
    plain["report"]["verdict"] = "splendid"
    found = read_result(base64.b64encode(zlib.compress(json.dumps(plain).encode())).decode())
    assert isinstance(found, Unread)
    assert found.ticket.job == job
    assert not found.other_version


@pytest.mark.parametrize("body", ["", "####", None, {"a": 1}, "eJw="])
def test_what_says_nothing_is_no_result(body):
    with pytest.raises(MessageError):
        read_result(body)


def test_a_whole_result_is_read_as_it_was_sent(course):
    job = in_flight(course)
    result = told(course, job)
    assert read_result(encode(result)) == result


def test_seconds_that_are_none_are_not_kept(course, made):
    job = in_flight(course)
    record(made, told(course, job, seconds=float("inf")))
    with made.begin() as session:
        assert step_of(session, job).seconds is None


def test_the_measure_step_takes_a_turn_of_its_own(course, made):
    jobs = [course.job("ada", source=b"// %d" % i) for i in range(2)]
    other = course.job("bob")
    sent(made)
    record_all(made, [Letter(told(course, job)) for job in (*jobs, other)])
    with made.begin() as session:
        query = select(Step.job_id).where(Step.queue == "gpu.h200").order_by(Step.turn, Step.id)
        assert session.scalars(query).all() == [jobs[0], other, jobs[1]]


def test_findings_of_a_report_survive(course, made):
    job = in_flight(course)
    finding = Finding(Verdict.DATA_RACE, "Two threads write.", line=3)
    result = told(course, job, Verdict.DATA_RACE)
    assert result.report is not None
    record(made, replace(result, report=replace(result.report, findings=(finding,))))
    with made.begin() as session:
        kept = result_of(session, job)
        assert kept is not None
        assert unpack(kept.report)["findings"][0]["line"] == 3


def test_whatever_a_worker_says_of_a_fault_can_be_kept(course, made):
    job = in_flight(course)
    fault = told(course, job, report=None, measure=None, fault="\0 and \ud800" + "x" * 5000, worker="w\0" * 99)
    assert record(made, fault) is Recorded.AGAIN
    with made.begin() as session:
        kept = step_of(session, job).fault
        assert kept is not None
        assert kept.startswith(" and ?x")
        assert len(kept) == 2000


def test_a_report_with_numbers_that_are_none_is_refused(course, made):
    job = in_flight(course)
    result = told(course, job, Verdict.WRONG_ANSWER)
    assert result.report is not None
    wrong = replace(result, report=replace(result.report, seconds={"check": float("nan")}))
    assert record(made, wrong) is Recorded.AGAIN
