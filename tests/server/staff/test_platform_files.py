"""Gradebook files of other platforms: filled in, with every other byte as it was."""

from __future__ import annotations

import codecs
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from werkzeug.test import TestResponse

from kernels.verdict import Verdict
from server.courses.models import Assignment, Correction, Membership
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


def test_each_cell_that_stays_is_named_with_its_reason(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    for name, fields in (("ada", {}), ("eve", {"excused": True}), ("fay", {"score": 2.0, "held": True})):
        course.person(name)
        if fields:
            course.correct(name, **fields)
    header = "Student,ID,SIS User ID,SIS Login ID,Section,Tiled (7)\n"
    rows = ["ada,1,00123,,,{}", "eve,2,,eve@example.edu,,{}", "fay,3,,FAY@example.edu,,", "zoe,4,99,zoe,,4"]
    file = header + "\n".join(rows)
    preview = previewed(tom, file.format("3", "ex").encode())
    assert outcomes(preview.text) == {"changed": 1, "same": 1, "held back": 1, "unknown": 1, "absent": 1}
    assert downloaded(tom, preview).data == file.format("7.5", "ex").encode()
    preview = previewed(tom, file.format("7.50", "").encode(), held="yes")
    assert outcomes(preview.text) == {"filled": 2, "same": 1, "unknown": 1, "absent": 1}
    filled = downloaded(tom, preview).data
    assert filled == file.format("7.50", "EX").replace("FAY@example.edu,,", "FAY@example.edu,,2").encode()
    moodle = 'Email address,Assignment: Tiled (Real)\neve@example.edu,-\nada@example.edu,"3,5"\n'
    preview = previewed(tom, moodle.encode())
    assert outcomes(preview.text) == {"changed": 1, "excused": 1, "absent": 2}
    assert downloaded(tom, preview).data == moodle.replace("3,5", "7,5").encode()


def test_a_missed_assignment_gets_0_where_staff_want_it(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    course.person("eve")
    file = b"Email;Tiled\nada@example.edu;\nbob@example.edu;\neve@example.edu;\n"
    assert outcomes(previewed(tom, file, missed="yes").text) == {"filled": 1, "no grade yet": 2}, "still open"
    with course.sessions.begin() as session:
        session.execute(update(Assignment).values(closes_at=datetime.now(UTC) - timedelta(days=1)))
    course.extend("eve", closes_at=datetime.now(UTC) + timedelta(days=1))
    assert outcomes(previewed(tom, file).text) == {"filled": 1, "no grade yet": 2}
    preview = previewed(tom, file, missed="yes")
    assert outcomes(preview.text) == {"filled": 1, "missed": 1, "no grade yet": 1}
    assert b"bob@example.edu;0\neve@example.edu;\n" in downloaded(tom, preview).data
    course.change(grades_held=True)
    assert outcomes(previewed(tom, file, missed="yes").text) == {"held back": 2, "no grade yet": 1}
    preview = previewed(tom, file, missed="yes", held="yes")
    assert outcomes(preview.text) == {"filled": 1, "missed": 1, "no grade yet": 1}


def test_a_column_is_chosen_by_hand(portal: Portal, tom: BrowserClient) -> None:
    file = b"Email;Lab 1;Lab 2\nada@example.edu;;\n"
    preview = previewed(tom, file)
    assert outcomes(preview.text) == {"absent": 1}
    (packed,) = set(re.findall(r'name="packed" value="([^"]+)"', preview.text))
    chosen = tom.post_form(f"{PAGE}/fill", packed=packed, **{"column-tiled": "2"})
    assert downloaded(tom, chosen).data == b"Email;Lab 1;Lab 2\nada@example.edu;;7.5\n"
    for odd in ({"column-tiled": "0"}, {"column-tiled": "x"}, {"domain": "?"}, {"packed": "AAAA"}, {"packed": "é"}):
        assert tom.post_form(f"{PAGE}/fill", **{"packed": packed, **odd}).status_code == 422, odd
        assert tom.post_form(f"{PAGE}/filled", **{"packed": packed, **odd}).status_code == 422, odd


def test_a_preview_that_is_outdated_is_shown_again(portal: Portal, tom: BrowserClient) -> None:
    preview = previewed(tom, b"Email,tiled\nada@example.edu,\n")
    with portal.course.sessions.begin() as session:
        session.execute(update(Correction).values(score=8.0))
    again = downloaded(tom, preview)
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)
    assert downloaded(tom, again).data == b"Email,tiled\nada@example.edu,8\n"


def test_our_own_export_comes_back_unchanged(tom: BrowserClient) -> None:
    export = tom.get(f"{PAGE}.csv").data
    assert downloaded(tom, previewed(tom, export)).data == export


def test_another_maximum_is_named(tom: BrowserClient) -> None:
    for name, (text, encoding, mark) in FILES.items():
        other = text.replace("10.0,", "100.0,").replace("Total Pts: 10", "Total Pts: 100").replace("Manual", "")
        other = re.sub(r'(Points Possible"(?:,,,,,|;;;;;))10', r"\g<1>100", other)
        for file, told in ((text, 0), (other, 0 if "moodle" in name else 1)):
            page = previewed(tom, content(file, encoding, mark, ada="")).text
            assert page.count("data-other-maximum") == told, name


def test_grades_are_exported_in_a_platform_s_form(portal: Portal, tom: BrowserClient) -> None:
    portal.course.correct("eve", score=3.0, held=True)
    exported = {form: tom.get(f"{PAGE}.csv?form={form}").text.splitlines() for form in ("moodle", "canvas")}
    assert exported["moodle"][1:] == ["ada@example.edu,7.5", "bob@example.edu,", "eve@example.edu,"]
    assert exported["canvas"] == ["\ufeffStudent,SIS User ID,Section,Tiled", "ada,00123,,7.5", "bob,00124,,"]
    assert tom.get(f"{PAGE}.csv?form=other").status_code == 422


@pytest.mark.one_in(4, "a quarter of the files")
@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("", "0"),
        ("Name,Tiled\nAda,\n", "0"),
        ("Email\nada@example.edu\n", "0"),
        ('Email,Tiled\nada@example.edu,"\n', "2"),
        ("Email,Tiled\nada@example.edu,\nADA@example.edu,\n", "3"),
        ("Email,Tiled\nada@example.edu\n", "2"),
        ("Email,Email,Tiled\nada@example.edu,,\n", "0"),
        ("Email,Tiled\nada@example.edu,\0\n", "0"),
    ],
)
def test_a_file_that_fits_nobody_is_refused_by_line(tom: BrowserClient, file: str, told: str) -> None:
    answer = previewed(tom, file.encode())
    assert answer.status_code == 422
    assert "grades/filled" not in answer.text
    assert told == "0" or f'data-line="{told}"' in answer.text or f"Line {told}:" in answer.text
