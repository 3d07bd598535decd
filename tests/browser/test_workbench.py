"""The assignment's page as a workbench: handout, editor and result on one screen."""

from __future__ import annotations

import re
import secrets

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessible import assert_accessible
from tests.browser.deployment import VERDICT_MS, Deployment
from tests.browser.opening import unfold_and_thin
from tests.browser.signing_in import sign_in
from tests.browser.test_accounts import PASSWORD, code_of
from tests.browser.test_course import COURSE, SOLUTION, editor, submission, tab, write
from tests.browser.test_editor import held_back
from tests.browser.viewports import NARROW, WIDE

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, which checks and submits here"
)

FIRST = 12
SITE = "/courses/gpu/tiled/"
RACE = SOLUTION.replace("__syncthreads();", "", 1)


@pytest.fixture
def student(page: Page, portal: Deployment) -> Page:
    sign_in(page, portal, "student")
    page.goto(f"{portal.url}{COURSE}tiled/")
    return page


def verdict(page: Page):
    return page.locator("#panel .stamp")


def cursor(page: Page) -> str:
    return page.locator(".cm-lineNumbers .cm-activeLineGutter").inner_text()


def test_the_names_of_the_assignments_before_and_after_are_whole_where_there_is_room(student):
    student.set_viewport_size({"width": 1600, "height": 900})
    names = student.locator(".neighbours > a span")
    assert names.count() > 0
    assert names.evaluate_all("all => all.every((each) => each.scrollWidth <= each.clientWidth)")


def test_control_and_enter_checks_and_a_finding_leads_into_the_editor(student, portal):
    write(student, RACE)
    student.keyboard.press("Control+Enter")
    expect(verdict(student)).to_have_text("data race", timeout=VERDICT_MS)
    assert student.url == f"{portal.url}{COURSE}tiled/"
    expect(editor(student)).to_be_focused()
    expect(student.locator("[data-says]")).to_contain_text("Data race. Check, doesn’t count")
    expect(student.locator(".cm-mark-error").first).to_be_visible()
    sent, named = student.locator("#panel [data-address]").first, student.locator(".editor-head [data-loaded]")
    expect(named).to_have_attribute("data-loaded", (sent.get_attribute("data-address") or "").rpartition("/")[2])
    expect(named.locator("[data-editor-changed]")).to_be_hidden()
    link = student.locator("#panel .excerpt a").first
    link.click()
    assert cursor(student) == link.inner_text()
    student.get_by_role("button", name="Check").focus()
    student.keyboard.press("F8")
    expect(editor(student)).to_be_focused()
    shown = student.locator("#panel").get_by_role("link", name="Show in editor")
    assert cursor(student) == shown.get_attribute("data-editor-line") != link.inner_text()
    expect(student.locator("#tab-source")).to_have_count(0)
    unfold_and_thin(student)
    assert_accessible(student)


def test_a_question_is_asked_at_a_line_without_leaving_the_workbench(student, portal):
    write(student, RACE)
    student.keyboard.press("Control+Enter")
    expect(verdict(student)).to_have_text("data race", timeout=VERDICT_MS)
    student.locator("#panel .excerpt .ask").first.click()
    student.keyboard.insert_text("Why here?")
    assert_accessible(student)
    student.get_by_role("button", name="Send to course staff").click()
    told = student.locator("#panel .notice")
    expect(told).to_be_in_viewport()
    told.get_by_role("link").click()
    expect(student.get_by_text("Why here?")).to_be_visible()


def test_mistakes_are_marked_after_a_pause_and_not_on_the_line_that_is_written(student):
    write(student, SOLUTION.replace("threadIdx.x;", "threadidx.x", 1))
    expect(student.locator(".cm-mark-error")).to_have_count(2)
    student.locator(".cm-line", has_text="threadidx.x").click()
    expect(student.locator(".cm-mark-error")).to_have_count(0)
    write(student, SOLUTION)
    student.wait_for_timeout(1_500)
    expect(student.locator(".cm-mark-error")).to_have_count(0)


