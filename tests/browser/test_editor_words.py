"""Completion, help, folding and brackets in the editor."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import assert_accessible
from tests.browser.test_editor import SOURCE, editor, handed_in, lay_out, open_editor, type_at_end

_LONG = pytest.mark.long("the short suite completes a name and shows its help")
POPUP = ".cm-tooltip-autocomplete"


def test_a_name_is_completed_by_tab_and_explained_by_a_key(page, bench):
    open_editor(page, lay_out(bench, text=""))
    editor(page).focus()
    page.keyboard.type("// atomicAdd of thread\nint own = atom")
    expect(page.locator(POPUP)).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("&a, thr")
    expect(page.locator(POPUP)).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("F1")
    expect(page.locator(".cm-word code").first).to_have_text("threadIdx")
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(page.locator(".cm-word")).to_have_count(0)
    assert handed_in(page, bench) == "// atomicAdd of thread\nint own = atomicAdd(&a, threadIdx.x)"


@_LONG
def test_enter_takes_a_name_only_after_an_arrow_key(page, bench):
    open_editor(page, lay_out(bench, text="int tile, size;\n"))
    for typed, key in (("til", "Enter"), ("siz", "ArrowDown")):
        type_at_end(page, typed)
        expect(page.locator(POPUP)).to_be_visible()
        page.keyboard.press(key)
    expect(page.locator(f"{POPUP} [aria-selected]")).to_have_text("size")
    page.keyboard.press("Enter")
    assert handed_in(page, bench) == "int tile, size;\ntil\nsize"


@_LONG
def test_no_names_are_offered_in_a_comment_and_escape_closes_them_before_tab_leaves(page, bench):
    open_editor(page, lay_out(bench, text=""))
    editor(page).focus()
    page.keyboard.type("// thre")
    page.wait_for_timeout(600)  # longer than the delay of the names
    expect(page.locator(POPUP)).to_have_count(0)
    page.keyboard.type("\nthre")
    expect(page.locator(POPUP)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(POPUP)).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#file")).to_be_focused()


@_LONG
def test_a_word_is_explained_on_hover(page, bench):
    open_editor(page, lay_out(bench))
    page.locator(".cm-cuda", has_text="__shared__").hover()
    expect(page.locator(".cm-word code").first).to_have_text("__shared__")


@_LONG
def test_a_word_under_the_mouse_is_explained_once_by_the_key(page, bench):
    open_editor(page, lay_out(bench))
    word = page.locator(".cm-cuda", has_text="__shared__")
    word.hover()
    expect(page.locator(".cm-word")).to_have_count(1)
    word.click()
    page.keyboard.press("F1")
    word.hover(position={"x": 3, "y": 3})
    page.wait_for_timeout(600)  # longer than the delay of the explanation
    expect(page.locator(".cm-word")).to_have_count(1)


@_LONG
def test_a_function_is_folded_and_a_link_into_it_unfolds_it(page, bench):
    open_editor(page, lay_out(bench))
    editor(page).focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+Shift+BracketLeft")
    expect(page.locator(".cm-foldPlaceholder")).to_have_count(1)
    assert_accessible(page)
    page.get_by_role("link", name="Line 6").click()
    expect(page.locator(".cm-foldPlaceholder")).to_have_count(0)
    assert handed_in(page, bench) == SOURCE
