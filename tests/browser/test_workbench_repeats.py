"""The workbench over several submissions, with answers that fail, and for readers who use only the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import func, select

from kernels.verdict import Finding, Verdict
from server.courses.models import Assignment
from server.grading.models import Job
from server.submissions.models import Submission
from tests.browser.accessible import assert_accessible
from tests.browser.filled import Filled
from tests.browser.test_course import SOLUTION, editor, submission, tab, write
from tests.browser.viewports import NARROW
from tests.server.submissions.graded import graded

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, which checks and submits here"
)

SITE = "/courses/gpu/tiled/"
RESULT = re.compile(r"/submissions/[0-9a-f]{16}$")


def begin(page: Page, site: Filled, name: str) -> None:
    """Open the assignment as a student of that name."""
    site.course.person(name)
    site.let_in(page.context, name)
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"{site.url}{SITE}")
    write(page, SOLUTION)


def send(page: Page, button: str) -> str:
    """Press it, and wait for what comes next. Gives the new submission's address."""
    before = submission(page) if page.locator("#outcome").count() else ""
    page.get_by_role("button", name=button).click()
    expect(page.locator(f"#outcome:not([data-address='{before}'])")).to_be_visible()
    return submission(page)


def key(page: Page) -> str:
    """The form's idempotency key."""
    return page.locator("#hand-in-form input[name=key]").input_value()


def expect_new_key(page: Page, former: str) -> None:
    expect(page.locator("#hand-in-form input[name=key]")).not_to_have_value(former)


def job_of(site: Filled, address: str) -> int:
    """The only job of a submission."""
    with site.course.sessions.begin() as session:
        query = select(Job.id).join(Submission, Job.submission_id == Submission.id)
        name = address.rpartition("/")[2]
        return session.scalars(query.where(Submission.public_id == name)).one()


def record(page: Page, site: Filled, verdict: Verdict = Verdict.ACCEPTED, **report) -> None:
    """Let a worker grade what the panel shows."""
    graded(site.course, job_of(site, submission(page)), verdict=verdict, **report)


def number(site: Filled, name: str) -> int:
    """How many submissions that student made."""
    with site.course.sessions.begin() as session:
        query = select(func.count()).where(Submission.person_id == site.course.people[name])
        return session.scalar(query) or 0


def verdict(page: Page):
    return page.locator("#panel .stamp")


def says(page: Page):
    return page.locator("[data-says]")


def test_the_question_about_late_days_is_about_the_checked_version(page, site, complaints):
    complaints.allow("status of 409")
    begin(page, site, "versions")
    send(page, "Check")
    record(page, site)
    expect(verdict(page)).to_have_text("accepted")
    checked = submission(page)
    write(page, "// later\n")
    page.get_by_role("button", name="Submit this version").click()
    page.locator("[data-refusal] button.primary").click()
    expect(page.locator(f"#outcome:not([data-address='{checked}'])")).to_be_visible()
    assert page.request.get(f"{site.url}{submission(page)}/source.cu").text() == SOLUTION


def test_the_same_text_is_checked_again_after_a_cancelled_check(page, site):
    begin(page, site, "repeating")
    former = key(page)
    first = send(page, "Check")
    page.locator("#panel").get_by_role("button", name="Cancel").click()
    expect(page.locator("#panel #taken-back")).to_be_visible()
    expect_new_key(page, former)
    assert send(page, "Check") != first
    expect(page.locator("#panel [data-live]")).to_be_visible()
    assert number(site, "repeating") == 2


def test_a_slow_double_click_and_a_held_key_send_once(page, site):
    begin(page, site, "twice")
    page.get_by_role("button", name="Check").dblclick(delay=120)
    expect(page.locator("#panel [data-live]")).to_be_visible()
    page.get_by_role("button", name="Check").focus()
    page.wait_for_timeout(1500)
    page.keyboard.down("Enter")
    for _ in range(8):
        page.wait_for_timeout(250)
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    page.wait_for_timeout(500)
    assert number(site, "twice") == 2


