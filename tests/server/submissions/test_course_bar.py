"""The course bar on an assignment's pages: neighbours in the course's order, points and progress."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import Engine

from kernels.verdict import Verdict
from server.courses.models import Assignment, Role
from tests.server.databases import ON_SQLITE
from tests.server.staff.graded import counted_queries
from tests.server.submissions.course_pages import FORM, HOME, KERNEL, PAGE, end, now, words
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

PAGES = (PAGE, f"{PAGE}history", f"{PAGE}board/h200")
pytestmark = ON_SQLITE


@pytest.fixture
def ada(portal: Portal) -> BrowserClient:
    portal.course.change(points=10.0, position=2)
    return client_of(portal, "ada")


def assign(portal: Portal, *slugs: str, position: int | None = None, listed: bool = True) -> None:
    with portal.course.sessions.begin() as session:
        like = session.get_one(Assignment, portal.course.assignment)
        session.add_all(
            Assignment(
                course_id=like.course_id, exercise_id=like.exercise_id, slug=slug, title=slug, device_class="h200",
                arch="sm_90", points=5.0, created_at=now(), position=position, listed=listed,
            )
            for slug in slugs
        )  # fmt: skip


def bar(page: str) -> str:
    found = re.search(r'<nav class="neighbours".*?</nav>', page, re.DOTALL)
    return "" if found is None else found[0]


def neighbours(page: str) -> dict[str, str]:
    return dict(re.findall(r'rel="(prev|next)" href="([^"]+)"', bar(page)))


@pytest.mark.parametrize("path", PAGES)
def test_each_page_of_an_assignment_leads_to_its_neighbours(portal: Portal, ada: BrowserClient, path: str):
    assert bar(ada.page(path)) == "", "a course with one assignment needs no bar"
    assign(portal, "first", position=1)
    assign(portal, "hidden", position=3, listed=False)
    assert neighbours(ada.page(path)) == {"prev": "/courses/gpu/first/"}
    assign(portal, "last")
    assert neighbours(ada.page(path)) == {"prev": "/courses/gpu/first/", "next": "/courses/gpu/last/"}
    assert bar(client_of(portal, "ina", Role.INSTRUCTOR).page(path)) == "", "course staff have no progress"


def test_without_deadlines_the_next_task_is_the_first_of_the_course(portal: Portal, ada: BrowserClient):
    assign(portal, "z", "a")
    assert 'id="next">Next: <a href="/courses/gpu/tiled/"' in ada.page("/")
    assign(portal, "first", position=1)
    page = ada.page("/")
    assert 'id="next">Next: <a href="/courses/gpu/first/"' in page
    links = [f'<h3><a href="/courses/gpu/{slug}/"' for slug in ("first", "tiled", "z", "a")]
    assert [page.index(each) for each in links] == sorted(page.index(each) for each in links)


def test_it_has_the_points_and_the_next_step(portal: Portal, ada: BrowserClient):
    assign(portal, "last")
    ada.post_form(FORM, source=KERNEL, mode="rank")
    end(portal, Verdict.ACCEPTED, ms_median=1.0, gflops=1.0, ranked=True)
    for path in PAGES:
        assert "1 of 2 done, 10 of 15 points" in words(bar(ada.page(path)))
    for path in PAGES[1:]:
        assert "10 of 10 points here" in words(bar(ada.page(path)))
        assert f'href="{PAGE}"' in bar(ada.page(path)), "the next step"


def test_a_courses_page_shows_ones_own_activity(portal: Portal, ada: BrowserClient):
    assert "data-total" not in ada.page(HOME)
    ada.post_form(FORM, source=KERNEL, mode="check")
    assert 'data-total="1"' in ada.page(HOME)
    assert "data-total" not in client_of(portal, "ina", Role.INSTRUCTOR).page(HOME)


def test_more_assignments_take_no_more_statements(portal: Portal, ada: BrowserClient):
    engine: Engine = portal.app.extensions["tilelab"].engine

    def statements(path: str) -> int:
        with counted_queries(engine) as seen:
            ada.page(path)
        return len(seen)

    assign(portal, "other")
    ada.post_form(FORM, source=KERNEL, mode="rank")
    ada.page(PAGE)
    before = [statements(path) for path in PAGES]
    assign(portal, *(f"more-{number}" for number in range(30)))
    assert [statements(path) for path in PAGES] == before
