"""Pictures of every page of tests/browser/pages.py, wide and narrow, light and dark: `make screenshots DIR=folder`."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.browser.accessible import SCHEMES
from tests.browser.chromium import started
from tests.browser.deployment import Deployment, deployed
from tests.browser.filled import Filled, filled
from tests.browser.opening import open_measured, open_page
from tests.browser.pages import PAGES, Shown
from tests.browser.signing_in import sign_in
from tests.browser.viewports import NARROW, WIDE

_ROOT = Path(__file__).resolve().parents[2]
_KERNELS = {
    "race": _ROOT / "tests" / "corpus" / "wrong" / "no_second_barrier.cu",
    "right": _ROOT / "kernels" / "exercises" / "tiled" / "solution.cu",
}
_GRADED_SECONDS = 120.0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="NAME", help="pages whose name holds this")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    wanted = [each for each in PAGES if asked.only in each.name]
    with tempfile.TemporaryDirectory() as temporary, started() as browser:
        folder = Path(temporary)
        if not all(each.measured for each in wanted):
            _photograph_demo(browser, [each for each in wanted if not each.measured], folder / "data", asked.folder)
        with filled(folder) as course:
            for shown in (each for each in wanted if each.measured):
                _photograph_measured(browser, course, shown, asked.folder)


def _photograph_demo(browser: Browser, wanted: Sequence[Shown], data: Path, folder: Path) -> None:
    with deployed(data) as portal:
        names = _graded(portal)
        for shown in wanted:
            for page, width in _opened(browser):
                if shown.who:
                    sign_in(page, portal, shown.who)
                open_page(page, portal.url, shown, names)
                _photograph(page, f"{shown.name}-{width}", folder)


def _graded(portal: Deployment) -> dict[str, str]:
    """Submissions of the first student, by what is in them."""
    student = portal.person("student")
    addresses = {name: portal.hand_in(student, "demo/tiled", file.read_text()) for name, file in _KERNELS.items()}
    until = time.monotonic() + _GRADED_SECONDS
    while any(portal.state(student, address)["state"] != "done" for address in addresses.values()):
        if time.monotonic() > until:
            raise TimeoutError("what was handed in for the pictures is not graded")
        time.sleep(0.5)
    return {name: address.rpartition("/")[2] for name, address in addresses.items()}


def _photograph_measured(browser: Browser, course: Filled, shown: Shown, folder: Path) -> None:
    for page, width in _opened(browser):
        open_measured(page, course, shown)
        _photograph(page, f"{shown.name}-{width}", folder)


def _opened(browser: Browser) -> Iterator[tuple[Page, int]]:
    """A page of each width, with nobody signed in."""
    for viewport in (WIDE, NARROW):
        context = browser.new_context(viewport=viewport, locale="en-GB", timezone_id="Europe/Berlin")
        yield context.new_page(), viewport["width"]
        context.close()


def _photograph(page: Page, name: str, folder: Path) -> None:
    # an editor lays itself out when it comes into view
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(50)
    page.evaluate("scrollTo(0, 0)")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        file = folder / f"{name}-{scheme}.png"
        page.screenshot(path=file, full_page=True, animations="disabled")
        print(file)


if __name__ == "__main__":
    main()
