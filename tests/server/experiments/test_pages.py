"""The pages of experiments: the two buttons, the curve, and what staff do with it."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from arro3.io import read_parquet
from sqlalchemy import select, update

from kernels.exercise import find_exercise, load_exercise
from kernels.experiment.templates import template_files
from kernels.rendering.experiment import NO_POINT_MEASURED, NOTHING_MEASURED
from kernels.verdict import Finding, Verdict
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Role
from server.experiments import estimate, queries, views
from server.experiments.models import Experiment, ExperimentState
from server.submissions.models import Mode
from tests.server.databases import ON_SQLITE
from tests.server.experiments.started import (
    KERNEL,
    TILE,
    checked,
    experiment_of,
    finished,
    run_all,
    runner_of,
    sent,
    started,
)
from tests.server.submissions.test_api import grade
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

pytestmark = [ON_SQLITE, pytest.mark.usefixtures("one_window")]
NOW = datetime.now(UTC)


def _template(name: str) -> str:
    return template_files()[name].read_text("utf-8")


def graded(portal: Portal) -> str:
    """The ID of an accepted submission of Ada's."""
    accepted = portal.course.hand_in("ada", KERNEL.encode())
    grade(portal.course)
    return accepted.submission.public_id


def latest(portal: Portal) -> Experiment:
    return portal.course.row(select(Experiment).order_by(Experiment.id.desc()).limit(1))


def test_a_student_varies_the_tile_of_a_submission_and_gets_the_curve(portal: Portal):
    submission = graded(portal)
    ada = client_of(portal, "ada")
    assert f"/submissions/{submission}/vary?what=tile" in ada.page(f"/submissions/{submission}")
    form = ada.page(f"/submissions/{submission}/vary?what=tile")
    assert 'value="2,4,8,16,32"' in form
    assert "3 of 3" in form
    assert "40 of 40" in form
    answer = ada.post_form(f"/submissions/{submission}/vary", what="tile", axis="TILE_WIDTH", values="8,16")
    assert answer.status_code == 303
    here = answer.location.partition("?")[0]
    assert "0 of 2 points" in ada.page(here)
    run_all(portal.course, runner_of(portal.course), NOW)
    page = ada.page(here)
    assert "2 of 2 points" in page
    assert page.count("<td>accepted</td>") == 2
    assert "Nothing was measured" in page or "measured" in page
    assert re.findall(r'id="sizes">[^<]*', page) == ['id="sizes">All points ran at Width=2,048.']
    assert (latest(portal).state, latest(portal).submission_id is not None) == (ExperimentState.DONE, True)
    assert "2 of 3" in ada.page(f"/submissions/{submission}/vary")


def test_a_tile_that_cannot_be_is_refused_and_the_others_are_named(portal: Portal):
    submission = graded(portal)
    ada = client_of(portal, "ada")
    answer = ada.post_form(f"/submissions/{submission}/vary", what="tile", axis="TILE_WIDTH", values="3")
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert "<code>TILE_WIDTH</code>" in page.partition('id="values-error"')[2]
    assert "`" not in page
    (hint,) = re.findall(r'id="values-hint">([^<]+)<', page)
    assert set(map(int, re.findall(r"\d+", hint))) == set(load_exercise(find_exercise("tiled").root).tiles)


def test_a_size_is_varied_within_the_quota_and_a_mistake_is_shown(portal: Portal):
    submission = graded(portal)
    ada = client_of(portal, "ada")
    assert 'value="128,256,512,1024,2048,4096"' in ada.page(f"/submissions/{submission}/vary?what=size")
    for values, said in (("1:41", "The limit for students is 40"), ("x", "isn&#39;t a number"), ("", "has no values")):
        answer = ada.post_form(f"/submissions/{submission}/vary", what="size", axis="Width", values=values)
        assert (answer.status_code, said in answer.get_data(as_text=True)) == (422, True), values
    for values in ("1:30", "32", "33"):
        answer = ada.post_form(f"/submissions/{submission}/vary", what="size", axis="Width", values=values)
        assert answer.status_code == 303
        more = ada.post_form(f"/submissions/{submission}/vary", what="size", axis="Width", values="1:11")
        assert more.status_code == 422
    page = ada.page(f"/submissions/{submission}/vary?what=size")
    assert "The next one is possible at" in page
    assert "<form" not in page.partition("<main")[2].partition("</main>")[0]
    answer = ada.post_form(f"/submissions/{submission}/vary", what="size", axis="Width", values="32")
    assert answer.status_code == 422


