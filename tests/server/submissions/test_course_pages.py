"""Home, course and assignment pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from sqlalchemy import delete, select

from kernels.exercise import find_exercise
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.accounts.zones import OF_COURSE
from server.assignments.command_package import FILE
from server.courses.models import Assignment, ExerciseFile, Membership, Role
from server.exercises.stored import installed_content, keep
from server.http.numbers import day, deadline
from tests.server.databases import ON_SQLITE
from tests.server.submissions.course_pages import DAY, FORM, HOME, KERNEL, PAGE, end, handed_in, now, typed, words
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of, stranger


def has_exercise(portal: Portal, name: str) -> None:
    """The course's assignment, with another exercise."""
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        assignment.exercise = keep(session, installed_content(name), None, now())


def test_nobody_is_told_of_a_course_and_a_stranger_no_more(portal: Portal):
    for path in (HOME, PAGE, f"{PAGE}starter.cu", f"{PAGE}figures/x.svg"):
        answer = stranger(portal).get(path)
        assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, "/sign-in")
        assert client_of(portal, "eve", None).get(path).status_code == 404
    assert client_of(portal, "eve", None).post_form(FORM, source=KERNEL).status_code == 404
    assert handed_in(portal) == []


def test_home_says_what_is_due_next_and_how_far_one_is(portal: Portal, ada: BrowserClient):
    portal.course.change(due_at=now() + 3 * DAY, points=10.0)
    assert 'id="next"' in ada.page("/")
    page = words(ada.page("/"))
    assert "0 of 1 done, 0 of 10 points" in page
    assert "not started" in page
    assert "in 3 days" in page
    ada.post_form(FORM, source=KERNEL, mode="rank")
    assert "being graded" in words(ada.page("/"))
    end(portal, Verdict.WRONG_ANSWER)
    assert "wrong answer" in words(ada.page("/"))
    portal.course.change(closes_at=now() - DAY, due_at=now() - 2 * DAY)
    assert 'id="next"' not in ada.page("/")
    assert "See result" in words(ada.page("/"))


def test_home_of_somebody_in_no_course_says_how_to_get_into_one(portal: Portal):
    page = client_of(portal, "eve", None).page("/")
    assert 'class="course-list"' not in page
    assert page.count('href="/join"') == 1


def extended(page: str) -> list[str]:
    """What the page marks as longer or more than others have."""
    return re.findall(r'data-extended="(\w+)"', page)


def test_an_own_deadline_is_shown_as_ones_own(portal: Portal, ada: BrowserClient):
    portal.course.change(due_at=now() - DAY, closes_at=now() - DAY / 2)
    assert "closed" in words(ada.page(PAGE))
    portal.course.extend("ada", due_at=now() + 2 * DAY)
    page = ada.page(PAGE)
    assert "in 2 days, extended" in words(page)
    assert extended(page) == ["due"]
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303
    assert "closed" in words(client_of(portal, "bob").page(PAGE))


@ON_SQLITE
def test_of_an_extension_each_part_is_told_by_itself(portal: Portal, ada: BrowserClient):
    portal.course.change(due_at=now() + DAY, closes_at=now() + 2 * DAY, attempts=2)
    portal.course.extend("ada", closes_at=now() + 5 * DAY, extra_attempts=1)
    page = ada.page(PAGE)
    assert "in 24 h, closes later" in words(page)
    assert extended(page) == ["closes", "attempts"]
    assert "3 of 3 left (1 extra" in words(page)


@ON_SQLITE
def test_ones_best_stands_beside_what_counts_where_that_is_another(portal: Portal, ada: BrowserClient):
    portal.course.change(points=10.0)
    ada.post_form(FORM, source=KERNEL, mode="rank")
    first = end(portal, Verdict.ACCEPTED, gflops=5_000.0, ms_median=3.4, ranked=True)
    assert 'id="best"' not in ada.page(PAGE)
    ada.post_form(FORM, source=f"{KERNEL}//", mode="rank")
    remark = "Beyond every bound."
    end(portal, Verdict.ACCEPTED, gflops=900_000.0, ms_median=0.1, not_ranked=remark)
    portal.course.change(counts="last")
    head = words(ada.page(PAGE)).partition("Due")[0]
    assert f"900,000 GFLOPS {remark} measured" in head
    assert ": accepted, 10 points, 5,000 GFLOPS measured" in head
    assert f'href="/submissions/{first}"' in ada.page(PAGE).partition('id="best"')[2].partition("</span>")[0]


