from __future__ import annotations

import json
import re
import zlib
from functools import partial
from typing import Any

import pytest

from kernels.report import to_json
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict
from server.courses.models import Role
from server.grading.models import Job
from server.recording.record import record
from server.submissions.changes import retry
from server.submissions.models import Mode
from server.web.notices import NOTICES
from tests.kernels.page.page_text import read
from tests.server.course import NOW, SOURCE, check_result, measure_result, report_for, step_of
from tests.server.databases import ON_SQLITE
from tests.server.submissions.graded import graded, handed_in, overwritten, taken
from tests.server.submissions.test_card import card
from tests.server.web.signed_in import client_of, stranger
from worker.contract.messages import StepKind

RACE: dict[str, Any] = {
    "verdict": Verdict.DATA_RACE,
    "findings": (Finding(Verdict.DATA_RACE, "thread (1,0) reads `Mds[0][0]` while (0,0) writes it", 1, 1, count=12),),
    "checks": (CaseCheck("Width=1 real", CaseStatus.PASSED), CaseCheck("Width=2 real", CaseStatus.FAILED, "data race")),
}


STAMP = '<span class="stamp">data race</span>'


def test_a_submission_that_waits_says_so_and_offers_to_stop(portal, ada):
    name, _ = handed_in(portal.course, "ada")
    page = ada.page(f"/submissions/{name}")
    assert ada.get(f"/submissions/{name}/state").get_json()["html"] in page
    assert re.search(r'class="explanation">[^<]+<', page), "of why it waits"
    assert f'data-events="/submissions/{name}/events"' in page
    assert f'action="/submissions/{name}/cancel"' in page
    assert not read(page).wrong


REFRESH = '<noscript><meta http-equiv="refresh" content="5"></noscript>'


def test_without_a_script_the_page_reloads_until_there_is_a_verdict(portal, ada):
    name, job = handed_in(portal.course, "ada")
    assert REFRESH in ada.page(f"/submissions/{name}").partition("</head>")[0]
    graded(portal.course, job, **RACE)
    assert REFRESH not in ada.page(f"/submissions/{name}")


def test_one_at_work_says_what_is_done(portal, ada):
    name, job = handed_in(portal.course, "ada")
    taken(portal.course, job)
    assert ">In progress</strong>" in ada.page(f"/submissions/{name}")
    state = ada.get(f"/submissions/{name}/state").get_json()
    assert state["final"] is False
    assert 'aria-current="step"' in state["html"]


def test_a_verdict_stands_in_one_sentence_with_what_to_do_next(portal, ada):
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    page = ada.page(f"/submissions/{name}")
    section = card(page)
    assert Verdict.DATA_RACE.headline.rstrip(".") in section
    assert "<h3>" in section
    assert "data-live" not in page
    assert "live.js" not in page
    assert not read(page).wrong
    identities = read(page).values("id")
    assert len(identities) == len(set(identities))


def test_a_failing_case_comes_first_and_can_be_run_at_home(portal, ada):
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    page = ada.page(f"/submissions/{name}")
    assert page.index("Width=2") < page.index("Width=1")
    assert f"tilelab grade tiled-{name[:8]}.cu --exercise tiled --tile 16 --case &#39;Width=2 real&#39;" in page


def test_only_owner_and_staff_see_anything(portal, ada):
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    paths = ["", "/state", "/events", "/source.cu", "/report.json", "/report.html"]
    teacher = client_of(portal, "turing", Role.ASSISTANT)
    other, outsider = client_of(portal, "bob"), client_of(portal, "eve", None)
    for path in paths:
        address = f"/submissions/{name}{path}"
        assert ada.get(address).status_code == 200, path
        assert teacher.get(address).status_code == 200, path
        gone = without_token(other.get(address))
        assert other.get(address).status_code == outsider.get(address).status_code == 404, path
        assert gone == without_token(other.get(f"/submissions/0123456789abcdef{path}")), path
        assert stranger(portal).get(address).status_code == 303, path


