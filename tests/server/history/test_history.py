"""A history: every attempt with what became of it, what counts, and why one is not ranked."""

from __future__ import annotations

import html
import re
from datetime import timedelta

from kernels.verdict import Verdict
from server.courses.models import Assignment, Counts, Extension, Role
from server.grading.changes import retry
from server.grading.record import record
from server.submissions.models import Mode
from tests.server.course import NOW, later
from tests.server.standings.results import checked, measure, modelled, public_id, ranked
from tests.server.standings.test_board_page import lines
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of, stranger

HISTORY = "/courses/gpu/tiled/history"


def rows(page: str) -> list[str]:
    return [line for line in lines(page[page.index('class="table attempts"') :]) if line]


def set_terms(portal: Portal, **terms) -> None:
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        for name, value in terms.items():
            setattr(assignment, name, value)


def test_every_attempt_says_what_became_of_it_and_why_it_is_not_ranked(portal):
    course = portal.course
    ranked(course, "ada", 700.0, now=later(10))
    checked(course, course.job("ada", source=b"// 2", now=later(20)), Verdict.DATA_RACE)
    checked(course, course.job("ada", source=b"// 3", mode=Mode.CHECK, now=later(30)))
    ranked(course, "ada", 500.0, source=b"// 4", now=later(40))
    job = course.job("ada", source=b"// 5", now=later(50))
    flagged = measure(course, job, 900_000.0, ranked=False, remarks=("faster than the device can be",))
    record(course.sessions, flagged)
    course.job("ada", source=b"// 6", now=later(60))
    found = rows(client_of(portal, "ada").page(HISTORY))
    assert [row.split()[0] for row in found] == ["6", "5", "4", "3", "2", "1"]
    assert "being graded" in found[0]
    assert found[1].endswith("Faster than the device can be.")
    assert found[2].endswith("Another kernel of yours is faster, and stands on the board.")
    assert "check only" in found[3]
    assert "Submit it for ranking" in found[3]
    assert "data race" in found[4]
    assert "Only a right kernel is ranked." in found[4]
    assert "700 GFLOPS" in found[5]
    assert "on the board" in found[5]


def test_a_late_one_says_so_and_what_counts_is_marked(portal):
    set_terms(portal, due_at=later(100), points=10.0, late_percent_per_day=10.0)
    ranked(portal.course, "ada", 500.0, now=later(50))
    ranked(portal.course, "ada", 900.0, source=b"// 2", now=NOW + timedelta(days=1, hours=2))
    page = client_of(portal, "ada").page(HISTORY)
    late, first = rows(page)
    assert "2 days late" in late
    assert "this one counts" in first
    assert "10 points" in page
    with portal.course.sessions.begin() as session:
        session.add(
            Extension(
                assignment_id=portal.course.assignment, person_id=portal.course.people["ada"],
                due_at=NOW + timedelta(days=2), created_at=NOW,
            )
        )  # fmt: skip
    late, first = rows(client_of(portal, "ada").page(HISTORY))
    assert "late" not in late
    assert "this one counts" in late


def test_the_chart_leads_to_every_attempt(portal):
    ids = [
        public_id(
            portal.course, ranked(portal.course, "ada", 500.0 + 100 * i, source=b"// %d" % i, now=later(i))
        )
        for i in range(3)
    ]
    checked(portal.course, portal.course.job("ada", source=b"// x", now=later(9)), Verdict.WRONG_ANSWER)
    page = client_of(portal, "ada").page(HISTORY)
    chart = page[page.index("<svg") : page.index("</svg>")]
    assert re.findall(r'href="/submissions/(\w+)"', chart)[:3] == ids
    assert "Attempt 4: wrong answer" in chart
    assert "Attempt 3: 700" in chart


def test_what_is_checked_only_shows_the_modelled_bound_marked_so(portal):
    set_terms(portal, device_class="")
    checked(portal.course, portal.course.job("ada", now=later(1)), **modelled(4_000.0))
    checked(portal.course, portal.course.job("ada", source=b"// 2", now=later(2)), **modelled(8_000.0))
    page = client_of(portal, "ada").page(HISTORY)
    assert "8,000 GFLOPS" in rows(page)[0]
    assert "modelled" in page
    assert "measured" not in page


def test_many_attempts_come_in_pages(portal):
    for i in range(27):
        portal.course.job("ada", source=b"// %d" % i, now=later(i))
    client = client_of(portal, "ada")
    page = client.page(HISTORY)
    assert len(rows(page)) == 25
    (older,) = re.findall(r'href="([^"]*)" rel="next"', page)
    assert [row.split()[0] for row in rows(client.page(html.unescape(older)))] == ["2", "1"]
    assert len(rows(client.page(f"{HISTORY}?page=99999999"))) == 25
    assert len(rows(client.page(f"{HISTORY}?page=99"))) == 2


