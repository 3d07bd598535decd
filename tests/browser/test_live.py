from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.workbench import Exchange, Workbench, workbench

# That a page notices that its server is away, and that it is back.
LONG = 60_000
ADDRESSES = 'data-state="/state" data-events="/events"'
_LONG = pytest.mark.long("the short suite has one such answer")

IMPATIENT = f'{ADDRESSES} data-every="100"'


@dataclass
class Progress:
    """A submission's: what there is to tell, told to whoever listens or asks."""

    states: list[dict[str, Any]] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)
    ended: bool = False

    def tell(self, html: str, *, final: bool = False) -> None:
        with self.news:
            self.states.append({"html": html, "final": final})
            self.news.notify_all()

    def end(self) -> None:
        with self.news:
            self.ended = True
            self.news.notify_all()

    def state(self, exchange: Exchange) -> None:
        exchange.give_json(self.states[-1])

    def events(self, exchange: Exchange) -> None:
        """All that is new, until the test ends."""
        exchange.begin("text/event-stream")
        exchange.close_connection = True
        told = len(self.states) - 1
        try:
            while not self.ended:
                new = self.states[told:]  # while they are sent, there may come more
                for state in new:
                    exchange.event("state", state)
                told += len(new)
                with self.news:
                    self.news.wait_for(lambda: self.ended or len(self.states) > told, 10)  # noqa: B023
        except OSError:
            return


@pytest.fixture
def progress():
    made = Progress()
    made.tell("<p>Waiting.</p>")
    yield made
    made.end()


def lay_out(bench: Workbench, progress: Progress, addresses: str = ADDRESSES) -> str:
    bench.answers["/state"] = progress.state
    bench.answers["/events"] = progress.events
    return bench.page(
        f'<div data-live {addresses} id="live"><p>Loaded.</p></div><p data-live-status role="status"></p>', "live.js"
    )


def live(page: Page):
    return page.locator("#live")


def status(page: Page):
    return page.get_by_role("status")


def refuse(exchange: Exchange) -> None:
    exchange.give("away", "text/plain", 503)


def test_the_status_is_live_without_a_reload(page, bench, progress):
    page.goto(lay_out(bench, progress))
    expect(live(page)).to_have_text("Waiting.")
    progress.tell("<p>Compiling.</p>")
    expect(live(page)).to_have_text("Compiling.")
    assert "/state" not in bench.asked


def test_without_a_stream_the_state_is_asked_for(page, bench, progress):
    page.goto(lay_out(bench, progress, 'data-state="/state" data-every="100"'))
    expect(live(page)).to_have_text("Waiting.")
    progress.tell("<p>Compiling.</p>")
    expect(live(page)).to_have_text("Compiling.")


@pytest.mark.long("the short suite has the usual way of news to a page")
def test_where_the_stream_is_refused_the_state_is_asked_for_until_it_is_back(page, bench, progress, complaints):
    complaints.allow("503|MIME type")
    address = lay_out(bench, progress, IMPATIENT)
    bench.answers["/events"] = refuse
    page.goto(address)
    expect(live(page)).to_have_text("Waiting.")
    bench.answers["/events"] = progress.events
    progress.tell("<p>Compiling.</p>")
    expect(live(page)).to_have_text("Compiling.")


def test_a_page_outlives_its_server(page, progress, complaints):
    complaints.allow("ERR_|request|404")
    with workbench() as first:
        page.goto(lay_out(first, progress))
        expect(live(page)).to_have_text("Waiting.")
        port = int(first.url.rpartition(":")[2])
        progress.end()
    expect(status(page)).to_contain_text("No connection", timeout=LONG)
    progress.ended = False
    with workbench(port) as second:
        lay_out(second, progress)
        progress.tell("<p>Measured.</p>")
        expect(live(page)).to_have_text("Measured.", timeout=LONG)
        expect(status(page)).to_have_text("")
        progress.end()


@pytest.mark.long("the short suite has the usual way of news to a page")
def test_a_page_that_nobody_looks_at_gives_its_stream_back_and_still_learns(page, bench, progress):
    page.clock.install()
    page.goto(lay_out(bench, progress))
    expect(live(page)).to_have_text("Waiting.")
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => window.covered !== false})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.clock.fast_forward("00:21")
    with page.expect_response("**/state*") as answered:
        page.clock.fast_forward("00:30")
    answered.value.finished()
    expect(live(page)).to_have_text("Waiting.")
    progress.tell("<p>Compiling.</p>")
    page.clock.fast_forward("00:30")
    expect(live(page)).to_have_text("Compiling.")
    assert bench.asked.count("/events") == 1
    page.evaluate("window.covered = false; document.dispatchEvent(new Event('visibilitychange'))")
    progress.tell("<p>Measuring.</p>")
    expect(live(page)).to_have_text("Measuring.")
    page.wait_for_timeout(200)
    assert bench.asked.count("/events") == 2