def without_token(answer):
    """A page without what its forms hold, which is written in another way each time."""
    return re.sub(r'name="csrf" value="[0-9a-f]+"', "", answer.get_data(as_text=True))


def test_staff_are_told_whose_it_is(portal, ada):
    name, _ = handed_in(portal.course, "ada")
    page = client_of(portal, "turing", Role.ASSISTANT).page(f"/submissions/{name}")
    student = f"/staff/gpu/students/{portal.course.person('ada')}"
    assert f'<small>by <a href="{student}">ada</a>, ada@example.edu</small>' in page
    assert "<small>" not in ada.page(f"/submissions/{name}")


def test_what_was_handed_in_can_be_had_again(portal, ada):
    name, job = handed_in(portal.course, "ada")
    answer = ada.get(f"/submissions/{name}/source.cu")
    assert answer.data == SOURCE
    assert answer.headers["Content-Disposition"] == f'attachment; filename="tiled-{name[:8]}.cu"'
    assert ada.get(f"/submissions/{name}/report.json").status_code == 404
    graded(portal.course, job, **RACE)
    report = json.loads(ada.get(f"/submissions/{name}/report.json").data)
    assert report["verdict"] == "data_race"
    whole = ada.get(f"/submissions/{name}/report.html")
    assert whole.headers["Content-Disposition"].startswith("attachment;")
    assert STAMP in whole.get_data(as_text=True)


def test_the_seed_is_for_staff(portal, ada):
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    with portal.course.sessions.begin() as session:
        seed = session.get_one(Job, job).seed
    for path in ("", "/report.json", "/report.html"):
        assert seed not in ada.get(f"/submissions/{name}{path}").get_data(as_text=True)
    teacher = client_of(portal, "turing", Role.ASSISTANT)
    assert seed in teacher.get(f"/submissions/{name}/report.json").get_data(as_text=True)


def test_the_owner_takes_it_back(portal, ada):
    name, job = handed_in(portal.course, "ada")
    answer = ada.post_form(f"/submissions/{name}/cancel")
    assert answer.status_code == 303
    page = ada.page(answer.headers["Location"])
    assert NOTICES["taken-back"] in page
    assert 'data-charged="no"' in page
    assert f'?from={name}#hand-in">Edit again</a>' in card(page)
    again = ada.post_form(f"/submissions/{name}/cancel")
    assert "already-over" in again.headers["Location"]
    with portal.course.sessions.begin() as session:
        assert session.get_one(Job, job).state == "cancelled"


@ON_SQLITE
def test_where_attempts_are_not_limited_nobody_is_told_of_one(portal, ada):
    portal.course.change(attempts=None, device_class="")
    name, job = handed_in(portal.course, "ada", Mode.RANK)
    page = ada.page(f"/submissions/{name}")
    assert re.search(r'data-confirm="[^"?]+\?"', page), "and no more than the question"
    assert " leaderboard.</p>" not in page, "nothing is ranked here"
    taken(portal.course, job)
    ada.post_form(f"/submissions/{name}/cancel")
    page = ada.page(f"/submissions/{name}")
    assert 'data-charged=""' in page


@pytest.mark.parametrize(
    ("mode", "cost"), [(Mode.RANK, "an attempt"), (Mode.CHECK, "one of the hour’s checks")], ids=str
)
@ON_SQLITE
def test_who_takes_it_back_is_told_what_it_costs(portal, ada, mode, cost):
    portal.course.change(attempts=9)
    waits, _ = handed_in(portal.course, "ada", mode)
    begun, job = handed_in(portal.course, "ada", mode)
    taken(portal.course, job)
    assert f"it uses {cost.replace('the', 'this')}." in ada.page(f"/submissions/{waits}")
    for name in (waits, begun):
        ada.post_form(f"/submissions/{name}/cancel")
    assert 'data-charged="no"' in ada.page(f"/submissions/{waits}")
    page = ada.page(f"/submissions/{begun}")
    assert cost in page.partition('data-charged="yes"')[2].partition("</p>")[0]