@ON_SQLITE
def test_the_late_policy_says_what_a_submission_is_still_worth(portal: Portal, ada: BrowserClient):
    portal.course.change(points=10.0, late_percent_per_day=20.0, due_at=now() - 1.5 * DAY, closes_at=None)
    assert "worth up to 6 of 10 points" in ada.page(PAGE).partition('id="late-now"')[2]
    portal.course.change(due_at=now() + DAY)
    assert 'id="late-now"' not in ada.page(PAGE)


@ON_SQLITE
def test_a_speed_is_told_by_what_the_exercise_compares(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source=KERNEL, mode="rank")
    end(portal, Verdict.ACCEPTED, gflops=5.0, gbps=2_345.0, melements=6_789.0, ms_median=3.4, ranked=True)
    assert "5 GFLOPS" in words(ada.page(PAGE))
    has_exercise(portal, "coalescing")
    page = words(ada.page(PAGE))
    assert "2,345 GB/s" in page
    assert "GFLOPS" not in page
    with portal.course.sessions.begin() as session:
        exercise = session.get_one(Assignment, portal.course.assignment).exercise
        exercise.definition = exercise.definition.replace('metric = "gbps"', 'metric = "elements"')
    assert "6,789 M elements/s" in words(ada.page(PAGE))
    assert "2,345 GB/s" not in words(ada.page(PAGE))


def test_times_are_those_of_the_reader_and_else_of_the_course(portal: Portal, ada: BrowserClient):
    portal.course.change(due_at=datetime(2030, 1, 2, 12, tzinfo=UTC))
    assert "12:00 UTC" in words(ada.page(PAGE))
    portal.course.change_course(time_zone="Europe/Vienna")
    assert "13:00 CET" in words(ada.page(PAGE))
    assert "course’s time zone" not in words(ada.page(PAGE))
    ada.set_cookie("tilelab_zone", "America/New_York")
    page = words(ada.page(PAGE))
    assert "07:00 EST" in page
    assert "Wed 13:00 CET in the course’s time zone" in page
    ada.set_cookie("tilelab_zone", "../../etc/passwd")
    assert "13:00 CET" in words(ada.page(PAGE))
    ada.set_cookie("tilelab_zone", "Asia/Tokyo")
    assert "21:00 JST" in words(ada.page(PAGE))
    with portal.course.sessions.begin() as session:
        session.get_one(Person, portal.course.people["ada"]).time_zone = "America/New_York"
    assert "07:00 EST" in words(ada.page(PAGE))
    with portal.course.sessions.begin() as session:
        session.get_one(Person, portal.course.people["ada"]).time_zone = OF_COURSE
    assert "13:00 CET" in words(ada.page(PAGE))


@ON_SQLITE
def test_the_command_line_has_its_page(portal: Portal, ada: BrowserClient):
    way = f"{HOME}command-line"
    assert "tilelab submit my.cu --assignment gpu/tiled --check --wait" in ada.page(way)
    assert f'href="{way}?assignment=tiled"' in ada.page(PAGE)


@ON_SQLITE
def test_the_command_is_installed_from_the_portal(portal: Portal, tmp_path: Path) -> None:
    answer = portal.app.test_client().get(f"/install/{FILE}")
    (tmp_path / FILE).write_bytes(answer.data)
    to = tmp_path / "installed"
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", to, tmp_path / FILE)
    subprocess.run([sys.executable, *install], check=True, capture_output=True)
    shipped = [path for path in (to / "kernels/exercises").rglob("*.cu") if b"__global__" in path.read_bytes()]
    assert {path.name for path in shipped} == {"starter.cu"}
    assert not {"server", "migrations"} & {path.name for path in to.iterdir()}

    def tilelab(*words: str) -> subprocess.CompletedProcess[bytes]:
        env = {"PYTHONPATH": str(to), "HOME": str(tmp_path)}
        command = [sys.executable, "-P", str(to / "bin/tilelab"), *words]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, check=False)

    (tmp_path / "my.cu").write_bytes(tilelab("exercises", "tiled", "--starter").stdout)
    graded = tilelab("grade", "my.cu", "--json")
    assert graded.returncode == 1, graded.stderr
    assert json.loads(graded.stdout)["verdict"] == "out_of_bounds"


def test_a_deadline_is_written_as_people_say_it(portal: Portal):
    with portal.app.test_request_context():
        noon = datetime.now(UTC).replace(hour=12, minute=0)
        for days, text in ((-1, "yesterday"), (0, "today"), (1, "tomorrow"), (3, f"{noon + 3 * DAY:%A}")):
            assert f">{text}, 12:00 UTC</time>" in deadline(noon + days * DAY)
        assert ">Mon 01 Jul 2019, 12:00 UTC</time>" in deadline(datetime(2019, 7, 1, 12, tzinfo=UTC))


