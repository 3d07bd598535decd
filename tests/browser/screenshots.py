"""Pictures of every page of tests/browser/pages.py, wide and narrow, light and dark: `make screenshots DIR=folder`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize

from tests.browser.accessible import SCHEMES
from tests.browser.chromium import started
from tests.browser.deployment import Deployment, deployed
from tests.browser.pages import PAGES, Shown
from tests.browser.signing_in import sign_in
from tests.browser.viewports import NARROW, WIDE


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="NAME", help="pages whose name holds this")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as temporary,
        deployed(Path(temporary) / "data") as portal,
        started() as browser,
    ):
        for shown in (each for each in PAGES if asked.only in each.name):
            for viewport in (WIDE, NARROW):
                _photograph(browser, portal, shown, viewport, asked.folder)


def _photograph(
    browser: Browser, portal: Deployment, shown: Shown, viewport: ViewportSize, folder: Path
) -> None:
    context = browser.new_context(viewport=viewport, locale="en-GB", timezone_id="Europe/Berlin")
    page = context.new_page()
    if shown.who:
        sign_in(page, portal, shown.who)
    page.goto(f"{portal.url}{shown.address}")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        file = folder / f"{shown.name}-{viewport['width']}-{scheme}.png"
        page.screenshot(path=file, full_page=True, animations="disabled")
        print(file)
    context.close()


if __name__ == "__main__":
    main()