def test_nobody_else_takes_it_back_but_staff(portal, ada):
    name, job = handed_in(portal.course, "ada")
    assert client_of(portal, "bob").post_form(f"/submissions/{name}/cancel").status_code == 404
    assert ada.post(f"/submissions/{name}/cancel").status_code == 403
    with portal.course.sessions.begin() as session:
        assert session.get_one(Job, job).state == "queued"
    taken(portal.course, job)
    teacher = client_of(portal, "turing", Role.ASSISTANT)
    page = teacher.page(f"/submissions/{name}")
    assert "ada loses no attempt or check" in page
    assert "/staff/gpu/submissions?assignment=tiled&amp;student=ada@example.edu" in page
    assert "taken-back" in teacher.post_form(f"/submissions/{name}/cancel").headers["Location"]
    assert 'data-charged="no"' in ada.page(f"/submissions/{name}")


def test_a_regrade_leaves_the_verdict_and_says_that_it_is_under_way(portal, ada):
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    with portal.course.sessions.begin() as session:
        retry(session, job, None, NOW)
    page = ada.page(f"/submissions/{name}")
    assert "data-live " in page
    assert STAMP in page
    stop = f'action="/submissions/{name}/cancel"'
    assert stop not in page
    assert stop in client_of(portal, "turing", Role.ASSISTANT).page(f"/submissions/{name}")


@ON_SQLITE
@pytest.mark.parametrize(("mode", "told"), [(Mode.CHECK, True), (Mode.RANK, False)], ids=str)
def test_who_only_checked_a_right_kernel_is_told_that_it_counts_for_nothing_yet(portal, ada, mode, told):
    portal.course.change(device_class="")
    name, job = handed_in(portal.course, "ada", mode)
    graded(portal.course, job)
    page = ada.page(f"/submissions/{name}")
    assert ('name="mode" value="rank"' in page) is told, "a button that submits this version"
    assert ("Check, doesn’t count" in page) is told
    portal.course.change(closes_at=NOW)
    page = ada.page(f"/submissions/{name}")
    assert 'name="mode" value="rank"' not in page
    assert ("data-closed" in page) is told


@ON_SQLITE
def test_after_closing_only_staff_are_led_to_an_editor(portal, ada):
    kinds = {"checked": (Mode.CHECK, {}), "failed": (Mode.RANK, RACE), "waits": (Mode.RANK, None)}
    clients = {"ada": ada, "turing": client_of(portal, "turing", Role.ASSISTANT)}
    addresses = {}
    for name, client in clients.items():
        for kind, (mode, report) in kinds.items():
            public_id, job = handed_in(portal.course, name, mode)
            if report is not None:
                graded(portal.course, job, **report)
            addresses[name, kind] = public_id
        public_id, _ = handed_in(portal.course, name)
        client.post_form(f"/submissions/{public_id}/cancel")
        addresses[name, "cancelled"] = public_id
    portal.course.change(closes_at=NOW)
    for (name, kind), public_id in addresses.items():
        page = clients[name].page(f"/submissions/{public_id}")
        assert (f"?from={public_id}" in page) is (name == "turing"), kind
        assert ("data-closed" in page) is (name == "ada" and kind == "checked")
        assert ('name="mode" value="rank"' in page) is (name == "turing" and kind == "checked")


@ON_SQLITE
@pytest.mark.parametrize(("role", "left"), [(Role.STUDENT, False), (Role.ASSISTANT, True)], ids=str)
def test_without_attempts_only_staff_can_submit_a_checked_version(portal, role, left):
    portal.course.change(device_class="", attempts=1)
    reader = client_of(portal, "reader", role)
    (_, ranked), (name, checked) = (handed_in(portal.course, "reader", mode) for mode in (Mode.RANK, Mode.CHECK))
    for job in (ranked, checked):
        graded(portal.course, job)
    page = reader.page(f"/submissions/{name}")
    assert ('name="mode" value="rank"' in page, "data-no-attempts" in page) == (left, not left)


