"""Vim's and Emacs' keys in the editor."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import assert_accessible
from tests.browser.test_editor import editor, handed_in, lay_out, open_editor

_EMACS = pytest.mark.long("the short suite has Vim's")


@pytest.mark.parametrize(
    ("name", "file", "presses"),
    [
        ("Vim", "/vim-keys.js", ["d", "d", "i", "x", "Escape", "Shift+A", "y", "Escape"]),
        pytest.param("Emacs", "/emacs-keys.js", ["Control+k", "Control+k", "x", "Control+e", "y"], marks=_EMACS),
    ],
)
def test_other_keys_are_loaded_once_chosen_and_remembered(page, bench, name, file, presses):
    open_editor(page, lay_out(bench, text="one\ntwo"))
    assert file not in bench.asked
    with page.expect_response(f"**{file}"):
        page.get_by_label("Keys").select_option(name)
    expect(page.locator(f".cm-{name.lower()}Mode")).to_have_count(1)
    assert_accessible(page)
    with page.expect_response(f"**{file}"):
        page.reload()
    expect(page.get_by_label("Keys")).to_have_value(name)
    expect(page.locator(f".cm-{name.lower()}Mode")).to_have_count(1)
    editor(page).focus()
    page.keyboard.press("Control+Home")
    for key in presses:
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#file")).to_be_focused()
    assert handed_in(page, bench) == "xtwoy"