def test_own_sizes_and_values_are_tried_next_to_the_editor(student):
    write(student, SOLUTION.replace("] = Pvalue;", "] = Row ? Pvalue : 7.0f;"))
    tab(student, "Try").click()
    student.get_by_role("spinbutton", name="Width").fill("2")
    student.get_by_text("Type the values yourself").click()
    student.get_by_label(re.compile("^M ")).fill("1 2\n3 4")
    student.get_by_label(re.compile("^N ")).fill("1 0\n0 1")
    requests: list[str] = []
    student.on("request", lambda one: requests.append(f"{one.method} {one.url.rpartition('/')[2]}"))
    button = student.get_by_role("button", name="Try", exact=True)
    button.focus()
    student.keyboard.press("Enter")
    student.keyboard.press("Enter")
    cells = student.locator("#trial-result .values").first.locator("tbody td")
    expect(cells).to_have_text([re.compile("^7.*not 1$"), re.compile("^7.*not 2$"), "3", "4"], timeout=VERDICT_MS)
    assert requests.count("POST try") == 1
    expect(button).to_be_focused()
    expect(editor(student)).to_be_visible()
    assert_accessible(student)
    student.get_by_role("spinbutton", name="Width").fill("301")
    button.click()
    expect(student.get_by_role("spinbutton", name="Width")).to_be_focused()


