"""What streams and pages know of a submission that is graded again, of who may no longer see it, and after a fault."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, update

from kernels.verdict import Verdict
from server.accounts import browser_sessions
from server.accounts.models import Person
from server.accounts.service import revoke_tokens
from server.courses.models import Membership
from server.grading.models import JobKind
from server.submissions.changes import retry
from server.submissions.models import Submission
from server.submissions.progress import hub as hub_module
from server.submissions.progress import streams
from server.submissions.progress.hub import Hub
from server.submissions.progress.jobs import SubmissionStatus, read_statuses
from server.submissions.progress.phases import Progress
from server.submissions.progress.streams import hub_of
from tests.server.databases import ON_SQLITE
from tests.server.submissions.graded import given_up, graded, handed_in, taken
from tests.server.submissions.progress.streaming import opened
from tests.server.web.conftest import NOBODY, Portal
from tests.server.web.signed_in import BrowserClient, client_of
from worker.contract.hints import Hint
from worker.contract.messages import StepKind

LONG = 30.0
PROGRAMS = "/api/v1/submissions/{}/events"
pytestmark = ON_SQLITE


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "_POLL_SECONDS", 0.05)
    monkeypatch.setattr(hub_module, "_LOOK_SECONDS", 0.02)


def graded_again(portal: Portal, job: int) -> int:
    with portal.course.sessions.begin() as session:
        return retry(session, job, None).id


def bearer(portal: Portal) -> dict[str, str]:
    return {"Authorization": f"Bearer {portal.token('ada')}"}


def test_what_is_tried_again_right_after_its_end_goes_on(portal: Portal, ada: BrowserClient) -> None:
    name, job = handed_in(portal.course, "ada")
    given_up(portal.course, job)
    with opened(ada, name) as stream:
        assert stream.last()["final"] is True
    ada.post_form(f"/submissions/{name}/retry")
    with opened(ada, name) as stream:
        first = stream.next()
        assert (first["final"], "Waiting" in first["html"]) == (False, True)
        graded(portal.course, job + 1, verdict=Verdict.WRONG_ANSWER)
        assert stream.last()["final"] is True


def test_who_read_an_earlier_state_takes_no_later_one_back(portal: Portal) -> None:
    _, job = handed_in(portal.course, "ada")
    hub = Hub(portal.app.extensions["tilelab"].readers, NOBODY)
    number, waits = found(portal)
    graded(portal.course, job, verdict=Verdict.WRONG_ANSWER)
    hub.look(number, found(portal)[1])
    assert hub.look(number, waits).status.over
    graded_again(portal, job)
    _, again = found(portal)
    assert not hub.look(number, again).status.over
    hub.watch(number, 1, waits).close()
    assert hub.look(number, waits).status.kind is JobKind.REGRADE
    hub.stop()


def found(portal: Portal) -> tuple[int, SubmissionStatus]:
    """The only submission, as a request would have read it."""
    with portal.course.sessions.begin() as session:
        number = session.scalars(select(Submission.id)).one()
        return number, read_statuses(session, [number], datetime.now(UTC))[number]


def test_events_give_the_verdict_that_counts_as_everything_else_does(portal: Portal) -> None:
    name, job = handed_in(portal.course, "ada")
    graded(portal.course, job, verdict=Verdict.DATA_RACE)
    second = graded_again(portal, job)
    with opened(portal.client, name, PROGRAMS, headers=bearer(portal)) as stream:
        assert (first := stream.next())["verdict"] == "data_race"
        assert first["state"] == "queued"
        given_up(portal.course, second)
        last = stream.last()
    read = portal.get("ada", f"/api/v1/submissions/{name}").get_json()
    assert (last["state"], last["verdict"]) == (read["state"], read["verdict"]) == ("done", "data_race")


def test_a_page_that_is_loaded_again_knows_what_its_worker_said(portal: Portal, ada: BrowserClient) -> None:
    name, job = handed_in(portal.course, "ada")
    taken(portal.course, job)
    assert ">In progress</strong>" in ada.page(f"/submissions/{name}")
    hub_of(portal.app)._heard(
        Hint(job, StepKind.CHECK, 1, 5.0, "checking", "3 of 14: Width=17 real", "Width=1", "<b>hi\nyou\n")
    )
    page = ada.page(f"/submissions/{name}")
    assert ">Checking</strong>" in page
    assert "3 of 14: Width=17, real numbers" in page
    assert "&lt;b&gt;hi\nyou\n" in page


def signed_out(portal: Portal, person: int) -> None:
    with portal.course.sessions.begin() as session:
        browser_sessions.end_all(session, person)


def dropped(portal: Portal, person: int) -> None:
    with portal.course.sessions.begin() as session:
        session.execute(update(Membership).where(Membership.person_id == person).values(dropped_at=datetime.now(UTC)))


def revoked(portal: Portal, person: int) -> None:
    with portal.course.sessions.begin() as session:
        revoke_tokens(session, session.get_one(Person, person))


@pytest.mark.parametrize(
    ("program", "leaves"), [(False, signed_out), (False, dropped), (True, revoked), (True, dropped)]
)
def test_who_may_see_it_no_longer_is_told_no_more(
    portal: Portal, monkeypatch: pytest.MonkeyPatch, program: bool, leaves: Callable[[Portal, int], None]
) -> None:
    monkeypatch.setattr(streams, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(streams, "CHECK_SECONDS", 0.02)
    name, _ = handed_in(portal.course, "ada")
    client, path = (portal.client, PROGRAMS) if program else (client_of(portal, "ada"), "/submissions/{}/events")
    with opened(client, name, path, headers=bearer(portal) if program else {}) as stream:
        assert stream.next()
        for _ in range(3):
            assert next(stream.pieces)
        leaves(portal, portal.course.person("ada"))
        assert stream.next() is None
    assert hub_of(portal.app).streams == 0


def test_a_fault_of_any_kind_ends_no_watching(
    portal: Portal, ada: BrowserClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name, job = handed_in(portal.course, "ada")
    odd, asked = threading.Event(), threading.Semaphore(0)

    def sometimes(*args: object) -> object:
        if odd.is_set():
            asked.release()
            raise LookupError("a word that no version knows")
        return read_statuses(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(hub_module, "read_statuses", sometimes)
    with opened(ada, name) as stream:
        stream.next()
        odd.set()
        for _ in range(3):
            assert asked.acquire(timeout=LONG)
        odd.clear()
        taken(portal.course, job)
        assert "In progress" in stream.next()["html"]
    told = [record for record in caplog.records if record.name == hub_module.__name__ and record.exc_info]
    assert len(told) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_is_begun_anew(portal: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    _, job = handed_in(portal.course, "ada")
    number, waits = found(portal)
    hub = Hub(portal.app.extensions["tilelab"].readers, NOBODY)
    with monkeypatch.context() as broken:
        broken.setattr(hub_module, "Listener", None)
        watch = hub.watch(number, 1, waits)
        if (thread := hub._thread) is not None:
            thread.join(LONG)
    second = hub.watch(number, 2, waits)
    for each in (watch, second):
        assert each.next(_state, LONG) == ("queued", False)
    taken(portal.course, job)
    for each in (watch, second):
        assert each.next(_state, LONG) == ("running", False)
        each.close()
    hub.stop()


def _state(progress: Progress) -> str:
    return progress.status.state.value