def test_staff_see_a_student_and_nobody_else_does(portal):
    ranked(portal.course, "ada", 700.0)
    ada = portal.course.people["ada"]
    seen = client_of(portal, "ina", Role.ASSISTANT).page(f"{HISTORY}?student={ada}")
    assert "Attempts of ada" in seen
    assert len(rows(seen)) == 1
    ben = client_of(portal, "ben")
    assert ben.get(f"{HISTORY}?student={ada}").status_code == 404
    assert ben.get(f"{HISTORY}?student=0").status_code == 404
    assert ben.get(f"{HISTORY}?student=x").status_code == 404
    assert "Nothing was handed in yet" in ben.page(HISTORY)
    assert client_of(portal, "eve", None).get(HISTORY).status_code == 404
    assert stranger(portal).get(HISTORY).status_code == 303


def test_a_fault_of_ours_in_a_regrade_leaves_the_verdict_there_was(portal):
    job = ranked(portal.course, "ada", 700.0)
    with portal.course.sessions.begin() as session:
        retry(session, job, None)
    (row,) = rows(client_of(portal, "ada").page(HISTORY))
    assert "being graded again" in row
    assert "700 GFLOPS" in row


def test_the_owner_chooses_what_counts_until_it_is_closed(portal):
    set_terms(portal, counts=Counts.CHOSEN, points=5.0)
    slow = public_id(portal.course, ranked(portal.course, "ada", 500.0, now=later(1)))
    ranked(portal.course, "ada", 900.0, source=b"// 2", now=later(2))
    checks = public_id(portal.course, portal.course.job("ada", source=b"// 3", mode=Mode.CHECK, now=later(3)))
    waits = public_id(portal.course, portal.course.job("ada", source=b"// 4", now=later(4)))
    client = client_of(portal, "ada")
    assert "this one counts" in rows(client.page(HISTORY))[2]
    answer = client.post_form(f"/submissions/{slow}/choose")
    assert answer.headers["Location"] == f"{HISTORY}?notice=chosen"
    assert "this one counts" in rows(client.page(HISTORY))[3]
    for other in (checks, waits):
        assert client.post_form(f"/submissions/{other}/choose").status_code == 409
    assert client_of(portal, "ben").post_form(f"/submissions/{slow}/choose").status_code == 404
    assert (
        client_of(portal, "ina", Role.INSTRUCTOR).post_form(f"/submissions/{slow}/choose").status_code == 404
    )
    assert client.post(f"/submissions/{slow}/choose").status_code == 403
    set_terms(portal, closes_at=later(5))
    refused = client.post_form(f"/submissions/{slow}/choose")
    assert refused.status_code == 409
    assert "closed" in refused.get_data(as_text=True)
    set_terms(portal, closes_at=None, counts=Counts.BEST)
    assert client.post_form(f"/submissions/{slow}/choose").status_code == 409


def test_two_attempts_beside_each_other(portal):
    course = portal.course
    first = public_id(
        course, ranked(course, "ada", 1_000.0, 0.01, source=b"int a = 1;\nint b;\n", now=later(1))
    )
    second = public_id(
        course, ranked(course, "ada", 1_005.0, 0.01, source=b"int a = 2;\nint b;\n", now=later(2))
    )
    third = public_id(course, ranked(course, "ada", 3_000.0, 0.01, source=b"int c;\n", now=later(3)))
    client = client_of(portal, "ada")
    page = client.page(f"/courses/gpu/tiled/compare?left={first}&right={second}")
    assert "<del>1</del>" in page
    assert "<ins>2</ins>" in page
    assert "the intervals overlap" in page
    page = client.page(f"/courses/gpu/tiled/compare?left={second}&right={third}")
    assert re.search(
        r'2.99 ×.{0,10}as much, <span class="state">better', page.replace("\N{NO-BREAK SPACE}", " ")
    )
    assert "Both sources are the same" in client.page(
        f"/courses/gpu/tiled/compare?left={first}&right={first}"
    )
    assert client.get(f"/courses/gpu/tiled/compare?left={first}&right=none").status_code == 404
    assert client.get("/courses/gpu/tiled/compare").status_code == 404
    ben = client_of(portal, "ben")
    assert ben.get(f"/courses/gpu/tiled/compare?left={first}&right={second}").status_code == 404
    assert client_of(portal, "ina", Role.ASSISTANT).get(
        f"/courses/gpu/tiled/compare?left={first}&right={second}&student={course.people['ada']}"
    ).status_code == 200  # fmt: skip


def test_hostile_sources_stay_text(portal):
    course = portal.course
    first = public_id(course, course.job("ada", source=b"<script>1</script>\n\xff\x00", now=later(1)))
    second = public_id(course, course.job("ada", source="<script>2</script>\n\u202e".encode(), now=later(2)))
    page = client_of(portal, "ada").page(f"/courses/gpu/tiled/compare?left={first}&right={second}")
    assert "<script>1" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
    assert "u202e" in page
