"""Ten questions about a course, each answered within two clicks from its overview."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from tests.browser.viewports import NARROW, WIDE

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

OVERVIEW = "/staff/gpu/"
PROGRESS = "^Tiled"
QUESTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "Who hasn't started?": ((r"\d+ not started",), r"Email these students.*idle@example\.edu"),
    "Who only checks?": ((r"\d+ only checks",), r"Email these students.*wrong@example\.edu"),
    "Who is failing?": ((r"\d+ not accepted",), r"Email these students.*stopped@example\.edu"),
    "Who is late?": ((r"\d+ accepted late",), r"Email these students.*slow@example\.edu"),
    "What fails most, and what does it look like?": ((PROGRESS,), r"Cause.*data race.*Open the latest attempt"),
    "Who is stuck?": ((PROGRESS, r"seems? stuck"), r"no attempt for \d+ days"),
    "How fast are they, beside the ladder?": ((PROGRESS,), r"Median [\d,]+ GFLOPS.*rung 1"),
    "Do the workers keep up before the deadline?": ((), r"more attempts until the deadline"),
    "Who copied?": ((PROGRESS, "Similar submissions"), r"original@example\.edu.*copy@example\.edu"),
    "When do they work, against the deadline?": ((PROGRESS,), r"Submissions and checks by day.*, due"),
}
"""The links to follow, and what the last page says then."""


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["laptop", "phone"])
def test_each_question_takes_at_most_two_clicks(page: Page, site) -> None:
    site.let_in(page.context, "ina")
    for question, (links, answer) in QUESTIONS.items():
        assert len(links) <= 2, question
        page.goto(f"{site.url}{OVERVIEW}")
        main = page.get_by_role("main")
        for link in links:
            main.get_by_role("link", name=re.compile(link)).first.click()
        text = " ".join((main.text_content() or "").split())
        assert re.search(answer, text), f"{question}\n{text}"