def test_a_request_whose_answer_was_lost_is_the_same_submission_when_repeated(page, site, complaints):
    complaints.allow("ERR_FAILED")
    begin(page, site, "lost")
    send(page, "Check")
    write(page, f"{SOLUTION}// lost\n")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/tiled/submissions", lose)
    page.get_by_role("button", name="Check").click()
    expect(says(page)).to_contain_text("it submits only once")
    page.unroute("**/tiled/submissions")
    record(page, site)
    expect(verdict(page)).to_have_text("accepted")
    page.wait_for_timeout(1500)
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#panel [data-live]")).to_be_visible()
    assert number(site, "lost") == 2


@pytest.mark.parametrize("failures", [1, 9], ids=["once", "always"])
@pytest.mark.parametrize("failure", [0, 503], ids=["connection", "busy"])
def test_a_result_that_cannot_be_loaded_is_tried_again_and_then_linked(page, site, complaints, failure, failures):
    complaints.allow("ERR_FAILED|503")
    begin(page, site, f"unloaded{failure}{failures}")
    address = send(page, "Check")
    asked: list[Route] = []

    def answer(route: Route) -> None:
        asked.append(route)
        if len(asked) > failures:
            route.continue_()
        elif failure:
            route.fulfill(status=failure, content_type="text/html", body="<h1>Busy</h1>")
        else:
            route.abort()

    page.route(RESULT, answer)
    record(page, site)
    if failures == 1:
        expect(verdict(page)).to_have_text("accepted")
    else:
        expect(page.locator(f"[data-live-status] a[href='{address}']")).to_be_visible()
        expect(says(page)).to_have_text(re.compile("^Graded"))


@pytest.mark.parametrize(("code", "text"), [(503, "Go back and try again in a minute."), (413, "")])
def test_a_refusal_that_is_not_the_forms_says_its_own_reason(page, site, complaints, code, text):
    complaints.allow(f"{code}")
    begin(page, site, "refused")
    body = f"<main><h1>No</h1>{text and f'<p class=lead>{text}</p>'}</main>"
    page.route("**/tiled/submissions", lambda route: route.fulfill(status=code, content_type="text/html", body=body))
    page.get_by_role("button", name="Check").click()
    expect(says(page)).to_contain_text("Try again in a minute" if text else f"{code}")
    expect(says(page)).not_to_contain_text("signed out")


def test_a_reader_who_is_signed_out_is_told_so(page, site, complaints):
    complaints.allow("status of 401")
    begin(page, site, "leaving")
    page.context.clear_cookies()
    page.get_by_role("button", name="Check").click()
    expect(says(page)).to_contain_text("session has ended")


@contextmanager
def rules(site: Filled, **changed: int | None) -> Iterator[None]:
    """The assignment with other rules, until this is left."""

    def change(values: dict[str, int | None]) -> dict[str, int | None]:
        with site.course.sessions.begin() as session:
            assignment = session.get_one(Assignment, site.course.assignment)
            before = {name: getattr(assignment, name) for name in values}
            for name, value in values.items():
                setattr(assignment, name, value)
            return before

    before = change(changed)
    try:
        yield
    finally:
        change(before)


def submit_late(page: Page) -> None:
    page.locator("button[value=rank]").click()
    page.locator("[data-refusal] button[value='0']").click()
    expect(page.locator("#panel [data-live]")).to_be_visible()


def test_the_hints_at_the_buttons_follow_the_attempts(page, site, complaints):
    complaints.allow("status of 409")
    with rules(site, attempts=1):
        begin(page, site, "onlyone")
        before = page.locator("#about-rank").inner_text()
        submit_late(page)
        expect(page.locator("button[value=rank]")).to_be_disabled()
        expect(page.locator("#about-rank")).not_to_have_text(before)
        expect(page.locator("button[value=check]")).to_be_enabled()


def test_a_hint_that_asks_to_wait_ends_with_the_time(page, site, complaints):
    complaints.allow("status of 409")
    with rules(site, min_interval_seconds=5):
        begin(page, site, "waiting")
        submit_late(page)
        expect(page.locator("#about-rank [data-wait]")).to_be_visible()
        expect(page.locator("#about-rank [data-wait]")).to_have_count(0)


def test_findings_are_marked_only_in_the_text_that_was_checked(page, site):
    begin(page, site, "typing")
    findings = (Finding(Verdict.DATA_RACE, "Line 13 reads Ms while line 10 writes it.", 13, 10),)
    for change in ("// a line above\n", ""):
        former = key(page)
        send(page, "Check")
        expect_new_key(page, former)
        if change:
            editor(page).press("Control+Home")
            page.keyboard.insert_text(change)
        record(page, site, Verdict.DATA_RACE, findings=findings)
        expect(verdict(page)).to_have_text("data race")
        expect(page.locator(".cm-mark-error").nth(0)).to_be_visible(visible=not change)
    page.locator("#panel .verdict .actions [data-editor-line]").click()
    expect(editor(page)).to_be_focused()


