from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect

from tests.browser.pages import PAGES
from tests.browser.viewports import NARROW


def test_each_picture_has_a_name_of_its_own():
    names = [each.name for each in PAGES]
    assert sorted(names) == sorted(set(names))


def test_a_text_is_copied_and_the_button_says_so(page, context, bench):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(bench.page('<code id="key">tl_1</code><button hidden data-needs-script data-copy="#key">Copy</button>'))
    page.clock.install()
    said = page.locator("[aria-live]")
    expect(said).to_have_text("")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button")).to_have_text("Copied")
    expect(said).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "tl_1"
    page.get_by_role("button").click()
    page.clock.run_for(3_000)
    expect(page.get_by_role("button")).to_have_text("Copy")


@pytest.mark.parametrize("viewport", [NARROW], ids=["narrow"])
def test_on_a_phone_links_to_lines_can_be_hit_and_figures_scroll_on_their_own_ground(page, bench):
    page.goto(
        bench.page(
            '<div class="before"><ul class="told"><li><a href="#L3">Line 3</a> data race</li></ul></div>'
            '<p>See <a class="to" href="#L4">line 4</a>.</p>'
            '<table class="table rows"><tr><td><a href="#">Edit again</a></td></tr></table>'
            '<div class="card"><div class="scroll">a</div></div>'
            '<div class="stage"><div class="scroll">b</div></div>'
        )
    )
    heights = [each.bounding_box()["height"] for each in page.locator("main a").all()]
    assert min(heights) >= 24
    card, stage = (
        page.locator(f"{each} > .scroll").evaluate("each => getComputedStyle(each).backgroundImage")
        for each in (".card", ".stage")
    )
    assert stage == card


@pytest.mark.parametrize("agreed", [True, False], ids=["yes", "no"])
def test_what_cannot_be_undone_is_asked_about(page, bench, agreed):
    asked = []

    def answer(dialog):
        asked.append(dialog.message)
        if agreed:
            dialog.accept()
        else:
            dialog.dismiss()

    page.on("dialog", answer)
    bench.page("<p>Gone.</p>", path="/gone")
    page.goto(bench.page('<form method="post" action="/gone" data-confirm="Really?"><button>Go</button></form>'))
    page.get_by_role("button").click()
    if agreed:
        page.wait_for_url("**/gone")
    assert asked == ["Really?"]
    assert len(bench.sent) == agreed


def test_a_form_is_sent_once(page, bench):
    def answer_late(exchange):
        time.sleep(0.3)
        # without an icon, the browser may ask for one
        exchange.give('<!doctype html><link rel="icon" href="data:,"><title>Handed in</title>')

    bench.answers["/slow"] = answer_late
    page.goto(bench.page('<form method="post" action="/slow" data-once><button>Hand in</button></form>'))
    page.get_by_role("button").dblclick()
    page.wait_for_url("**/slow")
    assert len(bench.sent) == 1


def test_a_form_without_an_answer_can_be_sent_again_after_a_while(page, bench):
    bench.answers["/nothing"] = lambda exchange: exchange.give("", status=204)
    page.goto(bench.page('<form method="post" action="/nothing" data-once><button>Hand <b>in</b></button></form>'))
    page.clock.install()
    with page.expect_response("**/nothing"):
        page.get_by_role("button").click()
    expect(page.get_by_role("button")).to_have_text("Sending…")
    page.get_by_role("button").click()
    page.clock.run_for(11_000)
    with page.expect_response("**/nothing"):
        page.get_by_role("button", name="Hand in").click()
    assert len(bench.sent) == 2


def test_a_time_is_told_on_this_computers_clock_too(page, bench):
    page.goto(
        bench.page('<time datetime="2026-11-21T12:00:00Z" title="Sat 21 Nov 2026, 07:00 EST">21 Nov, 07:00 EST</time>')
    )
    title = page.locator("time").get_attribute("title")
    assert title.startswith("Sat 21 Nov 2026, 07:00 EST\n")
    assert "21 November 2026" in title
    assert "13:00:00" in title


def test_times_are_told_also_where_the_system_names_its_language_oddly(page, bench):
    page.add_init_script("Object.defineProperty(navigator, 'languages', {value: ['en-US@posix', 'de']})")
    page.goto(bench.page('<time datetime="2026-03-02T09:00:00+00:00">Mon</time>'))
    expect(page.locator("time")).to_have_attribute("title", re.compile(r"2 March 2026 at 10:00:00"))
