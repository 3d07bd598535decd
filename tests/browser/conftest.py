"""A real browser on a real portal, both started when a test first asks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.chromium import started
from tests.browser.deployment import Deployment, deployed
from tests.browser.filled import Filled, filled
from tests.browser.viewports import WIDE
from tests.browser.watching import Complaints
from tests.browser.workbench import Workbench, workbench

HERE = Path(__file__).parent
T = TypeVar("T")


class Running:
    """What the tests of this folder share. Each part starts once and ends with the folder's last test.

    They run in one process, see tests/conftest.py. A portal with nothing to do still takes a twentieth of a core.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._parts: dict[Hashable, object] = {}

    def part(self, start: Callable[..., AbstractContextManager[T]], *given: object) -> T:
        if start not in self._parts:
            self._parts[start] = self._stack.enter_context(start(*given))
        return cast("T", self._parts[start])

    def end(self) -> None:
        self._parts.clear()
        self._stack.close()


_RUNNING = pytest.StashKey[Running]()


@pytest.fixture(scope="session")
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    made = request.config.stash[_RUNNING] = Running()
    yield made
    made.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    done = yield
    # in the short suite one file alone needs the portal
    kept = HERE if item.config.option.markexpr != "not long" else item.path
    if nextitem is None or kept not in (nextitem.path, *nextitem.path.parents):
        item.config.stash.get(_RUNNING, Running()).end()
    return done


@pytest.fixture(scope="module")
def browser(running: Running) -> Browser:
    """Chromium, without a window."""
    # on two cores with everything else at work, a page may take its time
    expect.set_options(timeout=20_000)
    return running.part(started)


@pytest.fixture(scope="module")
def portal(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Everything that `tilelab up --demo` runs. Tests share it: each makes what it changes."""
    return running.part(deployed, tmp_path_factory.mktemp("portal") / "data")


@pytest.fixture(scope="module")
def site(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A course in which a GPU measured, without a worker. Tests share it, too."""
    return running.part(filled, tmp_path_factory.mktemp("filled"))


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
