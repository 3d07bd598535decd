"""A real browser on a real portal, both started when a test first asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.chromium import started
from tests.browser.deployment import Deployment, deployed
from tests.browser.filled import Filled, filled
from tests.browser.viewports import WIDE
from tests.browser.watching import Complaints
from tests.browser.workbench import Workbench, workbench


def _as_long_as_used(fixture_name: str, config: pytest.Config) -> Literal["module", "session"]:
    """In the short suite each is used in one file of a process, and would go on working beside all other tests."""
    return "module" if config.option.markexpr == "not long" else "session"


@pytest.fixture(scope=_as_long_as_used)
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    # on two cores with everything else at work, a page may take its time
    expect.set_options(timeout=20_000)
    with started() as browser:
        yield browser


@pytest.fixture(scope=_as_long_as_used)
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Everything that `tilelab up --demo` runs. Tests share it: each makes what it changes."""
    with deployed(tmp_path_factory.mktemp("portal") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A course in which a GPU measured, without a worker. Tests share it, too."""
    with filled(tmp_path_factory.mktemp("filled")) as running:
        yield running


@pytest.fixture
def viewport() -> ViewportSize:
    """Of a laptop; `@pytest.mark.parametrize("viewport", [WIDE, NARROW])` shows a test on a phone, too."""
    return WIDE


@pytest.fixture
def complaints() -> Complaints:
    """What the test's pages complained about; a test whose subject is a mistake allows it."""
    return Complaints()


@pytest.fixture
def context(browser: Browser, viewport: ViewportSize) -> Iterator[BrowserContext]:
    """A browser as new: nobody is signed in, nothing is kept."""
    made = browser.new_context(viewport=viewport, locale="en-GB", timezone_id="Europe/Berlin")
    made.set_default_timeout(30_000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, complaints: Complaints) -> Iterator[Page]:
    """An empty tab. The test fails where a page complains, also when all else is as it should be."""
    made = context.new_page()
    complaints.listen(made)
    yield made
    assert not complaints.left()


@pytest.fixture
def bench() -> Iterator[Workbench]:
    """Pages of the test's own, under the portal's policy."""
    with workbench() as running:
        yield running
