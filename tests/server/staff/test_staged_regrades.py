"""Regrades that change nothing until they are applied: what they would change, applied, dropped, cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import select, text

from kernels.verdict import Verdict
from server.acts.act import assignment_target
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Role
from server.database.base import Base
from server.dispatching.dispatch import take
from server.grades.losses import students_grades
from server.grading.models import Job
from server.recording.record import record
from server.regrades.staged_preview import Preview, preview
from server.regrades.staging import DROP, apply, find_staged, progress, stage
from server.standings.models import Standing
from server.standings.ranks import BEST_FIRST
from server.standings.service import set_listed
from server.submissions.allowance import allowance
from server.submissions.changes import NotPossible, retry
from server.submissions.models import Submission
from server.submissions.service import latest_job
from tests.server.course import AFTER_ANY_PAUSE, NOW, ACourse, check_result, later, measure_result
from tests.server.staff.graded import counted_queries, newest_job
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of
from worker.contract.messages import CPU_QUEUE, gpu_queue


@dataclass
class Stage:
    """A course whose submissions were measured, and a staged regrade with other outcomes."""

    course: ACourse
    jobs: list[int] = field(default_factory=list)

    def put(self) -> list[int]:
        with self.course.sessions.begin() as session:
            assignment = session.get_one(Assignment, self.course.assignment)
            made = stage(session, assignment, None, None, now=NOW)
        self.jobs += made
        return made

    def apply(self) -> int:
        with self.course.sessions.begin() as session:
            return apply(session, session.get_one(Assignment, self.course.assignment), None)

    def drop(self) -> None:
        with self.course.sessions.begin() as session:
            on = assignment_target(session.get_one(Assignment, self.course.assignment))
            DROP.carry_out(session, on, None, lambda nothing: nothing)

    def preview(self) -> Preview:
        with self.course.sessions.begin() as session:
            staged = find_staged(session, session.get_one(Assignment, self.course.assignment))
            assert staged is not None
            return preview(session, staged)


def graded(course: ACourse, job: int, outcome: Verdict | float) -> None:
    """Grade a job: with a verdict, or accepted with this speed in GFLOPS."""
    verdict = outcome if isinstance(outcome, Verdict) else Verdict.ACCEPTED
    # A system error ends a job only after three attempts.
    for _ in range(3 if verdict is Verdict.SYSTEM_ERROR else 1):
        with course.sessions.begin() as session:
            take(session, CPU_QUEUE, slots=500, cap=500, now=AFTER_ANY_PAUSE)
        with course.sessions.begin() as session:
            result = check_result(session, job, verdict)
        record(course.sessions, result)
    if isinstance(outcome, float):
        with course.sessions.begin() as session:
            take(session, gpu_queue("h200"), slots=500, cap=500, now=AFTER_ANY_PAUSE)
        with course.sessions.begin() as session:
            result = measure_result(session, job, outcome)
        record(course.sessions, result)


def submitted(course: ACourse, name: str, outcome: Verdict | float, minute: int = 0) -> int:
    made = course.hand_in(name, source=f"// {name} {minute}".encode(), now=later(60 * minute)).submission
    graded(course, newest_job(course, made.id), outcome)
    return made.id


def state_of(course: ACourse) -> tuple[Any, Any, Any]:
    """The verdicts, grades and ranks as everyone sees them."""
    with course.sessions.begin() as session:
        judged = select(Submission.public_id, Job.verdict, Submission.verdict)
        verdicts = {}
        for name, verdict, kept in session.execute(judged.join(Job, Job.id == Submission.judged_job_id)):
            assert kept is verdict, name
            verdicts[name] = verdict
        grades = students_grades(session, session.get_one(Assignment, course.assignment))
        lines = session.execute(
            select(Standing.device_class, Standing.person_id, Standing.listed).order_by(*BEST_FIRST)
        ).all()
        ranks: dict[tuple[str, int], int] = {}
        listed: Counter[str] = Counter()
        for device_class, person, counts in lines:
            ranks[device_class, person] = 1 + listed[device_class]
            listed[device_class] += counts
        return verdicts, {person: one.points for person, one in grades.items()}, ranks


def changed(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> dict[Any, tuple[Any, Any]]:
    keys = before.keys() | after.keys()
    return {one: (before.get(one), after.get(one)) for one in keys if before.get(one) != after.get(one)}


def assert_applied(course: ACourse, before: tuple[Any, Any, Any], shown: Preview) -> None:
    """Since then, exactly what the preview showed has changed."""
    verdicts, grades, ranks = (changed(was, now) for was, now in zip(before, state_of(course), strict=True))
    assert {one.public_id: (one.was, one.now) for one in shown.verdicts} == verdicts
    assert {one.person_id: (one.was.points, one.now.points) for one in shown.grades} == grades
    assert {(one.device_class, one.person_id): (one.was, one.now) for one in shown.ranks} == ranks


def everything(course: ACourse, *but: str) -> dict[str, list[Any]]:
    """All rows of all tables, but the clocks of queues, which only go on."""
    with course.sessions.begin() as session:
        return {
            name: sorted(map(repr, session.execute(text(f"SELECT * FROM {name}")).all()))
            for name in Base.metadata.tables
            if name not in {*but, "queue_clocks"}
        }


@pytest.fixture
def staged(portal: Portal) -> Stage:
    course = portal.course
    course.change(points=10.0)
    for minute, (name, speed) in enumerate([("ada", 900.0), ("bob", 800.0), ("cid", 700.0)]):
        submitted(course, name, speed, minute)
    submitted(course, "dan", Verdict.DATA_RACE, 3)
    submitted(course, "ada", 500.0, 4)
    return Stage(course)


def regraded(staged: Stage) -> None:
    """Every outcome that a regrade can have: worse, faster, slower, accepted now, our failure."""
    first, bob, cid, dan, second = staged.put()
    for job, outcome in (
        (first, Verdict.DATA_RACE), (bob, 650.0), (cid, 950.0), (dan, 100.0), (second, Verdict.SYSTEM_ERROR),
    ):  # fmt: skip
        graded(staged.course, job, outcome)


def test_a_preview_equals_what_applying_changes(staged: Stage) -> None:
    with staged.course.sessions.begin() as session:
        set_listed(session, staged.course.person("bob"), listed=False)
    before = state_of(staged.course)
    regraded(staged)
    assert state_of(staged.course) == before, "nothing counts before it is applied"
    shown = staged.preview()
    assert staged.apply() == 5
    assert_applied(staged.course, before, shown)
    assert (len(shown.verdicts), len(shown.grades), len(shown.ranks), shown.lower) == (2, 1, 3, 0)
    with staged.course.sessions.begin() as session:
        assert session.scalars(select(Job).where(Job.regrade_id.is_not(None))).all() == []
        deed = session.scalars(select(AuditEvent).where(AuditEvent.action == "assignment.regraded")).one()
    assert (deed.detail["jobs"], deed.detail["first"], deed.detail["last"]) == (
        5, min(staged.jobs), max(staged.jobs),
    )  # fmt: skip


@pytest.mark.long("the short suite compares a preview with what applying changes")
def test_the_number_of_statements_does_not_grow(staged: Stage) -> None:
    engine = staged.course.sessions.kw["bind"]

    def counted(speed: float) -> tuple[int, int]:
        for job in staged.put():
            graded(staged.course, job, speed)
        with counted_queries(engine) as previewed:
            staged.preview()
        with counted_queries(engine) as applied:
            staged.apply()
        return len(previewed), len(applied)

    before = counted(400.0)
    for minute, name in enumerate(["eve", "fay", "gus"], 30):
        submitted(staged.course, name, 300.0, minute)
    assert all(now <= few for now, few in zip(counted(500.0), before, strict=True))


@pytest.mark.long("the short suite drops one that still runs")
def test_a_dropped_regrade_leaves_no_trace(staged: Stage) -> None:
    before = everything(staged.course, "audit_events")
    regraded(staged)
    staged.drop()
    assert everything(staged.course, "audit_events") == before


def test_a_regrade_that_still_runs_is_dropped_too(staged: Stage) -> None:
    before = everything(staged.course, "audit_events")
    first, *_ = staged.put()
    with staged.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=500, cap=500, now=AFTER_ANY_PAUSE)
    with staged.course.sessions.begin() as session:
        result = check_result(session, first)
    with pytest.raises(NotPossible, match="not graded yet"):
        staged.apply()
    staged.drop()
    record(staged.course.sessions, result)
    assert everything(staged.course, "audit_events") == before


def test_applying_is_all_or_nothing(staged: Stage) -> None:
    regraded(staged)
    before = everything(staged.course)

    class CutOff(Exception):
        pass

    with pytest.raises(CutOff), staged.course.sessions.begin() as session:  # noqa: PT012 - one transaction
        apply(session, session.get_one(Assignment, staged.course.assignment), None)
        session.flush()
        raise CutOff
    assert everything(staged.course) == before


def test_only_a_later_verdict_of_the_same_submission_outweighs_a_staged_one(staged: Stage) -> None:
    made = staged.put()
    for job in made:
        graded(staged.course, job, Verdict.WRONG_ANSWER)
    submitted(staged.course, "eve", 990.0, 30)
    with staged.course.sessions.begin() as session:
        number = session.get_one(Job, made[0]).staged_for_id
        assert number is not None
        name = session.get_one(Submission, number).public_id
        again = retry(session, latest_job(session, number).id, None).id
    graded(staged.course, again, 940.0)
    before = state_of(staged.course)
    shown = staged.preview()
    assert len(shown.verdicts) == 4
    staged.apply()
    verdicts, _, ranks = (changed(was, now) for was, now in zip(before, state_of(staged.course), strict=True))
    assert name not in verdicts
    assert {one.public_id: (one.was, one.now) for one in shown.verdicts} == verdicts
    assert {(one.device_class, one.person_id): (one.was, one.now) for one in shown.ranks} == ranks


def test_a_staged_regrade_uses_no_attempt_and_takes_no_submission_twice(staged: Stage) -> None:
    with staged.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, staged.course.assignment)
        assignment.attempts = 5
        before = allowance(session, assignment, staged.course.person("ada"), NOW).used
    assert len(staged.put()) == 5
    assert staged.put() == []
    with staged.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, staged.course.assignment)
        assert allowance(session, assignment, staged.course.person("ada"), NOW).used == before
        found = find_staged(session, assignment)
        assert found is not None
        assert progress(session, found).waiting == 5


def test_the_audit_names_all_that_was_regraded(staged: Stage) -> None:
    course = staged.course
    numbers = [course.hand_in("eve", source=text).submission.id for text in (b"// 8", b"// 9")]
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        filters = []
        for only, by in (([numbers[0]], "request 1"), ([numbers[1]], "request 2"), (None, "")):
            stage(session, assignment, None, only, by)
            found = find_staged(session, assignment)
            assert found is not None
            filters.append(found.filter)
    assert filters == ["request 1", "request 1; request 2", ""], "at the end, all submissions"


@pytest.mark.long("the short suite has the same calls without their pages")
def test_staff_preview_apply_and_drop_a_staged_regrade(staged: Stage, portal: Portal) -> None:
    tom: BrowserClient = client_of(portal, "tom", Role.ASSISTANT)
    page = "/staff/gpu/regrades/staged/tiled"
    begun = tom.post_form("/staff/gpu/regrade", assignment="tiled", newest=str(10**9), stage="yes")
    assert begun.location.startswith("/staff/gpu/regrades?")
    assert "0 of 5 graded" in tom.page(page)
    refused = tom.post_form("/staff/gpu/regrade", assignment="tiled", newest=str(10**9))
    assert refused.status_code == 409
    jobs = portal.course.rows(select(Job.id).where(Job.regrade_id.is_not(None)).order_by(Job.id))
    for job in jobs:
        graded(portal.course, job, Verdict.DATA_RACE)
    text = tom.page(page)
    assert "Apply and lower 3 grades" in text
    assert tom.post_form(f"{page}/apply", shown="something else").status_code == 409
    shown = staged.preview().digest
    assert tom.post_form(f"{page}/apply", shown=shown).status_code == 303
    assert tom.get(page).status_code == 404
    assert "data race" in tom.page("/staff/gpu/submissions")
    tom.post_form("/staff/gpu/regrade", assignment="tiled", newest=str(10**9), stage="yes")
    assert tom.post_form(f"{page}/drop").status_code == 303
