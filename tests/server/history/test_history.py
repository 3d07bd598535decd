"""A history: every attempt with what became of it, what counts, and why one is not ranked."""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime, timedelta

from kernels.verdict import Finding, Verdict
from server.assignments.tasks import task_of
from server.courses.models import Assignment, Counts, Role
from server.grading.models import Job, Result
from server.history import queries, views
from server.history.queries import PAGE, Asked, history_of
from server.recording.record import record
from server.standings.service import freeze
from server.submissions.changes import retry
from server.submissions.models import Mode
from tests.server.course import NOW, later
from tests.server.standings.results import checked, measure, modelled, public_id, ranked
from tests.server.standings.test_board_page import lines
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of, stranger

HISTORY = "/courses/gpu/tiled/history"


def rows(page: str) -> list[str]:
    return [line for line in lines(page[page.index('class="table attempts') :]) if line]


def drawn(page: str) -> str:
    return page[page.index('<svg class="chart') : page.rindex("</svg>")]


def counting(page: str) -> list[bool]:
    """Of each attempt, whether it is the one that counts."""
    return [bool(own) for own in re.findall(r'<tr( class="own")?>\n<td class="n">', page)]


def on_board(page: str) -> list[bool]:
    """Of each attempt, whether it stands on the board."""
    return [bool(link) for link in re.findall(r'<td class="why-not">(<a )?', page)]


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
    flagged = measure(course, job, 900_000.0, ranked=False, remarks=("beyond every bound",))
    record(course.sessions, flagged)
    course.job("ada", source=b"// 6", now=later(60))
    race = course.job("ada", source=b"// 7", mode=Mode.CHECK, now=later(70))
    checked(course, race, Verdict.DATA_RACE)
    found = rows(client_of(portal, "ada").page(HISTORY))
    assert [row.split()[0] for row in found] == ["7", "6", "5", "4", "3", "2", "1"]
    only_accepted = "The leaderboard lists accepted kernels only."
    assert found.pop(0).endswith(only_accepted)
    assert "being graded" in found[0]
    assert found[1].endswith("Beyond every bound.")
    assert found[2].endswith("Another kernel of yours is faster and on the leaderboard.")
    assert "data race" not in found[3]
    assert found[3].count("check") >= 2
    assert "This was a check." in found[3]
    assert "data race" in found[4]
    assert only_accepted in found[4]
    assert "700 GFLOPS" in found[5]
    assert "on the leaderboard" in found[5]


def test_a_late_one_says_so_and_what_counts_is_marked(portal):
    set_terms(portal, due_at=later(100), points=10.0, late_percent_per_day=10.0)
    ranked(portal.course, "ada", 500.0, now=later(50))
    ranked(portal.course, "ada", 900.0, source=b"// 2", now=NOW + timedelta(days=1, hours=2))
    page = client_of(portal, "ada").page(HISTORY)
    late, first = rows(page)
    assert "2 days late" in late
    assert "this one counts" in first
    assert counting(page) == [False, True]
    assert "10 points" in page
    portal.course.extend("ada", due_at=NOW + timedelta(days=2))
    page = client_of(portal, "ada").page(HISTORY)
    assert "late" not in rows(page)[0]
    assert counting(page) == [True, False]


def test_the_chart_leads_to_every_attempt(portal):
    ids = [
        public_id(portal.course, ranked(portal.course, "ada", 500.0 + 100 * i, source=b"// %d" % i, now=later(i)))
        for i in range(3)
    ]
    checked(portal.course, portal.course.job("ada", source=b"// x", now=later(9)), Verdict.WRONG_ANSWER)
    page = client_of(portal, "ada").page(HISTORY)
    chart = drawn(page)
    assert re.findall(r'href="/submissions/(\w+)"', chart)[:3] == ids
    assert "No. 4: wrong answer" in chart
    assert "No. 3: 700" in chart


def test_the_chart_tells_what_waits_from_what_is_wrong(portal):
    ranked(portal.course, "ada", 500.0)
    portal.course.job("ada", source=b"// waits", now=later(1))
    page = client_of(portal, "ada").page(HISTORY)
    chart = drawn(page)
    assert "No. 2: no verdict yet" in chart
    assert "point open" in chart
    assert "cross" not in chart


