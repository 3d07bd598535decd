"""The board's page: who sees whom, what is tied, what a freeze hides, and its parts."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.accounts.pseudonyms import board_name
from server.courses.models import Assignment, Membership, Role
from server.standings import queries as boards
from server.standings.board_query import columns_for, first_order
from server.standings.models import Standing
from server.standings.queries import Order
from server.standings.service import freeze
from server.submissions.models import Submission
from tests.server.course import NOW, later
from tests.server.standings.results import checked, modelled, ranked
from tests.server.standings.test_service import _fill
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of, stranger

BOARD = "/courses/gpu/tiled/board/h200"


def lines(page: str) -> list[str]:
    """The text of each line, its cells after one another."""
    body = page.partition("<tbody")[2]
    rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    return [
        " ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).replace("\N{NO-BREAK SPACE}", " ").split()) for row in rows
    ]


def shown_as(portal: Portal, name: str) -> str:
    with portal.course.sessions.begin() as session:
        return board_name(session.get_one(Person, portal.course.people[name]))


def test_leaderboards_are_anonymous_to_students_and_not_to_staff(portal):
    ranked(portal.course, "ada", 700.0)
    ranked(portal.course, "ben", 500.0)
    student, staff = (client_of(portal, "ada").page(BOARD), client_of(portal, "ina", Role.ASSISTANT).page(BOARD))
    assert "ben@" not in student
    assert [shown_as(portal, "ada") in line for line in lines(student)] == [True, False]
    assert "you" in lines(student)[0]
    assert "ben · ben@example.edu" in lines(staff)[1]
    assert shown_as(portal, "ben") in lines(staff)[1]
    client_of(portal, "ben", shows_name=True)
    assert "2 ben 500 GFLOPS" in lines(client_of(portal, "ada").page(BOARD))[1]


def test_whoever_stands_on_it_reads_as_whom_and_where_to_change_that(portal):
    ranked(portal.course, "ada", 700.0)
    page = client_of(portal, "ada").page(BOARD)
    assert shown_as(portal, "ada") in page.partition('id="shown-as"')[2]
    for name, role in (("ben", Role.STUDENT), ("ina", Role.ASSISTANT)):
        assert 'id="shown-as"' not in client_of(portal, name, role).page(BOARD)


def test_a_search_that_ends_keeps_the_order(portal):
    ranked(portal.course, "ada", 700.0)
    page = client_of(portal, "ada").page(f"{BOARD}?q=nobody&sort=date")
    assert f'href="{BOARD}?sort=date">Show all</a>' in page


def test_only_a_longer_leaderboard_has_a_search(portal):
    client = client_of(portal, "ada")
    _fill(portal.course.sessions, portal.course, 10)
    assert 'role="search"' not in client.page(BOARD)
    assert 'role="search"' in client.page(f"{BOARD}?q=nobody")
    ranked(portal.course, "ada", 700.0)
    assert 'role="search"' in client.page(BOARD)


def test_a_line_has_its_interval_share_launch_and_moment(portal):
    ranked(portal.course, "ada", 7_000.0, now=later(60))
    (line,) = lines(client_of(portal, "ada").page(BOARD))
    assert "7,000 GFLOPS 6,993 to 7,007 10 %" in line
    assert "02 Mar" in line
    assert "09:01" in line
    assert line.endswith("tile 16 · 128×128 · 16×16")


def test_lines_whose_intervals_meet_share_a_rank_and_say_so(portal):
    for name, gflops in (("ada", 1_000.0), ("ben", 998.5), ("cem", 997.2), ("dan", 900.0)):
        ranked(portal.course, name, gflops, 0.001)
    ranks = [line.split()[:2] for line in lines(client_of(portal, "ada").page(BOARD))]
    # the third meets the second, and not the first, who leads the group
    assert [first for first, _ in ranks] == ["1", "1", "3", "4"]
    assert [second == "tied" for _, second in ranks] == [True, True, False, False]


def test_the_own_line_is_there_from_every_part_and_leads_to_its_own(portal):
    people = _fill(portal.course.sessions, portal.course, 120)
    with portal.course.sessions.begin() as session:
        low = session.get_one(Person, people[90]).email
        session.add(Membership(course_id=portal.course.course, person_id=people[90], role=Role.STUDENT, created_at=NOW))
    client = client_of(portal, low)
    first = client.page(BOARD)
    assert len(lines(first)) == 51
    assert "you" in lines(first)[0]
    assert lines(first)[0].startswith("91")
    (mine,) = re.findall(r'href="([^"]*mine=yes[^"]*)"', first)
    assert sum("you" in line for line in lines(client.page(html.unescape(mine)))) == 1
    (after,) = re.findall(r'href="([^"]*)" rel="next"', first)
    second = client.page(html.unescape(after))
    assert len(lines(second)) == 50
    assert lines(second)[0].startswith("51")
    (before,) = re.findall(r'href="([^"]*)" rel="prev"', second)
    assert lines(client.page(html.unescape(before)))[:50] == lines(first)[:50]


@pytest.mark.one_in(5, "a fifth of the columns and directions")
@pytest.mark.parametrize("sort", ["rank", "date", "share", "occupancy", "time", "bound", "launch"])
@pytest.mark.parametrize("turned", ["", "yes"])
def test_every_column_sorts_the_leaderboard_both_ways(portal, sort, turned):
    client = client_of(portal, "ina", Role.ASSISTANT)
    _fill(portal.course.sessions, portal.course, 120)
    address, seen = f"{BOARD}?sort={sort}&turned={turned}", []
    for _ in range(3):
        page = client.page(address)
        seen += lines(page)
        address = html.unescape((re.findall(r'href="([^"]*)" rel="next"', page) or [""])[0])
    assert not address
    assert len(seen) == len(set(seen)) == 120
    if turned:
        said = [client.page(f"{BOARD}?sort={sort}&turned={way}") for way in ("", turned)]
        assert len({re.findall(r'id="in-order">([^<]+)<', each)[0] for each in said}) == 2
    ranks = [int(line.split()[0]) for line in seen]
    if sort == "rank":
        assert ranks == sorted(ranks, reverse=bool(turned))


def test_staff_choose_the_columns_and_the_first_order(portal):
    staff = client_of(portal, "ina", Role.INSTRUCTOR)
    ranked(portal.course, "ada", 700.0)
    ranked(portal.course, "ben", 500.0, now=later(60))
    settings = {"title": "Tiled", "points": "10", "counts": "best", "first_hint": "edit", "listed": "yes"}
    staff.post_form("/staff/gpu/assignments/tiled", **settings, board_columns="date, time", board_sort="date")
    page = client_of(portal, "ada").page(BOARD)
    titles = re.findall(r'<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]+)', page)
    assert [title.strip() for title in titles] == ["Rank", "Name", "Speed", "Submitted", "Median time"]
    assert [line[0] for line in lines(page)] == ["2", "1"]
    assert re.findall(r'href="[^"]*board/h200([^"]*)">(?:Speed|Submitted)', page) == [
        "?sort=rank",
        "?sort=date&amp;turned=yes",
    ]
    assert " ms" in lines(page)[0]
    by_rank = lines(client_of(portal, "ada").page(f"{BOARD}?sort=rank"))
    assert [line[0] for line in by_rank] == ["1", "2"]
    board = portal.get("ada", "/api/v1/leaderboards/gpu/tiled/h200").get_json() if portal.token("ada") else {}
    assert (board["columns"], board["sort"]) == (["speed", "date", "time"], "date")
    assert board["lines"][0]["ms"] > 0
    for wrong in ({"board_columns": "points"}, {"board_columns": "date date"}, {"board_sort": "points"},
                  {"board_columns": "date", "board_sort": "-share"}):  # fmt: skip
        refused = staff.post_form("/staff/gpu/assignments/tiled", **settings, **wrong)
        (field,) = re.findall(r'<a href="#(board_\w+)">', refused.text)
        assert (refused.status_code, field) == (422, list(wrong)[-1])


def test_a_board_without_a_gpu_leaves_out_what_it_cannot_fill():
    assert columns_for("share launch bound", measured=False) == ("launch", "bound")
    assert columns_for("share time", measured=False) == columns_for("", measured=False)
    assert first_order("share", columns_for("share date", measured=False)) == (Order.RANK, False)
    assert "share" not in columns_for("", measured=False)


def test_lines_that_are_equal_stand_in_an_order_that_says_nothing_of_who_they_are(portal):
    for name in ("ada", "ben", "cem"):
        ranked(portal.course, name, 500.0, now=later(10))
    with portal.course.sessions.begin() as session:
        drawn = session.scalars(select(Standing)).all()
        assert len({line.lot for line in drawn}) == 3
        for line, lot in zip(drawn, (30, 10, 20), strict=True):
            line.lot = lot
        names = {line.lot: board_name(session.get_one(Person, line.person_id)) for line in drawn}
    client = client_of(portal, "ada")
    for address, lots in (
        (BOARD, (10, 20, 30)),
        (f"{BOARD}?sort=occupancy", (30, 20, 10)),
        (f"{BOARD}?sort=occupancy&turned=yes", (10, 20, 30)),
        (f"{BOARD}?sort=date", (30, 20, 10)),
    ):
        shown = lines(client.page(address))
        assert [names[lot] in line for lot, line in zip(lots, shown, strict=True)] == [True] * 3, address


def test_ways_to_other_parts_name_nobody(portal):
    _fill(portal.course.sessions, portal.course, 60)
    with portal.course.sessions.begin() as session:
        for found in session.scalars(select(Submission)):
            found.public_id = f"feedfeedfeed{found.id:04x}"
    page = client_of(portal, "ada").page(f"{BOARD}?sort=occupancy")
    assert 'rel="next"' in page
    assert "feedfeed" not in page


@pytest.mark.one_in(2, "one of two orders")
@pytest.mark.parametrize("turned", ["", "yes"])
def test_the_own_line_is_pinned_at_the_top_whatever_the_order(portal, turned):
    """Below fifty others nobody would see it."""
    _fill(portal.course.sessions, portal.course, 60)
    ranked(portal.course, "ada", 9_000.0, now=later(-60 if not turned else 86_400))
    shown = lines(client_of(portal, "ada").page(f"{BOARD}?sort=date&turned={turned}"))
    assert ["you" in line for line in shown] == [True] + 50 * [False]


def test_a_search_ends_after_so_many_lines_and_says_so(portal, monkeypatch):
    monkeypatch.setattr(boards, "SEARCHED", 20)
    people = _fill(portal.course.sessions, portal.course, 30)
    staff = client_of(portal, "ina", Role.ASSISTANT)
    early, late = (staff.page(f"{BOARD}?q=B{person}@") for person in (people[3], people[25]))
    assert len(lines(early)) == 1
    assert "No name in the first 20,000 lines" in late


def test_a_name_is_found_and_keeps_its_rank(portal):
    ranked(portal.course, "ada", 700.0)
    ranked(portal.course, "ben", 500.0)
    client = client_of(portal, "ada")
    client_of(portal, "ben", pseudonym="Tile Fan")
    assert lines(client.page(f"{BOARD}?q=tile+f"))[0].startswith("2 Tile Fan")
    assert lines(client.page(f"{BOARD}?q=ben@example")) == []
    assert len(lines(client_of(portal, "ina", Role.ASSISTANT).page(f"{BOARD}?q=ben@example"))) == 1


def test_after_a_freeze_students_see_the_board_as_it_stood_and_staff_both(portal):
    moment = datetime.now(UTC) - timedelta(hours=1)
    ranked(portal.course, "ada", 500.0, now=moment - timedelta(minutes=5))
    with portal.course.sessions.begin() as session:
        freeze(session, session.get_one(Assignment, portal.course.assignment), moment)
    ranked(portal.course, "ada", 900.0, now=moment + timedelta(minutes=5))
    ranked(portal.course, "ben", 800.0, now=moment + timedelta(minutes=6))
    # handed in before, graded after
    ranked(portal.course, "cem", 600.0, now=moment - timedelta(minutes=1))
    student = client_of(portal, "ada").page(BOARD)
    assert [re.findall(r"([\d,]+) GFLOPS", line)[0] for line in lines(student)] == ["600", "500"]
    assert "This leaderboard is frozen" in student
    assert "data-live " not in student
    staff = client_of(portal, "ina", Role.ASSISTANT)
    assert len(lines(staff.page(BOARD))) == 3
    assert len(lines(staff.page(f"{BOARD}?frozen=yes"))) == 2
    with portal.course.sessions.begin() as session:
        freeze(session, session.get_one(Assignment, portal.course.assignment), None)
    assert len(lines(client_of(portal, "ada").page(BOARD))) == 3


def test_a_freeze_can_be_moved_both_ways(portal):
    for minute, gflops in ((1, 500.0), (2, 600.0), (3, 700.0)):
        ranked(portal.course, "ada", gflops, now=later(60 * minute))
    client = client_of(portal, "ada")
    for seconds, seen in ((150, "600"), (70, "500"), (200, "700"), (10, None)):
        with portal.course.sessions.begin() as session:
            freeze(session, session.get_one(Assignment, portal.course.assignment), later(seconds))
        page = client.page(BOARD)
        assert (re.findall(r"<strong>([\d,]+)", page) or [None])[0] == seen


def test_what_is_checked_only_shows_who_is_right_since_when_and_never_a_rank(portal):
    portal.course.change(device_class="")
    checked(portal.course, portal.course.job("ben", now=later(60)), **modelled(2_000.0))
    checked(portal.course, portal.course.job("ada", now=later(120)), **modelled(8_000.0))
    checked(portal.course, portal.course.job("ben", source=b"// 2", now=later(180)), **modelled(4_000.0))
    checked(portal.course, portal.course.job("cem", now=later(30)), Verdict.DATA_RACE)
    client = client_of(portal, "ada")
    assert client.get("/courses/gpu/tiled/board/").headers["Location"].endswith("/board/cpu")
    page = client.page("/courses/gpu/tiled/board/cpu")
    on_board, known = page.split('id="known"')
    ben, ada = lines(on_board)
    assert ("uncoalesced" in lines(known)[0], lines(known)[0].endswith("486 GFLOPS")) == (True, True)
    assert "02 Mar" in ben
    assert "09:01" in ben
    assert "4,000 GFLOPS" in ben
    assert "8,000 GFLOPS" in ada
    assert "modelled" in page
    assert "Width=2,048" in page
    assert 'class="n rank"' not in page
    assert client.get(BOARD).status_code == 404


def test_the_open_page_learns_what_happened_since(portal):
    client = client_of(portal, "ada")
    page = client.page(BOARD)
    assert 'class="empty"' in page
    (state,) = re.findall(r'data-state="([^"]+)"', page)
    ranked(portal.course, "ada", 700.0)
    told = client.get(html.unescape(state)).get_json()
    assert told["final"] is False
    assert "<strong>700" in told["html"]
    seen = f"{html.unescape(state)}?seen={told['digest']}"
    assert client.get(seen).get_json() == {"html": None, "final": False, "digest": told["digest"]}
    ranked(portal.course, "ben", 800.0)
    assert "<strong>800" in client.get(seen).get_json()["html"]


def test_strangers_learn_nothing_and_hostile_addresses_give_the_first_part(portal):
    ranked(portal.course, "ada", 700.0)
    assert stranger(portal).get(BOARD).headers["Location"].startswith("/sign-in")
    assert client_of(portal, "eve", None).get(BOARD).status_code == 404
    client = client_of(portal, "ada")
    assert client.get("/courses/gpu/tiled/board/b200").status_code == 404
    assert client.get("/courses/gpu/none/board/h200").status_code == 404
    assert client.get("/courses/gpu/%00/board/h200").status_code == 404
    for query in (
        "sort=x", "after=1_2_3", "after=nan_1_a", "after=9e999_1_a", "sort=date&after=1e5_1_a", "before=%00",
        "after=1_9999999999999999_a", "q=%00%E2%80%AE", "turned=1", "sort=date&after=-9_1_a", f"after={'f' * 48}",
        f"sort=date&before={'7' * 48}", f"sort=date&after={'0' * 48}", f"after={'0' * 16}{'f' * 32}",
    ):  # fmt: skip
        assert client.get(f"{BOARD}?{query}").status_code == 200, query
