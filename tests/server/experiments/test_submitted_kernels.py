"""Submissions as kernels of an experiment: who may name which, and what is frozen."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from kernels.experiment.plan import digest
from server.courses.models import Assignment, Course, Membership, Role
from server.experiments.models import ExperimentState
from server.operations.erase import erase_person
from server.submissions.models import Submission
from tests.server.course import later
from tests.server.databases import ON_SQLITE
from tests.server.experiments.started import KERNEL, TILE, checked, experiment_of, measured, sent
from tests.server.experiments.test_api import begin
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of

pytestmark = [ON_SQLITE, pytest.mark.usefixtures("one_window")]
NOW = datetime.now(UTC)


def submitted(portal: Portal, name: str, text: str = KERNEL) -> str:
    return portal.course.hand_in(name, text.encode()).submission.public_id


def with_kernels(*kernels: str) -> str:
    return TILE.replace('"tiled.cu"', ", ".join(kernels))


def of(submission: str) -> str:
    return f'{{ submission = "{submission}" }}'


def test_a_student_s_own_submission_is_frozen_with_its_text(portal: Portal):
    mine = submitted(portal, "ada")
    made = begin(portal, "ada", definition=with_kernels(of(mine)), kernels={}).get_json()
    name = f"submission-{mine}.cu"
    assert made["definition"]["experiment"]["kernels"] == [name]
    (kernel,) = made["kernels"]
    assert kernel == {"name": name, "digest": digest(KERNEL), "text": KERNEL, "submission": mine}
    assert f"/submissions/{mine}" in client_of(portal, "ada").page(f"/experiments/{made['id']}")


@pytest.mark.one_in(2, "one of two")
@pytest.mark.parametrize("role", [Role.INSTRUCTOR, Role.ASSISTANT])
def test_staff_name_any_submission_of_their_course_and_its_best(portal: Portal, role):
    slow, fast = submitted(portal, "ada", f"// slow\n{KERNEL}"), submitted(portal, "bob")
    for job in sent(portal.course):
        checked(portal.course, job)
    for job, gflops in zip(sorted(sent(portal.course, "gpu.h200")), (1_000.0, 5_000.0), strict=True):
        measured(portal.course, job, gflops)
    definition = with_kernels('"tiled.cu"', of(slow), '{ best = "gpu/tiled" }')
    made = begin(portal, "ina", role, definition=definition).get_json()
    assert [each["submission"] for each in made["kernels"]] == [None, slow, fast]
    assert made["points"] == 12
    made = begin(portal, "ada", definition=with_kernels('{ best = "gpu/tiled" }'), kernels={}).get_json()
    assert [each["submission"] for each in made["kernels"]] == [slow], "a student's own best"


def test_who_may_not_see_a_submission_gets_the_line_and_the_reason(portal: Portal):
    theirs = submitted(portal, "bob")
    for kernel, said in (
        (of(theirs), "Line 4: There is no submission"),
        (of("0123456789abcdef"), "Line 4: There is no submission"),
        ('{ best = "gpu/tiled" }', "no accepted submission of yours"),
        ('{ best = "gpu/none" }', "There is no assignment"),
    ):
        answer = begin(portal, "ada", definition=with_kernels(kernel), kernels={})
        assert (answer.status_code, said in answer.get_json()["detail"]) == (422, True), answer.get_json()


def test_a_submission_stays_in_its_course(portal: Portal):
    theirs = submitted(portal, "bob")
    portal.token("ina", Role.INSTRUCTOR)
    with portal.course.sessions.begin() as session:
        other = Course(slug="other", title="Other", created_at=NOW)
        session.add(other)
        session.flush()
        there = session.get_one(Assignment, portal.course.assignment)
        copy = {column.key: getattr(there, column.key) for column in Assignment.__table__.columns}
        session.add(moved := Assignment(**(copy | {"id": None, "course_id": other.id})))
        session.flush()
        ina = portal.course.person("ina", Role.INSTRUCTOR)
        session.add(Membership(course_id=other.id, person_id=ina, role=Role.INSTRUCTOR, created_at=NOW))
        found = session.scalars(select(Submission).where(Submission.public_id == theirs)).one()
        found.assignment_id = moved.id
    answer = begin(portal, "ina", Role.INSTRUCTOR, definition=with_kernels(of(theirs)), kernels={})
    assert (answer.status_code, "another course" in answer.get_json()["detail"]) == (422, True)


def test_erasing_a_person_takes_the_experiments_that_use_their_submissions(portal: Portal):
    theirs = submitted(portal, "bob")
    made = begin(portal, "ina", Role.INSTRUCTOR, definition=with_kernels(of(theirs)), kernels={}).get_json()
    other = begin(portal, "ina", Role.INSTRUCTOR).get_json()
    erase_person(portal.course.sessions, portal.course.person("bob"), later(9))
    found = experiment_of(portal.course, made["id"])
    assert (found.state, found.points) == (ExperimentState.CANCELLED, 0)
    assert experiment_of(portal.course, other["id"]).state is ExperimentState.RUNNING
