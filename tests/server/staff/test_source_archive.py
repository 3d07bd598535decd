"""The sources of an assignment as one file: those that count or all, by safe names, with an index."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest
from sqlalchemy import update

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Role
from server.submissions.models import Mode
from tests.server.course import NOW
from tests.server.staff.graded import handed_in
from tests.server.staff.test_grades import DAY
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of

PAGE = "/staff/gpu/assignments/tiled/sources.zip"
API = "/api/v1/courses/gpu/assignments/tiled/sources.zip"


def test_the_sources_that_count_come_with_an_index(portal: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    course = portal.course
    course.change(device_class="")
    right = handed_in(course, "ada", source=b"// right")
    handed_in(course, "ada", Verdict.DATA_RACE, NOW + DAY / 4, source=b"// wrong")
    check = handed_in(course, "bob", mode=Mode.CHECK, source=b"// check")
    ada, bob = course.people["ada"], course.people["bob"]
    with course.sessions.begin() as session:
        session.execute(update(Person).where(Person.id == ada).values(name="../..\\Ädä =1+1 /etc"))
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert f'href="{PAGE}"' in ina.page("/staff/gpu/assignments/tiled")
    archive = zipfile.ZipFile(io.BytesIO(ina.get(PAGE).data))
    name = f"ada-1-1-etc-{ada}.cu"
    assert {file: archive.read(file) for file in archive.namelist()[:1]} == {f"tiled/{name}": b"// right"}
    (line,) = csv.DictReader(io.StringIO(archive.read("tiled/index.csv").decode()))
    assert (line["file"], line["submission"], line["verdict"], line["counts"]) == (name, right, "accepted", "yes")
    every = zipfile.ZipFile(io.BytesIO(portal.get("ina", f"{API}?which=all").data))
    assert len(every.namelist()) == 4
    assert every.read(f"tiled/bob-{bob}/{check}.cu") == b"// check"
    assert ina.get(f"{PAGE}?which=none").status_code == portal.get("ina", f"{API}?which=none").status_code == 422
    assert course.actions("submission.e") == ["submission.exported"] * 2
    monkeypatch.setattr("server.grades.source_archive.MOST_BYTES", 10)
    assert portal.get("ina", f"{API}?which=all").status_code == 409
