"""Boards: who stands where, and why a standing falls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sqlalchemy import Engine, event, insert, select, text

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Exercise
from server.database.engine import Sessions, sessions
from server.dispatching.dispatch import take
from server.grading.metric import score_of
from server.grading.models import Job
from server.recording.record import Recorded, record
from server.standings.models import Standing
from server.standings.queries import Selection, position_of, read_around
from server.standings.ranks import BoardKey, recount
from server.standings.service import Board, board, rebuild
from server.submissions.changes import retry
from server.submissions.models import Mode, Submission
from tests.server.course import NOW, ACourse, check_result, later, measure_result, read_row
from tests.server.databases import ON_BOTH
from worker.contract.messages import CPU_QUEUE, StepResult

GPU = "gpu.h200"


def checked(course: ACourse, job: int, verdict: Verdict = Verdict.ACCEPTED) -> None:
    with course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=500, cap=500, now=NOW)
    with course.sessions.begin() as session:
        result = check_result(session, job, verdict)
    assert record(course.sessions, result) in {Recorded.GOES_ON, Recorded.FINAL}


def measure(course: ACourse, job: int, gflops: float) -> StepResult:
    checked(course, job)
    with course.sessions.begin() as session:
        take(session, GPU, slots=500, cap=500, now=NOW)
    with course.sessions.begin() as session:
        return measure_result(session, job, gflops)


def ranked(course: ACourse, name: str, gflops: float, **more) -> int:
    """The job of a kernel of that speed."""
    job = course.job(name, **more)
    assert record(course.sessions, measure(course, job, gflops)) is Recorded.FINAL
    return job


def again(course: ACourse, job: int) -> int:
    with course.sessions.begin() as session:
        return retry(session, job, None).id


def shown(course: ACourse, **more) -> Board:
    with course.sessions.begin() as session:
        return board(session, course.assignment, "h200", **more)


def names(course: ACourse) -> list[tuple[str, float]]:
    return [(row.name, row.score) for row in shown(course).rows]


@ON_BOTH
def test_each_stands_with_their_best_and_of_equal_ones_the_earlier_first(course):
    ranked(course, "bob", 500.0, now=later(10))
    ranked(course, "ada", 700.0, now=later(20))
    ranked(course, "ada", 600.0, now=later(30))
    ranked(course, "eve", 500.0, now=later(5))
    assert names(course) == [("ada", 700.0), ("eve", 500.0), ("bob", 500.0)]
    ranked(course, "bob", 800.0, now=later(40))
    assert [row.rank for row in shown(course).rows] == [1, 2, 3]
    assert names(course)[0] == ("bob", 800.0)


def test_an_equal_result_handed_in_later_changes_nothing(course):
    first = ranked(course, "ada", 500.0, now=later(10))
    ranked(course, "ada", 500.0, now=later(20))
    (row,) = shown(course).rows
    assert (row.job_id, row.reached_at) == (first, later(10))


def test_of_equal_ones_that_nothing_measures_the_first_handed_in_stands_whichever_ends_first(course, made):
    with made.begin() as session:
        session.get_one(Assignment, course.assignment).device_class = ""
    first, second = course.job("ada", now=later(10)), course.job("ada", now=later(20))
    checked(course, second)
    checked(course, first)
    standing = read_row(made, select(Standing))
    assert (standing.job_id, standing.reached_at) == (first, later(10))


def test_what_is_wrong_or_only_checked_or_not_ranked_stands_nowhere(course, made):
    checked(course, course.job("ada"), Verdict.WRONG_ANSWER)
    checked(course, course.job("bob", mode=Mode.CHECK))
    job = course.job("eve")
    result = measure(course, job, 900.0)
    assert result.report is not None
    assert result.report.measurement is not None
    flagged = replace(result.report.measurement, ranked=False, remarks=("faster than the device",))
    record(made, replace(result, report=replace(result.report, measurement=flagged)))
    assert names(course) == []


def test_a_regrade_that_is_slower_lowers_its_person(course):
    old = ranked(course, "ada", 700.0)
    new = again(course, old)
    assert names(course) == [("ada", 700.0)], "until it is graded, what there was stands"
    record(course.sessions, measure(course, new, 400.0))
    (row,) = shown(course).rows
    assert (row.score, row.job_id) == (400.0, new)


def test_a_regrade_that_is_wrong_gives_way_to_the_next_best(course):
    ranked(course, "ada", 300.0)
    best = ranked(course, "ada", 700.0)
    new = again(course, best)
    checked(course, new, Verdict.DATA_RACE)
    assert names(course) == [("ada", 300.0)]


def test_a_regrade_that_is_wrong_and_the_only_one_takes_its_person_off_the_board(course):
    new = again(course, ranked(course, "ada", 700.0))
    checked(course, new, Verdict.DATA_RACE)
    assert names(course) == []


def test_a_regrade_that_ends_in_a_fault_of_our_own_changes_nothing(course, made):
    new = again(course, ranked(course, "ada", 700.0))
    for attempt in range(3):
        with made.begin() as session:
            take(session, CPU_QUEUE, slots=500, cap=500, now=later(60 * attempt))
        with made.begin() as session:
            fault = check_result(session, new, report=None, measure=None, fault="no")
        record(made, fault, later(60 * attempt))
    with made.begin() as session:
        assert session.get_one(Job, new).verdict is Verdict.SYSTEM_ERROR
    assert names(course) == [("ada", 700.0)]


def test_results_for_another_version_of_the_exercise_do_not_stand(course, made):
    ranked(course, "ada", 700.0)
    job = course.job("bob")
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        other = {
            "digest": "0" * 64, "version": "0" * 64, "name": "tiled", "title": "Tiled", "added_at": NOW,
            "definition": assignment.exercise.definition,
        }  # fmt: skip
        assignment.exercise = Exercise(**other)
    record(made, measure(course, job, 900.0))
    assert names(course) == [("ada", 700.0)]
    with made.begin() as session:
        rebuild(session, session.get_one(Assignment, course.assignment))
    assert names(course) == []


def test_a_board_is_the_same_made_anew_from_all_results(course, made):
    for i, name in enumerate(["ada", "bob", "ada", "eve", "bob"]):
        ranked(course, name, 100.0 * (i % 3 + 1), now=later(i))
    before = [replace(row, lot=0) for row in shown(course).rows]
    with made.begin() as session:
        rebuild(session, session.get_one(Assignment, course.assignment))
    assert [replace(row, lot=0) for row in shown(course).rows] == before


@ON_BOTH
def test_results_of_one_person_recorded_at_once(course, made):
    results = [measure(course, course.job("ada", source=b"// %d" % i), 100.0 * i) for i in range(1, 7)]
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda result: record(made, result), results)) == {Recorded.FINAL}
    assert names(course) == [("ada", 600.0)]


def test_a_board_in_pages_with_the_own_place_and_its_neighbours(course, made):
    people = _fill(made, course, 9)
    first = shown(course, limit=4, person=people[7])
    assert [row.rank for row in first.rows] == [1, 2, 3, 4]
    assert first.more
    assert first.own is not None
    assert (first.own.rank, first.own.person_id) == (8, people[7])
    with made.begin() as session:
        key = BoardKey(course.assignment, "h200")
        assert [row.rank for row in read_around(session, key, first.own, 2, Selection())] == [6, 7, 8, 9]
    second = shown(course, limit=4, after=position_of(first.rows[-1]), person=people[7])
    assert [row.rank for row in second.rows] == [5, 6, 7, 8]
    third = shown(course, limit=4, after=position_of(second.rows[-1]))
    assert [row.rank for row in third.rows] == [9]
    assert not third.more
    assert len({row.person_id for part in (first, second, third) for row in part.rows}) == 9
    assert shown(course, person=4711).own is None


def test_each_metric_ranks_in_its_direction():
    assert score_of("gflops", 5.0, 7.0, 2.0) == 5.0
    assert score_of("gbps", None, 7.0, 2.0) == 7.0
    assert score_of("elements", None, 7.0, 2.0, 9.0) == 9.0
    assert score_of("time", None, None, 2.0) == -2.0
    assert score_of("time", None, None, None) is None


def _fill(made: Sessions, course: ACourse, count: int) -> list[int]:
    """So many people on the board, the best first."""
    template = course.job("template")
    with made.begin() as session:
        job = session.get_one(Job, template)
        copied = {column.key: getattr(job, column.key) for column in Job.__table__.columns if column.key != "id"}
        first_person = (session.scalar(select(Person.id).order_by(Person.id.desc())) or 0) + 1
        first_job = template + 1
        people = list(range(first_person, first_person + count))
        session.execute(insert(Person), [
            {"id": person, "email": f"b{person}@example.edu", "name": f"b{person}", "made_name": f"b{person}",
             "created_at": NOW}
            for person in people
        ])  # fmt: skip
        handed_in = session.get_one(Submission, job.submission_id)
        like = {
            column.key: getattr(handed_in, column.key) for column in Submission.__table__.columns
        }  # fmt: skip
        session.execute(insert(Submission), [
            like | {"id": handed_in.id + 1 + i, "public_id": f"b{person}", "person_id": person}
            for i, person in enumerate(people)
        ])  # fmt: skip
        session.execute(insert(Job), [
            copied | {"id": first_job + i, "submission_id": handed_in.id + 1 + i} for i in range(count)
        ])  # fmt: skip
        session.execute(insert(Standing), [
            {
                "assignment_id": course.assignment, "device_class": "h200", "person_id": person,
                "job_id": first_job + i, "score": float(count - i // 2), "reached_at": NOW, "lot": i,
                "low": count - i // 2 - 0.1, "high": count - i // 2 + 0.1,
            }
            for i, person in enumerate(people)
        ])  # fmt: skip
        recount(session, course.assignment)
        if session.get_bind().dialect.name == "postgresql":
            # those that come later get the next numbers
            for table in ("people", "submissions", "jobs"):
                session.execute(text(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))"))
        return people


def test_a_long_board_is_read_only_where_it_is_shown(postgres_engine: Engine):
    made = sessions(postgres_engine)
    course = ACourse.make(made)
    people = _fill(made, course, 5_000)
    with postgres_engine.connect() as connection:
        for table in ("standings", "jobs", "people", "submissions"):
            connection.execute(text(f"ANALYZE {table}"))
        connection.commit()
    asked: list[tuple[str, object]] = []

    def listen(connection, cursor, statement, parameters, context, many):
        asked.append((statement, parameters))

    event.listen(postgres_engine, "before_cursor_execute", listen)
    found = shown(course, person=people[2_500])
    event.remove(postgres_engine, "before_cursor_execute", listen)
    assert found.own is not None
    assert found.own.rank == 2_501
    with postgres_engine.connect() as connection:
        for statement, parameters in asked:
            rows = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)  # type: ignore[arg-type]
            plan = "\n".join(row[0] for row in rows)
            assert "Seq Scan on standings" not in plan, plan
            assert "Seq Scan on jobs" not in plan, plan