def test_a_long_chart_has_the_last_attempts_and_the_best_of_before(portal, monkeypatch):
    monkeypatch.setattr(queries, "CHARTED", 2)
    for i, gflops in enumerate((900.0, 500.0, 700.0)):
        ranked(portal.course, "ada", gflops, source=b"// %d" % i, now=later(i))
    page = client_of(portal, "ada").page(HISTORY)
    chart_of_two = drawn(page)
    assert "No. 1:" not in chart_of_two
    assert "No. 2: 500" in chart_of_two
    (line,) = re.findall(r'class="roof" points="([^"]*)"', chart_of_two)
    assert len({point.partition(",")[2] for point in line.split()}) == 1


def test_what_is_checked_only_shows_the_modelled_bound_marked_so(portal):
    set_terms(portal, device_class="")
    checked(portal.course, portal.course.job("ada", now=later(1)), **modelled(4_000.0))
    checked(portal.course, portal.course.job("ada", source=b"// 2", now=later(2)), **modelled(8_000.0))
    page = client_of(portal, "ada").page(HISTORY)
    assert "8,000 GFLOPS" in rows(page)[0]
    assert "modelled" in page
    assert "measured" not in page
    assert "cuBLAS" not in page


def test_many_attempts_come_in_pages(portal):
    for i in range(PAGE + 2):
        portal.course.job("ada", source=b"// %d" % i, now=later(i))
    client = client_of(portal, "ada")
    page = client.page(HISTORY)
    assert len(rows(page)) == PAGE
    assert f"No. 3 to {PAGE + 2} of {PAGE + 2}" in page
    assert [row.split()[0] for row in rows(client.page(f"{HISTORY}?page=2"))] == ["2", "1"]
    assert len(rows(client.page(f"{HISTORY}?page=99999999"))) == PAGE
    assert len(rows(client.page(f"{HISTORY}?page=99"))) == 2


def test_what_is_picked_stays_picked_on_other_pages(portal):
    jobs = [portal.course.job("ada", source=b"// %d" % i, now=later(i)) for i in range(PAGE + 1)]
    first, third, last = (public_id(portal.course, jobs[i]) for i in (0, 2, PAGE))
    client = client_of(portal, "ada")
    page = client.page(f"{HISTORY}?page=2&left={third}&right={last}")
    assert [row.split()[0] for row in rows(page)] == [str(PAGE + 1), "3", "1"]
    assert _checked(page) == {"left": third, "right": last}
    assert f'name="left" value="{first}"' in page
    (back,) = re.findall(r'<button[^>]*formaction="([^"]*)" name="page" value="1"', page)
    assert back == HISTORY
    page = client.page(f"{HISTORY}?page=1&left=none&right={third}")
    assert _checked(page) == {"left": public_id(portal.course, jobs[PAGE - 1]), "right": third}
    assert [row.split()[0] for row in rows(page)][:2] == [str(PAGE + 1), str(PAGE)]


