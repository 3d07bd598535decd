"""Trials: one run with own sizes and values, which counts for nothing."""

from __future__ import annotations

import json
from datetime import timedelta
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from sqlalchemy import select

from kernels.exercise.trial import Difference, RunValues, ValueTable
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict
from server.audit.models import AuditEvent
from server.courses.deletion import delete_assignment
from server.courses.models import Assignment, Role
from server.dispatching.dispatch import message_of, take
from server.grading.models import Job, Source
from server.operations.erase import erase_rows
from server.operations.own_data import own_data
from server.operations.retention import remove_some
from server.recording.record import Letter, record_all
from server.submissions.models import Submission
from tests.server.course import check_result, report_for, step_of
from tests.server.databases import ON_SQLITE
from tests.server.submissions.course_pages import KERNEL, PAGE, now, words
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of
from worker.contract.messages import CPU_QUEUE

pytestmark = ON_SQLITE

TRY = f"{PAGE}try"
FIELDS: dict[str, Any] = {"source": KERNEL, "size_Width": "2", "inputs": "integers_left", "typed_M": "1 2\r\n3, 4.5"}


def trials(portal: Portal) -> list[Job]:
    return portal.course.rows(select(Job).where(Job.trial_of_id.is_not(None)))


def run(portal: Portal, verdict: Verdict = Verdict.ACCEPTED, **report: Any) -> None:
    """Let a worker run the only trial."""
    (job,) = trials(portal)
    with portal.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=9, cap=9, now=now() + timedelta(seconds=1))
    with portal.course.sessions.begin() as session:
        step = step_of(session, job.id)
        letter = Letter(check_result(session, job.id, report=report_for(step.job, verdict, **report)))
    record_all(portal.course.sessions, [letter])


def test_a_trial_reaches_a_worker_with_its_values_and_shows_what_came_out(portal: Portal, ada: BrowserClient):
    assert ada.post_form(TRY, **FIELDS).headers["Location"] == TRY
    assert "data-waits" in ada.page(TRY)
    (job,) = trials(portal)
    with portal.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=9, cap=9, now=now())
    with portal.course.sessions.begin() as session:
        check = message_of(step_of(session, job.id), 20).check
    assert check is not None
    assert check.trial is not None
    assert (check.trial.sizes, check.trial.typed, check.evidence) == ({"Width": 2}, {"M": (1, 2, 3, 4.5)}, False)
    output = ValueTable("P", 2, 2, ("1", "", "<b>", "4"), ("1", "2", "3", "4"), (1, 2))
    run(
        portal, Verdict.WRONG_ANSWER,
        values=RunValues(outputs=(output,), differences=(Difference("P[0][1]", "never written", "2"),)),
        checks=(CaseCheck("Width=2", CaseStatus.FAILED, "", 2, 4),),
    )  # fmt: skip
    page = ada.page(TRY)
    assert "data-waits" not in page
    assert page.count('class="wrong"') == 2
    assert "&lt;b&gt;" in page
    assert "3 4.5" in page


def test_a_trial_counts_for_nothing(portal: Portal, ada: BrowserClient):
    ada.post_form(TRY, **FIELDS)
    run(portal, Verdict.DATA_RACE)
    assert portal.course.rows(select(Submission)) == []
    page = words(ada.page(PAGE))
    assert "30 of 30 left this hour" in page
    assert "No submissions yet" in page
    # The same source has another verdict when it is submitted: the cases are others.
    with portal.course.sessions.begin() as session:
        assert session.scalar(select(AuditEvent).where(AuditEvent.action == "worker.contradicted")) is None


def test_only_the_last_trial_of_its_own_student_is_kept(portal: Portal, ada: BrowserClient):
    for width in ("2", "3"):
        ada.post_form(TRY, **{**FIELDS, "size_Width": width, "typed_M": "", "source": f"{KERNEL}// {width}"})
    assert len(trials(portal)) == 1
    assert len(portal.course.rows(select(Source))) == 1
    assert "// 3" in ada.page(TRY)
    assert "// 3" not in client_of(portal, "ben").page(TRY)
    assert "// 3" not in client_of(portal, "tom", Role.INSTRUCTOR).page(TRY)


@pytest.mark.parametrize(
    "fields",
    [
        {"size_Width": ""}, {"size_Width": "1e3"}, {"size_Width": "301"}, {"inputs": "random"}, {"inputs": ""},
        {"typed_M": "1 2 3"}, {"typed_M": "1 2 3 nan"}, {"typed_M": "1 " * 5000}, {"source": " "},
    ],
)  # fmt: skip
def test_a_form_with_a_mistake_starts_nothing_and_keeps_its_text(portal: Portal, ada: BrowserClient, fields):
    answer = ada.post_form(TRY, **(FIELDS | {"typed_N": "7 7 7 7"} | fields))
    assert answer.status_code == 422
    assert "data-problem" in answer.text
    assert "7 7 7 7" in answer.text
    assert trials(portal) == []


def test_trials_have_a_limit_of_their_own_and_none_is_possible_without_checks(portal: Portal, ada: BrowserClient):
    portal.course.change(checks_per_hour=2)
    assert [ada.post_form(TRY, **FIELDS).status_code for _ in range(3)] == [303, 303, 429]
    portal.course.change(checks_per_hour=0)
    assert ada.post_form(TRY, **FIELDS).status_code == 422
    portal.course.change(checks_per_hour=2, due_at=now() - timedelta(days=9), closes_at=now() - timedelta(days=8))
    assert ada.post_form(TRY, **FIELDS).status_code == 422
    assert "<form class" not in ada.page(TRY)


def test_where_hints_are_held_back_a_trial_names_no_line(portal: Portal, ada: BrowserClient):
    portal.course.change(edit_on_request=True)
    ada.post_form(TRY, **FIELDS)
    race = Finding(Verdict.DATA_RACE, "Thread 0 writes Mds[0][0] at line 25.", 25)
    run(portal, Verdict.DATA_RACE, findings=(race,), message=race.message)
    assert "Mds" not in ada.page(TRY)
    portal.course.change(edit_on_request=False)
    assert "Mds" in ada.page(TRY)


def test_trials_are_in_the_copy_of_own_data_and_go_with_their_student_or_assignment(portal: Portal, ada: BrowserClient):
    ada.post_form(TRY, **FIELDS)
    with portal.course.sessions.begin() as session:
        copied = ZipFile(BytesIO(own_data(session, portal.course.people["ada"])))
    (row,) = json.loads(copied.read("trials.json"))
    assert row["source"] == KERNEL
    erase_rows(portal.course.sessions, portal.course.people["ada"], now())
    assert (trials(portal), portal.course.rows(select(Source))) == ([], [])
    client_of(portal, "ben").post_form(TRY, **FIELDS)
    with portal.course.sessions.begin() as session:
        delete_assignment(session, session.get_one(Assignment, portal.course.assignment), None)
    assert trials(portal) == []


def test_trials_go_when_the_details_of_a_course_are_removed(portal: Portal, ada: BrowserClient):
    ada.post_form(TRY, **FIELDS)
    long_ago = now() - timedelta(days=400)
    portal.course.change_course(archived_at=long_ago, retention_days=30, retention_set_at=long_ago)
    with portal.course.sessions.begin() as session:
        remove_some(session, portal.course.course, now())
    assert (trials(portal), portal.course.rows(select(Source))) == ([], [])
