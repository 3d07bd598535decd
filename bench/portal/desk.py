"""Time and statements of the staff's pages, with few and with many attempts, on PostgreSQL."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import Engine, select, text

from bench.queue.ground import COURSE, Ground, Terms
from bench.queue.rows import Full, made
from bench.table import table
from kernels.report import Report
from kernels.verdict import Finding, Verdict
from server.accounts import browser_sessions
from server.accounts.models import Person
from server.courses.models import Assignment
from server.grades.criteria import Criterion, Item, stored
from server.grades.rubric import code_of
from server.grading.reports import pack
from server.settings import Settings
from server.web.app import create_app
from tests.server.staff.graded import counted_queries

_ASSIGNMENTS = 20
_LOOKS = 7
_GOAL_SECONDS = 1.5
_FIRST = "tiled-1"
_PAGES: Mapping[str, str] = {
    "overview": "",
    "roster": "roster",
    "roster, page 9": "roster?page=9",
    "progress": "progress",
    "progress of an assignment": f"progress/{_FIRST}",
    "students of a part": f"progress/{_FIRST}/students?part=failing",
    "submissions": "submissions",
    "submissions, one student": "submissions?student=student7@example.edu",
    "gradebook": "grades",
    "gradebook, page 9": "grades?page=9",
    "gradebook, searched": "grades?text=student7@",
    "gradebook by an assignment": f"grades?by={_FIRST}&down=yes",
    "gradebook by total": "grades?by=total&down=yes",
    "student": "students/{person}",
    "a grade": f"grades/{_FIRST}/{{person}}",
    "grading": f"grading/{_FIRST}",
    "grading of one submission": f"grading/{_FIRST}/{{code}}",
    "assignments": "assignments",
    "an assignment": f"assignments/{_FIRST}",
    "new assignment": "assignments/new",
    "update of an exercise": f"assignments/{_FIRST}/update",
    "deletion of an assignment": f"assignments/{_FIRST}/delete",
    "deletion of the course": "delete",
    "copy of the course": "copy",
    "settings": "settings",
    "roster import": "roster/import",
    "regrade of an assignment": f"regrade?assignment={_FIRST}",
    "regrades": "regrades",
    "audit": "audit",
}


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    students, attempts = (100, (5, 20)) if quick else (1_000, (5, 50))
    figures: dict[str, Any] = {}
    with Ground(folder, students=1) as ground:
        for each in attempts:
            full = filled(ground, students, each)
            figures[str(each)] = _pages(full, ground)
    return figures, _text(figures, students, attempts)


def filled(ground: Ground, students: int, attempts: int) -> Full:
    """Create a course: each student made so many attempts at each of twenty assignments."""
    number = students * _ASSIGNMENTS * attempts
    _say(f"{students:,} students x {_ASSIGNMENTS} assignments x {attempts} attempts")
    terms = Terms(device_class="h200", tiles=tuple(range(1, _ASSIGNMENTS + 1)))
    full = made(ground.add_database(f"desk_{attempts}"), students, terms)
    race = Finding(Verdict.DATA_RACE, "Two threads use the same element.", line=1)
    values = {
        "number": number, "people": students, "first": min(full.people), "tasks": _ASSIGNMENTS, "each": attempts,
        "accepted": pack(Report(Verdict.ACCEPTED, "It is correct.", "tiled", "h200", "sm_90", 16)),
        "failed": pack(Report(Verdict.DATA_RACE, "A race.", "tiled", "cpu", "sm_90", 16, findings=(race,))),
    }  # fmt: skip
    with full.engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        for statement in (_SOURCES, _SUBMISSIONS, _JOBS, _RESULTS, _STANDINGS):
            asked = text(statement)
            connection.execute(asked, {name: values[name] for name in asked.compile().params})
    with full.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (ANALYZE)"))
    return full


def _pages(full: Full, ground: Ground) -> dict[str, Any]:
    """The median time and the number of statements of each page."""
    app = create_app(Settings(full.engine.url.render_as_string(hide_password=False), ground.redis.url))
    engine: Engine = app.extensions["tilelab"].engine
    client = _staff(full, app.test_client())
    with full.sessions.begin() as session:
        first = session.scalars(select(Assignment).where(Assignment.slug == _FIRST)).one()
        first.rubric = stored([Criterion("aa", "Bounds", 2.0, items=(Item("i1", -1.0, "No check of Row"),))])
        code = code_of(first, full.people[3])
    found = {}
    for name, path in _PAGES.items():
        _say(name)
        address = f"/staff/{COURSE}/{path.format(person=full.people[3], code=code)}"
        _look(client, address)
        before = processor_seconds(ground)
        times = []
        for _ in range(_LOOKS):
            times.append(_look(client, address))
            if sum(times) > 10:
                break
        spent = (processor_seconds(ground) - before) / len(times)
        with counted_queries(engine) as statements:
            size = _size(client, address)
        found[name] = {
            "seconds": statistics.median(times), "processor": spent, "statements": len(statements), "bytes": size,
        }  # fmt: skip
    engine.dispose()
    return found


def processor_seconds(ground: Ground) -> float:
    """Processor seconds of this process and of the database. Other programs on the machine don't change them."""
    return time.process_time() + ground.cpu_seconds()["postgresql"]