@pytest.mark.parametrize("graded_meanwhile", [False, True])
def test_a_reload_during_a_check_ends_in_its_verdict_with_marks_and_badge(page, site, graded_meanwhile):
    findings = (Finding(Verdict.DATA_RACE, "A race.", 13, 10),)
    begin(page, site, f"reloading{int(graded_meanwhile)}")
    job = job_of(site, send(page, "Check"))

    def grade() -> None:
        graded(site.course, job, verdict=Verdict.DATA_RACE, findings=findings)

    def grade_first(route: Route) -> None:
        grade()
        route.continue_()

    if graded_meanwhile:
        page.route(RESULT, grade_first, times=1)
    page.reload()
    if not graded_meanwhile:
        expect(page.locator("#panel [data-live]")).to_be_visible()
        grade()
    expect(verdict(page)).to_have_text("data race")
    expect(page.locator("#state .badge")).to_contain_text("data race")
    expect(page.locator(".cm-mark-error").nth(0)).to_be_visible()


def test_a_refused_text_keeps_the_shown_result(page, site, complaints):
    complaints.allow("status of 422")
    begin(page, site, "refused")
    send(page, "Check")
    record(page, site)
    expect(verdict(page)).to_have_text("accepted")
    write(page, SOLUTION.replace("int ", "int\u00a0", 1))
    page.get_by_role("button", name="Check").click()
    expect(page.locator("[data-mistake]")).to_be_visible()
    expect(verdict(page)).to_have_text("accepted")
    expect(verdict(page)).to_be_visible()


def test_the_title_keeps_the_assignment(page, site):
    begin(page, site, "titled")
    own, former = page.title(), key(page)
    send(page, "Check")
    expect(page).to_have_title(re.compile(f"^(?!Accepted).+ · {re.escape(own)}$"))
    record(page, site)
    expect(page).to_have_title(f"Accepted · {own}")
    expect_new_key(page, former)
    send(page, "Check")
    expect(page).to_have_title(re.compile(f"^(?!Accepted).+ · {re.escape(own)}$"))


def test_the_focus_stays_in_the_list_of_submissions_while_it_is_replaced(page, site):
    begin(page, site, "keyboard")
    name = send(page, "Check").rpartition("/")[2]
    again = page.locator(f"#yours a[href$='?from={name}#hand-in']")
    held: list[Route] = []
    page.route(f"**{SITE}", lambda route: held.insert(0, route))
    record(page, site)
    expect(verdict(page)).to_have_text("accepted")
    tab(page, "Submissions").click()
    again.focus()
    held[0].continue_()
    expect(page.locator("#yours")).to_contain_text("accepted")
    expect(again).to_be_focused()


def test_the_focus_is_in_the_result_if_its_button_is_gone(page, site):
    begin(page, site, "buttons")
    send(page, "Check")
    panel = page.locator("#panel")
    panel.get_by_role("button", name="Cancel").focus()
    record(page, site)
    expect(verdict(page)).to_have_text("accepted")
    expect(panel).to_be_focused()
    tab(page, "Submissions").click()
    write(page, f"{SOLUTION}// second\n")
    send(page, "Check")
    page.set_viewport_size(NARROW)
    tab(page, "Code").click()
    page.locator("button[value=check]").focus()
    record(page, site)
    expect(verdict(page)).to_have_text("accepted")
    expect(panel).to_be_focused()
    assert_accessible(page)


def test_a_click_on_the_bar_changes_the_widths_without_dragging(page, site):
    begin(page, site, "pointing")
    bar = page.locator(".bar-between")
    places = []
    for _ in range(3):
        places.append(bar.get_attribute("aria-valuenow"))
        bar.click()
    assert len(set(places)) == 3
    assert bar.get_attribute("aria-valuenow") == places[0]
    box = bar.bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 50, steps=4)
    page.mouse.up()
    dragged = bar.get_attribute("aria-valuenow")
    assert dragged not in places