def test_an_exercise_of_one_tile_offers_only_its_size(portal: Portal):
    submission = graded(portal)
    with portal.course.sessions.begin() as session:
        exercise = session.get_one(Assignment, portal.course.assignment).exercise
        exercise.definition = exercise.definition.replace("[2, 4, 8, 16, 32]", "[16]")
    page = client_of(portal, "ada").page(f"/submissions/{submission}")
    assert ("vary?what=tile" in page, "vary?what=size" in page) == (False, True)


def test_a_kernel_with_its_own_launch_tile_has_no_tile_to_vary(portal: Portal):
    text = b"//!tilelab tile=16\n" + KERNEL.replace("TILE_WIDTH", "SIDE").encode()
    submission = portal.course.hand_in("ada", text).submission.public_id
    grade(portal.course)
    assert "sets its own tile" in client_of(portal, "ada").page(f"/submissions/{submission}/vary?what=tile")


@pytest.mark.parametrize("verdict", [None, Verdict.WRONG_ANSWER])
def test_a_kernel_that_is_not_accepted_is_not_varied(portal: Portal, verdict: Verdict | None):
    submission = portal.course.hand_in("ada", KERNEL.encode(), Mode.CHECK).submission.public_id
    if verdict is not None:
        grade(portal.course, verdict)
    ada = client_of(portal, "ada")
    answer = ada.post_form(f"/submissions/{submission}/vary", what="tile", axis="TILE_WIDTH", values="8")
    assert (answer.status_code, 'name="values"' in answer.get_data(as_text=True)) == (422, False)
    assert portal.course.rows(select(Experiment)) == []


def test_the_state_is_for_an_open_page(portal: Portal):
    name = started(portal.course, "ada", assignment=portal.course.assignment)
    ada = client_of(portal, "ada")
    assert f'data-state="/experiments/{name}/state"' in ada.page(f"/experiments/{name}")
    state = ada.get(f"/experiments/{name}/state").get_json()
    assert (state["final"], "0 of 4 points" in state["html"]) == (False, True)
    assert ada.post_form(f"/experiments/{name}/cancel").status_code == 303
    assert ada.get(f"/experiments/{name}/state").get_json()["final"] is True


def test_staff_start_one_from_a_template_and_from_files(portal: Portal, ina: BrowserClient):
    page = ina.page("/courses/gpu/experiments/new?template=tile")
    assert "Speed over the tile" in page
    answer = ina.post_form("/courses/gpu/experiments/new", definition=_template("tile"), device_class="")
    assert answer.status_code == 303, answer.get_data(as_text=True)
    definition = TILE.replace("tiled.cu", "solution.cu")
    answer = ina.post_form("/courses/gpu/experiments/new", definition=definition, device_class="cpu")
    assert answer.status_code == 303, answer.get_data(as_text=True)
    assert (latest(portal).points, latest(portal).device_class) == (4, "")
    files = [(io.BytesIO(TILE.encode()), "my.toml"), (io.BytesIO(KERNEL.encode()), "tiled.cu")]
    answer = ina.post_form("/courses/gpu/experiments/new", definition="", device_class="", files=files, pauses="yes")
    assert answer.status_code == 303
    assert (latest(portal).device_class, latest(portal).pauses) == ("h200", True)
    wrong = ina.post_form(
        "/courses/gpu/experiments/new", definition=definition.replace("4, 8", "4, 9"), device_class=""
    )
    assert (wrong.status_code, "Line 7" in wrong.get_data(as_text=True)) == (422, True)


def test_staff_pin_one_to_an_assignment_and_every_act_is_in_the_log(portal: Portal):
    name = started(portal.course, "ada", assignment=portal.course.assignment)
    ina, bob = client_of(portal, "ina", Role.INSTRUCTOR), client_of(portal, "bob")
    assert "Vary the tile" not in bob.page("/courses/gpu/tiled/")
    assert ina.post_form(f"/experiments/{name}/pin", assignment="none-such").status_code == 404
    assert ina.post_form(f"/experiments/{name}/pin", assignment="tiled").status_code == 303
    assert f"/experiments/{name}" in bob.page("/courses/gpu/tiled/")
    assert bob.get(f"/experiments/{name}").status_code == 200
    assert ina.post_form(f"/experiments/{name}/share", shared="no").status_code == 303
    assert experiment_of(portal.course, name).pinned_id is None
    assert bob.get(f"/experiments/{name}").status_code == 404
    assert ina.post_form(f"/experiments/{name}/cancel").status_code == 303
    with portal.course.sessions.begin() as session:
        query = select(AuditEvent.action).where(AuditEvent.subject == f"experiment {name}").order_by(AuditEvent.id)
        assert list(session.scalars(query)) == [
            "experiment.pinned", "experiment.hidden", "experiment.cancelled",
        ]  # fmt: skip


