"""Signs somebody of the demo course in, as they do it themselves."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.deployment import Deployment


def sign_in(page: Page, portal: Deployment, role: str) -> None:
    """By the form, as the first person with that role."""
    person = portal.person(role)
    page.goto(f"{portal.url}/sign-in")
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(person.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: not url.partition("?")[0].endswith("/sign-in"))
