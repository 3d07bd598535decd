from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.accessible import assert_accessible
from tests.browser.viewports import NARROW, WIDE
from tests.browser.workbench import Workbench

_LONG = pytest.mark.long("the short suite has one of each: text, marks, links, drafts, files")

SOURCE = """// __global__ in a comment
__global__ void scale(float* a, int n) {
    __shared__ float tile[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    a[i] = tile[15 - threadIdx.x];
}
"""
RACE = {"line": 6, "kind": "data_race", "message": "Reads what thread 3 writes.", "severity": "error"}
GAP = {"line": 5, "column": 30, "kind": "compile_error", "message": "A `;` is missing.", "severity": "error"}
SLOW = {"line": 4, "kind": "", "message": "Not coalesced.", "severity": "warning"}
FORM = """<form method="post" action="/handed-in" class="form"><div class="field">
<div class="editor-head"><label for="source">Your kernel</label></div>
<textarea id="source" name="source" required data-editor rows="12" {more}>
{text}</textarea></div>
<div class="field"><label for="file">From a file</label><input id="file" type="file" data-editor-file="source"></div>
<p><a href="#source" data-editor-line="6">Line 6</a></p>
<button class="button" type="submit">Check</button></form>"""
DROP = """(editor, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const type of ["dragover", "drop"]) {
    editor.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
  }
}"""


def lay_out(bench: Workbench, text: str = SOURCE, **attributes: str) -> str:
    more = " ".join(
        f"data-{name.replace('_', '-')}='{value.replace(chr(39), '&#39;')}'" for name, value in attributes.items()
    )
    bench.page('<p data-handed-in="f1">Handed in.</p>', path="/handed-in")
    return bench.page(FORM.format(text=text, more=more), "editor.js")


def editor(page: Page):
    """The editor, not the text area that it replaces."""
    return page.get_by_role("textbox", name="Your kernel").and_(page.locator(".cm-content"))


def open_editor(page: Page, address: str) -> None:
    page.goto(address)
    expect(editor(page)).to_be_visible()


def handed_in(page: Page, bench: Workbench) -> str:
    """What the form sends, with the line ends that every form has."""
    page.get_by_role("button", name="Check").click()
    page.wait_for_url("**/handed-in")
    return bench.sent[-1]["source"].replace("\r\n", "\n")


def type_at_end(page: Page, text: str) -> None:
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


