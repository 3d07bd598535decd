"""Who may see and do what at the desk; what it shows first; what is written down."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from kernels.verdict import Verdict
from kernels.wire import to_plain
from server.accounts.models import ApiToken, Person
from server.accounts.service import create_token
from server.audit.models import AuditEvent
from server.audit.service import note
from server.courses.attention import attention
from server.courses.models import Course, Role
from server.courses.service import enrol
from server.dispatching.dispatch import take
from server.fleet.service import copy_workers
from server.grading.attempts import claimed
from server.grading.fleet_state import NoSuchWorker, read_fleet, send_order
from server.grading.models import Step
from server.grading.refusals import note_refusal
from server.recording.origin import Distrust
from server.roster.service import Wanted as WantedMembers
from server.roster.service import roster
from server.submissions.models import Mode
from tests.server.course import AFTER_ANY_PAUSE, NOW
from tests.server.staff.graded import handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of
from worker.contract.broker import connect_redis
from worker.contract.fleet import SlotRecord, Wanted, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE
from worker.contract.redis_fleet import RedisFleet

READ = (
    "", "roster", "roster.csv", "assignments", "assignments/tiled", "submissions", "submissions/state", "regrade",
    "regrades", "grades", "grades.csv", "audit",
)  # fmt: skip


def test_an_archived_course_stays_readable(portal: Portal, tom: BrowserClient) -> None:
    portal.course.change_course(archived_at=NOW)
    assert {tom.get(f"/staff/gpu/{path}").status_code for path in READ} == {200}
    assert client_of(portal, "boss", None, admin=True).get("/staff/nowhere/").status_code == 404


def test_nothing_of_another_course_is_seen_or_changed(portal: Portal, ina: BrowserClient) -> None:
    made = handed_in(portal.course, "ada")
    with portal.course.sessions.begin() as session:
        course = Course(slug="other", title="Other", created_at=NOW)
        session.add(course)
        session.flush()
        note(session, None, "course.created", "course other", course_id=course.id)
        deed = note(
            session,
            None,
            "assignment.regraded",
            "assignment gpu/tiled",
            course_id=course.id,
            assignment=1,
            first=1,
            last=9,
        )
        session.flush()
        number = deed.id
    zoe = client_of(portal, "zoe", None)
    with portal.course.sessions.begin() as session:
        person = session.get_one(Person, portal.course.people["zoe"])
        enrol(session, session.scalars(select(Course).where(Course.slug == "other")).one(), person, Role.INSTRUCTOR)
    for page in ("", "submissions", "regrade", "grades", "audit", "roster"):
        text = zoe.page(f"/staff/other/{page}")
        assert made not in text
        assert "ada@example.edu" not in text
    assert zoe.get("/staff/other/assignments/tiled").status_code == 404
    assert zoe.get(f"/staff/other/regrades/{number}").status_code == 404
    assert zoe.post_form(f"/staff/other/roster/{portal.course.people['ada']}/drop").status_code == 409
    assert zoe.post_form(f"/staff/other/roster/{portal.course.people['ada']}/link").status_code == 409
    assert "course other" not in ina.page("/staff/gpu/audit")


def test_the_overview_names_who_has_handed_in_nothing_and_what_is_our_fault(portal: Portal, ina: BrowserClient) -> None:
    portal.course.change(device_class="", due_at=datetime.now(UTC) + timedelta(days=2))
    handed_in(portal.course, "ada", now=datetime.now(UTC))
    portal.course.person("bob")
    page = " ".join(ina.page("/staff/gpu/").split())
    assert "1 of 2" in page
    assert ">bob</a></td>" in page
    assert 'data-needs="workers"' in page
    assert Verdict.ACCEPTED.value in page


def test_the_overview_counts_submissions_without_checks_and_marks_checks(portal: Portal) -> None:
    ina, now = client_of(portal, "ina", Role.INSTRUCTOR), datetime.now(UTC)
    for mode in (Mode.RANK, Mode.CHECK, Mode.CHECK):
        portal.course.hand_in("ada", mode=mode, now=now)
    with portal.course.sessions.begin() as session:
        assert attention(session, portal.course.course, now).recent == 1
    page = ina.page("/staff/gpu/")
    assert [page.count(f"<td>{mode}</td>") for mode in ("submission", "check")] == [1, 2]


def test_the_overview_counts_who_never_came_with_a_browser_or_a_program(portal: Portal) -> None:
    def never_here() -> tuple[int, int]:
        with portal.course.sessions.begin() as session:
            found = attention(session, portal.course.course, NOW)
            seen = roster(session, portal.course.course, WantedMembers(role=Role.STUDENT))
            assert sum(not one.was_here for one in seen) == found.never_here
            return found.students, found.never_here

    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert never_here() == (0, 0)
    assert "No students yet" in ina.page("/staff/gpu/")
    for name in ("ada", "bob", "eve"):
        portal.course.person(name)
    assert never_here() == (3, 3)
    with portal.course.sessions.begin() as session:
        for name in ("ada", "bob"):
            create_token(session, session.get_one(Person, portal.course.people[name]), "own", now=NOW)
        session.execute(update(ApiToken).where(ApiToken.person_id == portal.course.people["ada"]).values(used_at=NOW))
    assert never_here() == (3, 2)


def test_the_course_s_settings_are_changed(portal: Portal, ina: BrowserClient) -> None:
    page = ina.page("/staff/gpu/settings")
    shown = page.partition('name="shown" value="')[2].partition('"')[0]
    old_tab = {"title": "GPU", "zone": "UTC", "late_days": "0", "archived": "", "shown": shown}
    answer = ina.post_form("/staff/gpu/settings", title=" GPU  2026 ", zone="Europe/Vienna", archived="yes")
    assert answer.status_code == 303
    with portal.course.sessions.begin() as session:
        course = session.get_one(Course, portal.course.course)
        assert (course.title, course.time_zone) == ("GPU 2026", "Europe/Vienna")
        assert course.archived_at is not None
        deed = session.scalars(select(AuditEvent).where(AuditEvent.action == "course.changed")).one()
        assert deed.detail["archived"] == [False, True]
    assert ina.post_form("/staff/gpu/settings", **(old_tab | {"late_days": "5"})).status_code == 303
    with portal.course.sessions.begin() as session:
        course = session.get_one(Course, portal.course.course)
        assert (course.title, course.late_days) == ("GPU 2026", 5), "the old tab changes nothing else"


def test_the_audit_is_filtered_and_paged(portal: Portal, ina: BrowserClient) -> None:
    with portal.course.sessions.begin() as session:
        for n in range(120):
            note(session, None, "member.added", f"person {n + 1000}", course_id=portal.course.course, role="student")
        note(session, None, "assignment.changed", "assignment gpu/tiled", course_id=portal.course.course, points=[1, 2])
    page = ina.page("/staff/gpu/audit")
    assert "points: 1 → 2" in page
    assert page.count("member added") == 49
    before = page.partition("before=")[2].partition('"')[0]
    assert ina.page(f"/staff/gpu/audit?before={before}").count("member added") == 50
    assert "person 1000" not in ina.page("/staff/gpu/audit?area=assignment")
    assert "points: 1 → 2" in ina.page("/staff/gpu/audit?subject=gpu/tiled")
    for junk in ("by=x", f"by={10**30}", "area=junk", "before=junk", f"before={'9' * 21}", "subject=%00"):
        answer = ina.get(f"/staff/gpu/audit?{junk}")
        assert answer.status_code == 422
        assert "member added" not in answer.get_data(as_text=True)


def test_what_was_done_to_a_job_leads_to_its_submission(portal: Portal, ina: BrowserClient) -> None:
    made = portal.course.hand_in("ada").submission.public_id
    ina.post_form(f"/submissions/{made}/cancel")
    for page in ("", "audit"):
        assert f'<a href="/submissions/{made}">job 1</a>' in ina.page(f"/staff/gpu/{page}")


def a_worker(name: str, state: WorkerState = WorkerState.IDLE) -> WorkerRecord:
    slot = SlotRecord("cpu-0", "cpu", "cpu", state, done=3)
    return WorkerRecord(name, "host <1>", 7, state, (slot,), time.time(), versions={"tilelab": "1"})


@pytest.fixture
def near_redis(portal: Portal, redis_url: str) -> str:
    site = portal.app.extensions["tilelab"]
    portal.app.extensions["tilelab"] = replace(site, settings=replace(site.settings, redis_url=redis_url))
    return redis_url


def test_refused_results_are_shown_with_worker_job_and_reason(portal: Portal) -> None:
    boss = client_of(portal, "boss", None, admin=True)
    assert "refusals-title" not in boss.page("/fleet")
    with portal.course.sessions.begin() as session:
        for why in Distrust:
            note_refusal(session, 17, "host-1.<3f>", why, datetime.now(UTC))
    page = boss.page("/fleet")
    assert page.count("host-1.&lt;3f&gt;, job 17: ") == len(Distrust)
    assert "tilelab admin worker revoke" in page


def test_a_worker_is_seen_drained_and_resumed(portal: Portal, near_redis: str) -> None:
    boss, tom = client_of(portal, "boss", None, admin=True), client_of(portal, "tom", Role.ASSISTANT)
    with connect_redis(near_redis) as client:
        fleet = RedisFleet(client)
        fleet.tell(a_worker("host-1-a"))
        page = boss.page("/fleet")
        assert 'value="drain"' in page
        assert "host &lt;1&gt;" in page
        assert tom.post_form("/fleet/workers/host-1-a", do="drain").status_code == 403
        assert boss.post_form("/fleet/workers/host-1-a", do="drain").status_code == 303
        assert fleet.tell(a_worker("host-1-a", WorkerState.DRAINED)) is Wanted.DRAIN
        assert 'value="resume"' in boss.get("/fleet/state").get_json()["html"]
        assert boss.post_form("/fleet/workers/host-1-a", do="resume").status_code == 303
        assert fleet.tell(a_worker("host-1-a")) is Wanted.WORK
    assert boss.post_form("/fleet/workers/nobody", do="drain").status_code == 404
    assert boss.post_form("/fleet/workers/host-1-a", do="dance").status_code == 422
    actions = portal.course.rows(select(AuditEvent.action).order_by(AuditEvent.id))
    assert actions == ["worker.drained", "worker.resumed"]
    assert "worker resumed" in boss.page("/fleet/audit")
    assert boss.get("/fleet/audit?before=junk").status_code == 422


def test_what_was_sent_to_a_drained_worker_waits(portal: Portal, near_redis: str) -> None:
    boss = client_of(portal, "boss", None, admin=True)
    portal.course.hand_in("ada")
    now = AFTER_ANY_PAUSE + timedelta(minutes=3)
    with connect_redis(near_redis) as client:
        RedisFleet(client).tell(a_worker("host-1-a", WorkerState.DRAINED))
    with portal.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=AFTER_ANY_PAUSE)
    portal.course.hand_in("bob")
    with portal.course.sessions.begin() as session:
        (queue,) = read_fleet(session, near_redis, now).queues
        assert (queue.waiting, queue.sent, queue.running, queue.stuck) == (2, 1, 0, True)
        first = session.get_one(Step, 1)
        assert queue.oldest_seconds == (now - first.job.queued_at).total_seconds()
    overview = " ".join(boss.page("/staff/gpu/").split())
    assert "2 wait in cpu, the oldest for" in overview
    assert "no worker for this queue" in overview
    with portal.course.sessions.begin() as session:
        claimed(session, session.get_one(Step, 1), "host-1-a", now)
        (queue,) = read_fleet(session, near_redis, now).queues
        assert (queue.waiting, queue.sent, queue.running) == (1, 0, 1)


def test_that_redis_is_away_is_told(portal: Portal) -> None:
    boss = client_of(portal, "boss", None, admin=True)
    portal.course.hand_in("ada")
    page = boss.page("/fleet")
    assert "Redis does not answer" in page
    assert '<span class="badge poor">' in page, "at the queue"
    assert boss.post_form("/fleet/workers/host-1-a", do="drain").status_code == 503
    assert "No changes yet" in boss.page("/fleet/audit")
    assert json.dumps(boss.get("/fleet/state").get_json())


def test_the_overview_has_the_queues_of_the_course(portal: Portal) -> None:
    with portal.course.sessions.begin() as session:
        copy_workers(session, [replace(a_worker("host-1-a"), beat=time.time())], time.time())
    page = client_of(portal, "ina", Role.INSTRUCTOR).page("/staff/gpu/")
    assert re.findall(r'data-queue="([\w.]+)">[^:]+: ([\w ]+)<', page) == [
        ("cpu", "worker available"),
        ("gpu.h200", "no worker"),
    ]
    assert "host" not in page.partition('id="queues"')[2].partition("</li>")[0]
    assert 'href="/fleet"' not in page


def test_a_silent_worker_is_marked(portal: Portal, near_redis: str) -> None:
    worker = a_worker("host-1-a", WorkerState.BUSY)
    at_work = replace(worker, slots=(replace(worker.slots[0], job=417, step="check"),))
    with connect_redis(near_redis) as client:
        RedisFleet(client).tell(at_work)
        long_ago = replace(at_work, beat=time.time() - 60)
        client.set("tilelab:worker:host-1-a", json.dumps(to_plain(long_ago)))
    with portal.course.sessions.begin() as session:
        seen = read_fleet(session, near_redis, datetime.now(UTC))
    assert [worker.silent for worker in seen.workers] == [True]
    assert [queue.takers for queue in seen.queues] == [0]
    page = client_of(portal, "boss", None, admin=True).page("/fleet")
    assert '<span class="badge poor">silent</span>' in page
    slots = page[page.index("Slots of host-1-a") :].partition("</table>")[0]
    assert "job 417" not in slots
    assert "busy" not in slots
    with pytest.raises(NoSuchWorker):
        send_order(near_redis, "nobody", Wanted.DRAIN)
