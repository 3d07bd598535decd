"""Texts copied from a page or a chat are refused with the line, and repaired as a whole."""

from __future__ import annotations

import pytest

from kernels.source.paste.repairs import Repair, repair_of
from tests.kernels.readings import KERNEL, only, taken


def repair(text: str) -> Repair:
    found = repair_of(text)
    assert found is not None
    assert repair_of(found.text) is None
    return found


@pytest.mark.parametrize(
    ("text", "repaired", "line", "column"),
    [
        ("int\u00a0a;\n", "int a;\n", 1, 4),
        ("//\nint a = 1 \u2212 2 \u2013 3;\n", "//\nint a = 1 - 2 - 3;\n", 2, 11),
        ("#include \u201cwb.h\u201d\n", '#include "wb.h"\n', 1, 10),
        ("\ufb02oat e\ufb03;\n", "float effi;\n", 1, 1),
        ("int\u200b a\uff1b\n", "int a;\n", 1, 4),
        ("f();\u2028g();\n", "f();\ng();\n", 1, 5),
        ("printf(\u201c\u00a0it\u2019s \u2026\u201d);\n", 'printf(" it\'s ...");\n', 1, 8),
        ("int\u00a0a; // \u201cyes\u201d\n", "int a; // \u201cyes\u201d\n", 1, 4),
    ],
)
def test_characters_of_a_page_are_replaced_outside_comments_and_strings(text, repaired, line, column):
    found = repair(text)
    assert (found.text, found.line, found.column) == (repaired, line, column)
    assert f"Line {line}, column {column} has " in found.sentence


@pytest.mark.parametrize(
    "text",
    [
        KERNEL,
        "// a\u00a0b \u2212\n" + KERNEL,
        '__device__ const char* s = "\u201c\u2212";\n' + KERNEL,
        "#if 0\nint\u00a0a;\n#endif\n" + KERNEL,
        "#ifndef TILELAB\nint main() { return\u00a00; }\n#endif\n" + KERNEL,
        "float gr\u00f6\u00dfe;\n",
        "/*\n```cuda\n```\n*/\n" + KERNEL,
        "/*\n1. load\n2. add\n3. store\n*/\n" + KERNEL,
        "1 2\n2 3\nint a;\n",
        "",
    ],
)
def test_other_texts_need_no_repair(text):
    assert repair_of(text) is None


@pytest.mark.parametrize(
    ("text", "repaired", "line"),
    [
        (f"```cuda\n{KERNEL}```\n", KERNEL, 1),
        (f"```\n{KERNEL}```", KERNEL, 1),
        (f"Here's your \u201ckernel\u201d:\n\n```c++\n{KERNEL}```\n\nIt's fast.\n", KERNEL, 3),
        (f"``` cpp\nint a;\n```\nThen:\n```\n{KERNEL}```\n", f"int a;\n\n\n\n{KERNEL}", 1),
        (f"{KERNEL}```\n", KERNEL, 2),
    ],
)
def test_markdown_fences_are_removed_with_the_text_around(text, repaired, line):
    found = repair(text)
    assert (found.text, found.line) == (repaired, line)
    assert f"Line {line} has a Markdown fence" in found.sentence


LISTING = "__global__ void k(float* a) {\n    // 3 lines\n\n    a[0] = 1;\n}\n"


@pytest.mark.parametrize(
    "number",
    ["{} ", "{:3} ", "{:03}: ", "{}. ", "  {:>2} | ", "{}\t", "{}"],
    ids=["plain", "aligned", "zeros", "dots", "bars", "tabs", "glued"],
)
@pytest.mark.parametrize("first", [1, 97])
def test_the_line_numbers_of_a_listing_are_removed(number, first):
    rows = LISTING.splitlines()
    numbered = "".join(
        f"{number.format(n).rstrip() if not row else number.format(n) + row}\n" for n, row in enumerate(rows, first)
    )
    found = repair(numbered)
    assert found.text.replace("\t", "") == LISTING
    assert found.line == 1
    assert found.sentence == "Lines 1 to 5 begin with line numbers, which aren't code."


def test_a_listing_may_have_lines_without_a_number():
    found = repair("1 f();\n2 g(\n 4);\n3 h();\n\n4 f();\n5 g();\n6\n")
    assert found.text == "f();\ng(\n 4);\nh();\n\nf();\ng();\n\n"


def test_one_repair_does_all_and_says_what_it_changes():
    found = repair("Yes.\n```\n1 int\u00a0a;\n2 int b;\n3 int\u00a0c = 1 \u2212 1;\n```\n")
    assert found.text == "int a;\nint b;\nint c = 1 - 1;\n"
    assert found.changes == (
        "Lines 1 to 2 and 6: removed Markdown fences and the text around them.",
        "Lines 3 to 5: removed 3 line numbers.",
        "Lines 3 and 5: replaced 3 characters that the compiler can't read.",
    )


def test_a_text_that_needs_repair_is_refused_before_it_is_compiled():
    finding = only(KERNEL.replace("P[0]", "\u00a0P[0]") + "int main() {\u201cx\u201d}\n")
    assert (finding.line, finding.column) == (1, 76)
    assert "a no-break space (U+00A0)" in finding.message
    assert "`tilelab grade --fix`" in finding.message


def test_the_characters_of_skipped_code_are_left_alone_but_repaired_with_the_rest():
    skipped = "#if 0\nint\u00a0a;\n#endif\n"
    assert taken(skipped + KERNEL).text == skipped + KERNEL
    assert repair(skipped + "int\u00a0b;\n").text == skipped.replace("\u00a0", " ") + "int b;\n"


def test_utf16_with_a_mark_is_read_as_text():
    for encoding in ("utf-16-le", "utf-16-be"):
        assert taken(("\ufeff" + KERNEL.replace("\n", "\r\n")).encode(encoding)).text == KERNEL


def test_numbers_may_go_on_over_blank_lines_that_have_none():
    code = "__global__ void k(float* a)\n{\n    a[0] = 1;\n\n\n    a[1] = 2;\n\n}\n"
    listing = "".join(f"{n} {row}\n" if row else "\n" for n, row in enumerate(code.splitlines(), 1))
    repair = repair_of(listing)
    assert repair is not None
    assert repair.text == code
    assert repair.changes == ("Lines 1 to 8: removed 5 line numbers.",)
