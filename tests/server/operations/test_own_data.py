"""The copy of what is stored about a person, for this person."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from zipfile import ZipFile

from sqlalchemy import update

from kernels.experiment.result import PointResult
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Correction
from server.database.engine import Sessions
from server.experiments.models import Experiment, ExperimentPoint
from server.experiments.queries import pack_result
from server.grades.criteria import Criterion, stored
from server.grading.models import Result
from server.operations.own_data import own_data
from server.settings import AccessLogField
from tests.server.course import ACourse
from tests.server.databases import ON_SQLITE
from tests.server.operations.a_full_course import full_course, source
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

pytestmark = ON_SQLITE


def copy(course: ACourse, name: str) -> dict[str, bytes]:
    with course.sessions.begin() as session:
        content = own_data(session, course.person(name))
    with ZipFile(io.BytesIO(content)) as archive:
        return {each: archive.read(each) for each in archive.namelist()}


def test_a_copy_has_all_of_ones_own_and_nothing_of_others(made: Sessions) -> None:
    course = full_course(made)
    found = copy(course, "ada")
    whole = b"".join(found.values())
    assert source("ada") in found.values()
    for text in (b"Ada Lovelace", b"ada@example.edu", b"Countess", b"Why? by ada", b"Look, Ada Lovelace.", b"is ill"):
        assert text in whole, text
    for text in (b"bob@example.edu", b"_bob", b"came to the lab", b"argon2", b"a" * 64, b"b" * 64):
        assert text not in whole, text
    results = [json.loads(text) for name, text in found.items() if name.endswith("result.json")]
    assert results
    assert {result["seed"] for result in results} == {""}


def test_grades_that_are_held_back_stay_out(made: Sessions) -> None:
    course = full_course(made)
    (grade,) = json.loads(copy(course, "ada")["courses.json"])[0]["grades"]
    assert grade["points"] == 7.5
    with made.begin() as session:
        session.execute(update(Correction).values(held=True))
    assert json.loads(copy(course, "ada")["courses.json"])[0]["grades"] == []


def test_rubric_experiments_and_own_deeds_are_in_it(made: Sessions) -> None:
    course = full_course(made)
    ada = course.person("ada")
    point = PointResult(0, {"TILE": 8}, "k.cu", Verdict.ACCEPTED, "fine", "d" * 64, 8, {"Width": 64}, "cpu")
    with made.begin() as session:
        session.execute(update(Assignment).values(rubric=stored([Criterion("aa", "Style", 4.0)])))
        session.execute(update(Experiment).values(person_id=ada))
        session.execute(
            update(ExperimentPoint).values(verdict=Verdict.ACCEPTED, result=pack_result(point), job_id=None)
        )
        note(session, session.get_one(Person, ada), "member.changed", "course gpu", person=99, name="Bob Builder")
        note(session, session.get_one(Person, ada), "password.changed", f"person {ada}", where="at home")
    found = copy(course, "ada")
    (grade,) = json.loads(found["courses.json"])[0]["grades"]
    (line,) = grade["rubric"]
    assert line == {"title": "Style", "most": 4.0, "points": 3.0, "words": "Good, Ada Lovelace.", "items": []}
    (result,) = json.loads(found[f"experiments/{'e' * 16}.json"])
    assert (result["params"], result["verdict"]) == ({"TILE": 8}, "accepted")
    deeds = [(each["action"], each.get("detail")) for each in json.loads(found["audit.json"])]
    assert deeds[-2:] == [("member.changed", None), ("password.changed", {"where": "at home"})]
    assert b"Bob Builder" not in b"".join(found.values())
    with made.begin() as session:
        session.execute(update(Correction).values(held=True))
    assert b"Good, Ada" not in copy(course, "ada")["courses.json"]


def test_a_report_that_is_damaged_spoils_no_copy(made: Sessions) -> None:
    course = full_course(made)
    with made.begin() as session:
        session.execute(update(Result).values(report=b"damaged"))
    assert source("ada") in copy(course, "ada").values()


def test_each_person_downloads_it(portal: Portal, ada: BrowserClient, one_window: None) -> None:
    answers = [ada.post_form("/account/data") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    with ZipFile(io.BytesIO(answers[0].get_data())) as archive:
        assert "account.json" in archive.namelist()


def test_the_page_names_requests_only_if_they_are_logged_with_people(portal: Portal, ada: BrowserClient) -> None:
    assert 'id="logged"' not in ada.get("/account/data").get_data(as_text=True)
    site = portal.app.extensions["tilelab"]
    settings = replace(site.settings, access_log=frozenset({AccessLogField.PERSON}))
    portal.app.extensions["tilelab"] = replace(site, settings=settings)
    assert 'id="logged"' in ada.get("/account/data").get_data(as_text=True)
