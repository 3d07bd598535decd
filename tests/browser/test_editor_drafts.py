"""Drafts of the editor: kept in the browser, restored, offered and deleted."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.test_editor import FORM, RACE, SOURCE, editor, handed_in, lay_out, open_editor, type_at_end

_LONG = pytest.mark.long("the short suite has one that is restored and given up, and one that ends")


def test_a_draft_comes_back_and_can_be_given_up(page, bench):
    address = lay_out(bench, draft_key="demo", draft_instead="the starter")
    open_editor(page, address)
    type_at_end(page, "// mine")
    page.reload()
    expect(page.get_by_role("status")).to_contain_text("restored")
    expect(editor(page)).to_contain_text("// mine")
    page.get_by_role("button", name="Use the starter instead").click()
    expect(editor(page)).not_to_contain_text("// mine")
    page.reload()
    expect(editor(page)).not_to_contain_text("// mine")


@_LONG
def test_blank_text_is_no_draft(page, bench):
    address = lay_out(bench, draft_key="demo")
    open_editor(page, address)
    editor(page).focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    open_editor(page, address)
    expect(editor(page)).to_contain_text("scale(")


def test_a_draft_ends_where_it_was_handed_in(page, bench):
    address = lay_out(bench, draft_key="demo", draft_form="f1")
    open_editor(page, address)
    type_at_end(page, "// mine")
    handed_in(page, bench)
    open_editor(page, address)
    expect(editor(page)).not_to_contain_text("// mine")
    expect(page.get_by_role("status")).to_have_count(0)


@_LONG
def test_a_draft_does_not_end_with_what_was_sent_from_another_form(page, bench):
    address = lay_out(bench, draft_key="demo", draft_form="f2")
    open_editor(page, address)
    type_at_end(page, "// mine")
    handed_in(page, bench)
    open_editor(page, address)
    expect(editor(page)).to_contain_text("// mine")


@_LONG
def test_what_was_typed_since_it_was_sent_is_a_draft_again(page, bench):
    address = lay_out(bench, draft_key="demo", draft_form="f1")
    open_editor(page, address)
    type_at_end(page, "// sent")
    handed_in(page, bench)
    page.go_back()
    type_at_end(page, "// and more")
    page.goto(f"{bench.url}/handed-in")
    open_editor(page, address)
    expect(editor(page)).to_contain_text("// and more")


@_LONG
def test_what_was_asked_for_stays_and_the_draft_is_offered(page, bench):
    open_editor(page, lay_out(bench, draft_key="demo"))
    type_at_end(page, "// mine")
    asked = lay_out(bench, text=f"{SOURCE}// asked for", draft_key="demo", draft_offered="", marks=json.dumps([RACE]))
    for _ in range(2):  # a look at it costs no draft
        open_editor(page, asked)
        expect(editor(page)).to_contain_text("// asked for")
        expect(page.locator(".cm-mark-error")).to_have_count(1)
        expect(page.get_by_role("status")).to_contain_text("is kept until you change this text")
    page.get_by_role("button", name="Use the draft instead").click()
    expect(editor(page)).to_contain_text("// mine")
    expect(editor(page)).to_be_focused()
    open_editor(page, lay_out(bench, draft_key="demo"))
    expect(editor(page)).to_contain_text("// mine")


@_LONG
def test_a_form_that_comes_back_has_what_was_sent_and_no_older_draft(page, bench):
    open_editor(page, lay_out(bench, draft_key="demo"))
    type_at_end(page, "// older")
    open_editor(page, lay_out(bench, text="// sent", draft_key="demo", draft_ignored=""))
    expect(editor(page)).to_have_text("// sent")


@_LONG
def test_signing_out_leaves_no_draft(page, bench):
    """Not even what was just typed on the page on which the button stands."""
    bench.page("<p>Gone.</p>", path="/gone")
    out = '<form action="/gone" method="post" data-clear-drafts><button>Out</button></form>'
    address = bench.page(FORM.format(text=SOURCE, more="data-draft-key='demo'") + out, "editor.js")
    open_editor(page, address)
    type_at_end(page, "// mine")
    page.get_by_role("button", name="Out").click()
    page.wait_for_url("**/gone")
    open_editor(page, address)
    expect(editor(page)).not_to_contain_text("// mine")