def test_a_moment_in_a_table_is_told_whole_where_it_is_pointed_at(portal: Portal):
    with portal.app.test_request_context():
        this_year = datetime.now(UTC).replace(month=7, day=1, hour=9, minute=5)
        assert f'Jul {this_year:%Y}, 11:05 CEST">01 Jul 11:05</time>' in day(this_year, "Europe/Vienna")
        assert ">01 Jul 2019, 09:05</time>" in day(this_year.replace(year=2019))


@pytest.mark.one_in(4, "a quarter of the rules")
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"due_at": None}, "No deadline"),
        ({"late_percent_per_day": 12.5}, "Each started day costs 12.5 % of the points"),
        ({"closes_at": "due_at"}, "Closes at the deadline"),
        ({}, "No late penalty"),
        ({"attempts": 3}, "3 of 3 left"),
        ({"attempts": None}, "Unlimited"),
        ({"attempts": 3, "min_interval_seconds": 90}, "3 of 3 left, 90 s apart"),
        ({}, "At most 5, checks too"),
        ({"checks_per_hour": 7}, "Free; 7 of 7 left this hour"),
        ({"counts": "last"}, "Your last submission. Measured on"),
        ({"counts": "chosen"}, "Your best, unless you choose another"),
        ({"counts": "best"}, "Your best submission. With equal points, the faster"),
        ({"device_class": ""}, "Your best submission. With equal points, the earlier"),
        ({"device_class": ""}, "graded on correctness only"),
        ({"points": 2.5}, "2.5 if accepted"),
    ],
    ids=str,
)
@ON_SQLITE
def test_the_rules_stand_there_in_plain_words(portal: Portal, ada: BrowserClient, values, said):
    due_at = now() + DAY
    given = {name: due_at if value == "due_at" else value for name, value in values.items()}
    portal.course.change(**({"due_at": due_at} | given))
    assert said in words(ada.page(PAGE))


def test_an_assignment_that_is_unlisted_or_before_its_start_is_for_staff_alone(portal: Portal, ada: BrowserClient):
    teacher = client_of(portal, "teacher", Role.INSTRUCTOR)
    for values in ({"listed": False}, {"listed": True, "opens_at": now() + DAY}):
        portal.course.change(**values)
        assert ada.get(PAGE).status_code == 404
        assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 404
        assert "Tiled" not in words(ada.page(HOME))
        assert "Tiled" in words(teacher.page(HOME))
        assert teacher.post_form(FORM, source=KERNEL, mode="rank").status_code == 303


def test_who_was_dropped_sees_nothing_any_more(portal: Portal, ada: BrowserClient):
    with portal.course.sessions.begin() as session:
        session.scalars(select(Membership)).one().dropped_at = now()
    assert ada.get(HOME).status_code == ada.get(PAGE).status_code == 404
    assert 'class="course-list"' not in ada.page("/")


def test_the_handout_is_there_with_its_code_and_without_its_title(portal: Portal, ada: BrowserClient):
    page = ada.page(PAGE)
    assert page.count("<h1>") == 1
    assert "<h3>How it is graded</h3>" in page
    assert '<i class="cuda">__global__</i>' in page


def test_the_handout_has_the_phases_to_step_through_and_no_code_of_the_solution(portal: Portal, ada: BrowserClient):
    page = ada.page(PAGE)
    handout = page[page.index('<div class="handout-phases">') :]
    assert handout.count("<figure id=") == 8
    assert "data-stepper" in handout
    assert "<td>0 → Mds[0][1]" in handout
    assert "```" not in page
    given, solution = (
        {line.strip() for line in file.read_text().splitlines() if len(line.strip()) > 20}
        for file in (find_exercise("tiled").starter, find_exercise("tiled").solution)
    )
    assert not [line for line in solution - given if line in words(page)]


def test_phases_that_cannot_be_drawn_are_shown_as_their_text(portal: Portal, ada: BrowserClient):
    with portal.course.sessions.begin() as session:
        handout = session.scalars(select(ExerciseFile).where(ExerciseFile.name == "handout.md")).one()
        handout.content = b"# A title\n\n```phases\nWidth = 400\ntile = 2\n<script>\n```\n"
    page = ada.page(PAGE)
    assert "data-stepper" not in page
    assert "<code>Width = 400\ntile = 2\n&lt;script&gt;\n</code>" in page


