"""Grading a class in a real browser: by the keyboard alone, by two assistants at once, without scripts, and unsaved."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import delete, select

from server.courses.models import Assignment, Role
from server.grades.criteria import Criterion, Item, stored
from server.grades.rubric import code_of
from server.submissions.models import RubricGrade
from server.talk.models import Comment
from tests.browser.accessible import assert_accessible
from tests.browser.filled import Filled, filled
from tests.browser.viewports import WIDE
from tests.browser.watching import Complaints

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

GRADING = "/staff/gpu/grading/tiled"
MOST_PRESSES = 3
ROW, COL = "Row is unchecked", "Col is unchecked"
ITEMS = (Item("i1", -1.0, ROW), Item("i2", -1.0, COL))
LEVELS = (Item("j1", 4.0, "Measures the reuse"), Item("j2", 2.0, "Explains the reuse"))
RUBRIC = stored([Criterion("aa", "Bounds", 3.0, items=ITEMS), Criterion("bb", "Report", 4.0, items=LEVELS, one=True)])


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A class of its own, which nobody has graded."""
    with filled(tmp_path_factory.mktemp("grading")) as made:
        for name in ("tom", "tim"):
            made.course.person(name, Role.ASSISTANT)
        made.course.change(rubric=RUBRIC)
        with made.course.sessions.begin() as session:
            session.delete(session.scalars(select(RubricGrade)).one())
        yield made


@pytest.fixture
def tom(course: Filled, context: BrowserContext, page: Page) -> Page:
    course.let_in(context, "tom")
    page.goto(course.url + GRADING)
    return page


def graded(course: Filled) -> dict[int, RubricGrade]:
    with course.course.sessions.begin() as session:
        rows = session.scalars(select(RubricGrade)).all()
        session.expunge_all()
    assert len({one.person_id for one in rows}) == len(rows)
    return {one.person_id: one for one in rows}


def paper(course: Filled, name: str) -> str:
    """Where that student is graded, who isn't yet."""
    with course.course.sessions.begin() as session:
        session.execute(delete(RubricGrade).where(RubricGrade.person_id == course.course.people[name]))
        assignment = session.get_one(Assignment, course.course.assignment)
        return f"{course.url}{GRADING}/{code_of(assignment, course.course.people[name])}"


def begin(page: Page) -> None:
    """Open the next submission from the overview."""
    page.locator("[rel=next]").click()
    page.wait_for_selector("#sheet")


def press(page: Page, keys: str) -> int:
    """Press these keys; the last one leads to another page. Returns their number."""
    *first, last = keys.split()
    for key in first:
        page.keyboard.press(key)
    here = page.url
    page.keyboard.press(last)
    page.wait_for_url(lambda url: url != here)
    page.wait_for_load_state()
    return len(keys.split())


def test_ten_are_graded_by_the_keyboard_alone(tom: Page, course: Filled, capsys: pytest.CaptureFixture[str]) -> None:
    before = graded(course)
    begin(tom)
    costs = []
    for keys in ("1 1 Enter", "Enter", "2 1 Enter", "1 2 Enter", "2 2 Enter") * 2:
        began = time.monotonic()
        presses = press(tom, keys)
        costs.append((keys, presses, time.monotonic() - began))
    new = [one for person, one in graded(course).items() if person not in before]
    assert sorted(item for one in new for item in one.items) == ["i1"] * 2 + ["i2"] * 2 + ["j1"] * 2 + ["j2"] * 2
    assert max(presses for _, presses, _ in costs) <= MOST_PRESSES
    with capsys.disabled():
        print("".join(f"\n{keys:<10} {presses} key presses {seconds:.2f} s" for keys, presses, seconds in costs))


def test_two_assistants_lose_and_double_nothing(
    tom: Page, course: Filled, browser: Browser, complaints: Complaints
) -> None:
    complaints.allow("status of 409")
    before = len(graded(course))
    with browser.new_context(viewport=WIDE) as other:
        course.let_in(other, "tim")
        tim = other.new_page()
        for page in (tom, tim):
            page.goto(course.url + GRADING)
            begin(page)
        for _ in range(4):
            for page in (tom, tim):
                press(page, "1 1 Enter")
        assert len(graded(course)) == before + 8
        tom.goto(tim.url)
        both = tim.url.partition("?")[0]
        press(tim, "1 2 Enter")
        tom.keyboard.press("1")
        tom.keyboard.press("1")
        tom.keyboard.press("Enter")
        expect(tom.locator("[data-conflict]")).to_contain_text(COL)
        expect(tom.get_by_label(ROW)).to_be_checked()
        assert_accessible(tom)
        press(tom, "Enter")
        tim.goto(both)
        expect(tim.get_by_label(ROW)).to_be_checked()
        expect(tim.get_by_label(COL)).not_to_be_checked()


