"""People who aren't listed on leaderboards: who sees their lines, and that others see no gap."""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaits
from typing import Any

import pytest
from sqlalchemy import insert, select

from server.accounts.models import Person
from server.courses.models import Assignment, Role
from server.database.engine import Sessions
from server.recording.record import record
from server.standings import ranks as tied_groups
from server.standings.models import Standing, StandingCount
from server.standings.queries import position_of
from server.standings.ranks import recount
from server.standings.service import Board, board, freeze, rebuild, set_listed
from tests.server.course import ACourse, later
from tests.server.databases import ON_BOTH, ON_SQLITE
from tests.server.standings.results import measure, ranked
from tests.server.standings.test_board_page import BOARD, lines
from tests.server.standings.test_service import _fill
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of


def choose(course: ACourse, person: int, *, listed: bool) -> None:
    with course.sessions.begin() as session:
        set_listed(session, person, listed=listed)


def shown(course: ACourse, **more: Any) -> Board:
    with course.sessions.begin() as session:
        return board(session, course.assignment, "h200", **more)


def assert_counted(course: ACourse) -> None:
    """Lines are listed as their people chose, and the counts are those of the lines."""
    with course.sessions.begin() as session:
        chosen = select(Standing).join(Person, Person.id == Standing.person_id)
        assert session.scalars(chosen.where(Standing.listed != Person.listed)).all() == []
        columns = list(StandingCount.__table__.columns)
        counts = select(*columns).where(StandingCount.count > 0).order_by(*columns)
        found = session.execute(counts).all()
        recount(session, course.assignment)
        assert session.execute(counts).all() == found


@ON_BOTH
@pytest.mark.parametrize("whole", [tied_groups.WHOLE, 0])
def test_who_leaves_has_neither_a_line_nor_a_gap(
    course: ACourse, made: Sessions, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    monkeypatch.setattr(tied_groups, "WHOLE", whole)
    people = _fill(made, course, 9)  # two and two are tied
    away = people[2]
    before = shown(course)
    choose(course, away, listed=False)
    assert_counted(course)
    student = shown(course, person=people[0], limit=5)
    more = shown(course, person=people[0], after=position_of(student.rows[-1]))
    seen = [*student.rows, *more.rows]
    assert [row.person_id for row in seen] == [person for person in people if person != away]
    assert [(row.rank, row.shared_rank, row.tied) for row in seen] == [
        (1, 1, True), (2, 1, True), (3, 3, False), (4, 4, True), (5, 4, True), (6, 6, True), (7, 6, True), (8, 8, False)
    ]  # fmt: skip
    own, staff = shown(course, person=away), shown(course, staff=True)
    assert own.rows == staff.rows
    assert own.own is not None
    assert (own.own.person_id, own.own.rank, own.own.shared_rank) == (away, 3, 3)
    assert [row.rank for row in staff.rows] == [1, 2, 3, 3, 4, 5, 6, 7, 8]
    assert [row.person_id for row in staff.rows if not row.listed] == [away]
    assert (staff.rows[2].shared_rank, staff.rows[2].tied) == (3, True)
    choose(course, away, listed=True)
    assert_counted(course)
    assert shown(course).rows == before.rows


def waits_for(pool: ThreadPoolExecutor, act: Any, *given: Any) -> Future[Any]:
    found = pool.submit(act, *given)
    with pytest.raises(StillWaits):
        found.result(0.2)
    return found


@ON_BOTH
def test_a_choice_and_lines_written_meanwhile_agree(course: ACourse, made: Sessions) -> None:
    ranked(course, "bob", 500.0)
    result = measure(course, course.job("ada", now=later(10)), 700.0)
    ada = course.people["ada"]
    with ThreadPoolExecutor(1) as pool:
        with made.begin() as session:
            set_listed(session, ada, listed=False)
            recorded = waits_for(pool, record, made, result)
        recorded.result()
        assert [row.name for row in shown(course).rows] == ["bob"]
        assert_counted(course)
        with made.begin() as session:
            rebuild(session, session.get_one(Assignment, course.assignment))
            chosen = waits_for(pool, lambda: choose(course, ada, listed=True))
        chosen.result()
    assert_counted(course)
    choose(course, ada, listed=False)
    with made.begin() as session:
        freeze(session, session.get_one(Assignment, course.assignment), later(20))
    record(made, measure(course, course.job("ada", source=b"// 2", now=later(15)), 800.0))
    assert_counted(course)
    assert [row.name for row in shown(course, before_freeze=True).rows] == ["bob"]
    choose(course, ada, listed=True)
    assert [row.name for row in shown(course, before_freeze=True).rows] == ["ada", "bob"]


@ON_SQLITE
def test_only_the_person_and_staff_see_an_unlisted_line(portal: Portal) -> None:
    course = portal.course
    for name, gflops in (("ada", 700.0), ("ben", 600.0), ("cem", 500.0)):
        ranked(course, name, gflops)
    ada, ben, staff = (client_of(portal, "ada"), client_of(portal, "ben"), client_of(portal, "ina", Role.ASSISTANT))
    assert ada.post_form("/account/listing", listed="maybe").status_code == 422
    left = ada.post_form("/account/listing", listed="no")
    assert left.headers["Location"] == "/account?notice=unlisted"
    assert 'name="listed" value="yes"' in ada.page("/account")
    page = ben.page(BOARD)
    assert [line.split()[0] for line in lines(page)] == ["1", "2"]
    assert "2 people on" in page
    assert "2 people on" in ada.page(BOARD)
    assert "2 people on this leaderboard; students don’t see 1 more" in staff.page(BOARD)
    for client in (ada, staff):
        first, second, _ = lines(client.page(BOARD))
        assert first.startswith("(1) ")
        assert second.startswith("1 ")
    assert 'id="unlisted"' in ada.page(BOARD)
    assert "on the leaderboard, not listed" in ada.page("/courses/gpu/tiled/history")
    for name, ranks in (("ada", [1, 1, 2]), ("ben", [1, 2])):
        portal.token(name)
        answer = portal.get(name, "/api/v1/leaderboards/gpu/tiled/h200").get_json()
        assert [line["rank"] for line in answer["lines"]] == ranks
        assert answer["own"]["listed"] == (name == "ben")
    with course.sessions.begin() as session:  # the only line on another device
        line = session.scalars(select(Standing).where(~Standing.listed)).one()
        columns = {one.key: getattr(line, one.key) for one in Standing.__table__.columns}
        session.execute(insert(Standing).values(columns | {"device_class": "a100"}))
        recount(session, course.assignment)
    other = BOARD.replace("h200", "a100")
    assert [client.get(other).status_code for client in (ada, ben, staff)] == [200, 404, 200]
    assert [other in client.page(BOARD) for client in (ada, ben, staff)] == [True, False, True]
    ada.post_form("/account/listing", listed="yes")
    assert len(lines(ben.page(BOARD))) == 3
    assert re.findall(r"(\d) people", ben.page(BOARD)) == ["3"]