def _staff(full: Full, client: FlaskClient) -> FlaskClient:
    with full.sessions.begin() as session:
        person = session.get_one(Person, full.people[0])
        staff = Person(email="staff@example.edu", name="Staff", admin=True, created_at=person.created_at)
        session.add(staff)
        session.flush()
        client.set_cookie("tilelab", browser_sessions.begin(session, staff, "bench"))
    return client


def _look(client: FlaskClient, address: str) -> float:
    began = time.perf_counter()
    _size(client, address)
    return time.perf_counter() - began


def _size(client: FlaskClient, address: str) -> int:
    answer = client.get(address)
    if answer.status_code != 200:
        raise RuntimeError(f"{address}: {answer.status}")
    return len(answer.get_data())


def _say(what: str) -> None:
    print(f"desk: {what}", file=sys.stderr, flush=True)


def _text(figures: Mapping[str, Any], students: int, attempts: tuple[int, int]) -> str:
    sides = [figures[str(each)] for each in attempts]
    rows = [
        (
            name,
            *(f"{side[name][part]:.3f}" for part in ("seconds", "processor") for side in sides),
            *(str(side[name]["statements"]) for side in sides),
            f"{sides[-1][name]['bytes'] / 1024:.0f}",
            f"<= {_GOAL_SECONDS}" if name == "gradebook" else "",
        )
        for name in _PAGES
    ]
    head = [f"{part}, {each}" for part in ("seconds", "processor s", "statements") for each in attempts]
    head = ["page", *head, "KiB", "goal"]
    said = f"{students:,} students, {_ASSIGNMENTS} assignments; columns by attempts of each student"
    return f"{said}\n\n{table(head, rows)}"


_SOURCES = """
INSERT INTO sources (digest, content, added_at)
SELECT md5(n::text) || md5(n::text), convert_to('tile[' || n || '] = 0;', 'UTF8'), now()
FROM generate_series(0, 999) n
"""

_VERDICT = """
(SELECT CASE WHEN (n - 1) / (:people * :tasks) = :each - 1 AND n % 10 < 7 THEN 'accepted'
     WHEN n % 3 = 0 THEN 'data_race' WHEN n % 3 = 1 THEN 'out_of_bounds' ELSE 'wrong_answer' END)
"""

# Each third attempt is a check, but not the last one. Seven of ten students are accepted in the end.
_SUBMISSIONS = f"""
INSERT INTO submissions (id, public_id, assignment_id, person_id, source_digest, mode, device_class, created_at,
                         judged_job_id, verdict, late_days)
SELECT n, left(md5('s' || n), 16), a.id, :first + (n - 1) % :people,
       md5((n % 1000)::text) || md5((n % 1000)::text),
       CASE WHEN (n - 1) / (:people * :tasks) % 3 = 0 AND (n - 1) / (:people * :tasks) < :each - 1
            THEN 'check' ELSE 'rank' END, a.device_class, now() - interval '20 days' + n * interval '0.8 s',
       n, {_VERDICT}, 0
FROM generate_series(1, :number) n
JOIN (SELECT id, device_class, row_number() OVER (ORDER BY id) - 1 AS place FROM assignments) a
  ON a.place = (n - 1) / :people % :tasks
"""  # noqa: S608 - an expression of our own

_JOBS = """
INSERT INTO jobs (id, kind, submission_id, person_id, source_digest, exercise_id, device_class, arch, seed, priority,
                  state, verdict, queued_at, started_at, ended_at)
SELECT s.id, 'submission', s.id, s.person_id, s.source_digest, a.exercise_id, s.device_class, a.arch,
       md5('seed' || s.id), 2, 'done', s.verdict, s.created_at, s.created_at, s.created_at
FROM submissions s JOIN assignments a ON a.id = s.assignment_id
"""

_RESULTS = """
INSERT INTO results (job_id, verdict, device_class, report, gflops, ms_median, cublas_share, occupancy, ranked,
                     recorded_at, launch, tile, not_ranked, cause)
SELECT id, verdict, device_class, CASE WHEN verdict = 'accepted' THEN CAST(:accepted AS bytea)
       ELSE CAST(:failed AS bytea) END, CASE WHEN verdict = 'accepted' THEN 1000 + (id * 7919) % 20011 END,
       CASE WHEN verdict = 'accepted' THEN 1.0 END, 0.1, 1.0, verdict = 'accepted', ended_at, '', 16, '', ''
FROM jobs
"""

_STANDINGS = """
INSERT INTO standings (assignment_id, device_class, before_freeze, person_id, job_id, score, low, high, reached_at,
                       lot, cublas_share, occupancy, tile, launch, bound, listed)
SELECT DISTINCT ON (s.assignment_id, s.person_id) s.assignment_id, r.device_class, false, s.person_id, r.job_id,
       r.gflops, 0.998 * r.gflops, 1.002 * r.gflops, s.created_at, s.id, r.cublas_share, r.occupancy, 16, '', 0, true
FROM results r JOIN submissions s ON s.judged_job_id = r.job_id
WHERE r.ranked AND s.mode = 'rank' ORDER BY s.assignment_id, s.person_id, r.gflops DESC
"""