def test_the_page_has_the_question_and_what_the_course_expects(portal: Portal):
    text = TILE.replace("[axes]", 'question = "Which tile is best?"\nexpect = "A large one & <fast>."\n[axes]')
    staff = client_of(portal, "ina", Role.INSTRUCTOR)
    here = f"/experiments/{started(portal.course, text=text)}"
    run_all(portal.course, runner_of(portal.course), NOW)
    assert staff.post_form(f"{here}/share", shared="yes").status_code == 303
    for reader in (staff, client_of(portal, "bob")):
        page = reader.page(here)
        assert "Which tile is best?" in page
        assert "A large one &amp; &lt;fast&gt;." in page
        assert page.count("Numbers of this plot") == page.count("data-plot")


def test_points_with_a_system_error_are_retried_with_one_button(portal: Portal):
    from server.submissions.changes import cancel

    course = portal.course
    name = started(course, "ada", assignment=course.assignment)
    runner = runner_of(course)
    runner.step(NOW)
    failing, *others = sent(course)
    with course.sessions.begin() as session:
        cancel(session, failing, None, NOW)
    for job in others:
        checked(course, job)
    run_all(course, runner, NOW)
    ada, address = client_of(portal, "ada"), f"/experiments/{name}/retry"
    assert address not in client_of(portal, "bob").get(f"/experiments/{name}").get_data(as_text=True)
    headers = {"Authorization": f"Bearer {portal.token('ada')}"}
    found = portal.client.get(f"/api/v1/experiments/{name}", headers=headers).get_json()
    assert (found["state"], found["failed"]) == ("done", 1)
    assert address in ada.page(f"/experiments/{name}")
    assert ada.post_form(address).location.endswith("notice=experiment-retried")
    assert address not in ada.page(f"/experiments/{name}")
    answer = portal.client.post(f"/api/v1{address}", headers=headers)
    assert (answer.status_code, answer.get_json()["code"]) == (409, "over")
    assert ada.post_form(address).location.endswith("notice=experiment-not-retried")
    run_all(course, runner, NOW)
    assert experiment_of(course, name).state is ExperimentState.DONE
    with course.sessions.begin() as session:
        session.execute(update(Experiment).values(ended_at=NOW + timedelta(days=7)))
        assert estimate.estimate(session, 4, "", NOW).seconds < 60


def test_a_finding_that_no_file_can_hold_is_left_out(portal: Portal):
    name, runner = started(portal.course), runner_of(portal.course)
    runner.step(NOW)
    hostile = Finding(Verdict.WRONG_ANSWER, "x\ud800", 2**70)
    for job in sent(portal.course):
        checked(portal.course, job, Verdict.WRONG_ANSWER, findings=(hostile,))
    runner.step(NOW)
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    for file in ("", "/points.csv", "/points.parquet"):
        assert ina.get(f"/experiments/{name}{file}").get_data(), file


def test_a_search_says_on_its_page_what_it_tried(portal: Portal):
    text = f'{TILE}[design]\nkind = "tune"\npoints = 3\ngoal = "occupancy"\n'
    name = started(portal.course, "ada", text=text, assignment=portal.course.assignment)
    ada = client_of(portal, "ada")
    assert 'id="search"' not in ada.page(f"/experiments/{name}")
    run_all(portal.course, runner_of(portal.course), NOW)
    page = ada.page(f"/experiments/{name}")
    assert "3 of 4 points tried" in page.partition('id="search"')[2]
    assert "3 of 3 points" in page


@pytest.mark.one_in(3, "one of three reasons")
@pytest.mark.parametrize(
    ("device", "verdict", "said"),
    [
        ("h200", Verdict.DATA_RACE, NO_POINT_MEASURED),
        ("", Verdict.DATA_RACE, NO_POINT_MEASURED),
        ("", Verdict.ACCEPTED, NOTHING_MEASURED),
    ],
)
def test_a_page_says_why_nothing_was_measured(portal: Portal, device: str, verdict: Verdict, said: str):
    course = portal.course
    name = started(course, "ada", assignment=course.assignment, device_class=device)
    runner = runner_of(course)
    runner.step(NOW)
    for job in sent(course):
        checked(course, job, verdict)
    runner.step(NOW)
    page = client_of(portal, "ada").page(f"/experiments/{name}")
    assert [each for each in (NO_POINT_MEASURED, NOTHING_MEASURED) if each in page] == [said]


