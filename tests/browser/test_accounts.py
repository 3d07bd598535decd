"""People come in, and look after their account."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessible import assert_accessible
from tests.browser.deployment import Deployment
from tests.browser.noticed import noticed
from tests.browser.signing_in import sign_in
from tests.browser.viewports import NARROW, WIDE

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

PASSWORD = "two green teapots"
PHONE = pytest.mark.parametrize("viewport", [NARROW], ids=["narrow"])


@pytest.fixture(autouse=True)
def public_url(portal, monkeypatch):
    monkeypatch.setenv("TILELAB_PUBLIC_URL", portal.url)


@pytest.fixture
def newcomer(portal) -> str:
    """The email of somebody in the course who has set no password yet."""
    email = f"p{secrets.token_hex(4)}@demo.example"
    portal.tilelab("admin", "user", "add", email, "Nora Newcomer", "--course", "demo")
    return email


@pytest.fixture
def no_script(browser):
    """A tab in which no script runs."""
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)
    yield context.new_page()
    context.close()


def link(portal: Deployment, email: str, verb: str = "invite") -> str:
    return portal.tilelab("admin", "user", verb, email).strip()


def set_password(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("New password").fill(password)
    page.locator("#again").fill(password)
    page.locator("main form button").click()


def enter(page: Page, portal: Deployment, email: str, password: str = PASSWORD, then: str = "") -> None:
    page.goto(f"{portal.url}/sign-in{f'?next={then}' if then else ''}")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def code_of(portal: Deployment) -> str:
    with sqlite3.connect(portal.data / "tilelab.sqlite3") as database:
        return str(database.execute("SELECT enrolment_code FROM courses WHERE slug = 'demo'").fetchone()[0])


def api_status(portal: Deployment, token: str) -> int:
    asked = urllib.request.Request(
        f"{portal.url}/api/v1/submissions/none", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(asked) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_sign_in_and_out(page, portal):
    page.goto(f"{portal.url}/account")
    expect(page).to_have_title("Sign in · Tilelab")
    person = portal.person("student")
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(person.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_title("Profile · Tilelab")
    page.get_by_role("button", name="Sign out").click()
    noticed(page, "signed-out")
    page.go_back()
    page.reload()
    expect(page).to_have_title("Sign in · Tilelab")


def test_a_wrong_password_is_told_and_the_email_stays(page, portal, complaints):
    complaints.allow("422")
    enter(page, portal, "ada@demo.example", "not it")
    expect(page.get_by_role("alert")).to_have_attribute("data-refused", "wrong_password")
    expect(page.get_by_label("Email")).to_have_value("ada@demo.example")
    expect(page.get_by_label("Password")).to_have_value("")


def test_who_tries_too_often_is_told_when_to_try_again(page, portal, newcomer, complaints):
    left = 600 - time.time() % 600
    if left < 60:
        time.sleep(left)  # tries are counted in stretches of ten minutes; all of these are in one
    complaints.allow("422")
    complaints.allow("429")
    page.goto(f"{portal.url}/sign-in")
    for _ in range(11):
        page.get_by_label("Email").fill(newcomer)
        page.get_by_label("Password").fill("a guess")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_load_state()
    expect(page.get_by_role("alert")).to_have_attribute("data-refused", "too_often")
    assert_accessible(page)


def test_who_is_new_joins_with_a_code(page, portal, complaints):
    complaints.allow("422")
    page.goto(f"{portal.url}/join?code={code_of(portal)}")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Your name").fill("Jo Joiner")
    page.get_by_label("Email").fill(f"jo{secrets.token_hex(4)}@demo.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()
    page.wait_for_url("**/courses/demo/?notice=joined")
    page.goto(f"{portal.url}/join")
    expect(page.locator(".lead")).to_contain_text("Jo Joiner")


@PHONE
def test_an_invitation_works_once(page, portal, newcomer, complaints):
    complaints.allow("404")
    address = link(portal, newcomer)
    page.goto(address)
    assert_accessible(page)
    set_password(page)
    page.wait_for_url("**/?notice=password-set")
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text("This link no longer works")
    page.goto(f"{portal.url}/account")
    expect(page.locator("main")).to_contain_text(newcomer)


def test_a_link_sets_a_new_password_and_signs_everybody_else_out(page, portal, newcomer, browser):
    page.goto(link(portal, newcomer))
    set_password(page)
    page.wait_for_url("**/?notice=password-set")
    other = browser.new_context()
    elsewhere = other.new_page()
    elsewhere.goto(link(portal, newcomer, "reset-link"))
    set_password(elsewhere, "three blue kettles")
    elsewhere.wait_for_url("**/?notice=password-set")
    other.close()
    page.goto(f"{portal.url}/account")
    expect(page).to_have_title("Sign in · Tilelab")
    enter(page, portal, newcomer, "three blue kettles", then="/account")
    expect(page).to_have_title("Profile · Tilelab")


@PHONE
def test_a_token_is_shown_once_works_and_is_revoked(page, portal, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    name = f"laptop {secrets.token_hex(3)}"
    sign_in(page, portal, "student")
    page.goto(f"{portal.url}/account/tokens")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Expires after").select_option(label="30 days")
    page.locator("main form.form button").click()
    token = page.locator("#token").inner_text()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == token
    assert_accessible(page)
    assert api_status(portal, token) == 404
    page.goto(f"{portal.url}/account/tokens")
    expect(page.locator("#token")).to_have_count(0)
    assert token not in page.content()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name=f"Revoke the token {name}").click()
    noticed(page, "token-revoked")
    assert api_status(portal, token) == 401


@PHONE
def test_the_profile_says_what_boards_show_and_whose_clock_counts(page, portal, newcomer, complaints):
    complaints.allow("422")
    page.goto(link(portal, newcomer))
    set_password(page)
    page.goto(f"{portal.url}/account")
    page.get_by_label("Pseudonym", exact=True).fill("<b>")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Pseudonym", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Pseudonym", exact=True).fill(f"Owl {secrets.token_hex(3)}")
    page.get_by_label("Time zone").select_option("America/New_York")
    page.get_by_role("button", name="Save").click()
    noticed(page, "profile-saved")
    page.goto(f"{portal.url}/account/sessions")
    expect(page.locator("tbody time").first).to_be_visible()


def test_the_first_page_already_has_the_browser_s_clock(page, portal, context):
    sign_in(page, portal, "student")
    context.clear_cookies(name="tilelab_zone")
    page.goto(f"{portal.url}/courses/demo/")
    expect(page.locator("main time").first).to_contain_text("CET")


@PHONE
def test_a_browser_is_signed_out_from_another(page, portal, newcomer, browser):
    page.goto(link(portal, newcomer))
    set_password(page)
    other = browser.new_context()
    elsewhere = other.new_page()
    enter(elsewhere, portal, newcomer, then="/account")
    expect(elsewhere).to_have_title("Profile · Tilelab")
    page.goto(f"{portal.url}/account/sessions")
    expect(page.get_by_text("this one")).to_have_count(1)
    page.get_by_role("row").get_by_role("button").click()
    noticed(page, "session-ended")
    elsewhere.reload()
    expect(elsewhere).to_have_title("Sign in · Tilelab")
    other.close()


def test_a_password_is_changed(page, portal, newcomer, complaints):
    complaints.allow("422")
    page.goto(link(portal, newcomer))
    set_password(page)
    page.goto(f"{portal.url}/account/password")
    for present in ("not it", PASSWORD):
        page.get_by_label("Current password").fill(present)
        page.get_by_label("New password").fill("three blue kettles")
        page.locator("#again").fill("three blue kettles")
        page.locator("main form.form button").click()
        if present == "not it":
            expect(page.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    noticed(page, "password-changed")


def test_by_keyboard_alone(page, portal):
    person = portal.person("student")
    page.goto(f"{portal.url}/sign-in?next=/account/tokens")
    tab_to(page, "email")
    page.keyboard.type(person.email)
    page.keyboard.press("Tab")
    page.keyboard.type(person.password)
    page.keyboard.press("Enter")
    expect(page).to_have_title("API tokens · Tilelab")
    tab_to(page, "name")
    page.keyboard.type(f"keys {secrets.token_hex(3)}")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#token")).to_be_visible()


def tab_to(page: Page, field: str) -> None:
    """As who sees the focus does; where none is seen the test ends."""
    for _ in range(40):
        page.keyboard.press("Tab")
        focus = json.loads(page.evaluate(_FOCUS))
        assert focus["seen"], focus
        if focus["id"] == field:
            return
    raise AssertionError(f"Tab never reaches {field}")


_FOCUS = """() => {
  const style = getComputedStyle(document.activeElement);
  return JSON.stringify({
    id: document.activeElement.id, tag: document.activeElement.outerHTML.slice(0, 80),
    seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
  });
}"""


def test_without_scripts(no_script, portal, newcomer):
    page = no_script
    page.goto(link(portal, newcomer))
    set_password(page)
    page.wait_for_url("**/?notice=password-set")
    page.goto(f"{portal.url}/account/tokens")
    page.get_by_label("Name").fill("no scripts")
    page.locator("main form.form button").click()
    assert page.locator("#token").inner_text().startswith("tl_")
    expect(page.get_by_role("button", name="Copy")).to_be_hidden()
    page.goto(f"{portal.url}/account/tokens")
    page.get_by_role("row", name="no scripts").get_by_role("button").click()
    noticed(page, "token-revoked")
    page.get_by_role("button", name="Sign out").click()
    enter(page, portal, newcomer, then="/account")
    expect(page).to_have_title("Profile · Tilelab")
