"""Grades that go to a platform: each arrives with its last value, or its fault is reported."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, select

from server.accounts.models import Person
from server.courses.models import Assignment, Correction, Role
from server.lti.launch import AGS
from server.lti.models import LtiContext, LtiLink, LtiScore
from server.lti.scores import counts, faults
from server.lti.sender import ScoreSender
from server.lti.services import Services
from server.sign_on.fetch import ProviderFault
from tests.server.databases import ON_BOTH
from tests.server.lti.conftest import launched
from tests.server.lti.platform import Platform
from tests.server.web.conftest import Portal


@pytest.fixture
def sender(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> ScoreSender:
    """On a busy machine each answer is slow, which isn't the platform's fault."""
    monkeypatch.setattr("server.lti.sender._SLOW_SECONDS", 60.0)
    return ScoreSender(engine)


@pytest.fixture
def ada(portal: Portal, connected: Platform) -> int:
    """A student who launched, in a course with points."""
    portal.course.change(points=10.0)
    launched(portal, connected)
    return number(portal, "ada")


def number(portal: Portal, name: str) -> int:
    return portal.course.row(select(Person.id).where(Person.email == f"{name}@example.edu"))


def correct(portal: Portal, person: int, **fields: object) -> None:
    """Decide about the student's grade, again if needed."""
    with portal.course.sessions.begin() as session:
        found = session.get(Correction, (portal.course.assignment, person))
        if found is None:
            found = Correction(assignment_id=portal.course.assignment, person_id=person, corrected_at=datetime.now(UTC))
        for name, value in fields.items():
            setattr(found, name, value)
        session.add(found)


def send(sender: ScoreSender, after: timedelta = timedelta(0)) -> int:
    return sender.round(datetime.now(UTC) + after)


def shown(platform: Platform) -> float | None:
    """The points that the platform shows of ada."""
    found = platform.last("ada")
    return None if found is None else found.get("scoreGiven")


def row(portal: Portal) -> LtiScore:
    return portal.course.row(select(LtiScore))