def test_all_results_can_be_downloaded_in_each_format(portal: Portal):
    name = finished(portal.course, "ada")
    ada, here = client_of(portal, "ada"), f"/experiments/{name}"
    csv = ada.page(f"{here}/points.csv")
    assert (len(csv.splitlines()), csv.startswith("point,kernel,param_TILE_WIDTH")) == (5, True)
    assert [row["param_TILE_WIDTH"] for row in ada.get(f"{here}/points.json").get_json()] == [4, 8, 16, 32]
    assert len(ada.get(f"{here}/points.t4.json").get_json()["results"]) == 4
    assert read_parquet(ada.get(f"{here}/points.parquet").get_data()).read_all()["param_TILE_WIDTH"].to_pylist() == [
        4, 8, 16, 32,
    ]  # fmt: skip
    assert "data-plot" in ada.page(f"{here}/report.html")
    assert ada.get(f"{here}/plot.png?y=occupancy").get_data().startswith(b"\x89PNG")
    assert ada.get(f"{here}/points.exe").status_code == 404


def test_a_person_has_one_download_at_a_time(portal: Portal):
    name = finished(portal.course, "ada")
    ada, here = client_of(portal, "ada"), f"/experiments/{name}/points.csv"
    first = ada.get(here)
    second = ada.get(here)
    assert (second.status_code, second.headers["Retry-After"]) == (429, "5")
    assert len(client_of(portal, "ina", Role.INSTRUCTOR).page(here).splitlines()) == 5
    assert len(first.get_data().splitlines()) == 5
    for _ in range(2):
        with ada.get(here) as closed_early:
            assert closed_early.status_code == 200


def test_the_address_chooses_the_plot(portal: Portal):
    name = finished(portal.course, "ada")
    ada, here = client_of(portal, "ada"), f"/experiments/{name}"
    plots = ada.page(here).count("data-plot")
    page = ada.page(f"{here}?y=occupancy&x=TILE_WIDTH&kind=bars")
    assert re.findall(r'<h2 id="plot-1">([^<]+?) ?<', page) == ["Occupancy by TILE_WIDTH"]
    assert page.count("data-plot") == 1 < plots
    assert f"{here}/plot.svg?kind=bars&amp;y=occupancy&amp;x=TILE_WIDTH" in page
    for wrong in ("kind=pie", "y=levitation", "x=nothing%00%3Cb%3E", "by=Z", "kind=multiples"):
        page = ada.page(f"{here}?{wrong}")
        assert ('id="plot-error"' in page, page.count("data-plot")) == (True, plots), wrong
        assert ada.get(f"{here}/plot.svg?{wrong}").status_code == 422


def test_a_lecture_goes_from_figure_to_figure_and_on_to_what_is_pinned_with_it(portal: Portal):
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    names = [finished(portal.course) for _ in range(2)]
    for name in names:
        assert ina.post_form(f"/experiments/{name}/pin", assignment="tiled").status_code == 303
    bob, address, seen = client_of(portal, "bob"), f"/experiments/{names[0]}/lecture", []
    places = list[str]()
    while address:
        page = bob.page(address)
        assert page.count("data-plot") == 1
        seen.append(address)
        places += re.findall(r"Figure \d+ of \d+", page)
        address = next(iter(re.findall(r'rel="next" href="([^"]+)"', page)), "")
    assert seen[-1].startswith(f"/experiments/{names[1]}/lecture")
    back = list[str]()
    while found := re.findall(r'rel="prev" href="([^"]+)"', page):
        page = bob.page(found[0])
        back += re.findall(r"Figure \d+ of \d+", page)
    assert back == places[-2::-1]
    assert len(seen) == len(set(seen)) > 3


