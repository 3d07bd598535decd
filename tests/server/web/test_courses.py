"""Home, course and assignment pages, and handing in by their form."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from io import BytesIO
from typing import Any

import pytest
from sqlalchemy import select

from kernels.exercise import find_exercise
from kernels.verdict import Finding, Verdict
from server.courses.models import Assignment, Course, Extension, Membership, Role
from server.grading.models import SOURCE_BYTES, Job, JobState, Result, Source
from server.grading.reports import pack
from server.submissions.models import Submission
from tests.server.course import report_for
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of, stranger

HOME, PAGE, FORM = "/courses/gpu/", "/courses/gpu/tiled/", "/courses/gpu/tiled/submissions"
KERNEL = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {\n}\n"
DAY = timedelta(days=1)


def now() -> datetime:
    return datetime.now(UTC)


def change(portal: Portal, **values: Any) -> None:
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        for name, value in values.items():
            setattr(assignment, name, value)


def handed_in(portal: Portal) -> list[tuple[str, str]]:
    """What was handed in: for what, and the text."""
    with portal.course.sessions.begin() as session:
        query = select(Submission.mode, Source.content).join(
            Source, Source.digest == Submission.source_digest
        )
        return [
            (mode.value, content.decode()) for mode, content in session.execute(query.order_by(Submission.id))
        ]


def end(portal: Portal, verdict: Verdict) -> str:
    """Let the last submission have that verdict; gives its name."""
    with portal.course.sessions.begin() as session:
        job = session.scalars(select(Job).order_by(Job.id.desc()).limit(1)).one()
        job.state, job.verdict, job.ended_at = JobState.DONE, verdict, now()
        return session.scalars(select(Submission.public_id).where(Submission.id == job.submission_id)).one()


def typed(page: str) -> str:
    """What stands in the form's text."""
    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert found is not None
    return unescape(found[1])


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).replace("\N{NO-BREAK SPACE}", " ").split())


@pytest.fixture
def ada(portal: Portal) -> BrowserClient:
    return client_of(portal, "ada")


def test_nobody_is_told_of_a_course_and_a_stranger_no_more(portal: Portal):
    for path in (HOME, PAGE, f"{PAGE}starter.cu", f"{PAGE}figures/x.svg"):
        answer = stranger(portal).get(path)
        assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, "/sign-in")
        assert client_of(portal, "eve", None).get(path).status_code == 404
    assert client_of(portal, "eve", None).post_form(FORM, source=KERNEL).status_code == 404
    assert handed_in(portal) == []


def test_home_says_what_is_due_next_and_how_far_one_is(portal: Portal, ada: BrowserClient):
    change(portal, due_at=now() + 3 * DAY, points=10.0)
    page = words(ada.page("/"))
    assert "Due next" in page
    assert "not begun" in page
    assert "in 3 days" in page
    ada.post_form(FORM, source=KERNEL, mode="rank")
    assert "being graded" in words(ada.page("/"))
    end(portal, Verdict.WRONG_ANSWER)
    assert "wrong answer" in words(ada.page("/"))
    change(portal, closes_at=now() - DAY, due_at=now() - 2 * DAY)
    page = words(ada.page("/"))
    assert "Due next" not in page
    assert "Your courses" in page


def test_home_of_somebody_in_no_course_says_how_to_get_into_one(portal: Portal):
    page = client_of(portal, "eve", None).page("/")
    assert "no course yet" in page
    assert 'href="/join"' in page


def test_an_own_deadline_is_shown_as_ones_own(portal: Portal, ada: BrowserClient):
    change(portal, due_at=now() - DAY, closes_at=now() - DAY / 2)
    assert "closed" in words(ada.page(PAGE))
    with portal.course.sessions.begin() as session:
        session.add(
            Extension(
                assignment_id=portal.course.assignment, person_id=portal.course.people["ada"],
                due_at=now() + 2 * DAY, extra_attempts=0, created_at=now(),
            )
        )  # fmt: skip
    page = words(ada.page(PAGE))
    assert "extended for you" in page
    assert "everybody else" in page
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303
    assert "closed" in words(client_of(portal, "bob").page(PAGE))