def join(page: Page, portal: Deployment) -> None:
    """Create an account with the course's code, and open the assignment with it."""
    page.goto(f"{portal.url}/join?code={code_of(portal)}")
    page.get_by_label("Your name").fill("Jo Joiner")
    page.get_by_label("Email").fill(f"jo{secrets.token_hex(4)}@demo.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()
    page.wait_for_url("**/courses/demo/?notice=joined")
    page.goto(f"{portal.url}{COURSE}tiled/")


def paste(page: Page, portal: Deployment, text: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=portal.url)
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    editor(page).focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")


def tap_beginning(line: Locator) -> None:
    """Tap a line of the editor when it stands still. `Locator.tap` scrolls the middle of a long line into view."""
    expect(line).to_be_in_viewport()
    line.element_handle().wait_for_element_state("stable")
    box = line.bounding_box()
    assert box is not None
    line.page.touchscreen.tap(box["x"] + 8, box["y"] + 8)


def expect_submitted(page: Page) -> None:
    expect(page.locator("#panel .worth")).to_contain_text("10/10", timeout=VERDICT_MS)
    expect(page.get_by_role("button", name="Submit this version")).to_have_count(0)


def test_a_pasted_race_is_repaired_and_submitted_with_12_keys(page, portal):
    join(page, portal)
    paste(page, portal, RACE)
    page.keyboard.press("Control+Enter")
    expect(verdict(page)).to_have_text("data race", timeout=VERDICT_MS)
    expect(page.locator(".cm-mark-error").first).to_be_visible()
    for key in ("F8", "F8", "ArrowDown", *"__sy"):
        page.keyboard.press(key)
    expect(page.locator(".cm-tooltip-autocomplete")).to_be_visible()
    for key in ("Tab", ";", "Control+Enter"):
        page.keyboard.press(key)
    expect(verdict(page)).to_have_text("accepted", timeout=VERDICT_MS)
    expect(page.locator(".course-bar strong").first).to_have_text(re.compile("^0 of"))
    page.keyboard.press("Control+Shift+Enter")
    expect_submitted(page)
    expect(page.locator(".course-bar strong").first).to_have_text(re.compile("^1 of"))


def test_a_pasted_race_is_repaired_and_submitted_with_5_taps(browser, portal, complaints):
    context = browser.new_context(viewport=NARROW, has_touch=True, is_mobile=True)
    page = context.new_page()
    complaints.listen(page)
    join(page, portal)
    tab(page, "Code").tap()
    paste(page, portal, RACE)
    page.get_by_role("button", name="Check").tap()
    expect(verdict(page)).to_have_text("data race", timeout=VERDICT_MS)
    page.locator("#panel").get_by_role("link", name="Show in editor").tap()
    tap_beginning(page.locator(".cm-line", has_text="for (int k"))
    page.keyboard.type("__syncthreads();")
    page.get_by_role("button", name="Check").tap()
    expect(verdict(page)).to_have_text("accepted", timeout=VERDICT_MS)
    page.get_by_role("button", name="Submit this version").tap()
    expect_submitted(page)
    context.close()
    assert not complaints.left()


def test_the_version_of_a_check_is_submitted_and_counts(student):
    write(student, f"{SOLUTION}// checked, then submitted\n")
    student.get_by_role("button", name="Check").click()
    expect(verdict(student)).to_have_text("accepted", timeout=VERDICT_MS)
    checked = submission(student)
    write(student, "// changed meanwhile\n")
    student.get_by_role("button", name="Submit this version").click()
    worth = student.locator(f"#outcome:not([data-address='{checked}']) .worth")
    expect(worth).to_contain_text("10/10", timeout=VERDICT_MS)
    expect(editor(student)).to_contain_text("changed meanwhile")
    expect(student.locator("#state")).to_contain_text("10 of 10 points")
    tab(student, "Submissions").click()
    expect(student.get_by_role("table").get_by_role("row").nth(1)).to_contain_text("submission")


@pytest.mark.parametrize("viewport", [NARROW], ids=["phone"])
def test_a_phone_has_one_part_at_a_time(student):
    expect(student.get_by_text("What to submit")).to_be_visible()
    expect(student.locator(".cm-content")).to_be_attached()
    expect(editor(student)).to_be_hidden()
    tab(student, "Code").click()
    expect(student.get_by_text("What to submit")).to_be_hidden()
    write(student, RACE)
    expect(student.get_by_role("button", name="Check")).to_be_in_viewport()
    student.get_by_role("button", name="Check").click()
    expect(verdict(student)).to_have_text("data race", timeout=VERDICT_MS)
    expect(verdict(student)).to_be_in_viewport()
    expect(editor(student)).to_be_hidden()
    student.locator("#panel").get_by_role("link", name="Show in editor").click()
    expect(editor(student)).to_be_focused()


@pytest.mark.parametrize("viewport", [WIDE], ids=["laptop"])
def test_the_sides_keep_their_widths(student):
    bar = student.get_by_role("separator", name="Width of the left side")
    before = student.locator("#side").bounding_box()["width"]
    bar.focus()
    student.keyboard.press("ArrowLeft")
    after = student.locator("#side").bounding_box()["width"]
    assert after < before
    student.reload()
    assert student.locator("#side").bounding_box()["width"] == after
    student.get_by_role("button", name="Hide handout").click()
    student.reload()
    expect(student.locator("#side")).to_be_hidden()
    here = student.url
    student.goto(here.replace("tiled", "naive"))
    expect(student.get_by_role("button", name="Hide handout")).to_be_visible()
    expect(student.locator("#side")).to_be_visible()
    student.goto(here)
    student.get_by_role("button", name="Show handout").click()
    expect(student.locator("#side")).to_be_visible()


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["laptop", "phone"])
def test_nothing_moves_when_the_scripts_arrive(student):
    held = held_back(student, re.compile(r"/(workbench|editor)\.js$"), student.url)
    expect(student.locator(".unchosen").first).to_be_attached()
    student.evaluate("() => document.fonts.ready")
    parts = [student.locator(each) for each in (".bench", "#rules", ".prose")]
    before = [part.bounding_box() for part in parts]
    held.continue_()
    expect(student.locator(".cm-content")).to_be_attached()
    assert [part.bounding_box() for part in parts] == before


def test_the_page_does_not_scroll_before_the_scripts_arrive(student):
    held = held_back(student, re.compile(r"/report\.js$"), student.url)
    expect(student.locator("#hand-in-form")).to_be_attached()
    assert student.evaluate("() => document.documentElement.scrollHeight === innerHeight")
    held.continue_()


def test_a_refused_submission_stays_in_the_editor(student, portal, complaints):
    complaints.allow("status of 409|status of 422|status of 429")
    # before anything is typed: a busy browser may begin to intercept late
    student.route(
        "**/submissions",
        lambda route: route.fulfill(status=429, content_type="text/html", body='<p data-refusal="x"><p>Wait 9 s.</p>'),
    )
    write(student, RACE)
    student.keyboard.press("Control+Enter")
    expect(student.locator("[data-says]")).to_contain_text("Not checked.")
    expect(editor(student)).to_contain_text("MatrixMulKernel")
    student.set_viewport_size(NARROW)
    tab(student, "Code").click()
    student.get_by_role("button", name="Submit").click()
    expect(student.locator("[data-says]")).to_contain_text("Not submitted.")
    expect(student.locator("[data-says]")).to_be_in_viewport()