def test_a_lost_worker_is_not_the_kernels_fault(portal, ada):
    name, job = handed_in(portal.course, "ada")
    taken(portal.course, job)
    with portal.course.sessions.begin() as session:
        step = step_of(session, job)
        step.attempt = 2
    assert "Try 2 of 3" in ada.page(f"/submissions/{name}")


def plain(portal, job):
    with portal.course.sessions.begin() as session:
        return to_json(report_for(session.get_one(Job, job), **RACE))


def changed(found):
    """A report as other versions may have written it, or as a disk may have left it."""
    yield {name: value for name, value in found.items() if name not in {"evidence", "checks", "seconds"}}
    yield found | {"news": {"of": "a later version"}, "schema": 99}
    yield found | {"findings": [{"kind": "no such kind", "message": 3}, *found["findings"]]}
    yield found | {"evidence": {"lines": "none"}, "checks": None, "launch": [1], "measurement": {"gflops": "x"}}
    yield {"verdict": "accepted"}
    yield {}
    yield found | {"message": None, "tile": "x", "exercise": "../../etc", "seconds": {"check": "long"}}


def test_a_report_of_any_version_is_shown_as_far_as_it_can_be_read(portal, ada):
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, **RACE)
    for each in changed(plain(portal, job)):
        overwritten(portal.course, job, zlib.compress(json.dumps(each).encode()))
        page = ada.page(f"/submissions/{name}")
        assert STAMP in page, each
        assert not read(page).wrong
        for path in ("report.json", "report.html"):
            assert ada.get(f"/submissions/{name}/{path}").status_code == 200, (path, each)
    overwritten(portal.course, job, b"no report")
    assert STAMP in ada.page(f"/submissions/{name}")


def test_hostile_text_stays_text(portal, ada):
    hostile = "</script><script>alert(1)</script>\u202e\x1b[31m"
    name, job = handed_in(portal.course, "ada", source=f"// {hostile}\n".encode())
    finding = Finding(Verdict.WRONG_ANSWER, hostile, 1)
    check = CaseCheck(hostile, CaseStatus.FAILED, hostile)
    graded(
        portal.course, job, verdict=Verdict.WRONG_ANSWER, message=hostile, findings=(finding,), checks=(check,),
        printed=hostile, printed_case=hostile, isolation=(hostile,), unmade_checks=(hostile,),
    )  # fmt: skip
    for path in ("", "/report.html"):
        page = ada.get(f"/submissions/{name}{path}").get_data(as_text=True)
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
        assert "alert(1)" in page


def test_a_source_that_is_no_text_is_shown_as_far_as_it_goes(portal, ada):
    name, job = handed_in(portal.course, "ada", source=b"\xff\xfe\x00int" + b"\n" * 50_000)
    graded(portal.course, job, verdict=Verdict.REJECTED)
    page = ada.page(f"/submissions/{name}")
    assert len(page) < 2_000_000


@ON_SQLITE
def test_a_course_s_own_exercise_has_no_ladder_of_another_with_its_name(portal, ada):
    name, job = handed_in(portal.course, "ada", Mode.RANK)
    for kind in (StepKind.CHECK, StepKind.MEASURE):
        taken(portal.course, job, kind)
        with portal.course.sessions.begin() as session:
            make = check_result if kind is StepKind.CHECK else partial(measure_result, gflops=5_000.0)
            result = make(session, job)
        record(portal.course.sessions, result, NOW)
    next_idea = "Next idea"
    assert next_idea in ada.page(f"/submissions/{name}")
    with portal.course.sessions.begin() as session:
        session.get_one(Job, job).exercise.course_id = portal.course.course
    for page in (f"/submissions/{name}", f"/submissions/{name}/report.html"):
        assert next_idea not in ada.page(page)