def test_the_last_state_loads_the_page_anew_once(page, bench, progress):
    address = lay_out(bench, progress)
    page.goto(address)
    expect(live(page)).to_have_text("Waiting.")
    with page.expect_event("load"):
        progress.tell("<p>Done.</p>", final=True)
    expect(live(page)).to_have_text("Done.")
    expect(status(page).get_by_role("link")).to_be_visible()
    assert bench.asked.count("/") == 2


def test_what_stays_keeps_focus_and_what_was_opened_stays_open(page, bench, progress):
    before = '<p>1 of 4</p><details><summary>More</summary><button id="stop">Stop</button></details>'
    progress.tell(before)
    page.goto(lay_out(bench, progress))
    page.get_by_text("More").click()
    page.get_by_role("button", name="Stop").focus()
    progress.tell(before.replace("1 of", "2 of"))
    expect(live(page)).to_contain_text("2 of 4")
    expect(page.get_by_role("button", name="Stop")).to_be_focused()


@pytest.mark.parametrize(
    ("status_code", "told"),
    [
        (401, "signed out"),
        pytest.param(403, "no longer have access", marks=_LONG),
        pytest.param(404, "no longer exists", marks=_LONG),
    ],
)
def test_who_may_see_it_no_longer_is_sent_to_the_server_once(page, bench, progress, complaints, status_code, told):
    complaints.allow("40[134]|MIME type")
    address = lay_out(bench, progress, IMPATIENT)
    bench.answers["/events"] = bench.answers["/state"] = answer(status_code)
    page.goto(address)
    expect(status(page)).to_contain_text(told, timeout=LONG)
    expect(status(page).get_by_role("link")).to_be_visible()
    assert bench.asked.count("/") == 2


@pytest.mark.parametrize("status_code", [429, pytest.param(503, marks=_LONG)])
def test_a_server_that_refuses_is_busy_and_not_away(page, bench, progress, complaints, status_code):
    complaints.allow("429|503|MIME type")
    address = lay_out(bench, progress, IMPATIENT)
    bench.answers["/events"] = bench.answers["/state"] = answer(status_code)
    page.goto(address)
    expect(status(page)).to_contain_text("The server is busy")
    bench.answers["/state"] = progress.state
    expect(live(page)).to_have_text("Waiting.")
    assert bench.asked.count("/") == 1


def answer(status_code: int) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.give_json({}, status_code)


@pytest.mark.long("the short suite has the usual way of news to a page")
def test_what_is_graded_again_loads_the_page_anew_again(page, bench, progress):
    first, second = (f'{ADDRESSES} data-of="{number}"' for number in (1, 2))
    page.goto(lay_out(bench, progress, first))
    expect(live(page)).to_have_text("Waiting.")
    lay_out(bench, progress, second)
    with page.expect_event("load"):
        progress.tell("<p>Done.</p>", final=True)
        progress.tell("<p>Waiting again.</p>")
    expect(live(page)).to_have_text("Waiting again.")
    with page.expect_event("load"):
        progress.tell("<p>Done again.</p>", final=True)
    assert bench.asked.count("/") == 3


def test_a_browser_that_remembers_nothing_says_how_to_go_on(page, bench, progress):
    page.add_init_script("Storage.prototype.setItem = () => { throw new Error('no'); };")
    page.goto(lay_out(bench, progress))
    progress.tell("<p>Done.</p>", final=True)
    expect(status(page).get_by_role("link")).to_be_visible()
    assert bench.asked.count("/") == 1


@pytest.mark.long("the short suite has the usual way of news to a page")
def test_where_nobody_waits_for_news_each_question_comes_late_and_tells_what_was_seen(page, bench, progress):
    page.add_init_script(_HURRIED)
    seen = []

    def state(exchange: Exchange) -> None:
        seen.append(parse_qs(urlsplit(exchange.path).query).get("seen"))
        exchange.give_json({"html": None if seen[-1] else "<p>1.</p>", "final": False, "digest": "d1"})

    address = lay_out(bench, progress, 'data-state="/state?q=a" data-every="10000"')
    bench.answers["/state"] = state
    page.goto(address)
    expect(live(page)).to_have_text("1.")
    while len(seen) < 3:
        page.wait_for_timeout(20)
    assert all(5_000 <= wait <= 15_000 for wait in page.evaluate("window.waits"))
    assert seen[:3] == [None, ["d1"], ["d1"]]


_HURRIED = """
  window.waits = [];
  const slow = window.setTimeout;
  window.setTimeout = (act, wait) => {
    const isLimit = wait === 10_000;
    if (!isLimit) window.waits.push(wait);
    return slow(act, isLimit ? wait : wait / 100);
  };
"""


def test_the_title_says_what_happens_and_no_notice_outlasts_what_it_was_about(page, bench, progress):
    address = lay_out(bench, progress)
    page.goto(f"{address}?notice=tried-again&x=1")
    assert page.url == f"{address}?x=1"
    page.evaluate("document.title = 'Waiting · Tiled · Tilelab'")
    progress.tell("<p><strong data-live-title>Checking</strong></p>")
    expect(page).to_have_title("Checking · Tiled · Tilelab")
