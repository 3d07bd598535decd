"""Hundreds of thousands of rows, as submitting and recording would write them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, text

from bench.queue.ground import Terms, furnish
from kernels.report import Report
from kernels.verdict import Verdict
from server.database.engine import Sessions, connect, sessions
from server.database.schema import upgrade
from server.grading.models import Priority
from server.grading.reports import pack
from server.standings.ranks import recount

_SOURCES = 1_000


@dataclass(frozen=True, slots=True)
class Full:
    """A database with a course. people: numbers of the students; assignment: its only one."""

    engine: Engine
    sessions: Sessions
    people: list[int]
    assignment: int


def made(url: str, students: int, terms: Terms) -> Full:
    """Create a course without submissions."""
    engine = connect(url)
    upgrade(engine)
    made_sessions = sessions(engine)
    with made_sessions.begin() as session:
        people, assignments = furnish(session, students, terms)
    return Full(engine, made_sessions, people, next(iter(assignments.values())))


def queue(full: Full, number: int) -> None:
    """Add waiting submissions, the same number for each person."""
    _run(full, [_SOURCES_SQL, _SUBMISSIONS, _JOBS, _STEPS, *_COUNTERS], number)


def grade(full: Full, number: int) -> None:
    """Add submissions with results, the same number for each person, and their leaderboard."""
    report = Report(Verdict.ACCEPTED, "It is correct.", "tiled", "h200", "sm_90", 16)
    statements = [_SOURCES_SQL, _SUBMISSIONS, _GRADED, _JUDGED, _CHECKED, _RESULTS, _STANDINGS, *_COUNTERS]
    _run(full, statements, number, report=pack(report))
    with full.sessions.begin() as session:
        recount(session, full.assignment)


def _run(full: Full, statements: list[str], number: int, **more: object) -> None:
    values = {
        "number": number, "people": len(full.people), "first": min(full.people), "assignment": full.assignment,
        "priority": int(Priority.NORMAL), "sources": min(number, _SOURCES), **more,
    }  # fmt: skip
    with full.engine.begin() as connection:
        # Constraints aren't checked row by row: these rows satisfy them by construction.
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        for statement in statements:
            asked = text(statement)
            connection.execute(asked, {name: values[name] for name in asked.compile().params})
    with full.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("VACUUM (ANALYZE)"))
        connection.execute(text("CHECKPOINT"))


_SOURCES_SQL = """
INSERT INTO sources (digest, content, added_at)
SELECT encode(sha256(convert_to('// ' || n, 'UTF8')), 'hex'), convert_to('// ' || n, 'UTF8'), now()
FROM generate_series(0, :sources - 1) n
"""

_SUBMISSIONS = """
INSERT INTO submissions (id, public_id, assignment_id, person_id, source_digest, mode, device_class, created_at,
                         late_days)
SELECT n, left(md5('s' || n), 16), a.id, :first + n % :people,
       encode(sha256(convert_to('// ' || n % :sources, 'UTF8')), 'hex'),
       CASE WHEN a.device_class = '' THEN 'check' ELSE 'rank' END, a.device_class,
       now() - interval '1 day' + n * interval '10 ms', 0
FROM generate_series(1, :number) n, assignments a WHERE a.id = :assignment
"""

_JOB_COLUMNS = """
(id, kind, submission_id, person_id, source_digest, exercise_id, device_class, arch, seed, priority, state, verdict,
 queued_at, started_at, ended_at)
"""

_JOBS = f"""
INSERT INTO jobs {_JOB_COLUMNS}
SELECT s.id, 'submission', s.id, s.person_id, s.source_digest, a.exercise_id, s.device_class, a.arch,
       md5('seed' || s.id), :priority, 'queued', NULL, s.created_at, NULL, NULL
FROM submissions s JOIN assignments a ON a.id = s.assignment_id
"""  # noqa: S608 - names of our own columns

_STEPS = """
INSERT INTO steps (id, job_id, kind, state, queue, person_id, priority, turn, attempt, queued_at)
SELECT id, id, 'check', 'queued', 'cpu', person_id, priority, 1 + (id - 1) / :people, 0, queued_at FROM jobs
"""

_GRADED = f"""
INSERT INTO jobs {_JOB_COLUMNS}
SELECT s.id, 'submission', s.id, s.person_id, s.source_digest, a.exercise_id, s.device_class, a.arch,
       md5('seed' || s.id), :priority, 'done', 'accepted', s.created_at, s.created_at, s.created_at
FROM submissions s JOIN assignments a ON a.id = s.assignment_id
"""  # noqa: S608 - names of our own columns

_JUDGED = "UPDATE submissions SET judged_job_id = id, verdict = 'accepted'"

_CHECKED = """
INSERT INTO steps (id, job_id, kind, state, queue, person_id, priority, turn, attempt, queued_at, sent_at, started_at,
                   ended_at, seconds)
SELECT id, id, 'check', 'done', 'cpu', person_id, priority, 1 + (id - 1) / :people, 1, queued_at, queued_at, queued_at,
       queued_at, 2.0 FROM jobs
"""

_RESULTS = """
INSERT INTO results (job_id, verdict, device_class, report, gflops, ms_median, cublas_share, occupancy, ranked,
                     recorded_at, launch, tile, not_ranked, cause)
SELECT id, 'accepted', device_class, :report, 1000 + (id * 7919) % 20011, 1.0, 0.1, 1.0, true, ended_at, '', 16, '', ''
FROM jobs
"""

_STANDINGS = """
INSERT INTO standings (assignment_id, device_class, before_freeze, person_id, job_id, score, low, high, reached_at,
                       lot, cublas_share, occupancy, tile, launch, bound, listed)
SELECT DISTINCT ON (j.person_id) :assignment, r.device_class, false, j.person_id, j.id, r.gflops, 0.998 * r.gflops,
       1.002 * r.gflops, j.queued_at, j.id, r.cublas_share, r.occupancy, 16, '', 0, true
FROM results r JOIN jobs j ON j.id = r.job_id ORDER BY j.person_id, r.gflops DESC, j.queued_at
"""

_COUNTERS = [
    f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), coalesce((SELECT max(id) FROM {name}), 0) + 1)"  # noqa: S608 - names of our own tables
    for name in ("submissions", "jobs", "steps")
]
