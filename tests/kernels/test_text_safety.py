from __future__ import annotations

import sys
import unicodedata

from kernels.rendering.text_safety import safe


def test_no_character_that_controls_anything_is_left() -> None:
    for number in (*range(0x3000), *range(0x3000, sys.maxunicode + 1, 29)):
        char = chr(number)
        shown = safe(f"a{char}")
        unsafe = unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        assert (shown == f"a{char}") != unsafe, hex(number)
        assert not unsafe or char not in shown, hex(number)


def test_what_is_spelled_out_is_told_by_its_number() -> None:
    assert safe("a\x1b[2Jb\tc\u202ed") == "a\\x1b[2Jb  c\\u202ed"
