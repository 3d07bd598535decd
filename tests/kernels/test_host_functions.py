"""Declarations taken out of a text by whole lines; test_compile.py shows what the compiler makes of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.compile.host_functions import blank
from tests.kernels.readings import KERNEL, TILED

PIECES = [
    *re.findall(r"\w+|\W", TILED.solution.read_text()), "{", "}", "(", ")", "[", "]", ";", "=", "namespace a {",
    'extern "C" {', "struct A {", "};", "/*", "*/", "\\\n", "#if A\n", "#endif\n", "void f() {", "float x[2] = {1, 2};",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "rest", "names"),
    [
        ("void f()\n{\n  g();\n}\n", 1, "\n\n\n\n", {"f"}),
        ("static float *\nf(int a) { return 0; }\n", 2, "\n\n", {"f"}),
        ("float a[2] = {1, 2}, b;\nint c;\n", 1, "\nint c;\n", {"a", "b"}),
        (
            "namespace n {\nvoid f();\nint g() { return {1}; }\n}\n",
            2,
            "namespace n {\n\nint g() { return {1}; }\n}\n",
            {"f"},
        ),
        ("struct A { int x; } a;\nint b;\n", 1, "\nint b;\n", {"A", "a"}),
        ("template <int T>\nvoid f() {\n#pragma unroll\n}\n", 2, "\n\n\n\n", {"f"}),
    ],
)
def test_a_declaration_leaves_and_all_other_lines_stay(text, line, rest, names):
    result = blank(text + KERNEL, {line})

    assert result is not None
    assert result.text == rest + KERNEL
    assert names <= result.names.keys()
    assert set(result.names.values()) == {line}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("void f() {} __device__ int x;\n", 1),
        ("int y; __device__ int x;\n", 1),
        ("struct A {\n  void f();\n};\n", 2),
        ("void f() {\n#define B 1\n}\n", 1),
        ("void f() {} /*\n*/\n", 1),
        ("\n\n", 2),
    ],
)
def test_what_cannot_leave_alone_stays(text, line):
    result = blank(text + KERNEL, {line})

    assert result is None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=80), st.sets(st.integers(1, 20), min_size=1, max_size=4))
def test_any_text_keeps_its_lines(pieces, lines):
    text = "".join(pieces)
    result = blank(text, lines)
    if result is not None:
        before, after = text.split("\n"), result.text.split("\n")
        assert len(before) == len(after)
        assert all(new in {old, ""} for old, new in zip(before, after, strict=True))
        assert not any(after[line - 1] for line in lines)
