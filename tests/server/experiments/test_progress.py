"""A running experiment: each point begins once, gives way, and is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from kernels.exercise import read_exercise
from kernels.experiment.constraint import Constraint
from kernels.experiment.definition import read_definition
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.courses.models import Assignment
from server.experiments import progress
from server.experiments.models import Experiment, ExperimentState
from server.experiments.plans import UnfitExperiment, read_plan, stored_plan
from server.experiments.progress import AT_ONCE, OPEN_FOR_A_SLOT
from server.experiments.queries import results
from server.experiments.quota import EXPERIMENTS_A_DAY, MOST_RUNNING
from server.experiments.service import QuotaUsed, TooManyRunning, retry, stop
from server.grading.models import Job, JobState, Step, StepState
from server.submissions.changes import NotPossible
from tests.server.course import CPU_QUEUE, NOW, ACourse, later
from tests.server.experiments.started import (
    KERNEL,
    TILE,
    checked,
    experiment_of,
    in_queue,
    measured,
    points_of,
    run_all,
    runner_of,
    sent,
    started,
    work_of,
)

MANY = TILE.replace("TILE_WIDTH = [4, 8, 16, 32]", 'Width = "1:600"')
SIZES = TILE.replace("TILE_WIDTH = [4, 8, 16, 32]", "Width = [16, 32]")


@pytest.fixture
def course(made) -> ACourse:
    return ACourse.make(made)


def all_results(course: ACourse, public_id: str):
    with course.sessions.begin() as session:
        return results(session, experiment_of(course, public_id).id)


def test_every_point_is_checked_once_and_its_result_kept(course):
    name = started(course)
    assert run_all(course, runner_of(course)) == 4
    found = experiment_of(course, name)
    assert (found.state, found.points, found.begun, found.ended) == (ExperimentState.DONE, 4, 4, 4)
    assert [dict(each.params) for each in all_results(course, name)] == [
        {"TILE_WIDTH": tile} for tile in (4, 8, 16, 32)
    ]
    assert not runner_of(course).step(NOW)


def test_a_worker_gets_the_tile_and_the_sizes_of_the_point(course):
    text = TILE.replace("TILE_WIDTH = [4, 8, 16, 32]", "TILE_WIDTH = [8]\nWidth = [96]")
    started(course, text=text)
    runner_of(course).step(NOW)
    (job,) = sent(course)
    work = work_of(course, job)
    exercise = read_exercise(work.exercise.name, work.exercise.definition, work.exercise.digest)
    assert (work.tile, exercise.ranking, exercise.curve) == (8, {"Width": 96}, False)
    assert exercise.analysis is not None
    assert exercise.analysis.sizes == {"Width": 96}


def test_a_text_that_passed_is_checked_with_one_case_at_other_sizes(course):
    started(course, text=SIZES.replace("[16, 32]", '"16:25"'))
    runner = runner_of(course)
    runner.step(NOW)
    jobs = sent(course)
    assert all(cases_of(course, job) > 10 for job in jobs), "none had passed yet"
    checked(course, jobs[0])
    runner.step(NOW)
    runner.step(NOW)
    last = [job for job in sent(course, slots=40) if job not in jobs]
    assert [cases_of(course, job) for job in last] == [2, 2], "one small case, and the size of the ranking"


def cases_of(course: ACourse, job: int) -> int:
    return len(read_exercise("tiled", work_of(course, job).exercise.definition).cases(16))


@pytest.mark.one_in(3, "one number of slots")
@pytest.mark.parametrize(
    ("device_class", "slots", "most"),
    [("", {}, 1), ("", {CPU_QUEUE: 3, "gpu.h200": 5}, 3), ("h200", {CPU_QUEUE: 30, "gpu.h200": 2}, 2)],
)
def test_as_many_points_wait_as_the_last_step_s_slots_can_use_soon(course, device_class, slots, most):
    name = started(course, text=MANY, device_class=device_class)
    runner = runner_of(course)
    assert runner.step(NOW, slots)
    assert in_queue(course) == AT_ONCE
    while runner.step(NOW, slots):
        pass
    assert in_queue(course) == most * OPEN_FOR_A_SLOT
    assert experiment_of(course, name).begun == most * OPEN_FOR_A_SLOT


def test_a_wrong_point_is_a_result_and_the_others_go_on(course):
    name = started(course)
    runner = runner_of(course)
    runner.step(NOW)
    for number, job in enumerate(sent(course)):
        checked(course, job, Verdict.DATA_RACE if number == 1 else Verdict.ACCEPTED)
    while runner.step(NOW):
        pass
    assert experiment_of(course, name).state is ExperimentState.DONE
    assert [each.verdict for each in all_results(course, name)].count(Verdict.DATA_RACE) == 1


def test_a_point_is_measured_on_the_experiment_s_device(course):
    name = started(course, text=SIZES, device_class="h200")
    runner = runner_of(course)
    runner.step(NOW)
    jobs = sent(course)
    for job in jobs:
        checked(course, job)
    assert sent(course, "gpu.h200") == jobs
    for job in jobs:
        measured(course, job, 5_000.0)
    while runner.step(NOW):
        pass
    assert [each.measurement.gflops for each in all_results(course, name) if each.measurement] == [5_000.0] * 2


def test_two_runners_begin_each_point_once(course):
    name = started(course)
    first, second = runner_of(course), runner_of(course)
    while first.step(NOW) or second.step(NOW):
        pass
    assert in_queue(course) == 4
    assert [each.number for each in points_of(course, name)] == [0, 1, 2, 3]


def test_a_submission_goes_first_and_one_slot_stays_free(course):
    started(course, text=MANY)
    runner_of(course).step(NOW)
    mine = course.job("ada")
    assert sent(course, slots=4)[0] == mine
    assert len(sent(course, slots=4)) == 0, "three of the four slots are the most for experiments"
    with course.sessions.begin() as session:
        under_way = session.scalar(select(func.count()).where(Step.state == StepState.SENT))
    assert under_way == 1 + 3
    another = course.job("bob")
    assert sent(course, slots=4) == [another]


def test_on_one_slot_one_point_is_under_way_and_none_waits_in_the_broker(course):
    started(course, text=MANY)
    runner_of(course).step(NOW)
    assert len(sent(course, slots=1)) == 1
    assert sent(course, slots=1) == []
    assert sent(course, slots=1, now=NOW) == []
    mine = course.job("ada")
    assert sent(course, slots=1) == [mine]


def test_the_points_of_a_person_do_not_count_against_their_submissions(course):
    started(course, name="ada", text=MANY)
    runner_of(course).step(NOW)
    assert len(sent(course, slots=4)) == 3
    with course.sessions.begin() as session:
        from server.dispatching.dispatch import take
        from tests.server.course import CPU_QUEUE

        mine = [course.job("ada"), course.job("bob")]
        taken = [step.job_id for step in take(session, CPU_QUEUE, slots=4, cap=1, now=NOW)]
    assert sorted(taken) == sorted(mine)


def test_cancelling_ends_the_waiting_points_and_keeps_results(course):
    name = started(course)
    runner = runner_of(course)
    runner.step(NOW)
    checked(course, sent(course)[0])
    runner.step(NOW)
    with course.sessions.begin() as session:
        found = session.scalars(select(Experiment).where(Experiment.public_id == name)).one()
        tickets = stop(session, found, session.get_one(Person, course.person("ina")), later(9))
    assert len(tickets) == 3
    assert not runner.step(NOW)
    assert len(all_results(course, name)) == 1
    with course.sessions.begin() as session:
        assert set(session.scalars(select(Job.state))) == {JobState.DONE, JobState.CANCELLED}


def test_an_experiment_that_cannot_be_read_any_more_ends_and_the_others_go_on(course):
    broken, fine = started(course), started(course)
    runner = runner_of(course)
    runner.step(NOW)
    with course.sessions.begin() as session:
        found = session.scalars(select(Experiment).where(Experiment.public_id == broken)).one()
        found.plan = {"definition": "{}", "kernels": []}
    runner = runner_of(course)
    run_all(course, runner)
    assert experiment_of(course, broken).state is ExperimentState.CANCELLED
    assert experiment_of(course, fine).state is ExperimentState.DONE
    assert in_queue(course) == 0


def test_a_stored_plan_above_the_limits_ends_and_the_others_go_on(course, monkeypatch):
    heavy, fine = started(course), started(course)
    monkeypatch.setattr(Constraint, "holds", lambda *_: pytest.fail("evaluated"))
    axes = 'Width = "1:2000"\nTILE_WIDTH = [2, 4, 8, 16, 32]\n[constraints]\n'
    constraints = "".join(f'c{number} = "Width > 0 and TILE_WIDTH > 0"\n' for number in range(64))
    definition = read_definition(TILE.replace("TILE_WIDTH = [4, 8, 16, 32]\n", axes + constraints))
    with course.sessions.begin() as session:
        found = session.scalars(select(Experiment).where(Experiment.public_id == heavy)).one()
        found.plan = stored_plan(definition, {"tiled.cu": KERNEL})
    run_all(course, runner_of(course))
    assert experiment_of(course, heavy).state is ExperimentState.CANCELLED
    assert experiment_of(course, fine).state is ExperimentState.DONE
    with course.sessions.begin() as session:
        event = session.scalars(
            select(AuditEvent).where(AuditEvent.subject == f"experiment {heavy}").order_by(AuditEvent.id.desc())
        ).first()
    assert event is not None
    assert (event.action, "2,000,000" in event.detail["reason"]) == ("experiment.cancelled", True)


def test_the_plans_of_many_experiments_are_read_once(course, monkeypatch):
    for _ in range(5):
        started(course)
    read: list[int] = []

    def counted(*given):
        read.append(1)
        return read_plan(*given)

    monkeypatch.setattr(progress, "read_plan", counted)
    run_all(course, runner_of(course))
    assert len(read) == 5


def test_a_cancelled_job_is_a_system_error_of_its_point(course):
    from server.submissions.changes import cancel

    name = started(course)
    runner = runner_of(course)
    runner.step(NOW)
    for number, job in enumerate(sent(course)):
        if number:
            checked(course, job)
        else:
            with course.sessions.begin() as session:
                cancel(session, job, None, later(4))
    while runner.step(NOW):
        pass
    assert all_results(course, name)[0].verdict is Verdict.SYSTEM_ERROR
    assert experiment_of(course, name).state is ExperimentState.DONE


def with_a_system_error(course: ACourse, failing: int = 1, **more) -> str:
    """A finished experiment whose first points ended in a system error."""
    from server.submissions.changes import cancel

    name = started(course, **more)
    runner = runner_of(course)
    runner.step(NOW)
    for number, job in enumerate(sent(course)):
        if number < failing:
            with course.sessions.begin() as session:
                cancel(session, job, None, later(4))
        else:
            checked(course, job)
    run_all(course, runner)
    return name


def retried(course: ACourse, name: str, by: str = "ina") -> int:
    person = course.person(by)
    with course.sessions.begin() as session:
        found = session.scalars(select(Experiment).where(Experiment.public_id == name)).one()
        return retry(session, found, session.get_one(Person, person), later(9))


def test_a_retry_runs_the_points_with_a_system_error_and_no_others(course):
    name = with_a_system_error(course, failing=2)
    before, jobs = all_results(course, name), [each.job_id for each in points_of(course, name)]
    assert retried(course, name) == 2
    found = experiment_of(course, name)
    assert (found.state, found.begun, found.ended, found.ended_at) == (ExperimentState.RUNNING, 4, 2, None)
    first, second = runner_of(course), runner_of(course)
    while first.step(NOW) or second.step(NOW):
        pass
    assert in_queue(course) == 2
    run_all(course, first)
    assert [each.verdict for each in all_results(course, name)] == [Verdict.ACCEPTED] * 4
    assert experiment_of(course, name).state is ExperimentState.DONE
    assert [each.job_id == job for each, job in zip(points_of(course, name), jobs, strict=True)] == [
        False, False, True, True,
    ]  # fmt: skip
    assert all_results(course, name)[2:] == before[2:]


def test_a_retry_of_a_running_experiment_goes_before_its_new_points(course):
    from server.submissions.changes import cancel

    name = started(course, text=MANY)
    runner = runner_of(course)
    runner.step(NOW)
    with course.sessions.begin() as session:
        cancel(session, points_of(course, name)[0].job_id or 0, None, later(4))
    runner.step(NOW)
    assert retried(course, name) == 1
    runner.step(NOW)
    points = points_of(course, name)
    assert (points[0].job_id is not None, len(points)) == (True, 2 * AT_ONCE - 1)


def test_a_retry_needs_a_system_error_and_room(course):
    with pytest.raises(NotPossible, match="nothing to retry"):
        retried(course, with_a_system_error(course, failing=0))
    name = with_a_system_error(course)
    for _ in range(MOST_RUNNING):
        started(course)
    with pytest.raises(TooManyRunning):
        retried(course, name)
    assert [each.verdict for each in all_results(course, name)].count(Verdict.SYSTEM_ERROR) == 1


def test_no_point_starts_before_a_deadline_if_asked(course):
    with course.sessions.begin() as session:
        session.get_one(Assignment, course.assignment).due_at = NOW + timedelta(hours=3)
    started(course, text=MANY, pauses=True)
    runner = runner_of(course)
    assert runner.step(NOW)
    near, after = NOW + timedelta(hours=1, minutes=30), NOW + timedelta(hours=3, minutes=1)
    runner.step(near)
    assert not runner.step(near)
    assert in_queue(course) == AT_ONCE
    assert sent(course, now=near) == []
    assert runner.step(after)
    assert sent(course, now=after)


def test_the_quota_of_a_student_is_kept_and_says_when_it_renews(course):
    for _ in range(EXPERIMENTS_A_DAY):
        started(course, name="ada", assignment=course.assignment)
    with pytest.raises(QuotaUsed) as used:
        started(course, name="ada", assignment=course.assignment)
    assert used.value.quota.renews_at == NOW + timedelta(days=1)
    started(course, name="ada", assignment=course.assignment, now=NOW + timedelta(days=1, seconds=1))
    started(course, name="bob", assignment=course.assignment)


def test_a_student_s_experiment_has_at_most_the_points_of_the_quota(course):
    with pytest.raises(UnfitExperiment, match="600 points") as unfit:
        started(course, name="ada", text=MANY, assignment=course.assignment)
    assert unfit.value.field == "axes"


def test_a_waiting_experiment_is_no_long_wait_of_a_queue(course):
    from server.grading.fleet_state import queues

    started(course)
    runner_of(course).step(NOW)
    with course.sessions.begin() as session:
        (found,) = queues(session, {}, later(9_000))
    assert (found.waiting, found.oldest_seconds) == (4, None)
    course.job("ada")
    with course.sessions.begin() as session:
        (found,) = queues(session, {}, later(9_000))
    assert (found.waiting, found.oldest_seconds) == (5, 9_000)


def test_erasing_a_person_takes_their_experiments_and_those_on_their_submissions(course):
    from server.experiments.plans import kernels_of
    from server.operations.erase import erase_person
    from server.submissions.models import Submission

    job = course.job("ada")
    with course.sessions.begin() as session:
        submission = session.get_one(Job, job).submission_id
        assert session.get_one(Submission, submission)
    names = [started(course, "ada"), started(course, "ina", submission=submission), started(course, "ina")]
    runner = runner_of(course)
    for _ in range(3):
        runner.step(NOW)
    erase_person(course.sessions, course.person("ada"), later(9))
    left = [len(points_of(course, name)) for name in names]
    assert left == [0, 0, 4]
    with course.sessions.begin() as session:
        rows = session.scalars(select(Experiment).order_by(Experiment.id)).all()
        assert [bool(kernels_of(row.plan)) for row in rows] == [False, False, True]
        assert [row.state for row in rows] == [ExperimentState.CANCELLED] * 2 + [ExperimentState.RUNNING]
    run_all(course, runner)
    assert experiment_of(course, names[2]).state is ExperimentState.DONE
