"""A data folder of an older version, as an operator updates it: the same people come in and see the same.

version_0030/README.md says what is in it and how it was made.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask
from sqlalchemy import Engine, select

from kernels.exercise import read_exercise
from kernels.verdict import Verdict
from server.accounts.models import Scope
from server.accounts.service import find_token, sign_in
from server.database.engine import Sessions, connect, sessions
from server.database.schema import check
from server.dispatching.dispatch import message_of, take
from server.grading.attempts import claimed
from server.grading.models import Job, JobState, Step, StepState
from server.recording.record import Recorded, record
from server.submissions.models import Submission
from server.submissions.progress.streams import hub_of
from server.up.demo import prepare_demo
from server.web.app import create_app
from tests.server.course import AFTER_ANY_PAUSE
from tests.server.database.version_0030.facts import facts, signed_in
from tests.server.database.version_0030.kept import DATABASE, fill_postgresql, kept_facts, make_folder
from tests.server.web.conftest import settings
from worker.commands.root import Exit, tilelab
from worker.contract.messages import CPU_QUEUE, StepKind
from worker.workplaces.cpu import CpuWorkplace
from worker.workplaces.gpu import GpuWorkplace
from worker.workplaces.workplace import Workplace

GPU = "gpu.h200"


def admin(*words: str) -> str:
    result = CliRunner().invoke(tilelab, ["admin", *words])
    assert result.exit_code == Exit.ACCEPTED, result.output
    return result.stdout


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long("the short suite has it on SQLite"))]
)
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the old database, brought up to date as the docs say."""
    if request.param == "sqlite":
        make_folder(tmp_path)
        address = f"sqlite:///{tmp_path / DATABASE}"
    else:
        address = request.getfixturevalue("postgres_url")
        fill_postgresql(address, tmp_path)
    monkeypatch.setenv("DATABASE_URL", address)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    admin("migrate")
    return address


@pytest.fixture
def updated(url: str) -> Iterator[Engine]:
    engine = connect(url)
    yield engine
    engine.dispose()


@pytest.fixture
def made(updated: Engine) -> Sessions:
    return sessions(updated)


@pytest.fixture
def app(url: str) -> Iterator[Flask]:
    made = create_app(settings(url))
    yield made
    hub_of(made).stop()
    made.extensions["tilelab"].engine.dispose()


ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


def _keeps(found: object, kept: object) -> bool:
    """Whether nothing changed. Later versions add fields to answers, and columns to a table.

    They also list assignments without a deadline in another order.
    """
    if isinstance(kept, dict) and isinstance(found, dict):
        return all(key in found and _keeps(found[key], value) for key, value in kept.items())
    if isinstance(kept, list) and isinstance(found, list):
        return len(found) == len(kept) and all(map(_keeps, _by_assignment(found), _by_assignment(kept)))
    return found == kept or (isinstance(kept, str) and "," in kept and _cells(kept) <= _cells(str(found)))


def _of_gradebook(asked: str, found: Any) -> Any:
    """Without what the gradebook shows otherwise by now: its cells, which its CSV has too, and reasons."""
    if asked.endswith("/staff/gpu/grades"):
        return []
    if asked.endswith("/staff/gpu/grades.csv"):
        behind = found[0].split(",").index("total") + 1
        return [",".join(line.split(",")[:behind]) for line in found]
    return found


def _cells(line: str) -> Counter[str]:
    return Counter(line.split(","))


def _by_assignment(listed: list[object]) -> list[object]:
    return sorted(listed, key=lambda each: each["id"] if isinstance(each, dict) and "device_class" in each else "")


def test_boards_verdicts_and_histories_are_the_same(app: Flask, updated: Engine) -> None:
    check(updated)
    found, kept = facts(app), kept_facts()
    assert found.keys() == kept.keys()
    for part in kept:
        assert found[part].keys() == kept[part].keys()
        for asked in kept[part]:
            # the parts of a page may move
            order = sorted if part == "pages" else lambda one: one
            now, then = (_of_gradebook(asked, facts_of[part][asked]) for facts_of in (found, kept))
            assert _keeps(order(now), order(then)), (part, asked)
    verdicts = {line["verdict"] for line in kept["answers"]["ada"]["own"]["submissions"]}
    assert {"accepted", "data_race", "rejected", "compile_error", "wrong_answer"} <= verdicts


