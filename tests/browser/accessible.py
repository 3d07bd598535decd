"""Whether a page can be used by everybody, as far as a program can tell: axe-core, in light and dark, at two widths."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from playwright.sync_api import Page

from tests.browser.chromium import axe_source
from tests.browser.viewports import NARROW, WIDE

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_ALL: dict[str, Any] = {
    "runOnly": {"type": "tag", "values": _TAGS},
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
    "preload": False,
}
# What a scheme changes. All else is the same in both, and is looked at once.
_COLOURS: dict[str, Any] = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    "resultTypes": ["violations"],
    "preload": False,
}
# The rows of a long table are alike: a dozen stands for all.
_RUN = "options => axe.run({include: document, exclude: ['tbody tr:nth-child(n + 13)']}, options)"
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# A window of 1,280 at 200 % and at 400 %, where WCAG asks that nothing scrolls in two directions.
_ZOOMED = (640, 320)
# The shade that says where a table goes on. Before a gradient, axe leaves the contrast of a text undecided.
_UNSHADE = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(".scroll { background-image: none !important; }");
  document.adoptedStyleSheets.push(sheet);
}"""
_UNSEEN = """async () => {
  const shown = (element) => {
    const style = getComputedStyle(element);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  };
  const was = document.activeElement;
  const found = [];
  const stops = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  for (const element of document.querySelectorAll(stops)) {
    if (element.disabled || !element.checkVisibility()) continue;
    element.focus({focusVisible: true, preventScroll: true});
    if (document.activeElement !== element) continue;
    // the editor frames itself a moment after it has focus
    if (element.closest(".cm-editor")) await new Promise((go) => setTimeout(go, 100));
    const seen = [element, element.nextElementSibling, element.parentElement, element.closest(".cm-editor")];
    if (!seen.some((each) => each && shown(each))) found.push(element.outerHTML.slice(0, 120));
  }
  document.activeElement.blur();
  was.focus({preventScroll: true});
  return found;
}"""


# The value of a closed select is cut without a sign where its box is too narrow; its arrow takes a part of the box.
_CUT = """() => [...document.querySelectorAll("select")].filter((each) => {
  if (!each.checkVisibility() || !each.selectedOptions.length) return false;
  const style = getComputedStyle(each);
  const drawn = document.createElement("canvas").getContext("2d");
  drawn.font = style.font;
  const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
  return drawn.measureText(each.selectedOptions[0].text).width > each.clientWidth - padding - 16;
}).map((each) => `${each.name}: ${each.selectedOptions[0].text}`)"""

# How far a student is, and where a page is: neither says much if it is cut. Above an editor, breadcrumbs may be.
_WHOLE = "main > .crumbs:not(.one-line) :is(li, a), .neighbours .course-bar > span"
_SHORTENED = f"""() => [...document.querySelectorAll("{_WHOLE}")]
  .filter((each) => each.checkVisibility() && each.scrollWidth > each.clientWidth && each.clientWidth > 0)
  .map((each) => each.textContent)"""


def assert_accessible(page: Page) -> None:
    """No violation of WCAG 2.2 AA or of good practice at either width, in either scheme; the window stays as it is."""
    found = faults(page)
    assert not found, "\n".join(found)


def faults(page: Page) -> list[str]:
    """What keeps somebody from using the page as it is, one line for each."""
    # by the debugger: the page's own policy allows no script that it did not load itself
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(f"() => {{ {_axe()} }}")
        page.evaluate(_UNSHADE)
    before = page.viewport_size
    found = []
    for viewport in (WIDE, NARROW):
        page.set_viewport_size(viewport)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            place = f"{page.url} at {viewport['width']} in {scheme}"
            found += [f"{place}: {fault}" for fault in _violations(page, _ALL if scheme == "light" else _COLOURS)]
        found += _sideways(page)
        found += [f"{place}: the value is cut of {select}" for select in page.evaluate(_CUT)]
        found += [f"{place}: a text is cut: {text}" for text in page.evaluate(_SHORTENED)]
    for width in _ZOOMED:
        page.set_viewport_size({"width": width, "height": 900})
        found += _sideways(page)
    page.emulate_media(color_scheme="light")
    found += [f"{page.url}: focus is not seen on {element}" for element in page.evaluate(_UNSEEN)]
    if before is not None:
        page.set_viewport_size(before)
    return found


def _violations(page: Page, options: dict[str, Any]) -> list[str]:
    found: dict[str, Any] = page.evaluate(_RUN, options)
    return [
        f"{broken['id']}: {node['target']}: {node['failureSummary']}"
        for broken in found["violations"]
        for node in broken["nodes"]
    ]


def _sideways(page: Page) -> list[str]:
    more = page.evaluate(_WIDER)
    width = page.viewport_size["width"] if page.viewport_size else 0
    return [f"{page.url} scrolls sideways by {more} at {width}"] if more > 0 else []


@cache
def _axe() -> str:
    return axe_source()