def test_times_are_those_of_the_reader_and_else_of_the_course(portal: Portal, ada: BrowserClient):
    change(portal, due_at=datetime(2030, 1, 2, 12, tzinfo=UTC))
    assert "12:00 UTC" in words(ada.page(PAGE))
    with portal.course.sessions.begin() as session:
        session.get_one(Course, portal.course.course).time_zone = "Europe/Vienna"
    assert "13:00 CET" in words(ada.page(PAGE))
    assert "07:00 EST" in words(client_of(portal, "ada", time_zone="America/New_York").page(PAGE))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"due_at": None}, "no deadline"),
        ({"late_percent_per_day": 12.5}, "Each day begun costs 12.5 % of the points"),
        ({"closes_at": "due_at"}, "Nothing is taken after that"),
        ({}, "Late costs no points"),
        ({"attempts": 3}, "3 of 3 left"),
        ({"attempts": None}, "any number"),
        ({"attempts": 3, "min_interval_seconds": 90}, "3 of 3 left, 90 s apart"),
        ({"checks_per_hour": 7}, "free; 7 of 7 left this hour"),
        ({"counts": "last"}, "your last one handed in"),
        ({"counts": "chosen"}, "the one you choose"),
        ({"counts": "best"}, "the fastest"),
        ({"device_class": ""}, "right or wrong is all that counts"),
        ({"points": 2.5}, "2.5 for a right kernel"),
    ],
    ids=str,
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_rules_stand_there_in_plain_words(portal: Portal, ada: BrowserClient, values, said):
    due_at = now() + DAY
    given = {name: due_at if value == "due_at" else value for name, value in values.items()}
    change(portal, **({"due_at": due_at} | given))
    assert said in words(ada.page(PAGE))


def test_what_is_not_listed_or_not_open_is_for_staff_alone(portal: Portal, ada: BrowserClient):
    teacher = client_of(portal, "teacher", Role.INSTRUCTOR)
    for values in ({"listed": False}, {"listed": True, "opens_at": now() + DAY}):
        change(portal, **values)
        assert ada.get(PAGE).status_code == 404
        assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 404
        assert "Tiled" not in words(ada.page(HOME))
        assert "Tiled" in words(teacher.page(HOME))
        assert teacher.post_form(FORM, source=KERNEL, mode="rank").status_code == 303


def test_who_was_dropped_sees_nothing_any_more(portal: Portal, ada: BrowserClient):
    with portal.course.sessions.begin() as session:
        session.scalars(select(Membership)).one().dropped_at = now()
    assert ada.get(HOME).status_code == ada.get(PAGE).status_code == 404
    assert "no course yet" in ada.page("/")


def test_the_handout_is_there_with_its_code_and_without_its_title(portal: Portal, ada: BrowserClient):
    page = ada.page(PAGE)
    assert page.count("<h1>") == 1
    assert "<h3>How it is judged</h3>" in page
    assert '<i class="cuda">__global__</i>' in page


def test_the_starter_comes_as_a_file_and_stands_in_the_form(portal: Portal, ada: BrowserClient):
    starter = find_exercise("tiled").starter.read_text()
    answer = ada.get(f"{PAGE}starter.cu")
    assert answer.get_data(as_text=True) == starter
    assert answer.headers["Content-Disposition"] == 'attachment; filename="tiled.cu"'
    assert answer.mimetype == "text/plain"
    assert typed(ada.page(PAGE)) == starter


def test_only_figures_of_the_exercise_are_served(portal: Portal, ada: BrowserClient):
    for name in ("x.svg", "..%2fexercise.toml", "exercise.toml", "solution.cu", "%00", "handout.md", "..svg"):
        assert ada.get(f"{PAGE}figures/{name}").status_code == 404, name
    exercise = find_exercise("bank-conflicts")
    with portal.course.sessions.begin() as session:
        row = session.get_one(Assignment, portal.course.assignment).exercise
        row.name, row.definition = exercise.name, (exercise.root / "exercise.toml").read_text()
    page = ada.page(PAGE)
    assert f'src="{PAGE}figures/bank-conflicts.svg"' in page
    answer = ada.get(f"{PAGE}figures/bank-conflicts.svg")
    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")


def test_an_exercise_whose_folder_is_elsewhere_leaves_a_page_that_works(portal: Portal, ada: BrowserClient):
    with portal.course.sessions.begin() as session:
        session.get_one(Assignment, portal.course.assignment).exercise.name = "of-a-teacher"
    assert "not on this server" in words(ada.page(PAGE))
    assert ada.get(f"{PAGE}starter.cu").status_code == 404
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303


@pytest.mark.parametrize("mode", ["check", "rank"])
def test_what_is_typed_is_handed_in(portal: Portal, ada: BrowserClient, mode):
    answer = ada.post_form(FORM, source=KERNEL.replace("\n", "\r\n"), mode=mode)
    assert answer.status_code == 303
    assert re.fullmatch(r"/submissions/[0-9a-f]{16}", answer.headers["Location"])
    assert handed_in(portal) == [(mode, KERNEL)]


