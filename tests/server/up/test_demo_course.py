"""The demo's course and file: made once, kept, and repaired where a part of it is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from kernels.exercise.catalogue import catalogue_entries
from server.accounts.service import find_by_token, people, sign_in
from server.courses.models import Assignment
from server.courses.service import find_assignment
from server.database.engine import Sessions, connect, sessions
from server.enrolment.codes import course_to_join
from server.grades.points import Achieved, worth
from server.up.demo import DemoUser, prepare_demo, read_demo
from tests.server.course import read_row, read_rows

URL = "http://127.0.0.1:8000"


@pytest.fixture
def made(sqlite_url: str):
    engine = connect(sqlite_url)
    yield sessions(engine)
    engine.dispose()


def may_come_in(made: Sessions, user: DemoUser) -> bool:
    with made.begin() as session:
        owner = find_by_token(session, user.token)
    person = sign_in(made, user.email, user.password)
    return owner is not None and person is not None and owner.id == person.id


def test_it_is_made_once_and_kept(made: Sessions, tmp_path: Path):
    file = tmp_path / "demo.json"
    first = prepare_demo(made, file, URL)
    assert all(may_come_in(made, user) for user in first.users)
    second = prepare_demo(made, file, "http://127.0.0.1:9")
    assert second.users == first.users
    assert json.loads(file.read_text())["url"] == "http://127.0.0.1:9"


def test_its_assignments_are_due_one_after_the_other(made: Sessions, tmp_path: Path):
    prepare_demo(made, tmp_path / "demo.json", URL)
    every = read_rows(made, select(Assignment).order_by(Assignment.due_at))
    assert [each.slug for each in every if not each.practice] == ["naive", "tiled", "coarsened"]
    assert {each.slug for each in every} == set(catalogue_entries())


def test_an_accepted_starter_earns_no_points(made: Sessions, tmp_path: Path):
    prepare_demo(made, tmp_path / "demo.json", URL)
    given = read_row(made, select(Assignment).where(Assignment.slug == "coarsened"))
    worths = [worth(given, Achieved(accepted=True, goals_missed=missed)).points for missed in (0, 1)]
    assert worths == [10.0, 0.0]


def test_the_instructor_runs_the_server_and_others_join_with_a_code(made: Sessions, tmp_path: Path):
    codes = {prepare_demo(made, tmp_path / "demo.json", URL).code for _ in range(2)}
    with made.begin() as session:
        assert {person.email for person in people(session) if person.admin} == {"instructor@demo.example"}
        assert course_to_join(session, codes.pop()).slug == "demo"
    assert not codes, "the code stays"


def test_a_file_that_is_lost_is_written_anew_with_new_secrets(made: Sessions, tmp_path: Path):
    file = tmp_path / "demo.json"
    first = prepare_demo(made, file, URL)
    for text in ("", "{", '{"url": 1, "users": []}', "[]", "\x00"):
        file.write_text(text)
        assert read_demo(file) == ()
    second = prepare_demo(made, file, URL)
    assert all(may_come_in(made, user) for user in second.users)
    assert not any(may_come_in(made, user) for user in first.users)


def test_another_gpu_is_another_device_class(made: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "demo.json"
    for device in (("h200", "sm_90"), ("b200", "sm_100"), ("", "sm_90")):
        monkeypatch.setattr("server.up.demo._device", lambda device=device: device)
        demo = prepare_demo(made, file, URL)
        with made.begin() as session:
            assignment = find_assignment(session, demo.assignment)
            assert assignment is not None
            assert (assignment.device_class, assignment.arch) == device
