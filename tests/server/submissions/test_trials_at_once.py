"""Trials of one student that come at once, while a dispatcher takes steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import func, select

from kernels.exercise import InputKind
from kernels.exercise.trial import Trial
from server.assignments.trial import start_trial
from server.courses.models import Assignment
from server.dispatching.dispatch import take
from server.grading.models import Job
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