def test_a_file_counts_instead_of_the_text(portal: Portal, ada: BrowserClient):
    file = (BytesIO(b"// from a file\r\n"), "mine.cu")
    assert ada.post_form(FORM, source=KERNEL, file=file, mode="rank").status_code == 303
    assert handed_in(portal) == [("rank", "// from a file\r\n")]


def key_of(page: str) -> str:
    found = re.search(r'name="key" value="(\w+)"', page)
    assert found is not None
    return found[1]


def test_a_form_sent_twice_is_one_submission_and_one_changed_is_another(portal: Portal, ada: BrowserClient):
    key = key_of(ada.page(PAGE))
    first = ada.post_form(FORM, source=KERNEL, mode="rank", key=key)
    again = ada.post_form(FORM, source=KERNEL, mode="rank", key=key)
    assert first.headers["Location"] == again.headers["Location"]
    assert len(handed_in(portal)) == 1
    changed = ada.post_form(FORM, source=f"{KERNEL}//", mode="rank", key=key)
    checked = ada.post_form(FORM, source=KERNEL, mode="check", key=key)
    assert len({first.headers["Location"], changed.headers["Location"], checked.headers["Location"]}) == 3
    assert key_of(ada.page(PAGE)) != key


def test_a_form_without_a_key_of_ours_is_handed_in_all_the_same(portal: Portal, ada: BrowserClient):
    for key in ("", "x y", "\0", "ä" * 300):
        assert ada.post_form(FORM, source=KERNEL, mode="rank", key=key).status_code == 303
    assert len(handed_in(portal)) == 4


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"source": " \r\n"}, "nothing to hand in yet"),
        ({}, "nothing to hand in yet"),
        ({"source": "x" * (SOURCE_BYTES + 1)}, "65,537 bytes"),
        ({"source": KERNEL, "file": (b"\xff\xfe_\x00", "C:\\mine.cu")}, "mine.cu is not text in UTF-8 (line 1)"),
        ({"source": KERNEL, "file": (b"a\n\n\xe4", "mine.cu")}, "(line 3)"),
        ({"source": KERNEL, "file": (b"", "mine.cu")}, "mine.cu is empty"),
        ({"source": KERNEL, "file": (b"a\0b", "mine.cu")}, "characters that no source has"),
        ({"source": KERNEL, "file": (b"x" * 400_000, "mine.cu")}, "400,000 bytes"),
        ({"source": KERNEL, "file": (b"\xff", "<script>.cu")}, "<script>.cu is not text"),
    ],
    ids=["blank", "nothing", "large", "utf-16", "latin-1", "empty file", "binary", "large file", "odd name"],
)  # fmt: skip
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_cannot_be_a_source_comes_back_with_what_was_typed(portal: Portal, ada, fields, said):
    given = dict(fields)
    if "file" in given:
        given["file"] = (BytesIO(given["file"][0]), given["file"][1])
    answer = ada.post_form(FORM, mode="rank", **given)
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert said in words(page)
    assert typed(page) == given.get("source", "").replace("\r\n", "\n")
    assert "data-draft-ignored" in page
    assert 'aria-invalid="true"' in page
    assert "<script>.cu" not in page
    assert handed_in(portal) == []


def test_a_request_that_is_larger_than_anything_is_refused_in_words(portal: Portal, ada: BrowserClient):
    answer = ada.post(FORM, data=b"x" * 3_000_000, content_type="multipart/form-data; boundary=b")
    assert answer.status_code == 413
    assert "64 KiB" in words(answer.get_data(as_text=True))


def test_text_comes_back_letter_by_letter(portal: Portal, ada: BrowserClient):
    text = "\n\n</textarea><b>&amp; \u202e x\n\t" + "y" * SOURCE_BYTES
    page = ada.post_form(FORM, source=text, mode="rank").get_data(as_text=True)
    assert typed(page) == text
    assert "</textarea><b>" not in page


@pytest.mark.parametrize(
    ("values", "status", "said"),
    [
        ({"attempts": 1}, 422, "You have used your only attempt"),
        ({"min_interval_seconds": 600}, 429, "The next one is taken in"),
        ({"closes_at": "past"}, 422, "This assignment closed at"),
    ],
    ids=["attempts", "interval", "closed"],
)
def test_a_limit_is_told_with_what_was_typed(portal: Portal, ada: BrowserClient, values, status, said):
    ada.post_form(FORM, source=KERNEL, mode="rank")
    change(portal, **{name: now() - DAY if value == "past" else value for name, value in values.items()})
    answer = ada.post_form(FORM, source="// mine\n", mode="rank")
    page = answer.get_data(as_text=True)
    assert answer.status_code == status
    assert said in words(page)
    assert ("Retry-After" in answer.headers) == (status == 429)
    if "closes_at" not in values:
        assert typed(page) == "// mine\n"
    assert len(handed_in(portal)) == 1


