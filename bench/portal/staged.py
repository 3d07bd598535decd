"""Time and statements of a staged regrade: staged, previewed, dropped, applied, on PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from bench.portal.desk import processor_seconds
from bench.queue.ground import Ground, Terms
from bench.queue.rows import Full, grade, made
from bench.table import table
from server.acts.act import assignment_target
from server.courses.models import Assignment
from server.regrades.staged_preview import Preview, preview
from server.regrades.staging import DROP, apply, find_staged, stage
from tests.server.staff.graded import counted_queries

_EACH = 10


def run(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], str]:
    """Return the figures, and the same as text."""
    figures: dict[str, Any] = {}
    students = (50, 100) if quick else (100, 1_000)
    with Ground(folder, students=1) as ground:
        for number in students:
            full = made(ground.add_database(f"staged_{number}"), number, Terms(device_class="h200"))
            grade(full, number * _EACH)
            figures[str(number * _EACH)] = _measured(full, ground)
            full.engine.dispose()
    return figures, _text(figures)


def _measured(full: Full, ground: Ground) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for end in ("drop", "apply"):
        found["stage"] = _timed(full, ground, lambda session, one: stage(session, one, None, None))
        _grade_again(full)
        found["preview"] = _timed(full, ground, _preview)
        found[end] = _timed(full, ground, _ENDS[end])
    return found


def _preview(session: Session, assignment: Assignment) -> Preview:
    staged = find_staged(session, assignment)
    if staged is None:
        raise RuntimeError("nothing is staged")
    return preview(session, staged)


_ENDS: Mapping[str, Callable[[Session, Assignment], object]] = {
    "drop": lambda session, one: DROP.carry_out(session, assignment_target(one), None, lambda nothing: nothing),
    "apply": lambda session, one: apply(session, one, None),
}


def _timed(full: Full, ground: Ground, do: Callable[[Session, Assignment], object]) -> dict[str, Any]:
    """The time with the commit, and the number of statements."""
    with counted_queries(full.engine) as statements:
        began, before = time.perf_counter(), processor_seconds(ground)
        with full.sessions.begin() as session:
            found = do(session, session.get_one(Assignment, full.assignment))
        seconds, spent = time.perf_counter() - began, processor_seconds(ground) - before
    told = {"seconds": seconds, "processor": spent, "statements": len(statements)}
    if isinstance(found, Preview):
        told |= {name: len(getattr(found, name)) for name in ("verdicts", "grades", "ranks")}
    return told


def _grade_again(full: Full) -> None:
    """Every staged job ends: a seventh with a data race, the others with another speed."""
    with full.engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in (_JOBS, _STEPS, _RESULTS):
            connection.execute(text(statement))


def _text(figures: Mapping[str, Any]) -> str:
    rows = [
        (name, *(f"{side[name][part]:.{digits}f}" for part, digits in _COLUMNS for side in figures.values()))
        for name in ("stage", "preview", "drop", "apply")
    ]
    head = ["", *(f"{part}, {number}" for part, _ in _COLUMNS for number in figures)]
    last = list(figures.values())[-1]["preview"]
    said = f"The last preview has {last['verdicts']} verdicts, {last['grades']} grades and {last['ranks']} ranks."
    return f"{said}\n\n{table(head, rows)}"


_COLUMNS = (("seconds", 2), ("processor", 2), ("statements", 0))

_JOBS = """
UPDATE jobs SET state = 'done', started_at = queued_at, ended_at = queued_at,
       verdict = CASE WHEN id % 7 = 0 THEN 'data_race' ELSE 'accepted' END
WHERE regrade_id IS NOT NULL
"""

_STEPS = "UPDATE steps SET state = 'done' WHERE job_id IN (SELECT id FROM jobs WHERE regrade_id IS NOT NULL)"

_RESULTS = """
INSERT INTO results (job_id, verdict, device_class, report, gflops, ms_median, ms_low, ms_high, cublas_share,
                     occupancy, ranked, recorded_at, launch, tile, not_ranked, cause)
SELECT j.id, j.verdict, j.device_class, r.report, CASE WHEN j.verdict = 'accepted' THEN r.gflops * 1.01 END,
       CASE WHEN j.verdict = 'accepted' THEN 0.990 * r.ms_median END,
       CASE WHEN j.verdict = 'accepted' THEN 0.988 * r.ms_median END,
       CASE WHEN j.verdict = 'accepted' THEN 0.992 * r.ms_median END, r.cublas_share, r.occupancy,
       j.verdict = 'accepted', now(), '', 16, '', ''
FROM jobs j JOIN submissions s ON s.id = j.staged_for_id JOIN results r ON r.job_id = s.judged_job_id
WHERE j.regrade_id IS NOT NULL
"""