def held_back(page: Page, script: re.Pattern[str], address: str) -> Route:
    """Open a page that waits for a script; gives the script's request."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(script, hold, times=1)
    with page.expect_request(script):
        page.goto(address, wait_until="commit")
    while not held:
        page.wait_for_timeout(20)
    return held[0]


def test_what_is_typed_is_handed_in(page, bench):
    open_editor(page, lay_out(bench))
    type_at_end(page, "// mine")
    assert handed_in(page, bench) == SOURCE + "// mine"


def test_what_is_typed_before_the_editor_has_loaded_stays(page, bench):
    address = lay_out(bench, draft_key="demo")
    held = held_back(page, re.compile(r"/editor\.js$"), address)
    page.get_by_label("Your kernel").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// ab")
    page.keyboard.press("ArrowLeft")
    held.continue_()
    expect(editor(page)).to_be_focused()
    page.keyboard.type("c")
    expect(page.locator(".cm-line").first).to_have_text("// acb// __global__ in a comment")
    page.reload()
    expect(editor(page)).to_contain_text("// acb")


@_LONG
def test_typing_over_the_whole_text_keeps_to_the_policy(page, bench):
    open_editor(page, lay_out(bench))
    editor(page).focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("void f();")
    assert handed_in(page, bench) == "void f();"


def test_without_scripts_it_is_a_text_area(browser, bench):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(lay_out(bench))
        page.get_by_label("Your kernel").fill("void f();")
        assert handed_in(page, bench) == "void f();"


@pytest.mark.parametrize(
    "viewport",
    [
        pytest.param(WIDE, id="wide"),
        pytest.param(NARROW, id="narrow", marks=pytest.mark.long("the short suite has it wide")),
    ],
)
def test_it_has_the_colours_of_the_page_and_everybody_can_use_it(page, bench):
    open_editor(page, lay_out(bench, marks=json.dumps([RACE, SLOW])))
    of = "(element, name) => getComputedStyle(element).getPropertyValue(name)"
    seen = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        seen.append(page.locator(".cm-editor").evaluate(of, "background-color"))
    assert seen == ["rgb(255, 255, 255)", "rgb(28, 31, 35)"]
    assert_accessible(page)


@_LONG
def test_words_of_cuda_stand_out_but_not_in_a_comment(page, bench):
    open_editor(page, lay_out(bench))
    shown = page.locator(".cm-cuda").all_inner_texts()
    assert shown[:5] == ["__global__", "__shared__", "blockIdx", "blockDim", "threadIdx"]


@_LONG
def test_a_mark_at_the_end_of_a_line_is_on_its_last_character_and_shows_code_as_code(page, bench):
    open_editor(page, lay_out(bench, marks=json.dumps([GAP])))
    assert page.locator(".cm-mark-error").all_inner_texts() == [";"]
    page.locator(".cm-mark-error").hover()
    expect(page.locator(".cm-tooltip code")).to_have_text(";")
    expect(page.locator(".cm-tooltip")).not_to_contain_text("`")


@_LONG
def test_marks_cover_the_word_at_their_column_also_after_tabs_and_other_characters(page, bench):
    text = "\t/* ä😀 */\tfloat x = undeclared;\nfloat y = 3 + ;\nint a  b;\n"
    at = [(1, 21), (2, 15), (3, 6)]
    marks = [{**GAP, "line": line, "column": column} for line, column in at]
    open_editor(page, lay_out(bench, text=text, marks=json.dumps(marks)))
    assert page.locator(".cm-mark-error").all_inner_texts() == ["undeclared", ";", "a"]


@_LONG
def test_the_close_button_of_the_search_is_beside_its_fields(page, bench):
    open_editor(page, lay_out(bench))
    editor(page).focus()
    page.keyboard.press("Control+f")
    fields = [each.bounding_box() for each in page.locator(".cm-search .cm-textfield").all()]
    close = page.get_by_role("button", name="close").bounding_box()
    assert all(field["x"] + field["width"] <= close["x"] for field in fields)


def test_marks_stand_on_their_lines_and_say_why(page, bench):
    open_editor(page, lay_out(bench, marks=json.dumps([RACE, SLOW, {"line": 99, "message": "nowhere"}])))
    marked = page.locator(".cm-lintRange").all_inner_texts()
    assert marked == ["int i = blockIdx.x * blockDim.x + threadIdx.x;", "a[i] = tile[15 - threadIdx.x];"]
    sign, gutter = (page.locator(each).bounding_box() for each in (".cm-lint-marker-error", ".cm-gutter-lint"))
    assert gutter["x"] <= sign["x"]
    assert sign["x"] + sign["width"] <= gutter["x"] + gutter["width"]
    page.locator(".cm-mark-error").hover()
    expect(page.locator(".cm-tooltip")).to_contain_text(RACE["message"])
    expect(page.locator(".cm-tooltip")).to_contain_text("data race")


@_LONG
def test_a_mark_stays_with_its_line_while_lines_are_added(page, bench):
    open_editor(page, lay_out(bench, marks=json.dumps([RACE])))
    editor(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// one more\n")
    assert page.locator(".cm-mark-error").all_inner_texts() == ["a[i] = tile[15 - threadIdx.x];"]


@_LONG
def test_marks_are_read_by_keyboard(page, bench):
    open_editor(page, lay_out(bench, marks=json.dumps([RACE])))
    editor(page).focus()
    page.keyboard.press("Control+Shift+M")
    expect(page.locator(".cm-panel-lint")).to_contain_text(RACE["message"])


@_LONG
def test_a_link_goes_to_its_line(page, bench):
    open_editor(page, lay_out(bench))
    page.get_by_role("link", name="Line 6").click()
    expect(page.locator(".cm-activeLine")).to_have_text("    a[i] = tile[15 - threadIdx.x];")
    expect(editor(page)).to_be_focused()


@_LONG
def test_a_link_to_the_field_goes_to_the_editor_in_its_place(page, bench):
    address = lay_out(bench)
    bench.page(FORM.format(text=SOURCE, more="data-editor") + '<a href="#source">The mistake</a>', "editor.js")
    open_editor(page, address)
    page.get_by_role("link", name="The mistake").click()
    expect(editor(page)).to_be_focused()


def test_tab_leaves_until_something_is_typed_and_again_after_escape(page, bench):
    open_editor(page, lay_out(bench, text=""))
    hint, field = page.locator(".editor-hint").bounding_box(), page.locator(".cm-editor").bounding_box()
    assert hint["y"] < field["y"]
    for _ in range(2):  # passing by changes nothing, however often
        editor(page).focus()
        page.keyboard.press("Tab")
        expect(page.locator("#file")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(editor(page)).to_be_focused()
    page.keyboard.type("x")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#file")).to_be_focused()
    assert handed_in(page, bench) == "    x"


@_LONG
def test_a_file_fills_it_and_undo_brings_back_what_was_there(page, bench):
    open_editor(page, lay_out(bench))
    given = {"name": "mine.cu", "mimeType": "", "buffer": b"__global__ void mine() {}\r\n"}
    page.locator("#file").set_input_files(given)
    expect(page.get_by_role("status")).to_contain_text("mine.cu is in the editor now")
    expect(editor(page)).to_contain_text("mine()")
    page.keyboard.press("Control+z")
    expect(editor(page)).to_contain_text("scale(")


@_LONG
def test_a_file_can_be_dropped_on_it(page, bench):
    open_editor(page, lay_out(bench))
    editor(page).evaluate(DROP, ["dropped.cu", "void dropped();\n"])
    expect(editor(page)).to_contain_text("dropped()")
    assert handed_in(page, bench) == "void dropped();\n"


@_LONG
def test_a_file_that_falls_beside_it_is_not_taken_and_leaves_the_page_there(page, bench):
    open_editor(page, lay_out(bench))
    page.locator("body").evaluate(DROP, ["dropped.cu", "void dropped();\n"])
    expect(page.get_by_role("status")).to_contain_text("Drop the file on the editor")
    expect(editor(page)).not_to_contain_text("dropped()")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"", "odd is empty", id="empty", marks=_LONG),
        pytest.param(b"x" * 65537, "65,537 bytes", id="large", marks=_LONG),
        pytest.param(b"\xff\xfe\x00", "UTF-8", id="other-text", marks=_LONG),
        pytest.param(b"\x00\x01", "null characters", id="binary"),
    ],
)
def test_a_file_that_is_no_source_is_refused_in_words(page, bench, content, told):
    open_editor(page, lay_out(bench))
    page.locator("#file").set_input_files({"name": "odd", "mimeType": "", "buffer": content})
    expect(page.get_by_role("status")).to_contain_text(told)
    expect(editor(page)).to_contain_text("scale(")


def refused_file(page: Page, bench: Workbench) -> None:
    open_editor(page, lay_out(bench))
    page.locator("#file").set_input_files({"name": "odd", "mimeType": "", "buffer": b"\0"})
    expect(page.get_by_role("status")).to_contain_text("The editor still has its earlier text")
    page.get_by_role("button", name="Check").click()


@_LONG
def test_after_a_refused_file_the_text_from_before_is_sent_only_where_that_is_said(page, bench):
    refused_file(page, bench)
    expect(page.get_by_role("status")).to_contain_text("Nothing was sent")
    keep = page.get_by_role("button", name="Keep the text in the editor")
    expect(keep).to_be_focused()
    page.get_by_role("button", name="Check").dblclick()  # nobody's second press goes through unread
    assert bench.sent == []
    keep.click()
    assert handed_in(page, bench) == SOURCE


@pytest.mark.parametrize("way", [pytest.param("typed", marks=_LONG), "file"])
def test_after_a_refused_file_what_is_put_there_next_is_sent(page, bench, way):
    refused_file(page, bench)
    if way == "typed":
        type_at_end(page, "// mine")
    else:
        page.locator("#file").set_input_files({"name": "good.cu", "mimeType": "", "buffer": b"// mine"})
        expect(page.get_by_role("status")).to_contain_text("good.cu")
    assert handed_in(page, bench).endswith("// mine")


@_LONG
def test_of_several_dropped_files_none_is_taken(page, bench):
    open_editor(page, lay_out(bench))
    editor(page).evaluate(
        DROP.replace("data.items.add", "data.items.add(new File([''], 'b.cu')); data.items.add"), ["a.cu", "x"]
    )
    expect(page.get_by_role("status")).to_contain_text("You dropped 2 files")
    expect(editor(page)).to_contain_text("scale(")