def test_what_the_page_says_of_a_refused_text_ends_with_its_repair(student, portal, complaints):
    complaints.allow("status of 422")
    write(student, SOLUTION.replace("int ", "int\u00a0", 1))
    student.get_by_role("button", name="Check").click()
    refusal, says = student.locator("#hand-in-form #source-error[data-mistake]"), student.locator(".editor-says")
    expect(refusal).to_be_focused()
    expect(student).to_have_url(f"{portal.url}{COURSE}tiled/")
    expect(student.get_by_role("heading", name="Not checked")).to_be_visible()
    student.get_by_role("button", name="Repair").click()
    expect(says).to_contain_text(re.compile(r"Line \d+: replaced"))
    expect(refusal).to_have_count(0)
    student.get_by_role("button", name="Check").click()
    expect(verdict(student)).to_have_text("accepted", timeout=VERDICT_MS)
    expect(says).to_be_hidden()
    expect(editor(student)).not_to_have_attribute("aria-invalid", "true")
    expect(student.locator("#state")).to_contain_text("accepted")


def test_what_the_page_says_of_a_refused_text_ends_with_its_next_check(page, site, complaints):
    complaints.allow("status of 422")
    site.course.person("patient")
    site.let_in(page.context, "patient")
    page.goto(f"{site.url}{SITE}")
    write(page, SOLUTION.replace("int ", "int\u00a0", 1))
    page.get_by_role("button", name="Check").click()
    expect(page.locator("[data-mistake]")).to_be_visible()
    page.reload()
    expect(page.locator("[data-mistake]")).to_have_count(0)
    expect(page.locator(".editor-says")).to_contain_text("restored")
    write(page, SOLUTION)
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#panel [data-live]")).to_be_visible()
    expect(page.locator(".editor-says")).to_be_hidden()
    expect(page.locator("#state .badge")).to_have_text("being graded")


def test_a_line_of_a_submission_opens_in_the_editor(student, portal):
    name = portal.hand_in(portal.person("student"), "demo/tiled", RACE).rpartition("/")[2]
    student.goto(f"{portal.url}{COURSE}tiled/?from={name}#line-{FIRST}")
    assert cursor(student) == str(FIRST)
    expect(editor(student)).to_be_focused()


def test_a_waiting_check_is_cancelled_in_place(page, site):
    site.course.person("hasty")
    site.let_in(page.context, "hasty")
    page.goto(f"{site.url}{SITE}")
    write(page, SOLUTION)
    page.get_by_role("button", name="Check").click()
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#panel").get_by_role("button", name="Cancel").click()
    expect(page.locator("#panel #taken-back")).to_be_visible()
    expect(page.locator("[data-says]").first).to_have_text("Cancelled.")
    assert page.url == f"{site.url}{SITE}"


def test_a_check_that_a_worker_started_is_not_said_to_be_free(page, site):
    site.let_in(page.context, "checking")
    page.goto(f"{site.url}/submissions/{site.names['checking']}")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.locator(".if-waiting")).to_be_hidden()
    expect(page.locator(".if-waiting")).not_to_be_empty()


def test_late_days_are_spent_only_after_a_question(page, site, complaints):
    complaints.allow("status of 409")
    site.course.person("tardy")
    site.let_in(page.context, "tardy")
    page.goto(f"{site.url}{SITE}")
    write(page, SOLUTION)
    page.get_by_role("button", name="Submit").click()
    question = page.locator('[data-refusal="late_days"]')
    expect(question).to_be_focused()
    expect(question).to_contain_text("No late day is spent until you confirm.")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#panel [data-live]")).to_be_visible()
    expect(question).to_have_count(0)
    checked = submission(page)
    page.get_by_role("button", name="Submit").click()
    question.get_by_role("button", name="Spend 2 late days and submit").click()
    expect(page.locator(f"#outcome:not([data-address='{checked}']) [data-live]")).to_be_visible()
    expect(question).to_have_count(0)
    assert page.url == f"{site.url}{SITE}"
    expect(editor(page)).to_contain_text("MatrixMulKernel")
    page.reload()
    expect(page.locator("#late-days")).to_contain_text("1 of 3 late days left")
