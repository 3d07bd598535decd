"""Opens a page of tests/browser/pages.py, with all that it says unfolded, and its form sent where that has mistakes."""

from __future__ import annotations

from playwright.sync_api import Page, Route

from tests.browser.filled import Filled
from tests.browser.pages import Shown

# The browser itself would not send what is left out or no number; a server must answer it all the same. A button is not
# pressed, since a script may then send the form without leaving the page.
_SEND = """fields => {
  const [first] = fields[0];
  const form = document.querySelector(`main [name="${first}"]:not(.table *)`).form;
  for (const [name, value] of fields) {
    const field = form.elements[name];
    if (!(field instanceof RadioNodeList)) field.value = value;
    else form.insertAdjacentHTML("beforeend", `<input type="hidden" name="${name}" value="${value}">`);
  }
  form.noValidate = true;
  form.requestSubmit();
}"""
_UNFOLD = """() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  for (const each of document.querySelectorAll(".off")) each.classList.remove("off");
}"""
# Rows, choices and lines that are alike cost a check much time and tell it nothing.
_ALIKE = "tbody tr:nth-child(n + 6), option:nth-child(n + 6), .listing > .line:nth-child(n + 32)"
_THIN = f"for (const each of document.querySelectorAll('{_ALIKE}')) each.remove()"


def open_page(page: Page, origin: str, shown: Shown, names: dict[str, str]) -> int:
    """Gives the status of the answer that is shown; to whoever is signed in with that browser."""
    if shown.saved:
        page.route(f"**{shown.address.format(**names)}", _as_saved)
    answer = page.goto(origin + shown.address.format(**names))
    if shown.typed:
        with page.expect_navigation() as sent:
            page.evaluate(_SEND, [list(each) for each in shown.typed])
        answer = sent.value
    return answer.status if answer is not None else 0


def _as_saved(route: Route) -> None:
    """What is to be saved, as it is opened from a folder: without the headers that it was sent with."""
    answer = route.fetch()
    route.fulfill(status=answer.status, content_type="text/html; charset=utf-8", body=answer.body())


def unfold_and_thin(page: Page) -> None:
    """What is folded away stands open, and of what is long there is the beginning."""
    page.evaluate(_UNFOLD)
    page.evaluate(_THIN)


def open_measured(page: Page, course: Filled, shown: Shown) -> int:
    """The same, for a page of the course with measurements, signed in as whoever it is for."""
    page.context.clear_cookies()
    if shown.who:
        course.let_in(page.context, shown.who)
    return open_page(page, course.url, shown, course.names)
