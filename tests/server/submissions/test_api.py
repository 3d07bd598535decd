"""Handing in and looking up over HTTP, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import func, select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.accounts.service import revoke_tokens
from server.courses.models import Role
from server.dispatching.dispatch import take
from server.grading.models import Job, JobState
from server.recording.record import record
from server.submissions import allowance
from server.submissions.changes import cancel, retry
from server.submissions.verdicts import update_judged_jobs
from tests.server.course import ACourse, check_result, later, measure_result
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import SOURCE, Portal
from tests.server.web.signed_in import client_of
from worker.contract.messages import CPU_QUEUE


def grade(course: ACourse, verdict: Verdict = Verdict.ACCEPTED, *, measure: bool = True) -> None:
    """Do what a dispatcher, workers and a recorder do with whatever is queued."""
    with course.sessions.begin() as session:
        jobs = [step.job_id for step in take(session, CPU_QUEUE, slots=9, cap=9, now=later(1))]
    for job in jobs:
        with course.sessions.begin() as session:
            result = check_result(session, job, verdict)
        record(course.sessions, result, later(2))
    if not measure:
        return
    with course.sessions.begin() as session:
        jobs = [step.job_id for step in take(session, "gpu.h200", slots=9, cap=9, now=later(3))]
    for job in jobs:
        with course.sessions.begin() as session:
            result = measure_result(session, job, 5_000.0)
        record(course.sessions, result, later(4))


def test_a_submission_is_accepted_and_followed_to_its_verdict(portal: Portal):
    answer = portal.post("ada")
    assert answer.status_code == 202
    accepted = answer.get_json()
    assert set(accepted) == {"id", "url", "position"}
    assert accepted["position"] == 1
    assert answer.headers["Location"] == accepted["url"] == f"/api/v1/submissions/{accepted['id']}"

    found = portal.get("ada", accepted["url"]).get_json()
    assert list(found)[:5] == ["id", "assignment", "mode", "device_class", "state"]
    assert (found["state"], found["verdict"], found["result"]) == ("queued", None, None)
    assert (found["assignment"], found["mode"], found["device_class"]) == ("gpu/tiled", "rank", "h200")
    assert found["position"] == 1
    assert (found["wait"]["seconds"], bool(found["wait"]["reason"])) == (None, True)
    assert [(step["name"], step["state"], step["attempt"]) for step in found["steps"]] == [
        ("compile", "queued", 0), ("check", "queued", 0), ("measure", "queued", 0),
    ]  # fmt: skip

    grade(portal.course, measure=False)
    found = portal.get("ada", accepted["url"]).get_json()
    assert found["verdict"] is None
    assert [step["state"] for step in found["steps"]] == ["done", "done", "queued"]

    grade(portal.course)
    found = portal.get("ada", accepted["url"]).get_json()
    assert (found["state"], found["verdict"], found["position"], found["wait"]) == (
        "done", "accepted", None, None,
    )  # fmt: skip
    assert found["result"]["verdict"] == "accepted"
    assert found["worth"]
    assert found["result"]["measurement"]["gflops"] == 5_000.0
    measure = found["steps"][2]
    assert (measure["state"], measure["seconds"], measure["attempt"]) == ("done", 3.0, 1)


def test_a_wrong_kernel_is_not_measured(portal: Portal):
    url = portal.post("ada").get_json()["url"]
    grade(portal.course, Verdict.DATA_RACE)
    found = portal.get("ada", url).get_json()
    assert found["verdict"] == "data_race"
    assert found["steps"][-1]["state"] == "not_run"


def test_a_regrade_shows_the_earlier_verdict_until_it_has_one_itself(portal: Portal):
    url = portal.post("ada").get_json()["url"]
    grade(portal.course)
    before = portal.get("ada", url).get_json()
    graded_again(portal)
    waiting = portal.get("ada", url).get_json()
    assert (waiting["state"], waiting["position"]) == ("queued", 1)
    assert (waiting["verdict"], waiting["result"]) == ("accepted", before["result"])
    assert [(step["state"], step["seconds"]) for step in waiting["steps"]] == [("queued", None)] * 3
    grade(portal.course, Verdict.DATA_RACE)
    after = portal.get("ada", url).get_json()
    assert (after["state"], after["verdict"]) == ("done", "data_race")
    assert after["result"]["verdict"] == "data_race"


@ON_SQLITE
def test_who_takes_back_too_late_is_told_so_of_the_submission(portal: Portal):
    """Nobody who hands in knows of jobs."""
    urls = [portal.post("ada", {"source": f"{SOURCE}// {i}"}).get_json()["url"] for i in range(2)]
    bearer = {"Authorization": f"Bearer {portal.token('ada')}"}
    portal.client.post(f"{urls[0]}/cancel", headers=bearer)
    grade(portal.course)
    told = [portal.client.post(f"{url}/cancel", headers=bearer) for url in urls]
    assert [answer.status_code for answer in told] == [409, 409]
    before, graded = (answer.get_json()["detail"] for answer in told)
    assert before.startswith("It is already cancelled.")
    assert graded.startswith("It is already graded.")


def test_a_regrade_that_is_cancelled_leaves_the_earlier_verdict(portal: Portal):
    url = portal.post("ada").get_json()["url"]
    grade(portal.course)
    job = graded_again(portal)
    with portal.course.sessions.begin() as session:
        cancel(session, job, None)
    found = portal.get("ada", url).get_json()
    assert (found["state"], found["verdict"], found["position"]) == ("cancelled", "accepted", None)


def test_a_regrade_that_fails_by_our_fault_leaves_the_earlier_verdict(portal: Portal):
    url = portal.post("ada").get_json()["url"]
    grade(portal.course)
    job = graded_again(portal)
    with portal.course.sessions.begin() as session:
        again = session.get_one(Job, job)
        again.state, again.verdict, again.ended_at = JobState.DONE, Verdict.SYSTEM_ERROR, datetime.now(UTC)
        update_judged_jobs(session, [again])
    found = portal.get("ada", url).get_json()
    assert (found["state"], found["verdict"], found["result"]["verdict"]) == ("done", "accepted", "accepted")
    (line,) = portal.get("ada", "/api/v1/submissions").get_json()["submissions"]
    assert (line["verdict"], line["measured"]["gflops"]) == ("accepted", 5_000.0)
    assert line["measured"]["metric"] == "gflops"


def test_the_list_has_the_points_of_each_submission_once_they_are_released(portal: Portal):
    for mode in ("rank", "check"):
        portal.post("ada", {"mode": mode, "source": f"{SOURCE}// {mode}"})
        grade(portal.course)
    portal.post("ada")

    def points(**values: Any) -> list[tuple[float | None, float]]:
        portal.course.change(**values)
        found = portal.get("ada", "/api/v1/submissions").get_json()["submissions"]
        return [(line["points"], line["most_points"]) for line in found]

    assert points(points=10.0) == [(None, 10.0), (None, 10.0), (10.0, 10.0)]
    assert points(grades_held=True) == [(None, 10.0)] * 3
    assert points(grades_held=False, points=0.0) == [(None, 0.0)] * 3


def graded_again(portal: Portal) -> int:
    """The number of the new job, which waits."""
    with portal.course.sessions.begin() as session:
        return retry(session, session.scalar(select(func.max(Job.id))) or 0, None).id


def test_what_is_only_checked_has_no_step_to_measure(portal: Portal):
    url = portal.post("ada", {"mode": "check"}).get_json()["url"]
    found = portal.get("ada", url).get_json()
    assert [step["name"] for step in found["steps"]] == ["compile", "check"]
    assert found["device_class"] == ""


def test_a_request_made_twice_is_one_submission(portal: Portal):
    first, second = portal.post("ada", key="once"), portal.post("ada", key="once")
    assert first.status_code == second.status_code == 202
    assert first.get_json()["id"] == second.get_json()["id"]
    assert portal.post("ben", key="once").get_json()["id"] != first.get_json()["id"]
    other = portal.post("ada", {"source": SOURCE + "// more\n"}, key="once")
    assert other.status_code == 409
    assert "new key" in other.get_json()["detail"]
    grade(portal.course)
    assert portal.post("ada", key="once").get_json()["position"] is None


def test_students_see_their_own_submissions_and_staff_all(portal: Portal):
    url = portal.post("ada").get_json()["url"]
    portal.token("ina", Role.INSTRUCTOR)
    portal.token("eve", None)
    assert portal.get("ada", url).status_code == 200
    assert portal.get("ina", url).status_code == 200
    assert portal.get("ben", url).status_code == 404
    assert portal.get("eve", url).status_code == 404
    assert portal.post("eve").get_json() == portal.post("eve", {"assignment": "gpu/none"}).get_json()
    assert portal.post("eve").status_code == 404
    assert portal.get("ada", "/api/v1/submissions/no-such-one").status_code == 404
    assert portal.get("ada", f"{url}/source").get_data(as_text=True) == SOURCE
    assert portal.get("ben", f"{url}/source").status_code == 404
    assert portal.get("ada", "/api/v1/submissions/%00%ff").status_code == 404


def test_a_token_that_is_not_good_is_refused(portal: Portal):
    token = portal.token("ada")
    url = portal.post("ada").get_json()["url"]
    for header in ("", "Bearer", f"Basic {token}", "Bearer tl_wrong", f"Bearer {token}x", "Bearer é" + token):
        answer = portal.client.get(url, headers={"Authorization": header})
        assert answer.status_code == 401, header
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert answer.content_type == "application/problem+json"
    assert portal.client.post("/api/v1/submissions", json={}).status_code == 401
    with portal.course.sessions.begin() as session:
        revoke_tokens(session, session.get_one(Person, portal.course.person("ada")))
    assert portal.get("ada", url).status_code == 401


@pytest.mark.parametrize("values", [{"opens_at": later(1e9)}, {"listed": False}], ids=["not open", "not listed"])
def test_what_is_hidden_from_students_is_told_as_if_it_were_not_there(portal: Portal, values):
    portal.token("ina", Role.INSTRUCTOR)
    assert portal.post("ina").status_code == 202
    portal.course.change(**values)
    none, listed = {"assignment": "gpu/none"}, "/api/v1/submissions?assignment="
    assert portal.post("ada").status_code == 404
    assert portal.post("ada").get_json() == portal.post("ada", none).get_json()
    assert portal.get("ada", f"{listed}gpu/tiled").get_json() == portal.get("ada", f"{listed}gpu/none").get_json()
    assert portal.post("ina").status_code == 202
    assert len(portal.get("ina", f"{listed}gpu/tiled").get_json()["submissions"]) == 2


def test_nobody_learns_what_there_is_in_other_courses(portal: Portal):
    portal.token("eve", None)
    listed = "/api/v1/submissions?assignment="
    there = portal.get("eve", f"{listed}gpu/tiled")
    assert there.status_code == 404
    assert there.get_json() == portal.get("eve", f"{listed}gpu/none").get_json()


def test_another_kind_of_gpu_takes_one_that_is_there(portal: Portal):
    for name in ("b200", "cpu"):
        answer = portal.post("ada", {"device_class": name})
        assert answer.status_code == 422
        assert "one of: h200" in answer.get_json()["detail"]


def test_where_nothing_is_measured_the_device_is_the_cpu(portal: Portal):
    portal.course.change(device_class="")
    accepted = portal.post("ada", {"device_class": "cpu"})
    assert accepted.status_code == 202
    assert portal.get("ada", accepted.get_json()["url"]).get_json()["device_class"] == ""
    assert "one of: cpu" in portal.post("ada", {"device_class": "h200"}).get_json()["detail"]


@pytest.mark.usefixtures("one_window")
def test_pages_and_programs_count_together(portal: Portal, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(allowance, "SUBMITS", replace(allowance.SUBMITS, count=2))
    ada = client_of(portal, "ada")
    form = {"source": SOURCE, "mode": "check"}
    assert ada.post_form("/courses/gpu/tiled/submissions", **form).status_code == 303
    assert portal.post("ada").status_code == 202
    assert ada.post_form("/courses/gpu/tiled/submissions", **form).status_code == 429
    assert portal.post("ada").status_code == 429
    assert portal.post("ben").status_code == 202


def test_a_board_shows_students_themselves_and_staff_everyone(portal: Portal):
    portal.post("ada")
    portal.post("ben")
    grade(portal.course)
    portal.token("ina", Role.INSTRUCTOR)
    portal.token("eve", None)
    url = "/api/v1/leaderboards/gpu/tiled/h200"
    board = portal.get("ada", url).get_json()
    assert (board["assignment"], board["device_class"], board["metric"]) == ("gpu/tiled", "h200", "gflops")
    assert [(line["rank"], line["value"], line["you"]) for line in board["lines"]] == [
        (1, 5_000.0, True), (2, 5_000.0, False),
    ]  # fmt: skip
    assert [line["name"] for line in board["lines"]] == [line["pseudonym"] for line in board["lines"]]
    assert "ben" not in str(board)
    assert board["own"] == board["lines"][0]
    assert [line["name"] for line in portal.get("ina", url).get_json()["lines"]] == ["ada", "ben"]
    assert portal.get("eve", url).status_code == 404
    assert portal.get("ada", "/api/v1/leaderboards/gpu/none/h200").status_code == 404
    assert portal.get("ada", "/api/v1/leaderboards/gpu/tiled/b200").get_json()["lines"] == []


def test_attempt_limit_and_minimum_interval_are_told_with_the_time_until_the_next(portal: Portal):
    portal.token("ada")
    portal.course.change(min_interval_seconds=600, attempts=2)
    assert portal.post("ada").status_code == 202
    refused = portal.post("ada")
    assert (refused.status_code, refused.get_json(force=True)["code"]) == (429, "too_often")
    assert 590 <= int(refused.headers["Retry-After"]) <= 600
    portal.course.change(min_interval_seconds=0, attempts=1)
    refused = portal.post("ada")
    assert (refused.status_code, refused.get_json(force=True)["code"]) == (403, "no_attempts_left")
    portal.course.change(closes_at=datetime(2026, 1, 1, tzinfo=UTC))
    refused = portal.post("ada")
    assert (refused.status_code, refused.get_json(force=True)["code"]) == (403, "closed")


def test_a_student_has_only_so_many_submissions_in_progress(portal: Portal):
    answers = [portal.post("ada", {"mode": mode}).status_code for mode in ("rank", "check") * 3]
    assert answers == [202] * 5 + [429]