@pytest.mark.long("the short suite signs in as ada in another test here")
def test_who_could_sign_in_still_can(app: Flask) -> None:
    """The others of facts.py do it there."""
    for name in ("root", "hal", "fay", "gus"):
        came_in = signed_in(app.test_client(), f"{name}@example.edu", f"password of {name}")
        assert came_in == (name == "root"), name
    answers = [
        app.test_client().get("/api/v1/me", headers={"Authorization": f"Bearer tl_{name}"}).status_code
        for name in ("root", "hal", "fay", "gus")
    ]
    assert answers == [200, 200, 401, 401]


@ON_SQLITE
def test_students_have_the_material_that_they_had(app: Flask) -> None:
    ada = app.test_client()
    assert signed_in(ada, "ada@example.edu", "password of ada")
    for slug in ("tiled", "naive", "reduction", "matrix"):
        assert ada.get(f"/courses/gpu/{slug}/starter.cu").status_code == 200, slug
        assert 'class="prose"' in ada.get(f"/courses/gpu/{slug}/").text, slug


@ON_SQLITE
def test_the_demo_goes_on_with_its_people(made: Sessions, tmp_path: Path) -> None:
    before = json.loads((tmp_path / "demo.json").read_text())["users"]
    demo = prepare_demo(made, tmp_path / "demo.json", "http://127.0.0.1:9")
    assert [user.password for user in demo.users] == [user["password"] for user in before]
    assert [user.token for user in demo.users] == [user["token"] for user in before]
    for user in demo.users:
        assert sign_in(made, user.email, user.password) is not None
        with made.begin() as session:
            token = find_token(session, user.token)
            assert token is not None
            assert set(token.scopes) == set(Scope)


def attempt(made: Sessions, workplace: Workplace, queue: str) -> tuple[int, str, Recorded]:
    """One attempt at the next step of that queue: whose, what went wrong, and what was recorded."""
    with made.begin() as session:
        step = take(session, queue, 1, 100, AFTER_ANY_PAUSE)[0]
        claimed(session, step, "host-2", AFTER_ANY_PAUSE)
        job, message = step.job_id, message_of(step, 30.0)
    result = workplace.do(message, "host-2", lambda _what: None)
    return job, result.fault, record(made, result)


@pytest.mark.long("the short suite has what waited for its exercise")
@ON_SQLITE
def test_a_measurement_that_waited_ends_in_a_system_error(made: Sessions, tmp_path: Path) -> None:
    """As docs/failures.md says; a retry has it graded again, by the exercise as it is now."""
    workplace = GpuWorkplace(None, "h200", "sm_90", tmp_path / "cache")
    for expected in (Recorded.AGAIN, Recorded.AGAIN, Recorded.GIVEN_UP):
        number, fault, outcome = attempt(made, workplace, GPU)
        assert outcome is expected
        assert fault
    with made.begin() as session:
        job = session.get_one(Job, number)
        assert job.verdict is Verdict.SYSTEM_ERROR
        submission = job.submission_id
    admin("assignment", "update", "--all")
    admin("jobs", "retry", str(number))
    with made.begin() as session:
        again = session.scalars(select(Job).where(Job.submission_id == submission, Job.id > number)).one()
        assert again.state is JobState.QUEUED
        assert again.exercise_id == session.get_one(Submission, submission).assignment.exercise_id


@ON_SQLITE
def test_what_waited_is_judged_once_its_exercise_is_up_to_date(made: Sessions, tmp_path: Path) -> None:
    workplace = CpuWorkplace(tmp_path / "cache")
    _, fault, outcome = attempt(made, workplace, CPU_QUEUE)
    assert outcome is Recorded.AGAIN
    assert fault, "the judges are of different versions"
    admin("assignment", "update", "--all")
    with made.begin() as session:
        waiting = session.scalars(select(Step).where(Step.kind == StepKind.CHECK, Step.state == StepState.QUEUED))
        jobs = [step.job for step in waiting if step.job.submission_id is not None]
        assert jobs
        for job in jobs:
            read_exercise(job.exercise.name, job.exercise.definition, job.exercise.digest)