def _checked(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="radio" name="(\w+)" value="(\w+)" checked>', page))


def test_staff_see_a_student_and_nobody_else_does(portal):
    ranked(portal.course, "ada", 700.0)
    ada = portal.course.people["ada"]
    seen = client_of(portal, "ina", Role.ASSISTANT).page(f"{HISTORY}?student={ada}")
    assert "Submissions of ada" in seen
    assert len(rows(seen)) == 1
    ben = client_of(portal, "ben")
    assert ben.get(f"{HISTORY}?student={ada}").status_code == 404
    assert ben.get(f"{HISTORY}?student=0").status_code == 404
    assert ben.get(f"{HISTORY}?student=x").status_code == 404
    assert "No submissions yet" in ben.page(HISTORY)
    assert client_of(portal, "eve", None).get(HISTORY).status_code == 404
    assert stranger(portal).get(HISTORY).status_code == 303


def test_a_fault_of_ours_in_a_regrade_leaves_the_verdict_there_was(portal):
    job = ranked(portal.course, "ada", 700.0)
    with portal.course.sessions.begin() as session:
        retry(session, job, None)
    (row,) = rows(client_of(portal, "ada").page(HISTORY))
    assert "being regraded" in row
    assert "700 GFLOPS" in row


def test_the_owner_chooses_what_counts_until_it_is_closed(portal):
    set_terms(portal, counts=Counts.CHOSEN, points=5.0)
    slow = public_id(portal.course, ranked(portal.course, "ada", 500.0, now=later(1)))
    best = public_id(portal.course, ranked(portal.course, "ada", 900.0, source=b"// 2", now=later(2)))
    checks = public_id(portal.course, portal.course.job("ada", source=b"// 3", mode=Mode.CHECK, now=later(3)))
    waits = public_id(portal.course, portal.course.job("ada", source=b"// 4", now=later(4)))
    client = client_of(portal, "ada")
    page = client.page(HISTORY)
    assert counting(page)[2:] == [True, False]
    assert re.findall(r'form="choose-(\w+)"', page) == [slow]
    answer = client.post_form(f"/submissions/{slow}/choose")
    assert answer.headers["Location"] == f"{HISTORY}?notice=chosen"
    page = client.page(HISTORY)
    assert counting(page)[2:] == [False, True]
    assert re.findall(r'form="choose-(\w+)"', page) == [best]
    for other in (checks, waits):
        assert client.post_form(f"/submissions/{other}/choose").status_code == 409
    assert client_of(portal, "ben").post_form(f"/submissions/{slow}/choose").status_code == 404
    assert client_of(portal, "ina", Role.INSTRUCTOR).post_form(f"/submissions/{slow}/choose").status_code == 404
    assert client.post(f"/submissions/{slow}/choose").status_code == 403
    set_terms(portal, closes_at=later(5))
    refused = client.post_form(f"/submissions/{slow}/choose")
    assert refused.status_code == 409
    assert "closed" in refused.get_data(as_text=True)
    set_terms(portal, closes_at=None, counts=Counts.BEST)
    assert client.post_form(f"/submissions/{slow}/choose").status_code == 409


def test_a_submission_that_failed_cannot_be_chosen(portal):
    set_terms(portal, counts=Counts.CHOSEN, points=5.0)
    ranked(portal.course, "ada", 500.0, now=later(1))
    races = portal.course.job("ada", source=b"// 2", now=later(2))
    checked(portal.course, races, Verdict.DATA_RACE)
    client = client_of(portal, "ada")
    assert 'form="choose-' not in client.page(HISTORY)
    answer = client.post_form(f"/submissions/{public_id(portal.course, races)}/choose")
    assert answer.status_code == 409


def test_two_attempts_are_compared_line_by_line(portal):
    course = portal.course
    first = public_id(course, ranked(course, "ada", 1_000.0, 0.01, source=b"int a = 1;\nint b;\n", now=later(1)))
    second = public_id(course, ranked(course, "ada", 1_005.0, 0.01, source=b"int a = 2;\nint b;\n", now=later(2)))
    third = public_id(course, ranked(course, "ada", 3_000.0, 0.01, source=b"int c;\n", now=later(3)))
    client = client_of(portal, "ada")
    page = client.page(f"/courses/gpu/tiled/compare?left={first}&right={second}")
    assert "<del>1</del>" in page
    assert "<ins>2</ins>" in page
    assert "the intervals overlap" in page
    page = client.page(f"/courses/gpu/tiled/compare?left={second}&right={third}")
    assert re.search(r'2.99 ×.{0,10}as much, <span class="state">better', page.replace("\N{NO-BREAK SPACE}", " "))
    assert "Both sources are identical" in client.page(f"/courses/gpu/tiled/compare?left={first}&right={first}")
    assert client.get(f"/courses/gpu/tiled/compare?left={first}&right=none").status_code == 404
    assert client.get("/courses/gpu/tiled/compare").status_code == 404
    ben = client_of(portal, "ben")
    assert ben.get(f"/courses/gpu/tiled/compare?left={first}&right={second}").status_code == 404
    assert client_of(portal, "ina", Role.ASSISTANT).get(
        f"/courses/gpu/tiled/compare?left={first}&right={second}&student={course.people['ada']}"
    ).status_code == 200  # fmt: skip


def test_a_comparison_says_what_was_found_once_and_code_looks_like_code(portal):
    course = portal.course
    found = Finding(Verdict.REJECTED, "`main` is host code.", 3)
    jobs = [course.job("ada", source=b"// %d" % i, now=later(i)) for i in (1, 2)]
    checked(course, jobs[0], Verdict.REJECTED, message=found.message, findings=(found,))
    checked(course, jobs[1], Verdict.REJECTED, message="`a` and `b` are missing.")
    left, right = (public_id(course, job) for job in jobs)
    page = client_of(portal, "ada").page(f"/courses/gpu/tiled/compare?left={left}&right={right}")
    assert page.count("<code>main</code> is host code.") == 1
    assert "<code>a</code> and <code>b</code> are missing." in page
    assert "`" not in page[page.index("<h1>") : page.index("</main>")]


def test_a_comparison_names_both_lines_of_a_race(portal):
    course = portal.course
    race = Finding(Verdict.DATA_RACE, "One writes what the other reads.", 2, 1)
    jobs = [course.job("ada", source=b"int a;\nint b;\n// %d" % i, now=later(i)) for i in (1, 2)]
    for job in jobs:
        checked(course, job, Verdict.DATA_RACE, message=race.message, findings=(race,))
    left, right = (public_id(course, job) for job in jobs)
    page = client_of(portal, "ada").page(f"/courses/gpu/tiled/compare?left={left}&right={right}")
    for side in ("left", "right"):
        assert f'<li><a href="#{side}-2">{race.headline}</a>: {race.message}</li>' in page


def test_what_cannot_be_relied_on_is_neither_better_nor_worse(portal):
    course = portal.course
    right = public_id(course, ranked(course, "ada", 1_000.0, source=b"// 1", now=later(1)))
    job = course.job("ada", source=b"// 2", now=later(2))
    record(course.sessions, measure(course, job, 900_000.0, ranked=False, remarks=("too fast",)))
    page = client_of(portal, "ada").page(f"/courses/gpu/tiled/compare?left={right}&right={public_id(course, job)}")
    assert "not ranked: unreliable" in page
    assert "not comparable: one is unreliable" in page
    assert ">better<" not in page


def test_a_speed_on_another_device_says_so_and_is_not_the_best_so_far(portal):
    course = portal.course
    ranked(course, "ada", 500.0, source=b"// 1", now=later(1))
    elsewhere = ranked(course, "ada", 900.0, source=b"// 2", now=later(2))
    with course.sessions.begin() as session:
        session.get_one(Result, elsewhere).device_class = "a100"
        session.get_one(Job, elsewhere).device_class = "a100"
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        task = task_of(session, assignment, course.people["ada"])
        history = history_of(session, assignment, course.people["ada"], task.deadlines, task.grade, Asked(own=True))
    assert [(one.shown, one.value) for one in history.attempts] == [
        ("500\N{NO-BREAK SPACE}GFLOPS", 500.0), ("900\N{NO-BREAK SPACE}GFLOPS on A100", None),
    ]  # fmt: skip


def test_a_comparison_ends_when_whoever_asked_for_it_is_gone(portal, monkeypatch):
    jobs = [portal.course.job("ada", source=f"// {n}\n".encode(), now=later(n)) for n in (1, 2)]
    left, right = (public_id(portal.course, job) for job in jobs)
    monkeypatch.setattr(views, "source_diff", None)
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        answer = client_of(portal, "ada").get(
            f"/courses/gpu/tiled/compare?left={left}&right={right}", environ_overrides={"gunicorn.socket": ours}
        )
    assert answer.status_code == 499


def test_speeds_of_two_devices_are_not_compared(portal):
    course = portal.course
    first, second = (ranked(course, "ada", 500.0 * i, source=b"// %d" % i, now=later(i)) for i in (1, 2))
    with course.sessions.begin() as session:
        session.get_one(Result, second).device_class = "a100"
    left, right = (public_id(course, job) for job in (first, second))
    page = client_of(portal, "ada").page(f"/courses/gpu/tiled/compare?left={left}&right={right}")
    assert "measured on h200 and on a100" in page


def test_while_the_board_is_frozen_students_read_what_others_see_there(portal):
    moment = datetime.now(UTC) - timedelta(hours=1)
    ranked(portal.course, "ada", 500.0, source=b"// 1", now=moment - timedelta(minutes=5))
    ranked(portal.course, "ada", 900.0, source=b"// 2", now=moment + timedelta(minutes=5))
    with portal.course.sessions.begin() as session:
        freeze(session, session.get_one(Assignment, portal.course.assignment), moment)
    page = client_of(portal, "ada").page(HISTORY)
    assert on_board(page) == [False, True]
    assert rows(page)[0].endswith("This one appears when the freeze ends.")
    ada = portal.course.people["ada"]
    page = client_of(portal, "ina", Role.ASSISTANT).page(f"{HISTORY}?student={ada}")
    assert on_board(page) == [True, False]


def test_hostile_sources_stay_text(portal):
    course = portal.course
    first = public_id(course, course.job("ada", source=b"<script>1</script>\n\xff\x00", now=later(1)))
    second = public_id(course, course.job("ada", source="<script>2</script>\n\u202e".encode(), now=later(2)))
    page = client_of(portal, "ada").page(f"/courses/gpu/tiled/compare?left={first}&right={second}")
    assert "<script>1" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
    assert "u202e" in page
