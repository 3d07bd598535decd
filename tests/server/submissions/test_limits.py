"""What a student may hand in, and when: every refusal says when it will be taken."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from sqlalchemy import event, func, select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Membership, Role
from server.grading.models import AttemptOutcome, Job, JobState, Priority
from server.recording.record import record
from server.submissions.allowance import allowance, allowances
from server.submissions.changes import cancel
from server.submissions.models import Mode, Submission
from server.submissions.refusals import Closed, NoAttemptsLeft, NoSuchAssignment, NotAccepted, TooOften
from server.submissions.service import Accepted, SubmissionInput, accept
from server.submissions.source import read_source
from server.submissions.verdicts import failed, update_judged_jobs
from tests.server.course import NOW, SUBMITTED, ACourse, check_result, later, step_of
from tests.server.databases import ON_SQLITE
from tests.server.submissions.graded import taken


def end(course: ACourse, job: int, verdict: Verdict) -> None:
    """Let it be done with that verdict."""
    with course.sessions.begin() as session:
        row = session.get_one(Job, job)
        row.state, row.verdict, row.ended_at = JobState.DONE, verdict, NOW
        update_judged_jobs(session, [row])


def test_after_the_end_date_nothing_is_taken_and_the_refusal_says_when_that_was(course):
    course.change(due_at=later(-60), closes_at=later(60))
    assert course.hand_in("ada").submission.created_at == NOW, "late, and taken"
    assert course.hand_in("ada", now=later(60)), "at the last moment"
    with pytest.raises(Closed, match="2026-03-02 09:01 UTC") as told:
        course.hand_in("ada", now=later(61))
    assert " at 09.01 in Wien." in told.value.told(lambda at: f"{at:%H.%M} in Wien")
    with pytest.raises(Closed):
        course.hand_in("ada", mode=Mode.CHECK, now=later(61))


def test_an_extension_is_its_persons_own(course):
    course.change(due_at=later(-60), closes_at=later(0))
    course.extend("ada", due_at=later(3600))
    assert course.hand_in("ada", now=later(3600))
    for name, moment in (("bob", later(3600)), ("ada", later(3601))):
        with pytest.raises(Closed):
            course.hand_in(name, now=moment)


def test_who_has_an_extension_comes_first_when_it_ends(course, made):
    course.change(due_at=later(-60))
    course.extend("ada", due_at=later(600))
    with made.begin() as session:
        assert session.get_one(Job, course_job(session, course, "ada")).priority == Priority.DEADLINE


def course_job(session, course: ACourse, name: str) -> int:
    accepted = course.hand_in(name).submission.id
    job: int = session.scalars(select(Job.id).where(Job.submission_id == accepted)).one()
    return job


def test_attempts_are_used_up_by_the_ranking_alone(course):
    course.change(attempts=2)
    for mode in (Mode.RANK, Mode.CHECK, Mode.RANK):
        course.hand_in("ada", mode=mode)
    assert_used_up(course, Mode.RANK)
    assert course.hand_in("ada", mode=Mode.CHECK)
    assert course.hand_in("bob")


def test_a_file_without_a_kernel_uses_no_check(course):
    course.change(checks_per_hour=1)
    for verdict in (Verdict.REJECTED, Verdict.COMPILE_ERROR):
        course.hand_in("ada", mode=Mode.CHECK)
        end(course, course.rows(select(func.max(Job.id)))[0], verdict)
    assert_used_up(course, Mode.CHECK)


def test_extra_attempts_are_there_for_whom_they_were_granted(course):
    course.change(attempts=1)
    course.extend("ada", extra_attempts=1)
    for _ in range(2):
        course.hand_in("ada")
    assert_used_up(course, Mode.RANK)


def end_by_our_fault(course: ACourse, job: int) -> None:
    end(course, job, Verdict.SYSTEM_ERROR)


def cancelled_before_its_turn(course: ACourse, job: int) -> None:
    with course.sessions.begin() as session:
        found = session.get_one(Job, job)
        cancel(session, job, session.get_one(Person, found.person_id), NOW)


def cancelled_by_staff(course: ACourse, job: int) -> None:
    taken(course, job)
    with course.sessions.begin() as session:
        result = check_result(session, job)
    record(course.sessions, result, NOW)
    tom = course.person("tom", Role.ASSISTANT)
    with course.sessions.begin() as session:
        cancel(session, job, session.get_one(Person, tom), NOW)


def cancelled_at_the_command_line(course: ACourse, job: int) -> None:
    taken(course, job)
    with course.sessions.begin() as session:
        cancel(session, job, None, NOW)


def cancelled_after_its_worker_was_lost(course: ACourse, job: int) -> None:
    taken(course, job)
    with course.sessions.begin() as session:
        failed(session, step_of(session, job), AttemptOutcome.LOST, "silent", NOW)
    cancelled_before_its_turn(course, job)


def cancelled_at_work(course: ACourse, job: int) -> None:
    taken(course, job)
    cancelled_before_its_turn(course, job)


def cancelled_once_it_was_checked(course: ACourse, job: int) -> None:
    taken(course, job)
    with course.sessions.begin() as session:
        result = check_result(session, job)
    record(course.sessions, result, NOW)
    cancelled_before_its_turn(course, job)


ONLY_ONE = {Mode.RANK: {"attempts": 1}, Mode.CHECK: {"checks_per_hour": 1}}


def assert_used_up(course: ACourse, mode: Mode) -> None:
    refusal, at = (NoAttemptsLeft, None) if mode is Mode.RANK else (TooOften, later(3600))
    with pytest.raises(refusal) as told:
        course.hand_in("ada", mode=mode)
    assert told.value.at == at


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "ends",
    [end_by_our_fault, cancelled_before_its_turn, cancelled_after_its_worker_was_lost, cancelled_at_the_command_line],
)
def test_a_system_error_or_a_cancelled_submission_uses_no_attempt(course, ends, mode):
    course.change(**ONLY_ONE[mode])
    ends(course, course.job("ada", mode=mode))
    end(course, course.job("ada", mode=mode), Verdict.WRONG_ANSWER)
    assert_used_up(course, mode)


def test_what_staff_cancel_once_it_was_checked_costs_nothing(course):
    course.change(**ONLY_ONE[Mode.RANK])
    cancelled_by_staff(course, course.job("ada"))
    assert course.hand_in("ada")


@pytest.mark.parametrize(
    ("ends", "mode"),
    [(cancelled_at_work, Mode.RANK), (cancelled_at_work, Mode.CHECK), (cancelled_once_it_was_checked, Mode.RANK)],
)
def test_what_is_cancelled_once_a_worker_began_it_costs_as_much_as_any_other(course, ends, mode):
    course.change(**ONLY_ONE[mode])
    ends(course, course.job("ada", mode=mode))
    assert_used_up(course, mode)


@pytest.mark.parametrize(("ends", "waits"), [(cancelled_before_its_turn, True), (end_by_our_fault, False)])
def test_who_cancels_waits_all_the_same_before_the_next_one(course, ends, waits):
    course.change(min_interval_seconds=30)
    ends(course, course.job("ada"))
    if waits:
        with pytest.raises(TooOften, match="in 20 seconds"):
            course.hand_in("ada", now=later(10))
    assert course.hand_in("ada", now=later(30 if waits else 10))


def test_only_so_many_are_kept_of_one_person_in_a_day(course, made):
    person = course.person("ada")

    def ask(now: datetime, key: str | None = None) -> Accepted:
        return accept(made, SubmissionInput(person, course.assignment, SUBMITTED, key=key), now, most_a_day=2)

    cancelled_before_its_turn(course, course.job("ada"))
    last = ask(later(60), "last")
    with pytest.raises(TooOften, match="2 submissions") as told:
        ask(later(120))
    assert (told.value.seconds, told.value.at) == (24 * 3600 - 120, later(24 * 3600))
    assert ask(later(120), "last").submission.id == last.submission.id, "it is kept already"
    assert ask(later(24 * 3600))


def test_a_request_made_again_is_no_second_attempt(course):
    course.change(attempts=1, min_interval_seconds=60)
    first = course.hand_in("ada", key="k")
    assert course.hand_in("ada", key="k", now=later(1)).submission.id == first.submission.id


def test_between_two_for_the_ranking_there_is_some_time(course):
    course.change(min_interval_seconds=30)
    course.hand_in("ada")
    with pytest.raises(TooOften, match="in 20 seconds") as told:
        course.hand_in("ada", now=later(10.5))
    assert told.value.seconds == 20
    assert course.hand_in("ada", mode=Mode.CHECK, now=later(11)), "checks have a limit of their own"
    assert course.hand_in("ada", now=later(30))


def test_checks_have_a_number_for_each_hour(course):
    course.change(checks_per_hour=2)
    course.hand_in("ada", mode=Mode.CHECK)
    course.hand_in("ada", mode=Mode.CHECK, now=later(600))
    with pytest.raises(TooOften, match="2 checks") as told:
        course.hand_in("ada", mode=Mode.CHECK, now=later(1800))
    assert (told.value.seconds, told.value.at) == (1800, later(3600))
    assert course.hand_in("ada", now=later(1800)), "handing in is another matter"
    assert course.hand_in("ada", mode=Mode.CHECK, now=later(3600))
    with pytest.raises(TooOften):
        course.hand_in("ada", mode=Mode.CHECK, now=later(3601))


def test_where_nothing_is_only_checked_it_says_so(course):
    course.change(checks_per_hour=0)
    with pytest.raises(NoAttemptsLeft, match="no free checks"):
        course.hand_in("ada", mode=Mode.CHECK)


def test_only_so_many_are_under_way_at_a_time(course, made):
    person = course.person("ada")

    def ask(mode: Mode = Mode.RANK) -> None:
        accept(made, SubmissionInput(person, course.assignment, SUBMITTED, mode), NOW, most_under_way=2)

    ask()
    ask(Mode.CHECK)
    with pytest.raises(TooOften) as told:
        ask()
    assert told.value.at is None, "nobody knows when one is done"
    with made.begin() as session:
        job = session.scalars(select(Job.id)).first()
    end(course, job, Verdict.ACCEPTED)
    ask()


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.INSTRUCTOR])
def test_staff_try_things_out_without_limits(course, made, role):
    course.change(attempts=1, checks_per_hour=1, min_interval_seconds=60, closes_at=later(-1), listed=False,
        opens_at=later(-9),
    )  # fmt: skip
    person = course.person("teacher", role)
    for mode in (Mode.RANK, Mode.RANK, Mode.CHECK, Mode.CHECK):
        assert accept(made, SubmissionInput(person, course.assignment, SUBMITTED, mode), NOW, most_under_way=1)


def test_what_is_not_listed_is_not_there_for_students(course):
    course.change(listed=False)
    with pytest.raises(NoSuchAssignment):
        course.hand_in("ada")


def test_who_left_the_course_hands_nothing_in(course, made):
    person = course.person("ada")
    with made.begin() as session:
        session.scalars(select(Membership).where(Membership.person_id == person)).one().dropped_at = NOW
    with pytest.raises(NoSuchAssignment):
        course.hand_in("ada")


@pytest.mark.parametrize(
    ("limits", "mode"),
    [
        ({"attempts": 3}, Mode.RANK),
        ({"checks_per_hour": 3}, Mode.CHECK),
        ({"min_interval_seconds": 60}, Mode.RANK),
        ({}, Mode.RANK),
    ],
    ids=["attempts", "checks", "interval", "under way"],
)
def test_of_many_at_once_no_more_are_taken_than_there_may_be(course, made, limits, mode):
    course.change(**limits)
    person, most = course.person("ada"), 1 if "min_interval_seconds" in limits else 3
    together = threading.Barrier(8)

    def ask(turn: int) -> bool:
        together.wait()
        handed_in = SubmissionInput(person, course.assignment, read_source(f"// {turn}\n"), mode)
        try:
            accept(made, handed_in, NOW, most_under_way=3)
        except NotAccepted:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == most
    with course.sessions.begin() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == most


def test_many_assignments_take_no_more_queries_than_one_and_each_has_its_own(course, made):
    course.change(attempts=3, min_interval_seconds=30, checks_per_hour=2)
    course.extend("ada", extra_attempts=1)
    with made.begin() as session:
        kept = session.get_one(Assignment, course.assignment)
        same = {name: getattr(kept, name) for name in ("course_id", "exercise_id", "title", "arch", "created_at")}
        session.add(Assignment(**same, slug="other"))
    for moment in (1, 2):
        course.hand_in("ada", mode=Mode.CHECK, now=later(moment))
        course.hand_in("ada", now=later(60 * moment))
    person = course.people["ada"]
    asked: list[int] = []
    with made.begin() as session:
        assignments = session.scalars(select(Assignment).order_by(Assignment.id)).all()
        event.listen(session.connection(), "before_cursor_execute", lambda *_: asked.append(1))
        mine, other = allowances(session, assignments, person, later(200)).values()
        for_two = len(asked)
        asked.clear()
        assert allowance(session, assignments[0], person, later(200)) == mine
    assert len(asked) == for_two
    assert (mine.used, mine.left, mine.next_at, mine.checked, mine.under_way) == (2, 2, later(150), 2, 4)
    assert (other.used, other.left, other.next_at, other.checked, other.under_way) == (0, None, None, 0, 0)


@ON_SQLITE
def test_no_refusal_points_to_what_is_refused_as_well(course, made):
    course.change(attempts=2, checks_per_hour=1)
    course.hand_in("ada", mode=Mode.CHECK)

    def told(mode: Mode, most_under_way: int | None = None) -> str:
        with made.begin() as session:
            assignment = session.get_one(Assignment, course.assignment)
            found = allowance(session, assignment, course.people["ada"], later(2))
            return str(found.refusal(mode, later(2), most_under_way))

    assert told(Mode.CHECK).endswith("You can submit now.")
    assert "in progress" in told(Mode.RANK, 1)
    assert "submit now" not in told(Mode.CHECK, 1)
    course.change(attempts=1)
    course.hand_in("ada", now=later(1))
    assert "submit now" not in told(Mode.CHECK)
    assert "check" not in told(Mode.RANK)
    course.change(checks_per_hour=2)
    assert "only attempt for this assignment. You can still check" in told(Mode.RANK)
    assert "check" not in told(Mode.RANK, 2)
    course.change(checks_per_hour=0)
    assert "check" not in told(Mode.RANK)


def test_the_page_is_told_what_the_rules_are_and_how_far_they_are_used(course, made):
    course.change(attempts=3, min_interval_seconds=30, due_at=later(60), closes_at=later(600), checks_per_hour=1)
    course.extend("ada", extra_attempts=1, due_at=later(120))
    course.hand_in("ada", mode=Mode.CHECK)
    course.hand_in("ada", now=later(1))
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        found = allowance(session, assignment, course.people["ada"], later(2))
    assert (found.attempts, found.used, found.left) == (4, 1, 3)
    assert found.next_at == later(31)
    assert (found.checks, found.checked, found.check_at) == (1, 1, NOW + timedelta(hours=1))
    assert (found.deadlines.due_at, found.deadlines.closes_at) == (later(120), later(600))
    assert found.under_way == 2
