"""Experiments over HTTP: start, follow, fetch, cancel, and who may."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update

from kernels.experiment.constraint import Constraint
from kernels.experiment.result import from_json
from kernels.verdict import Verdict
from server.accounts.models import Person, Scope
from server.accounts.service import create_token
from server.courses.models import Role
from server.experiments import estimate, new_experiment
from server.experiments.access import STARTS
from server.experiments.models import Experiment
from server.experiments.quota import EXPERIMENTS_A_DAY
from tests.server.databases import ON_SQLITE
from tests.server.experiments.started import KERNEL, TILE, checked, run_all, runner_of, sent
from tests.server.web.conftest import Portal

pytestmark = [ON_SQLITE, pytest.mark.usefixtures("one_window")]
NOW = datetime.now(UTC)
TUNE = '[design]\nkind = "tune"\npoints = 2\ngoal = "gflops"\n'
LIST = '[design]\nkind = "list"\nrows = [{ TILE_WIDTH = 8 }]\n'
API = "/api/v1/experiments"


def begin(portal: Portal, name: str, role: Role = Role.STUDENT, **more):
    asked = {"course": "gpu", "definition": TILE, "kernels": {"tiled.cu": KERNEL}} | more
    headers = {"Authorization": f"Bearer {portal.token(name, role)}"}
    return portal.client.post(API, json=asked, headers=headers)


def test_an_experiment_is_started_followed_and_fetched(portal: Portal):
    answer = begin(portal, "ina", Role.INSTRUCTOR)
    made = answer.get_json()
    assert (answer.status_code, answer.headers["Location"]) == (201, made["url"])
    assert (made["state"], made["points"], made["ended"], made["device_class"]) == ("running", 4, 0, "h200")
    assert made["definition"]["axes"] == {"TILE_WIDTH": [4, 8, 16, 32]}
    assert [kernel["text"] for kernel in made["kernels"]] == [KERNEL]
    runner = runner_of(portal.course)
    runner.step(NOW)
    for job in sent(portal.course)[:2]:
        checked(portal.course, job, Verdict.DATA_RACE)
    runner.step(NOW)
    assert portal.get("ina", made["url"]).get_json()["ended"] == 2
    page = portal.get("ina", f"{made['url']}/points?limit=1").get_json()
    assert [from_json(each).number for each in page["points"]] == [0]
    page = portal.get("ina", page["next"]).get_json()
    assert [(each["number"], each["verdict"]) for each in page["points"]] == [(1, "data_race")]
    assert page["next"] is None


def test_a_table_comes_page_by_page_with_its_header(portal: Portal):
    url = begin(portal, "ina", Role.INSTRUCTOR, device_class="cpu").get_json()["url"]
    run_all(portal.course, runner_of(portal.course), NOW)
    first = portal.get("ina", f"{url}/points.csv?limit=3")
    following = first.headers["Link"].partition(">")[0].removeprefix("<")
    rows = [
        row
        for answer in (first, portal.get("ina", following))
        for row in csv.DictReader(io.StringIO(answer.get_data(as_text=True)))
    ]
    assert [row["param_TILE_WIDTH"] for row in rows] == ["4", "8", "16", "32"]
    assert "Link" not in portal.get("ina", following).headers


def test_a_large_experiment_needs_a_confirmation(portal: Portal, monkeypatch):
    monkeypatch.setattr(estimate, "LARGE_SECONDS", 0)
    answer = begin(portal, "ina", Role.INSTRUCTOR)
    assert (answer.status_code, answer.get_json()["code"]) == (409, "large_experiment")
    assert begin(portal, "ina", Role.INSTRUCTOR, confirm=True).status_code == 201


def test_a_course_lists_the_experiments_that_its_reader_may_see(portal: Portal):
    mine = begin(portal, "ada").get_json()["id"]
    theirs = begin(portal, "bob").get_json()["id"]
    portal.token("ina", Role.INSTRUCTOR)

    def listed(name: str, course: str = "gpu", **more: str) -> list[str]:
        query = {"course": course, **more}
        found = portal.get(name, "/api/v1/experiments?" + "&".join(f"{key}={value}" for key, value in query.items()))
        return [each["id"] for each in found.get_json()["experiments"]]

    assert (listed("ada"), listed("bob"), listed("ina")) == ([mine], [theirs], [theirs, mine])
    with portal.course.sessions.begin() as session:
        session.execute(update(Experiment).where(Experiment.public_id == mine).values(shared_at=NOW))
        reader = create_token(session, session.get_one(Person, portal.course.person("ina")), "r", scopes=[Scope.READ])
    headers = {"Authorization": f"Bearer {reader}"}
    (line,) = portal.client.get(f"{API}?course=gpu", headers=headers).get_json()["experiments"]
    answer = portal.client.get(line["url"], headers=headers).get_json()
    assert (line["id"], answer["kernels"][0]["text"]) == (mine, None)
    codes = [portal.client.get(f"{API}/{name}", headers=headers).status_code for name in (mine, theirs)]
    assert codes == [200, 403]
    assert portal.client.post(f"{API}/{mine}/cancel", headers=headers).get_json()["code"] == "missing_scope"
    assert listed("ina", before="1") == []
    assert portal.get("ada", "/api/v1/experiments").status_code == 404


def test_axes_of_the_request_replace_those_of_the_file(portal: Portal):
    made = begin(portal, "ina", Role.INSTRUCTOR, axes=["TILE_WIDTH=16", "Width=64:256:*2"]).get_json()
    assert made["definition"]["axes"] == {"TILE_WIDTH": [16], "Width": [64, 128, 256]}


def test_the_ladder_is_its_kernels(portal: Portal):
    definition = TILE.replace('["tiled.cu"]', '"ladder"').replace("TILE_WIDTH = [4, 8, 16, 32]", "Width = [64, 128]")
    made = begin(portal, "ina", Role.INSTRUCTOR, definition=definition, kernels={}).get_json()
    rungs = made["definition"]["experiment"]["kernels"]
    assert rungs[:2] == ["01_uncoalesced.cu", "02_transposed_tiles.cu"]
    assert made["points"] == 2 * len(rungs)
    run_all(portal.course, runner_of(portal.course), NOW)
    page = portal.get("ina", f"{made['url']}/points").get_json()
    assert {each["kernel"] for each in page["points"]} == set(rungs)


@pytest.mark.one_in(4, "a quarter of the mistakes")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"definition": TILE.replace("[axes]", "[axis]")}, "Line 6"),
        ({"definition": TILE.replace("4, 8", "4, 7")}, "Line 7: `TILE_WIDTH` can't be 7"),
        ({"definition": TILE.replace("TILE_WIDTH", "TILE_WIDHT")}, "Line 7"),
        ({"definition": TILE.replace('"tiled"', '"../tiled"')}, "isn't an exercise of this course"),
        ({"definition": TILE.replace("tiled.cu", "../a.cu")}, "Line 4"),
        ({"definition": TILE + 'Width = "1:100000"\n'}, "more than 10,000 values"),
        ({"definition": TILE + 'Width = "1:10000"\nN = "1:10000"\n'}, "`axes.N`"),
        (
            {"definition": TILE.replace('["tiled.cu"]', '"ladder"').replace('"tiled"', '"naive"')},
            "Line 4: naive has no ladder.",
        ),
        ({"definition": TILE + TUNE.replace("2", "201")}, "Line 10: A search on a server tries at most 200"),
        ({"definition": TILE + TUNE, "device_class": "cpu"}, "Line 11: `gflops` needs"),
        ({"kernels": {}}, "The text of `tiled.cu` is missing."),
        ({"kernels": {"tiled.cu": "x" * 70_000}}, "The limit is 65,536"),
        ({"kernels": {"tiled.cu": 7}}, "`kernels.tiled.cu` must be a text"),
        ({"axes": ["TILE_WIDTH=8:4"]}, "ends before it begins"),
        ({"definition": TILE + LIST, "axes": ["fmad=0,1"]}, "has its own rows"),
        ({"axes": "TILE_WIDTH"}, "`axes`"),
        ({"device_class": "h900"}, "No worker measures"),
        ({"axes": [7]}, "`axes[0]` must be a text"),
        ({"pause_before_deadlines": 1}, "`pause_before_deadlines` must be true or false"),
        ({"course": "../gpu"}, "`course`"),
        ({"definition": ""}, "`definition`"),
        ({"device_class": 7}, "`device_class`"),
        ({"points": 1}, "isn't a field"),
        ({"definition": "\ud800"}, "can't be stored"),
    ],
)
def test_a_mistake_is_named_with_its_field_and_line(portal: Portal, more, said):
    answer = begin(portal, "ina", Role.INSTRUCTOR, **more)
    assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert said in answer.get_json()["detail"]
    assert not runner_of(portal.course).step(NOW)


def test_a_student_names_an_assignment_and_has_a_quota(portal: Portal):
    assert begin(portal, "ada", definition=TILE.replace('exercise = "tiled"', 'exercise = "naive"')).status_code == 422
    for _ in range(EXPERIMENTS_A_DAY):
        assert begin(portal, "ada").status_code == 201
    refused = begin(portal, "ada")
    assert (refused.status_code, refused.get_json()["code"]) == (403, "quota_used")
    assert "UTC" in refused.get_json()["detail"]


def test_what_a_student_sends_is_bounded_before_it_is_listed(portal: Portal):
    axes = ["Width=1:200", "TILE_WIDTH=2,4,8,16,32", "N=1:200"]
    answer = begin(portal, "ada", axes=axes)
    assert (answer.status_code, "200,000 combinations" in answer.get_json()["detail"]) == (422, True)


def attack(comparisons: int = 40, last: int = 100) -> dict[str, Any]:
    """A definition whose constraints would take minutes, and its kernel."""
    condition = " and ".join(["A1 > 0"] * comparisons)
    constraints = "".join(f'c{number} = "{condition}"\n' for number in range(16))
    axes = f'A0 = "1:{last}"\nA1 = "1:{last}"\n[constraints]\n{constraints}end = "A1 < 1"\n'
    text = TILE.replace("TILE_WIDTH = [4, 8, 16, 32]\n", axes)
    return {"definition": text, "kernels": {"tiled.cu": f"#define A0 1\n#define A1 1\n{KERNEL}"}}


@pytest.mark.parametrize(("role", "last"), [(Role.STUDENT, 100), (Role.INSTRUCTOR, 1_000)])
def test_no_constraint_is_evaluated_beyond_the_limit(portal: Portal, monkeypatch, role, last):
    monkeypatch.setattr(Constraint, "holds", lambda *_: pytest.fail("evaluated"))
    answer = begin(portal, "ada", role, **attack(last=last))
    assert (answer.status_code, "`constraints`" in answer.get_json()["detail"]) == (422, True)


def test_a_refused_start_counts_against_the_rate(portal: Portal):
    for _ in range(STARTS.count):
        assert begin(portal, "ada", definition="").status_code == 422
    assert begin(portal, "ada", **attack()).status_code == 429


def test_the_quota_is_checked_before_the_plan(portal: Portal, monkeypatch):
    for _ in range(EXPERIMENTS_A_DAY):
        assert begin(portal, "ada").status_code == 201
    monkeypatch.setattr(new_experiment, "checked_plan", lambda *_, **__: pytest.fail("planned"))
    assert begin(portal, "ada", **attack()).get_json()["code"] == "quota_used"


@pytest.mark.one_in(3, "one of three")
@pytest.mark.parametrize(
    ("role", "more", "field"),
    [
        (Role.STUDENT, {"definition": TILE + 'Width = "1:500"\n' + TUNE.replace("gflops", "loads")}, "axes"),
        (Role.INSTRUCTOR, {"definition": TILE + 'Width = "1:2000"\n'}, "axes"),
        (Role.INSTRUCTOR, {"kernels": dict.fromkeys("abc", KERNEL + "// " * 15000)}, "experiment.kernels"),
    ],
)
def test_sizes_and_kernels_that_take_long_to_check_are_refused(portal: Portal, role, more, field):
    if "kernels" in more:
        more |= {"definition": TILE.replace('"tiled.cu"', '"a", "b", "c"')}
    answer = begin(portal, "ada", role, **more)
    assert (answer.status_code, f"`{field}`" in answer.get_json()["detail"]) == (422, True)


def test_a_course_that_is_archived_takes_none(portal: Portal):
    portal.token("ina", Role.INSTRUCTOR)
    portal.course.change_course(archived_at=NOW)
    assert begin(portal, "ina").status_code == 403


def test_only_its_owner_and_staff_see_and_cancel_one(portal: Portal):
    url = begin(portal, "ada").get_json()["url"]
    portal.token("ina", Role.INSTRUCTOR)
    headers = {"Authorization": f"Bearer {portal.token('bob')}"}
    assert portal.get("bob", url).status_code == 404
    assert portal.client.post(f"{url}/cancel", headers=headers).status_code == 404
    assert portal.get("ina", url).get_json()["own"] is False
    headers = {"Authorization": f"Bearer {portal.token('ina')}"}
    assert portal.client.post(f"{url}/cancel", headers=headers).get_json()["state"] == "cancelled"
    assert portal.client.post(f"{url}/cancel", headers=headers).status_code == 409


def test_the_class_sees_a_shared_one_without_names_sources_and_findings(portal: Portal):
    from tests.server.web.signed_in import client_of

    definition, kernels = TILE.replace("tiled.cu", "ada_lovelace.cu"), {"ada_lovelace.cu": KERNEL}
    url = begin(portal, "ada", definition=definition, kernels=kernels).get_json()["url"]
    runner = runner_of(portal.course)
    runner.step(NOW)
    checked(portal.course, sent(portal.course)[0], Verdict.DATA_RACE, message="secret_name is raced over")
    runner.step(NOW)
    public_id = url.rpartition("/")[2]
    staff = client_of(portal, "ina", Role.INSTRUCTOR)
    assert staff.post_form(f"/experiments/{public_id}/share", shared="yes").status_code == 303
    pages = [
        portal.get("bob", address).get_data(as_text=True) for address in (url, f"{url}/points", f"{url}/points.csv")
    ]
    pages.append(client_of(portal, "bob").page(f"/experiments/{public_id}"))
    pages.append(client_of(portal, "bob").page("/courses/gpu/experiments"))
    for word in ("lovelace", "secret_name", "__global__", ">ada"):
        assert not [page for page in pages if word in page], word
    assert "kernel-1.cu" in pages[0]
    assert "secret_name" in portal.get("ada", f"{url}/points").get_data(as_text=True)
