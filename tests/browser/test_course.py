"""A student's way through a course: find what is due, read, edit, check, hand in, and be told what cannot be taken."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from kernels.exercise import find_exercise
from tests.browser.accessible import assert_accessible
from tests.browser.deployment import VERDICT_MS, Deployment
from tests.browser.opening import unfold_and_thin
from tests.browser.signing_in import sign_in
from tests.browser.test_editor import DROP

_LONG = pytest.mark.long("the short suite has one of these ways")

COURSE = "/courses/demo/"
UNSOLVED = "Matrix multiplication, one thread per element"
"""Nobody hands in a right kernel for it here, so that it stays due."""
SOLUTION = find_exercise("tiled").solution.read_text()
RACE = SOLUTION.replace("__syncthreads();", "", 1)


CHECK, HAND_IN = "button[value=check]", "button[value=rank]"


@pytest.fixture
def student(page: Page, portal: Deployment) -> Page:
    sign_in(page, portal, "student")
    return page


def open_assignment(page: Page, portal: Deployment, name: str = "tiled") -> None:
    page.goto(f"{portal.url}{COURSE}{name}/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def editor(page: Page):
    """The editor, not the text area that it replaces."""
    return page.get_by_role("textbox", name="Your kernel").and_(page.locator(".cm-content"))


def write(page: Page, text: str) -> None:
    """In place of what stands in the editor."""
    editor(page).click()
    # in two steps, as otherwise the browser carries the look of the old text over to the new one, or tries to
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def check(page: Page) -> None:
    page.locator(CHECK).click()


def handed_in(page: Page, portal: Deployment) -> str:
    """The source as the server has it, of the submission that was just sent."""
    answer = page.request.get(f"{portal.url}{submission(page)}/source.cu")
    assert answer.ok
    return answer.text()


def assert_handed_in(page: Page, portal: Deployment, text: str) -> None:
    """The panel may still have the submission before."""
    until = time.monotonic() + 10
    while (found := handed_in(page, portal)) != text and time.monotonic() < until:
        page.wait_for_timeout(50)
    assert found == text


def submission(page: Page) -> str:
    """The address of the submission that was just sent, on its own page or beside the editor."""
    return page.locator("#outcome").get_attribute("data-address") or ""


def tab(page: Page, name: str):
    return page.get_by_role("navigation", name="Parts of the assignment").get_by_role("link", name=name)


@_LONG
def test_from_the_start_to_what_is_due_and_its_handout(student, portal):
    student.goto(portal.url)
    expect(student.get_by_role("heading", level=1)).to_have_text("Your courses")
    student.get_by_role("link", name=UNSOLVED).first.click()
    expect(student.get_by_role("heading", level=1)).to_have_text(UNSOLVED)
    for term in ("Due", "Late", "Points", "Attempts", "Checks", "What counts", "Measured on"):
        expect(student.get_by_role("term").filter(has_text=re.compile(f"^{term}$"))).to_be_visible()
    student.get_by_role("navigation", name="Breadcrumbs").get_by_role("link").nth(1).click()
    student.wait_for_url(f"**{COURSE}")


@_LONG
def test_the_phases_of_a_handout_are_stepped_through_or_all_there(student, portal, browser, complaints):
    open_assignment(student, portal)
    while student.locator("#panel[data-pending]").count():  # the page would turn to its result
        student.wait_for_timeout(200)
        student.reload()
    stage = student.get_by_role("group", name="Pictures of the phases")
    pictures = stage.locator("figure:visible")
    expect(pictures).to_have_text([re.compile("^Block 0,0, phase 0")])
    stage.get_by_role("button", name="Next picture").click()
    expect(pictures).to_have_text([re.compile("^Block 0,0, phase 1")])
    stage.press("End")
    expect(pictures).to_have_text([re.compile("^Block 1,1, phase 1")])
    expect(stage.get_by_role("status")).to_have_text("8 of 8")
    unfold_and_thin(student)
    assert_accessible(student)
    plain = browser.new_context(java_script_enabled=False, storage_state=student.context.storage_state())
    page = plain.new_page()
    complaints.listen(page)
    page.goto(student.url)
    expect(page.get_by_role("group", name="Pictures of the phases").locator("figure:visible")).to_have_count(8)
    plain.close()


@_LONG
def test_the_starter_is_downloaded_as_a_file(student, portal, tmp_path: Path):
    open_assignment(student, portal)
    with student.expect_download() as download:
        student.get_by_role("link", name="Download starter").click()
    assert download.value.suggested_filename == "tiled.cu"
    download.value.save_as(tmp_path / "tiled.cu")
    assert (tmp_path / "tiled.cu").read_text() == find_exercise("tiled").starter.read_text()


def test_edit_and_check_and_hand_in(student, portal):
    open_assignment(student, portal)
    write(student, f"{SOLUTION}// checked\n")
    student.get_by_role("button", name="Check").click()
    assert_handed_in(student, portal, f"{SOLUTION}// checked\n")
    open_assignment(student, portal)
    expect(editor(student)).to_contain_text("MatrixMulKernel")
    write(student, f"{SOLUTION}// for points\n")
    student.get_by_role("button", name="Submit").click()
    assert_handed_in(student, portal, f"{SOLUTION}// for points\n")
    # a verdict that comes later would turn the page to its result
    expect(student.locator("[data-says]")).to_contain_text("Accepted", timeout=VERDICT_MS)
    open_assignment(student, portal)
    tab(student, "Submissions").click()
    rows = student.get_by_role("table").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("submission")
    # the demo itself may submit meanwhile, as this student
    expect(rows.filter(has_text="check").first).to_be_visible()


@_LONG
def test_a_file_is_handed_in(student, portal):
    open_assignment(student, portal)
    given = {"name": "mine.cu", "mimeType": "", "buffer": b"// from a file\n"}
    student.locator("#file").set_input_files(given)
    expect(student.locator(".editor-says")).to_contain_text("mine.cu")
    check(student)
    assert_handed_in(student, portal, "// from a file\n")


@_LONG
def test_a_file_that_is_dropped_is_handed_in(student, portal):
    open_assignment(student, portal)
    editor(student).evaluate(DROP, ["dropped.cu", "// dropped\n"])
    check(student)
    assert_handed_in(student, portal, "// dropped\n")


@_LONG
def test_a_draft_is_there_again_and_gone_when_it_is_handed_in(student, portal):
    open_assignment(student, portal, "naive")
    write(student, "// half a thought\n")
    student.reload()
    expect(student.locator(".editor-says")).to_contain_text("restored")
    expect(editor(student)).to_contain_text("half a thought")
    check(student)
    assert_handed_in(student, portal, "// half a thought\n")
    first = submission(student).rpartition("/")[2]
    open_assignment(student, portal, "naive")
    expect(editor(student)).to_contain_text("half a thought")
    expect(student.get_by_text("restored")).to_have_count(0)
    write(student, "// the other half\n")
    check(student)
    assert_handed_in(student, portal, "// the other half\n")
    student.goto(f"{portal.url}{COURSE}naive/?from={first}#hand-in")
    expect(editor(student)).to_contain_text("half a thought")
    expect(student.get_by_text("draft of")).to_have_count(0)


@_LONG
def test_what_was_wrong_is_marked_where_it_is_changed(student, portal):
    address = portal.hand_in(portal.person("student"), "demo/tiled", RACE)
    for _ in range(240):
        if portal.state(portal.person("student"), address)["verdict"]:
            break
        student.wait_for_timeout(500)
    number = address.rpartition("/")[2]
    student.goto(f"{portal.url}{COURSE}tiled/?from={number}#hand-in")
    expect(student.locator("#panel .stamp")).to_have_text("data race")
    expect(student.locator(".cm-mark-error").first).to_be_visible()
    student.locator("#panel .excerpt [data-editor-line]").first.click()
    expect(editor(student)).to_be_focused()


@_LONG
def test_a_button_pressed_twice_hands_in_once(student, portal):
    open_assignment(student, portal, "coarsened")
    write(student, "// once\n")
    student.locator(CHECK).dblclick()
    handed_in(student, portal)
    open_assignment(student, portal, "coarsened")
    tab(student, "Submissions").click()
    expect(student.get_by_role("table").get_by_role("row")).to_have_count(2)


@_LONG
def test_what_cannot_be_taken_comes_back_as_it_was_typed(student, portal, complaints):
    complaints.allow("422")
    open_assignment(student, portal)
    write(student, "// " + "x" * 66_000)
    student.locator(HAND_IN).click()
    expect(student.get_by_role("alert")).to_contain_text("66,003 bytes")
    expect(student.get_by_role("alert")).to_be_focused()
    expect(editor(student)).to_contain_text("// xxx")
    expect(editor(student)).to_have_attribute("aria-invalid", "true")
    assert_accessible(student)
    student.get_by_role("alert").get_by_role("link").click()
    expect(editor(student)).to_be_focused()
    write(student, " \n ")
    student.locator(HAND_IN).click()
    expect(student.locator("[data-mistake=empty]")).to_be_visible()


@pytest.fixture
def plain(browser: Browser, portal: Deployment) -> Iterator[Page]:
    """A browser that runs no script, with which a student is signed in."""
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        sign_in(page, portal, "student")
        yield page


@_LONG
def test_without_scripts_it_is_read_and_handed_in(plain, portal):
    plain.goto(portal.url)
    plain.get_by_role("link", name=UNSOLVED).first.click()
    expect(plain.get_by_role("heading", name="Handout")).to_be_visible()
    plain.get_by_label("Your kernel").fill("// without scripts\n")
    check(plain)
    assert_handed_in(plain, portal, "// without scripts\n")


@_LONG
def test_without_scripts_a_file_counts_instead_of_the_text(plain, portal):
    open_assignment(plain, portal)
    given = {"name": "mine.cu", "mimeType": "", "buffer": b"// a file, no script\n"}
    plain.locator("#file").set_input_files(given)
    check(plain)
    assert_handed_in(plain, portal, "// a file, no script\n")


@_LONG
def test_without_scripts_a_file_that_is_no_source_keeps_what_was_typed(plain, portal):
    open_assignment(plain, portal)
    plain.get_by_label("Your kernel").fill("// typed for hours\n")
    given = {"name": "notes.docx", "mimeType": "", "buffer": b"PK\xff\xfe"}
    plain.locator("#file").set_input_files(given)
    plain.locator(HAND_IN).click()
    expect(plain.locator("[data-mistake=not_text]")).to_contain_text("notes.docx")
    expect(plain.get_by_label("Your kernel")).to_have_value("// typed for hours\n")


@_LONG
def test_it_is_handed_in_by_keyboard_alone(student, portal):
    open_assignment(student, portal)
    student.keyboard.press("Tab")
    expect(student.get_by_role("link", name="Skip to the content")).to_be_focused()
    editor(student).focus()
    student.keyboard.press("Control+a")
    student.keyboard.press("Delete")
    student.keyboard.type("// by keyboard\n")
    student.keyboard.press("Escape")
    for target in (student.locator("#file"), student.locator(CHECK)):
        student.keyboard.press("Tab")
        expect(target).to_be_focused()
    student.keyboard.press("Enter")
    assert_handed_in(student, portal, "// by keyboard\n")
