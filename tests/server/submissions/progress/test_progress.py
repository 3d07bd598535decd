from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest

from kernels.verdict import Verdict
from server.grading.models import JobKind, JobState, StepState
from server.grading.queue import Place
from server.submissions.progress.jobs import StepStatus, SubmissionStatus
from server.submissions.progress.phases import PhaseState, Progress, Trail, follow, progress_of
from server.submissions.progress.streams import progress_answer
from worker.contract.hints import Hint
from worker.contract.messages import StepKind

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FIRST = Place(1, 0.0)
CHECK = StepStatus(1, StepKind.CHECK, StepState.QUEUED, "cpu", 0, NOW, None, None, None, None)
MEASURE = StepStatus(2, StepKind.MEASURE, StepState.QUEUED, "gpu.h200", 0, NOW, None, None, None, None)
JOB = SubmissionStatus(7, JobKind.SUBMISSION, JobState.QUEUED, None, "h200", (CHECK,), FIRST)
RUNNING = replace(CHECK, state=StepState.RUNNING, attempt=1, started_at=NOW + timedelta(seconds=4))
CHECKED = replace(RUNNING, state=StepState.DONE, seconds=5.0)


def at_work(step: StepStatus, **more: object) -> SubmissionStatus:
    return replace(JOB, state=JobState.RUNNING, steps=(step,), place=Place(0, 0.0), **more)  # type: ignore[arg-type]


def hints(*told: str, step: StepKind = StepKind.CHECK, attempt: int = 1) -> dict[StepKind, Trail]:
    """What a worker tells, a second after the other."""
    trails: dict[StepKind, Trail] = {}
    for second, what in enumerate(told):
        phase, _, detail = what.partition(" ")
        follow(trails, Hint(7, step, attempt, 100.0 + second, phase, detail), NOW + timedelta(seconds=second))
    return trails


def states(progress: Progress) -> dict[str, str]:
    return {phase.key: phase.state.value for phase in progress.phases}


def phase(progress: Progress, key: str):
    return next(each for each in progress.phases if each.key == key)


def test_the_place_in_the_queue_and_the_wait_are_told():
    progress = progress_of(replace(JOB, place=Place(3, 42.0)), {})
    assert progress.headline == "Waiting for a worker"
    assert "about 40 seconds" in progress.explanation
    assert phase(progress, "queued").detail == "number 3 in the queue"
    assert states(progress) == {"queued": "now", "compiling": "waiting", "checking": "waiting", "measuring": "waiting"}


def test_where_nobody_can_tell_it_says_why():
    progress = progress_of(replace(JOB, place=Place(1, None, "No worker that checks is running.")), {})
    assert progress.explanation == "No worker that checks is running."


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.0, "10 seconds"), (44.0, "40 seconds"), (300.0, "5 minutes"), (9000.0, "2 hours")]
)
def test_an_estimate_is_as_rough_as_it_is(seconds, words):
    assert words in progress_of(replace(JOB, place=Place(2, seconds)), {}).explanation


def test_a_free_worker_is_told_of():
    assert progress_of(JOB, {}).explanation == "Starting now."


def test_without_hints_nobody_can_tell_compiling_from_checking():
    progress = progress_of(at_work(RUNNING), {})
    assert progress.headline == "In progress"
    assert (states(progress)["compiling"], states(progress)["checking"]) == ("now", "now")
    assert phase(progress, "queued").seconds == 4.0


def test_a_running_check_tells_its_cases_one_by_one():
    progress = progress_of(at_work(RUNNING), hints("compiling", "checking", "checking 3 of 14: Width=17 real"))
    assert progress.headline == "Checking"
    assert progress.explanation == "3 of 14: Width=17, real numbers"
    assert phase(progress, "compiling").seconds == 1.0
    assert phase(progress, "checking").detail == progress.explanation


def test_the_first_output_stays_until_another_attempt():
    printing = hints("checking")
    follow(printing, Hint(7, StepKind.CHECK, 1, 101.0, "checking", "", "Width=1", "hi\n"), NOW)
    follow(printing, Hint(7, StepKind.CHECK, 1, 102.0, "counting", ""), NOW)
    follow(printing, Hint(7, StepKind.CHECK, 1, 101.5, "checking", "", "Width=1", "hi\n"), NOW)
    assert printing[StepKind.CHECK].phase == "counting", "an older hint came late"
    told = progress_answer(progress_of(at_work(RUNNING), printing))
    assert (told.printed_case, told.printed) == ("Width=1", "hi\n")
    assert progress_of(at_work(replace(RUNNING, attempt=2)), printing).printed == ""


def test_a_hint_may_come_before_the_database_knows():
    sent = replace(CHECK, state=StepState.SENT, attempt=1)
    progress = progress_of(replace(JOB, steps=(sent,)), hints("compiling"))
    assert progress.headline == "Compiling"


def test_hints_about_an_attempt_that_is_over_say_nothing():
    again = replace(RUNNING, attempt=2)
    progress = progress_of(at_work(again), hints("compiling", "checking 5 of 14: Width=1"))
    assert states(progress)["compiling"] == "now"
    assert "Try 2 of 3" in progress.note
    late = hints("compiling", attempt=2)
    follow(late, Hint(7, StepKind.CHECK, 1, 1.0, "checking", ""), NOW)
    assert late[StepKind.CHECK].phase == "compiling"


def test_a_step_that_was_given_back_to_the_queue_says_so():
    lost = replace(CHECK, attempt=1)
    assert progress_of(replace(JOB, steps=(lost,)), {}).note.startswith("Try 1 of 3 ")


def test_after_the_check_it_waits_for_a_gpu():
    job = at_work(CHECKED)
    progress = progress_of(replace(job, steps=(CHECKED, MEASURE), place=Place(2, 20.0)), {})
    assert progress.headline == "Waiting for a GPU of class h200"
    assert states(progress) == {"queued": "done", "compiling": "done", "checking": "done", "measuring": "now"}
    assert phase(progress, "checking").seconds == 5.0


def test_measuring_is_told_launch_by_launch():
    running = replace(MEASURE, state=StepState.RUNNING, attempt=1, started_at=NOW)
    job = replace(at_work(CHECKED), steps=(CHECKED, running))
    progress = progress_of(job, hints("measuring", "measuring 12", step=StepKind.MEASURE))
    assert progress.headline == "Measuring"
    assert progress.explanation == "launch 12"


def test_done_is_final_and_says_what_was_left_out():
    job = replace(JOB, state=JobState.DONE, verdict=Verdict.DATA_RACE, steps=(CHECKED,), place=None)
    progress = progress_of(job, {})
    assert progress.status.over
    assert phase(progress, "measuring").state is PhaseState.LEFT_OUT
    told = asdict(progress_answer(progress))
    assert told["final"] is True
    assert told["verdict"] == "data_race"
    assert told["position"] is None


def test_cancelled_is_final():
    gone = replace(CHECK, state=StepState.CANCELLED)
    progress = progress_of(replace(JOB, state=JobState.CANCELLED, steps=(gone,), place=None), {})
    assert progress.status.over
    assert progress.headline == "Cancelled"