def test_checks_that_are_used_up_leave_handing_in(portal: Portal, ada: BrowserClient):
    change(portal, checks_per_hour=1)
    ada.post_form(FORM, source=KERNEL, mode="check")
    answer = ada.post_form(FORM, source=KERNEL, mode="check")
    assert answer.status_code == 429
    assert 3500 < int(answer.headers["Retry-After"]) <= 3600
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303


def test_what_was_handed_in_stands_in_the_form_the_next_time(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source="// first\n", mode="rank")
    first = end(portal, Verdict.WRONG_ANSWER)
    ada.post_form(FORM, source="// second\n", mode="rank")
    assert typed(ada.page(PAGE)) == "// second\n"
    page = ada.page(f"{PAGE}?from={first}")
    assert typed(page) == "// first\n"
    assert "wrong answer" in words(page)
    assert f'href="/submissions/{first}"' in page


def test_nobody_takes_up_what_somebody_else_handed_in(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source="// secret\n", mode="rank")
    number = end(portal, Verdict.WRONG_ANSWER)
    for client in (client_of(portal, "bob"), client_of(portal, "teacher", Role.INSTRUCTOR)):
        assert client.get(f"{PAGE}?from={number}").status_code == 404
        assert "secret" not in client.page(PAGE)
    for name in ("", "nope", "%00", "a" * 5000):
        assert ada.get(f"{PAGE}?from={name}").status_code in {200, 404}


def test_findings_of_the_last_one_are_marks_on_its_lines(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source="int a;\nint <b>;\nint c;\n", mode="check")
    race = Finding(Verdict.DATA_RACE, "Reads what 'thread' 3 <i> writes.", line=2, other_line=1)
    with portal.course.sessions.begin() as session:
        job = session.scalars(select(Job)).one()
        job.state, job.verdict, job.ended_at = JobState.DONE, Verdict.DATA_RACE, now()
        report = pack(report_for(job, Verdict.DATA_RACE, findings=(race,)))
        session.add(
            Result(
                job_id=job.id, verdict=Verdict.DATA_RACE, device_class="", report=report, recorded_at=now()
            )
        )
    page = ada.page(PAGE)
    found = re.search(r'data-marks="([^"]*)"', page)
    assert found is not None
    marks = json.loads(unescape(found[1]))
    assert [(mark["line"], mark["severity"]) for mark in marks] == [(1, "error"), (2, "error")]
    assert marks[1]["message"] == race.message
    assert 'data-editor-line="2"' in page
    assert race.message in words(page)


def test_a_course_that_is_over_can_be_read_and_takes_nothing(portal: Portal, ada: BrowserClient):
    with portal.course.sessions.begin() as session:
        session.get_one(Course, portal.course.course).archived_at = now()
    page = words(ada.page(PAGE))
    assert "This course is over" in page
    assert "<textarea" not in ada.page(PAGE)
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 422
    assert "over" in words(ada.page("/"))
    assert handed_in(portal) == []


@pytest.mark.parametrize("slug", ["%00", "a%20b", "GPU", "ä", "x" * 3000, "%ff"])
def test_odd_addresses_are_simply_not_there(portal: Portal, ada: BrowserClient, slug):
    for path in (f"/courses/{slug}/", f"/courses/gpu/{slug}/", f"/courses/{slug}/{slug}/starter.cu"):
        assert ada.get(path).status_code == 404, path


@pytest.mark.parametrize(
    ("role", "admin", "links"),
    [
        (Role.STUDENT, False, ["Courses", "Assignments"]),
        (Role.ASSISTANT, False, ["Courses", "Assignments", "Staff", "Fleet"]),
        (None, True, ["Courses", "Assignments", "Staff", "Fleet"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_ways_above_a_page_are_those_that_its_reader_may_go(portal: Portal, role, admin, links):
    client = client_of(portal, "reader", role, admin=admin)
    found = re.search(r'<nav aria-label="Site">.*?</nav>', client.page(PAGE), re.DOTALL)
    assert found is not None
    assert re.findall(r">(\w+)</a>", found[0]) == links
