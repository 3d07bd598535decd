"""Whether a page can be used by everybody, as far as a program can tell: axe-core, in light and in dark."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from playwright.sync_api import Page

from tests.browser.chromium import axe_source

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN = "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}, resultTypes: ['violations']})"
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def assert_accessible(page: Page) -> None:
    """No violation of WCAG 2.2 AA or of good practice, in both schemes, and no scrolling sideways."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found = violations(page)
        assert not found, f"{page.url} in {scheme}:\n" + "\n".join(found)
    width = page.viewport_size["width"] if page.viewport_size else 0
    assert page.evaluate(_WIDER) <= 0, f"{page.url} scrolls sideways at {width} px"


def violations(page: Page) -> list[str]:
    """What is wrong with the page as it is, one line for each element."""
    # by the debugger: the page's own policy allows no script that it did not load itself
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(f"() => {{ {_axe()} }}")
    found: dict[str, Any] = page.evaluate(_RUN, _RULES)
    return [
        f"{broken['id']}: {node['target']}: {node['failureSummary']}"
        for broken in found["violations"]
        for node in broken["nodes"]
    ]


@cache
def _axe() -> str:
    return axe_source()
