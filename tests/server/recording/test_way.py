"""The way of a submission: accepted, given out, recorded, measured, recorded, on the board."""

from __future__ import annotations

from kernels.verdict import Verdict
from server.database.engine import Sessions
from server.dispatching.dispatch import message_of, take
from server.grading.models import Job, JobState, Result, StepState
from server.recording.record import Recorded, record
from server.standings.service import board
from tests.server.course import NOW, SOURCE, ACourse, check_result, later, measure_result, step_of
from tests.server.databases import ON_BOTH
from worker.contract.messages import CPU_QUEUE, StepKind, StepMessage, decode, encode

pytestmark = ON_BOTH


def test_a_right_kernel_is_checked_and_measured_and_stands_on_the_board(made: Sessions) -> None:
    course = ACourse.make(made)
    accepted = course.hand_in("ada")
    assert accepted.position == 1
    with made.begin() as session:
        (check,) = take(session, CPU_QUEUE, slots=1, cap=4, now=NOW)
        job = check.job_id
        message = decode(StepMessage, encode(message_of(check, 20.0)))
    assert message.check is not None
    assert message.check.device_class == "h200"
    assert message.attempt == 1
    with made.begin() as session:
        passed = check_result(session, job)
    assert record(made, passed, later(3)) is Recorded.GOES_ON
    with made.begin() as session:
        (measure,) = take(session, "gpu.h200", slots=1, cap=4, now=later(4))
        message = decode(StepMessage, encode(message_of(measure, 20.0)))
        assert message.measure is not None
        assert passed.measure is not None
        assert message.measure == passed.measure.packed
    with made.begin() as session:
        final = measure_result(session, job, 5_000.0)
    assert record(made, final, later(9)) is Recorded.FINAL
    with made.begin() as session:
        graded = session.get_one(Job, job)
        assert (graded.state, graded.verdict) == (JobState.DONE, Verdict.ACCEPTED)
        assert {step.state for step in graded.steps} == {StepState.DONE}
        assert step_of(session, job, StepKind.MEASURE).seconds == 3.0
        result = session.get_one(Result, job)
        assert result.gflops == 5_000.0
        assert result.ranked
        (line,) = board(session, course.assignment, "h200").rows
        assert (line.rank, line.name, line.score) == (1, "ada", 5_000.0)
        assert line.submission == accepted.submission.public_id


def test_a_wrong_kernel_ends_after_its_check(made: Sessions) -> None:
    course = ACourse.make(made)
    job = course.job("ada", source=SOURCE + b"// wrong\n")
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=4, now=NOW)
    with made.begin() as session:
        told = check_result(session, job, Verdict.DATA_RACE)
    assert record(made, told, later(3)) is Recorded.FINAL
    with made.begin() as session:
        graded = session.get_one(Job, job)
        assert graded.verdict is Verdict.DATA_RACE
        assert [step.kind for step in graded.steps] == [StepKind.CHECK]
        assert not session.get_one(Result, job).ranked
        assert board(session, course.assignment, "h200").rows == ()
