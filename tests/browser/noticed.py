"""What a page says after a form was sent, by its name."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from server.web.notices import NOTICES


def noticed(page: Page, name: str) -> None:
    """Wait until the page says so."""
    expect(page.locator("p.notice")).to_have_text(NOTICES[name])