@ON_BOTH
def test_a_score_goes_out_once(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    assert send(sender) == 0
    correct(portal, ada, score=7.5)
    assert [send(sender), send(sender)] == [1, 0]
    assert connected.last("ada") == {
        "userId": "u-ada", "scoreGiven": 7.5, "scoreMaximum": 10.0, "activityProgress": "Completed",
        "gradingProgress": "FullyGraded", "timestamp": connected.last("ada")["timestamp"],  # type: ignore[index]
    }  # fmt: skip
    assert connected.refused == []


def test_a_change_goes_out_again(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    for score in (7.5, 0.0, 7.5):
        correct(portal, ada, score=score)
        send(sender)
        assert shown(connected) == score
    portal.course.change(points=20.0)
    send(sender)
    assert connected.last("ada")["scoreMaximum"] == 20.0  # type: ignore[index]
    correct(portal, ada, score=None, excused=True)
    assert send(sender) == 1
    assert connected.last("ada")["gradingProgress"] == "NotReady"  # type: ignore[index]
    assert shown(connected) is None
    correct(portal, ada, score=1.0, excused=False)
    send(sender)
    with portal.course.sessions.begin() as session:
        session.delete(session.scalars(select(Correction)).one())
    assert [send(sender), send(sender)] == [1, 0]
    assert shown(connected) is None


def test_what_is_held_back_stays_here(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    correct(portal, ada, score=3.0, held=True)
    assert send(sender) == 0
    portal.course.change(grades_held=True)
    correct(portal, ada, held=False)
    assert send(sender) == 0
    portal.course.change(grades_held=False)
    assert send(sender) == 1
    portal.course.change(grades_held=True)
    correct(portal, ada, score=4.0)
    assert send(sender) == 0
    assert shown(connected) == 3.0
    portal.course.change(grades_held=False)
    assert send(sender) == 1
    assert shown(connected) == 4.0


def test_what_waits_is_held_back_too(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    connected.fails = lambda _: (503, {}, {})
    correct(portal, ada, score=3.0)
    send(sender)
    portal.course.change(grades_held=True)
    connected.fails = lambda _: None
    assert send(sender, timedelta(days=1)) == 0
    portal.course.change(grades_held=False)
    assert send(sender, timedelta(days=1)) == 1


def test_an_instructor_may_send_nothing(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    correct(portal, ada, score=3.0)
    with portal.course.sessions.begin() as session:
        session.scalars(select(LtiContext)).one().sends_grades = False
    assert send(sender) == 0


def test_only_students_whom_the_platform_knows_have_scores(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender
) -> None:
    correct(portal, portal.course.person("bob"), score=3.0)
    launched(portal, connected, "teacher", "Instructor")
    assert send(sender) == 0
    correct(portal, ada, score=5.0)
    assert send(sender) == 1


AWAY = {
    "away": (503, {}, {}),
    "broken": (500, {}, {}),
    "busy": (429, {}, {"Retry-After": "1000"}),
    "forbidden": (401, {}, {}),
    "gone": (404, {}, {}),
    "refusing": (422, {"error": "no"}, {}),
}


def test_a_failure_is_reported_and_repeated(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    for score, (how, answer) in enumerate(AWAY.items(), 1):
        connected.fails = lambda path, answer=answer: answer if path != "/token" else None  # type: ignore[misc]
        connected.asked.clear()
        correct(portal, ada, score=float(score))
        assert [send(sender), send(sender)] == [0, 0], how
        tries = [each for each in connected.asked if each.endswith("/scores?type=1")]
        # With a new access token, too.
        assert len(tries) == (2 if how == "forbidden" else 1), how
        assert str(answer[0]) in row(portal).fault, how
        with portal.course.sessions.begin() as session:
            assert counts(session, portal.course.course)["failing"] == 1
            assert [each.person_id for each in faults(session, portal.course.course, 9)] == [ada]

        connected.fails = lambda _: None
        assert send(sender, timedelta(seconds=60)) == 0, how
        assert send(sender, timedelta(seconds=1100)) == 1, how
        assert (shown(connected), row(portal).fault, row(portal).next_at) == (score, "", None), how


def test_pauses_grow(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise ProviderFault("away")

    monkeypatch.setattr(Services, "send_score", away)
    correct(portal, ada, score=7.5)
    now, pauses = datetime.now(UTC), []
    for _ in range(10):
        sender.round(now)
        due = row(portal).next_at
        assert due is not None
        pauses.append((due - now).total_seconds() // 60)
        now = due + timedelta(seconds=1)
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 360, 360]


def test_a_platform_that_is_away_is_tried_once_a_round(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender
) -> None:
    launched(portal, connected, "bob")
    connected.fails = lambda _: (500, {}, {})
    for name in ("ada", "bob"):
        correct(portal, number(portal, name), score=7.5)
    send(sender)
    assert [each for each in connected.asked if each.startswith("POST")] == ["POST /token"]
    connected.fails = lambda _: None
    assert send(sender, timedelta(minutes=5)) == 2


def test_a_slow_platform_leaves_time_to_others(
    portal: Portal, connected: Platform, ada: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = ScoreSender(engine)
    monkeypatch.setattr("server.lti.sender._SLOW_SECONDS", -1.0)
    monkeypatch.setattr("server.lti.sender._OTHERS", 10**6)
    correct(portal, ada, score=7.5)
    assert send(sender) == 1
    correct(portal, ada, score=8.0)
    assert send(sender) == 0, "it rests"
    assert ScoreSender(engine).round(datetime.now(UTC)) == 1
    assert shown(connected) == 8.0


def test_a_platform_without_an_address_is_reported(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender
) -> None:
    wrong = {
        "https://127.0.0.1:1/items/1": "reached", "http://127.0.0.1:1/items/1": "encrypted", "nowhere": "encrypted",
    }  # fmt: skip
    for address, named in wrong.items():
        with portal.course.sessions.begin() as session:
            session.scalars(select(LtiLink)).one().line_item = address
        correct(portal, ada, score=len(address))
        send(sender, timedelta(days=1))
        assert named in row(portal).fault, address
        with portal.course.sessions.begin() as session:
            session.scalars(select(LtiScore)).one().next_at = datetime.now(UTC)


def test_a_killed_sender_loses_nothing(
    portal: Portal, connected: Platform, ada: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once before the request, once after it, before its end is written."""

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    correct(portal, ada, score=7.5)
    for owner, name in ((Services, "send_score"), (ScoreSender, "_sent")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, killed)
            with pytest.raises(Killed):
                send(ScoreSender(engine), timedelta(minutes=5))
        assert row(portal).next_at is not None
        with portal.course.sessions.begin() as session:
            session.scalars(select(LtiScore)).one().next_at = datetime.now(UTC)
    assert send(ScoreSender(engine), timedelta(minutes=20)) == 1
    assert shown(connected) == 7.5
    assert row(portal).next_at is None


@ON_BOTH
def test_a_change_during_a_try_goes_out_afterwards(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender, engine: Engine
) -> None:
    """The platform is slow, and another process sends meanwhile."""
    began, goes_on = threading.Event(), threading.Event()

    def slow(path: str) -> None:
        if path != "/token":
            began.set()
            assert goes_on.wait(20)

    connected.fails = slow
    correct(portal, ada, score=1.0)
    one = threading.Thread(target=send, args=(sender,))
    one.start()
    assert began.wait(20)
    correct(portal, ada, score=2.0)
    connected.fails = lambda _: None
    assert send(ScoreSender(engine)) == 0  # not before the first is through
    goes_on.set()
    one.join()
    assert shown(connected) in {1.0, 2.0}
    assert shown(connected) == 2.0 or send(sender) == 1
    assert shown(connected) == 2.0
    assert row(portal).next_at is None


def test_a_link_without_a_column_gets_nothing(portal: Portal, platform: Platform, sender: ScoreSender) -> None:
    portal.course.person("teacher", Role.INSTRUCTOR)
    with portal.course.sessions.begin() as session:
        session.scalars(select(Assignment)).one().points = 10.0
    assert send(sender) == 0  # no course is connected
    with portal.course.sessions.begin() as session:
        session.add(
            LtiContext(
                platform_id=1, course_id=portal.course.course, deployment="deployment-1", name="c-1", title="GPU",
                connected_at=datetime.now(UTC),
            )
        )  # fmt: skip
    launched(portal, platform, "ada", "Learner", None, **{AGS: None})
    correct(portal, number(portal, "ada"), score=3.0)
    assert send(sender) == 0