def test_unsaved_work_is_back_after_reload_failure_and_sign_out(
    tom: Page, course: Filled, complaints: Complaints
) -> None:
    complaints.allow("ERR_INTERNET_DISCONNECTED")
    slow = paper(course, "slow")
    tom.goto(slow)
    tom.keyboard.press("1")
    tom.keyboard.press("2")
    tom.get_by_label("Comment on Bounds").fill("Col runs over.")
    tom.get_by_role("link", name="Line 3:").click()
    tom.locator("#write textarea").fill("Half a sentence")
    tom.reload()
    tom.context.set_offline(True)
    tom.get_by_role("button", name="Save", exact=True).click(no_wait_after=True)
    tom.wait_for_timeout(300)
    tom.context.set_offline(False)
    tom.context.clear_cookies()
    tom.goto(slow)
    course.let_in(tom.context, "tom")
    tom.goto(slow)
    expect(tom.get_by_label(COL)).to_be_checked()
    expect(tom.get_by_label("Comment on Bounds")).to_have_value("Col runs over.")
    expect(tom.locator("#write textarea")).to_have_value("Half a sentence")
    tom.locator("#write").get_by_role("button", name="Comment", exact=True).click()
    expect(tom.locator(".thread")).to_contain_text("Half a sentence")
    expect(tom.get_by_label(COL)).to_be_checked()
    tom.get_by_role("button", name="Save", exact=True).click()
    tom.wait_for_url("**notice=rubric-given**")
    expect(tom.get_by_role("button", name="Discard it")).to_have_count(0)
    assert graded(course)[course.course.people["slow"]].words == {"aa": "Col runs over."}


def test_old_drafts_go_and_those_of_others_stay(tom: Page, course: Filled) -> None:
    path = paper(course, "ada")
    tom.goto(path)
    tom.keyboard.press("1")
    tom.keyboard.press("1")
    (key,) = drafts(tom)
    _, assignment, code = key.removeprefix("tilelab-grading:").split(":")
    other = [f"tilelab-grading:999:{assignment}:{code}", f"tilelab-grading:{key.split(':')[1]}:999:{code}"]
    tom.evaluate("([key, other]) => other.forEach((each) => (localStorage[each] = localStorage[key]))", [key, other])
    press(tom, "Enter")
    assert drafts(tom) == sorted(other)
    tom.goto(f"{course.url}{GRADING}?saved={code}")
    old = "key => localStorage[key] = JSON.stringify({at: Date.now() - 31 * 86400000, fields: {item_i1: 'yes'}})"
    tom.goto(paper(course, "ada"))
    for each in (key, *other):
        tom.evaluate(old, each)
    tom.reload()
    assert drafts(tom) == []
    expect(tom.get_by_label(ROW)).not_to_be_checked()


def drafts(page: Page) -> list[str]:
    return sorted(page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('tilelab-grading:'))"))


def test_keys_do_nothing_while_somebody_types(tom: Page, course: Filled) -> None:
    tom.goto(paper(course, "ada"))
    tom.keyboard.press("c")
    tom.keyboard.type("n j p k 1 1 ? a")
    expect(tom.locator("#comment-all textarea")).to_have_value("n j p k 1 1 ? a")
    expect(tom.get_by_label(ROW)).not_to_be_checked()
    tom.keyboard.press("Control+A")
    tom.keyboard.type("Good names.")
    tom.locator("#comment-all").get_by_label("Save this comment").check()
    tom.locator("#comment-all textarea").press("Control+Enter")
    tom.wait_for_url("**#thread-*")
    here = tom.url
    tom.get_by_role("link", name="Line 2:").click()
    tom.keyboard.type("goo nam")
    tom.keyboard.press("ArrowDown")
    tom.keyboard.press("Enter")
    tom.wait_for_url(lambda url: url != here and "#thread" in url)
    with course.course.sessions.begin() as session:
        last = session.scalars(select(Comment).order_by(Comment.id.desc())).first()
        assert last is not None
        assert (last.line, last.text) == (2, "Good names.")
    tom.keyboard.press("?")
    expect(tom.get_by_role("dialog")).to_be_visible()
    assert_accessible(tom)
    tom.keyboard.press("Escape")
    expect(tom.get_by_role("dialog")).not_to_be_visible()


def test_all_of_it_works_without_scripts(browser: Browser, course: Filled) -> None:
    with browser.new_context(java_script_enabled=False, viewport=WIDE) as context:
        course.let_in(context, "tim")
        page = context.new_page()
        page.goto(paper(course, "ada"))
        page.get_by_role("link", name="Line 1:").click()
        page.locator("#write textarea").fill("A constant is good.")
        page.locator("#write").get_by_role("button", name="Comment", exact=True).click()
        expect(page.locator(".paper")).to_contain_text("A constant is good.")
        page.get_by_label(ROW).check()
        page.get_by_label("Measures the reuse").check()
        page.get_by_role("button", name="Save and next").click()
        assert sorted(graded(course)[course.course.people["ada"]].items) == ["i1", "j1"]
        page.get_by_role("link", name="Next").click()
