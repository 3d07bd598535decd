"""A file with odd characters or in another encoding, in the editor."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import assert_accessible
from tests.browser.test_editor import FORM, SOURCE, editor, handed_in, lay_out, open_editor

_LONG = pytest.mark.long("the short suite tests the repair on the server")

REPAIR = """<template id="source-repaired">int a;
</template><button class="button" type="submit" name="repair" data-editor-repair="source">Repair</button>
<button class="button" type="submit">Check</button>"""


@_LONG
def test_odd_characters_are_marked_and_repaired_in_place(page, bench):
    bench.page('<p data-handed-in="f1">Handed in.</p>', path="/handed-in")
    form = FORM.replace('<button class="button" type="submit">Check</button>', REPAIR)
    open_editor(page, bench.page(form.format(text="int\u00a0a\uff1b\n", more=""), "editor.js"))
    marked = page.locator(".cm-specialChar")
    expect(marked).to_have_count(2)
    assert_accessible(page)
    page.get_by_role("button", name="Repair").click()
    expect(marked).to_have_count(0)
    expect(editor(page)).to_be_focused()
    page.keyboard.press("Control+z")
    expect(marked).to_have_count(2)
    page.keyboard.press("Control+y")
    assert handed_in(page, bench) == "int a;\n"


@_LONG
def test_a_file_in_utf16_is_read(page, bench):
    open_editor(page, lay_out(bench))
    file = {"name": "my.cu", "mimeType": "text/plain", "buffer": SOURCE.encode("utf-16")}
    page.get_by_label("From a file").set_input_files(file)
    expect(page.get_by_role("status")).to_contain_text("my.cu")
    assert handed_in(page, bench) == SOURCE