def test_the_starter_comes_as_a_file_and_stands_in_the_form(portal: Portal, ada: BrowserClient):
    starter = find_exercise("tiled").starter.read_text()
    answer = ada.get(f"{PAGE}starter.cu")
    assert answer.get_data(as_text=True) == starter
    assert answer.headers["Content-Disposition"] == 'attachment; filename="tiled.cu"'
    assert answer.mimetype == "text/plain"
    assert typed(ada.page(PAGE)) == starter


def test_the_editor_says_where_its_text_is_from(portal: Portal, ada: BrowserClient):
    assert 'data-loaded="starter"' in ada.page(PAGE)
    sent = ada.post_form(FORM, source=KERNEL, mode="check")
    name = sent.headers["Location"].rpartition("/")[2]
    assert f'data-loaded="{name}"' in ada.page(PAGE)
    assert "data-loaded" not in ada.post_form(FORM, source="", mode="check").get_data(as_text=True)


def test_speeds_have_a_column_only_if_something_is_measured(portal: Portal, ada: BrowserClient):
    ada.post_form(FORM, source=KERNEL, mode="check")
    assert ">Speed" in ada.page(PAGE)
    portal.course.change(device_class="")
    assert ">Speed" not in ada.page(PAGE)


def test_the_leaderboard_s_link_needs_no_redirect(portal: Portal, ada: BrowserClient):
    portal.course.change(points=10.0)
    for device_class, name in (("h200", "h200"), ("", "cpu")):
        portal.course.change(device_class=device_class)
        for page in (PAGE, "/courses/gpu/"):
            assert f'href="{PAGE}board/{name}"' in ada.page(page)


def test_only_figures_of_the_exercise_are_served(portal: Portal, ada: BrowserClient):
    for name in ("x.svg", "..%2fexercise.toml", "exercise.toml", "solution.cu", "%00", "handout.md", "..svg"):
        assert ada.get(f"{PAGE}figures/{name}").status_code == 404, name
    has_exercise(portal, "bank-conflicts")
    page = ada.page(PAGE)
    assert f'src="{PAGE}figures/bank-conflicts.svg"' in page
    answer = ada.get(f"{PAGE}figures/bank-conflicts.svg", headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Content-Disposition"] == "attachment; filename=bank-conflicts.svg", "runs no script"


def test_an_exercise_without_files_leaves_a_page_that_works(portal: Portal, ada: BrowserClient):
    with portal.course.sessions.begin() as session:
        session.execute(delete(ExerciseFile))
    assert "has no handout here" in words(ada.page(PAGE))
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
    # what is refused comes back as what would be sent next
    portal.course.change(attempts=1)
    again = ada.post_form(FORM, source=KERNEL, file=(BytesIO(b"// another\r\n"), "mine.cu"), mode="rank")
    assert again.status_code == 422
    assert typed(again.get_data(as_text=True)) == "// another\n"


def test_a_course_that_is_over_can_be_read_and_takes_nothing(portal: Portal, ada: BrowserClient):
    portal.course.change_course(archived_at=now())
    assert "<textarea" not in ada.page(PAGE)
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 422
    assert "archived" in words(ada.page("/"))
    assert handed_in(portal) == []


@pytest.mark.one_in(3, "a third of the addresses")
@pytest.mark.parametrize("slug", ["%00", "a%20b", "GPU", "ä", "x" * 3000, "%ff"])
def test_odd_addresses_are_simply_not_there(portal: Portal, ada: BrowserClient, slug):
    for path in (f"/courses/{slug}/", f"/courses/gpu/{slug}/", f"/courses/{slug}/{slug}/starter.cu"):
        assert ada.get(path).status_code == 404, path


@pytest.mark.parametrize(
    ("role", "admin", "links"),
    [
        (Role.STUDENT, False, ["Courses", "Assignments", "News"]),
        (Role.ASSISTANT, False, ["Courses", "Assignments", "Staff", "News"]),
        (None, True, ["Courses", "Assignments", "Staff", "Fleet", "News"]),
    ],
    ids=str,
)
@ON_SQLITE
def test_the_ways_above_a_page_are_those_that_its_reader_may_go(portal: Portal, role, admin, links):
    client = client_of(portal, "reader", role, admin=admin)
    found = re.search(r'<nav aria-label="Site">.*?</nav>', client.page(PAGE), re.DOTALL)
    assert found is not None
    assert re.findall(r">(\w+)</a>", found[0]) == links
