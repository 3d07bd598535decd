"""The staff's desk in a real browser: what an instructor does in a week."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kernels.exercise import find_exercise
from server.exercises.upload import read_folder, write_zip
from tests.browser.accessible import assert_accessible
from tests.browser.deployment import VERDICT_MS
from tests.browser.noticed import noticed
from tests.browser.signing_in import sign_in
from tests.browser.viewports import NARROW

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

DESK = "/staff/demo"
SOURCE = "// of the desk's test {n}\n__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{}}\n"


@pytest.fixture
def desk(page: Page, portal) -> Page:
    """Somebody who teaches the course, and runs the server, at their desk."""
    sign_in(page, portal, "instructor")
    return page


def preview(desk: Page) -> None:
    """Send the form of an import."""
    desk.locator("form.form button.primary").click()


def apply(desk: Page) -> None:
    """Have done what the preview shows."""
    desk.locator("form.actions button.primary").click()


def test_a_roster_is_imported(desk, portal, complaints, tmp_path: Path):
    complaints.allow("status of 422")
    file = tmp_path / "roster.csv"
    file.write_text("email;name;section\nzoe@desk.example;Zoé;B1\nyan@desk.example\n", "utf-8-sig")
    desk.goto(f"{portal.url}{DESK}/roster")
    desk.get_by_role("link", name="Import a CSV").click()
    desk.get_by_label("CSV file").set_input_files(file)
    preview(desk)
    expect(desk.get_by_role("alert").get_by_role("listitem")).to_have_attribute("data-line", "3")
    assert_accessible(desk)
    lines = desk.locator("#text")
    lines.fill(lines.input_value().replace("yan@desk.example", "yan@desk.example;Yan;B1"))
    preview(desk)
    expect(desk.get_by_role("region", name="Changes")).to_contain_text("zoe@desk.example")
    assert_accessible(desk)
    apply(desk)
    noticed(desk, "roster-imported")
    desk.get_by_label("Name, email or ID").fill("zoe@")
    desk.keyboard.press("Enter")
    row = desk.get_by_role("row", name=re.compile("zoe@desk.example"))
    expect(row.locator(".badge.fair")).to_be_visible()
    wide = desk.viewport_size
    desk.set_viewport_size(NARROW)
    assert desk.get_by_role("region", name="Members of the course").evaluate("it => it.scrollWidth <= it.clientWidth")
    desk.set_viewport_size(wide or NARROW)
    row.get_by_role("button", name="Invite for Zoé").click()
    link = desk.locator("#one-time-link").inner_text()
    assert link.startswith(f"{portal.url}/invitation/")
    assert_accessible(desk)
    desk.goto(link)
    expect(desk.get_by_role("main")).to_contain_text("zoe@desk.example")


def test_an_assignment_is_opened_and_a_student_sees_it(desk, portal, browser, complaints):
    complaints.allow("status of 422")
    desk.goto(f"{portal.url}{DESK}/assignments")
    desk.get_by_role("link", name="New assignment").click()
    desk.get_by_role("radio", name=re.compile(r"\bnaive$")).check()
    desk.get_by_label("Short name").fill("desk-lab")
    desk.get_by_label("Attempts").fill("5")
    desk.get_by_label("Due").fill("2031-05-01T23:59")
    desk.get_by_label("Closes").fill("2031-04-01T23:59")
    desk.get_by_role("button", name="Create").click()
    expect(desk.get_by_role("alert").get_by_role("link")).to_have_attribute("href", "#closes_at")
    assert_accessible(desk)
    desk.get_by_label("Closes").fill("2031-05-03T23:59")
    desk.get_by_role("button", name="Create").click()
    noticed(desk, "assignment-set")
    desk.get_by_label("Student", exact=True).select_option(index=1)
    desk.get_by_role("textbox", name="Extra attempts").fill("2")
    desk.get_by_role("button", name="Grant").click()
    noticed(desk, "extension-granted")
    assert_accessible(desk)
    with browser.new_context() as other:
        student = other.new_page()
        sign_in(student, portal, "student")
        student.goto(f"{portal.url}/courses/demo/desk-lab/")
        expect(student.get_by_role("main")).to_contain_text("01 May 2031")


def test_an_own_exercise_goes_from_a_zip_file_to_a_grade(desk, portal, complaints, tmp_path: Path):
    complaints.allow("status of 422")
    root = find_exercise("vector-addition").root
    file = tmp_path / "added.zip"
    file.write_bytes(write_zip("added", read_folder(root).files))
    desk.goto(f"{portal.url}{DESK}/exercises")
    desk.get_by_role("button", name="Upload").click()
    expect(desk.locator("#file-error")).to_be_visible()
    assert_accessible(desk)
    desk.get_by_label("Zip file").set_input_files(file)
    desk.get_by_role("button", name="Upload").click()
    noticed(desk, "exercise-saved")
    desk.get_by_role("link", name="Edit").click()
    definition = desk.locator("[id='exercise.toml'] .cm-content")
    definition.press("Control+Home")
    desk.keyboard.type("titel = 1\n")
    desk.get_by_role("button", name="Preview").click()
    expect(desk.locator("[id='exercise.toml'] .cm-lint-marker-error")).to_be_visible()
    assert_accessible(desk)
    definition.press("Control+Home")
    desk.keyboard.press("Control+Shift+k")
    desk.locator("[id='handout.md'] .cm-content").press("Control+End")
    desk.keyboard.type("\nIt is **our own**.\n")
    desk.get_by_role("button", name="Preview").click()
    expect(desk.locator(".beside strong").last).to_have_text("our own")
    assert_accessible(desk)
    desk.get_by_role("button", name="Save draft").click()
    noticed(desk, "exercise-saved")
    desk.get_by_role("button", name="Check").click()
    expect(desk.locator("#proven")).to_be_visible(timeout=VERDICT_MS)
    assert_accessible(desk)
    desk.get_by_role("button", name="Publish version 1").click()
    noticed(desk, "exercise-published")
    desk.goto(f"{portal.url}{DESK}/assignments/new")
    desk.get_by_role("radio", name=re.compile("this course’s own")).check()
    desk.get_by_role("button", name="Create").click()
    noticed(desk, "assignment-set")
    address = portal.hand_in(portal.person("student"), "demo/added", (root / "solution.cu").read_text())
    desk.goto(f"{portal.url}{DESK}/submissions?assignment=added")
    row = desk.locator(f"#s-{address.rpartition('/')[2]}")
    expect(row.locator(".badge.good")).to_be_visible(timeout=VERDICT_MS)


def test_submissions_arrive_and_are_graded_again(desk, portal):
    desk.goto(f"{portal.url}{DESK}/submissions?assignment=naive&mode=check")
    address = portal.hand_in(portal.person("student"), "demo/naive", SOURCE.format(n=1))
    number = address.rpartition("/")[2]
    row = desk.locator(f"#s-{number}")
    expect(row).to_contain_text("Ada Student", timeout=VERDICT_MS)
    expect(row.locator(".badge.poor")).to_be_visible(timeout=VERDICT_MS)
    row.get_by_role("link", name="Regrade").click()
    desk.wait_for_url("**/regrade?*")
    assert_accessible(desk)
    desk.get_by_role("button", name="Regrade and apply at once").click()
    expect(desk.get_by_role("main")).to_contain_text("1 of 1 finished", timeout=VERDICT_MS)
    desk.reload()  # the page may be about to load itself once more
    assert_accessible(desk)
    desk.goto(f"{portal.url}{DESK}/audit?area=assignment")
    expect(desk.get_by_role("region", name="Changes")).to_contain_text("assignment regraded")


def test_grades_are_exported(desk, portal):
    desk.goto(f"{portal.url}{DESK}/grades?by=total&down=yes")
    with desk.expect_download() as told:
        desk.get_by_role("link", name="Export as CSV").click()
    with told.value.path().open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"email", "name", "section", "tiled", "total"} <= rows[0].keys()
    assert portal.person("student").email in {row["email"] for row in rows}
    desk.get_by_role("link", name="Fill in a file").click()
    sent = told.value.path().read_bytes()
    desk.locator("#file").set_input_files({"name": "gradebook.csv", "mimeType": "text/csv", "buffer": sent})
    preview(desk)
    assert_accessible(desk)
    with desk.expect_download() as filled:
        apply(desk)
    assert filled.value.path().read_bytes() == sent


def test_a_worker_is_drained_and_goes_on(desk, portal):
    desk.on("dialog", lambda dialog: dialog.accept())
    desk.goto(f"{portal.url}/fleet")
    drain = desk.get_by_role("button", name=re.compile("^Drain"))
    expect(drain).to_be_visible(timeout=VERDICT_MS)
    drain.click()
    resume = desk.get_by_role("button", name=re.compile("^Resume"))
    expect(resume).to_be_visible(timeout=VERDICT_MS)
    expect(desk.locator(".worker .badge").first).to_have_text("drained", timeout=VERDICT_MS)
    resume.click()
    expect(drain).to_be_visible(timeout=VERDICT_MS)


def test_all_of_it_works_without_scripts(browser, portal):
    with browser.new_context(java_script_enabled=False, viewport=NARROW) as context:
        page = context.new_page()
        sign_in(page, portal, "instructor")
        page.goto(f"{portal.url}{DESK}/roster/import")
        page.locator("#text").fill("email,name\nxia@desk.example,Xia\n")
        preview(page)
        apply(page)
        noticed(page, "roster-imported")
        row = page.get_by_role("row", name=re.compile("xia@desk.example"))
        row.get_by_role("button", name="Drop Xia").click()
        noticed(page, "member-dropped")
        page.goto(f"{portal.url}{DESK}/submissions?verdict=accepted")
        page.get_by_role("button", name="Show").click()
        page.goto(f"{portal.url}{DESK}/assignments/coarsened")
        page.get_by_label("Points").fill("11")
        page.get_by_role("button", name="Save").click()
        noticed(page, "assignment-changed")


@pytest.mark.parametrize("viewport", [NARROW], ids=["narrow"])
def test_on_a_phone_the_title_of_a_version_takes_few_lines(page, site):
    site.let_in(page.context, "ina")
    page.goto(f"{site.url}/staff/bare/exercises/own")
    heads = page.locator("#versions-title + .scroll tbody th").all()
    assert len(heads) == 2
    assert all(
        head.evaluate("it => it.clientHeight / parseFloat(getComputedStyle(it).lineHeight)") < 5 for head in heads
    )
