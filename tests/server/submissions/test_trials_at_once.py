"""Trials of one student that come at once, while a dispatcher takes steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from kernels.exercise import InputKind
from kernels.exercise.trial import Trial
from server.assignments.trial import delete_trials, start_trial
from server.courses.models import Assignment
from server.dispatching.dispatch import take
from server.grading.models import Job, Source
from server.grading.service import add_source
from tests.server.course import SUBMITTED
from tests.server.databases import ON_POSTGRESQL
from tests.server.submissions.course_pages import now
from tests.server.web.conftest import Portal
from worker.contract.messages import CPU_QUEUE

TRIAL = Trial({"Width": 2}, InputKind.INTEGERS_LEFT)


@ON_POSTGRESQL
def test_one_is_left_and_no_request_fails(portal: Portal):
    person = portal.course.person("ada")

    def act(number: int) -> None:
        with portal.course.sessions.begin() as session:
            if number % 2:
                take(session, CPU_QUEUE, slots=9, cap=9, now=now())
                return
            assignment = session.get_one(Assignment, portal.course.assignment)
            start_trial(session, assignment, person, SUBMITTED, TRIAL, now(), staff=False)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(act, range(40)))
    assert portal.course.rows(select(func.count()).where(Job.trial_of_id.is_not(None))) == [1]


@ON_POSTGRESQL
def test_a_submission_is_taken_while_a_trial_goes_with_its_source(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    course, person = portal.course, portal.course.person("bob")
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        start_trial(session, assignment, person, SUBMITTED, TRIAL, now(), staff=False)

    def delayed(*given: Any) -> Any:
        added = add_source(*given)
        with course.sessions.begin() as session:
            delete_trials(session, Job.person_id == person)
        return added

    monkeypatch.setattr("server.submissions.service.add_source", delayed)
    digest = course.hand_in("ada").submission.source_digest
    assert course.rows(select(Source.content).where(Source.digest == digest))
