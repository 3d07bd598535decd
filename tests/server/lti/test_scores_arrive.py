"""What happens to scores while courses, columns, people and platforms change."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, select

from server.accounts.models import Person
from server.courses.models import Assignment, Correction, Membership
from server.lti.contexts import delete_contexts
from server.lti.launch import AGS, SCORE_SCOPE
from server.lti.models import LtiContext, LtiPlatform
from server.lti.scores import changes
from server.lti.sender import ScoreSender
from server.lti.services import Services
from server.sign_on import matching
from server.sign_on.fetch import ProviderFault
from tests.server.course import NOW
from tests.server.databases import ON_SQLITE
from tests.server.lti.conftest import launched
from tests.server.lti.platform import CLAIM, DEPLOYMENT, Platform
from tests.server.lti.test_platforms import operator, unknown
from tests.server.lti.test_scores import ada, correct, number, send, sender, shown
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

pytestmark = ON_SQLITE
__all__ = ["ada", "operator", "sender", "unknown"]


def column(platform: Platform, item: int, **more: object) -> dict[str, Any]:
    """Claims of a launch by a link with this column."""
    return {AGS: {"scope": [SCORE_SCOPE], "lineitem": f"{platform.address}/items/{item}?type=1"}, **more}


def given(platform: Platform) -> list[list[tuple[str, float]]]:
    """Whose points came, in order, by column and student."""
    every = platform.scores.values()
    return sorted([(each["userId"], each["scoreGiven"]) for each in scores if "scoreGiven" in each] for scores in every)


def test_a_course_that_is_disconnected_meanwhile_ends_no_sending(
    portal: Portal, connected: Platform, ada: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    correct(portal, ada, score=7.5)
    stop, disconnected = threading.Event(), threading.Event()

    def slowly(session):
        found = changes(session)
        with portal.course.sessions.begin() as other:
            delete_contexts(other, LtiContext.id == 1)
        disconnected.set()
        return found

    monkeypatch.setattr("server.lti.sender.changes", slowly)
    thread = threading.Thread(target=ScoreSender(engine).run, args=(stop,))
    thread.start()
    disconnected.wait()
    thread.join(0.5)
    assert thread.is_alive()
    stop.set()
    thread.join()


def test_a_failing_column_holds_up_no_other(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    launched(portal, connected, "bob", **column(connected, 9, **{f"{CLAIM}resource_link": {"id": "l-9"}}))
    connected.fails = lambda path: (500, {}, {}) if "/items/1/" in path else None
    for name in ("ada", "bob"):
        correct(portal, number(portal, name), score=7.5)
    for hour in range(48):
        send(sender, timedelta(hours=hour))
    assert [("u-bob", 7.5)] in given(connected)


def test_sections_get_their_own_grades(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    with portal.course.sessions.begin() as session:
        session.add(
            LtiContext(
                platform_id=1, course_id=portal.course.course, deployment=DEPLOYMENT, name="c-2", title="Section 2",
                connected_at=NOW,
            )
        )  # fmt: skip
    section = {f"{CLAIM}context": {"id": "c-2", "title": "Section 2"}, f"{CLAIM}resource_link": {"id": "l-2"}}
    launched(portal, connected, "bob", **column(connected, 2, **section))
    correct(portal, ada, score=7.5)
    correct(portal, number(portal, "bob"), score=3.0)
    send(sender)
    assert given(connected) == [[("u-ada", 7.5)], [("u-bob", 3.0)]]


def test_another_column_gets_the_score_too(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    correct(portal, ada, score=7.5)
    send(sender)
    launched(portal, connected, **column(connected, 9))
    assert [send(sender), send(sender)] == [1, 0]
    assert given(connected) == [[("u-ada", 7.5)]] * 2


def test_a_new_name_of_the_student_gets_the_score_too(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender
) -> None:
    correct(portal, ada, score=7.5)
    send(sender)
    with portal.course.sessions.begin() as session:
        matching.disconnect(session, session.get_one(Person, ada), 1)
    launched(portal, connected, "ada", sub="u-new")
    send(sender)
    assert given(connected) == [[("u-ada", 7.5)], [("u-new", 7.5)]]


def test_a_column_stays_with_its_assignment(portal: Portal, connected: Platform, ada: int, sender: ScoreSender) -> None:
    correct(portal, ada, score=7.5)
    send(sender)
    with portal.course.sessions.begin() as session:
        first = session.get_one(Assignment, portal.course.assignment)
        second = Assignment(
            course_id=first.course_id, exercise_id=first.exercise_id, slug="second", title="Second", points=10.0,
            device_class=first.device_class, arch=first.arch, created_at=NOW,
        )  # fmt: skip
        session.add(second)
        session.flush()
        session.add(Correction(assignment_id=second.id, person_id=ada, corrected_at=NOW, score=1.0))
    elsewhere: dict[str, Any] = {AGS: None, f"{CLAIM}target_link_uri": "http://localhost/courses/gpu/second/"}
    launched(portal, connected, **elsewhere)
    send(sender)
    assert given(connected) == [[("u-ada", 7.5)]]


def test_a_pause_that_a_platform_asks_for_holds_in_a_long_round(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bob", "cleo"):
        launched(portal, connected, name)
        correct(portal, number(portal, name), score=1.0)
    correct(portal, ada, score=1.0)
    clock, tries, stop = [time.monotonic()], [], threading.Event()
    monkeypatch.setattr("server.lti.sender.time.monotonic", lambda: clock[0])

    def busy(_services: Services, _platform: LtiPlatform, _item: str, score: dict[str, object]) -> None:
        clock[0] += 200
        tries.append(score["userId"])
        if len(tries) > 9:
            stop.set()
        raise ProviderFault("busy", 429, 300)

    monkeypatch.setattr(Services, "send_score", busy)
    sender.round(datetime.now(UTC), stop)
    assert len(tries) == 1


def test_nothing_more_goes_out_about_a_student_who_left(
    portal: Portal, connected: Platform, ada: int, sender: ScoreSender
) -> None:
    connected.fails = lambda _: (503, {}, {})
    correct(portal, ada, score=3.0)
    send(sender)
    with portal.course.sessions.begin() as session:
        session.scalars(select(Membership).where(Membership.person_id == ada)).one().dropped_at = NOW
    correct(portal, ada, score=9.0)
    connected.fails = lambda _: None
    assert send(sender, timedelta(days=1)) == 0
    assert shown(connected) is None


def test_a_new_platform_gets_no_access_token_of_a_removed_one(
    portal: Portal, operator: BrowserClient, connected: Platform, ada: int, sender: ScoreSender, unknown: Platform
) -> None:
    correct(portal, ada, score=7.5)
    send(sender)
    operator.post_form("/lti/platforms/1/remove")
    with portal.course.sessions.begin() as session:
        added = LtiPlatform(created_at=NOW, **unknown.settings())
        session.add(added)
        session.flush()
        session.add(
            LtiContext(
                platform_id=added.id, course_id=portal.course.course, deployment=DEPLOYMENT, name="c-1", title="x",
                connected_at=NOW,
            )
        )  # fmt: skip
    unknown.ours = connected.ours
    launched(portal, unknown, "eve")
    correct(portal, number(portal, "eve"), score=1.0)
    assert send(sender) == 1
    assert next(each for each in unknown.asked if "keys" not in each) == "POST /token"