def test_two_experiments_are_compared(portal: Portal, monkeypatch):
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    first, second = finished(portal.course), finished(portal.course, text=TILE.replace("4, 8", "8"))
    theirs, here = finished(portal.course, "ada"), f"/experiments/{first}/compare"
    monkeypatch.setattr(queries, "PAGE", 1)  # the list has `theirs` alone
    page = ina.page(f"{here}?with={second}&y=shared_conflicts")
    selected = re.findall(r'<option value="(\w+)" selected>', page)
    assert selected == [second, "shared_conflicts"]
    assert 'id="unlike"' not in page
    page = ina.page(f"{here}?with={second}&y=occupancy")
    assert "1 point only in A" in page
    assert re.findall(r'data-name="([AB])"', page)
    assert page.partition('id="pairs"')[2].count("<tr>") == 4
    for wrong in ("with=none", f"with={second}&y=levitation", f"with={second}&y=energy"):
        assert 'id="with-error"' in ina.page(f"{here}?{wrong}"), wrong
    bob = client_of(portal, "bob")
    assert bob.get(here).status_code == 404
    assert 'class="problem-list"' in client_of(portal, "ada").page(f"/experiments/{theirs}/compare?with={first}")


def test_the_class_compares_the_kernels_that_staff_compare(portal: Portal):
    ina, bob = client_of(portal, "ina", Role.INSTRUCTOR), client_of(portal, "bob")
    ids = [
        started(portal.course, text=TILE.replace('"tiled.cu"', names))
        for names in ('"ann.cu", "cat.cu"', '"cat.cu", "dan.cu"')
    ]
    runner = runner_of(portal.course)
    for _ in ids:
        run_all(portal.course, runner)
    for name in ids:
        assert ina.post_form(f"/experiments/{name}/share", shared="yes").status_code == 303
    pages = [who.page(f"/experiments/{ids[0]}/compare?with={ids[1]}") for who in (ina, bob)]
    for page in pages:
        assert re.findall(r"(\d+) points? only in ([AB])", page) == [("4", "A"), ("4", "B")]
    assert not [name for name in ("ann", "cat.cu", "dan") if name in pages[1].partition("<main")[2]]


def test_a_large_experiment_starts_after_a_question(portal: Portal, ina: BrowserClient, monkeypatch):
    monkeypatch.setattr(estimate, "LARGE_POINTS", 4)
    given = {"definition": TILE.replace("tiled.cu", "mine.cu"), "device_class": "cpu"}
    answer = ina.post_form("/courses/gpu/experiments/new", **given, files=[(io.BytesIO(KERNEL.encode()), "mine.cu")])
    page = answer.get_data(as_text=True)
    assert (answer.status_code, 'name="confirm" value="4"' in page, "judging by" in page) == (409, True, True)
    first = page.partition('enctype="multipart/form-data"')[2].partition('type="submit"')[2].partition(">")[0]
    assert "confirm" not in first
    assert portal.course.rows(select(Experiment)) == []
    kept = {"kernel": "mine.cu", "kernel_text": KERNEL.replace("\n", "\r\n")}
    assert ina.post_form("/courses/gpu/experiments/new", **given, **kept, confirm="3").status_code == 409
    assert ina.post_form("/courses/gpu/experiments/new", **given, **kept, confirm="4").status_code == 303
    plan = portal.course.row(select(Experiment.plan))
    assert plan["kernels"] == [["mine.cu", KERNEL]]


def test_plots_of_a_large_experiment_are_a_sample(portal: Portal, monkeypatch):
    monkeypatch.setattr(views, "MOST_DRAWN", 20)
    monkeypatch.setattr(views, "MOST_LISTED", 10)
    text = TILE.replace("[4, 8, 16, 32]", '16\nWidth = "16:1600:+16"')
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    name = finished(portal.course, text=text)
    here = f"/experiments/{name}"
    page = ina.page(here)
    (drawn,) = re.findall(r'id="sample">The plots show a sample of (\d+) of 100 results', page)
    assert 10 <= int(drawn) <= 30
    assert "Verdicts: 100 accepted." in page
    assert (page.count("<td>accepted</td>"), f"{here}?after=9" in page) == (10, True)
    assert f"{here}?after=9&amp;y=loads" in ina.page(f"{here}?y=loads")
    assert len(ina.page(f"{here}/points.csv").splitlines()) == 101


def test_a_student_sees_their_own_and_shared_ones_in_the_list(portal: Portal):
    mine = started(portal.course, "ada", assignment=portal.course.assignment)
    theirs = started(portal.course, "bob", assignment=portal.course.assignment)
    page = client_of(portal, "ada").page("/courses/gpu/experiments")
    assert (mine in page, theirs in page) == (True, False)
    page = client_of(portal, "ina", Role.INSTRUCTOR).page("/courses/gpu/experiments")
    assert (mine in page, theirs in page) == (True, True)
