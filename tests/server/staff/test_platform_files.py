"""Gradebook files of other platforms: filled in, with every other byte as it was."""

from __future__ import annotations

import codecs
import io
import re
from typing import Any

import pytest
from sqlalchemy import update
from werkzeug.test import TestResponse

from kernels.verdict import Verdict
from server.courses.models import Membership
from tests.server.staff.graded import handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

PAGE = "/staff/gpu/grades"

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Tiled (4314282),Essay (4325137),Final Score\n"
    ",,,,,Manual Posting,,\n"
    '"    Points Possible",,,,,10,5,(read only)\n'
    '"Lovelace, Ada",101,00123,ada@example.edu,A1,{ada},"4",40\n'
    '"Brown, Bob",102,00124,bob,A1,{bob},,\n'
    '"Student, Test",999,,4f5baa59,A1,,,\n'
)
"""Canvas, gradebook export of 2025."""
MOODLE = (
    '"First name","Last name","ID number","Email address","Assignment: Tiled (Real)","Course total (Real)",'
    '"Last downloaded from this course"\r\n'
    'Ada,Lovelace,00123,ada@example.edu,{ada},"7.00",1764482400\r\n'
    "Bob,Brown,00124,bob@elsewhere.example,{bob},-,1764482400\r\n"
)
"""Moodle 4.5, export of the grader report as plain text."""
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Last Access"\t"Availability"'
    '\t"Tiled [Total Pts: 10 Score] |1281892"\r\n'
    '"Lovelace"\t"Ada"\t"al1"\t"00123"\t"2025-11-01"\t"Yes"\t"{ada}"\r\n'
    '"Brown"\t"Bób"\t"bb2"\t"00124"\t""\t"Yes"\t"{bob}"'
)
"""Blackboard Learn, full Grade Center in its original view."""
GRADESCOPE = (
    "First Name,Last Name,SID,Email,Sections,"
    "Tiled,Tiled - Max Points,Tiled - Submission Time,Tiled - Lateness (H:M:S)\n"
    "Ada,Lovelace,00123,ada@example.edu,A1,{ada},10.0,,\n"
    "Bob,Brown,00124,,A1,{bob},10.0,,\n"
)
"""Gradescope, grades of a course in 2025."""
FILES = {
    "canvas": (CANVAS, "utf-8", b""),
    "canvas with a mark": (CANVAS, "utf-8", codecs.BOM_UTF8),
    "canvas with semicolons": (re.sub(",(?! )", ";", CANVAS), "utf-8", b""),
    "moodle": (MOODLE, "utf-8", b""),
    "moodle with tabs": (MOODLE.replace(",", "\t"), "utf-8", b""),
    "blackboard": (BLACKBOARD, "utf-16-le", codecs.BOM_UTF16_LE),
    "blackboard ultra": (BLACKBOARD.replace("\t", ","), "utf-8", codecs.BOM_UTF8),
    "gradescope": (GRADESCOPE, "utf-8", b""),
    "windows": (GRADESCOPE.replace("Brown", "Bräun"), "cp1252", b""),
}


@pytest.fixture
def tom(portal: Portal, tom: BrowserClient) -> BrowserClient:
    """An assistant; Ada has 7.5 points, and Bob nothing yet."""
    course = portal.course
    handed_in(course, "ada", Verdict.ACCEPTED)
    course.correct("ada", score=7.5)
    course.person("bob")
    with course.sessions.begin() as session:
        for name, number in (("ada", "00123"), ("bob", "00124")):
            mine = update(Membership).where(Membership.person_id == course.people[name])
            session.execute(mine.values(student_id=number))
    return tom


def content(text: str, encoding: str, mark: bytes, ada: str, bob: str = "") -> bytes:
    return mark + text.format(ada=ada, bob=bob).encode(encoding)


def outcomes(page: str) -> dict[str, int]:
    found = re.findall(r'data-outcome="([^"]+)"><dt>[^<]*</dt><dd>(\d+)<', page)
    return {name: int(count) for name, count in found if count != "0"}


def previewed(tom: BrowserClient, file: bytes, **more: str) -> TestResponse:
    return tom.post_form(f"{PAGE}/fill", file=(io.BytesIO(file), "gc_Übung.csv"), **more)


def downloaded(tom: BrowserClient, preview: TestResponse, **more: Any) -> TestResponse:
    """The answer to the form below a preview."""
    (form,) = re.findall(r'action="[^"]*/grades/filled">(.*?)</form>', preview.text, re.DOTALL)
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form))
    return tom.post_form(f"{PAGE}/filled", **{**fields, **more})


def test_only_the_filled_cells_of_a_file_change(tom: BrowserClient) -> None:
    for name, form in FILES.items():
        preview = previewed(tom, content(*form, ada=""), domain="example.edu")
        assert (preview.status_code, outcomes(preview.text)) == (200, {"filled": 1, "no grade yet": 1}), name
        answer = downloaded(tom, preview)
        assert (answer.status_code, answer.data) == (200, content(*form, ada="7.5")), name
        assert answer.headers["Content-Disposition"] == "attachment; filename=gc__bung.csv"
        again = downloaded(tom, previewed(tom, answer.data, domain="example.edu"))
        assert again.data == answer.data, name
