"""Similarity of sources: what a disguise doesn't change, what many students share, and which lines two share."""

from __future__ import annotations

import pytest

from bench.copies.authors import kernel
from bench.copies.disguises import disguised
from kernels.exercise import find_exercise
from kernels.source.similarity.comparison import LEAST_SHARE, LEAST_STUDENTS, compare
from kernels.source.similarity.features import Features, features_of
from kernels.source.similarity.marks import Sharing, marks
from kernels.source.similarity.statements import MOST_TOKENS, read_code

STARTER = (find_exercise("tiled").root / "starter.cu").read_text()
SOLUTION = (find_exercise("tiled").root / "solution.cu").read_text()


def features(source: str) -> Features:
    return features_of(read_code(source))


def same(left: str, right: str) -> bool:
    return features(left).all == features(right).all


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("int a = b * c + 1;", "int row = x*y + 1;"),
        ("int a = b * c;", "int a = c * b;"),
        ("if (i < n && j < n) p[i] = 0.0f;", "if ((n > j) && (i < n)) { p[i] = 0; }"),
        ("for (int k = 0; k < n; ++k) s += a[k];", "for (int k = 0; k < n; k += 1) { s = s + a[k]; }"),
        ("int a = 1; // one\nint b = 2;", "/* two */\nint b = 2;\n\nint a = 1;"),
        ("unsigned int a = b % 2u;", "size_t a = b % 2;"),
        ("float s = 0.f;", "const float s = 0.0;"),
        ("#include <stdio.h>\nint a = 3;", "int a = 3;"),
        ("int a = 3;\r\nint b = a + 4;\r\n", "int a = 3;\nint b = a + 4;\n"),
    ],
)
def test_a_disguise_changes_no_feature(left, right):
    assert same(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("int a = b * c;", "int a = b + c;"),
        ("int a = b * c;", "float a = b * c;"),
        ("a[i] = i < n ? b[i] : 0;", "if (i < n) a[i] = b[i]; else a[i] = 0;"),
        ("int a = 16;", "int a = 32;"),
        ("int a = b * b;", "int a = b * c;"),
    ],
)
def test_another_choice_changes_a_feature(left, right):
    assert not same(left, right)


def test_parameters_are_told_apart_by_their_place():
    text = "__global__ void f(float* M, float* N, int n) { float a = %s[n + 1]; }"
    assert not same(text % "M", text % "N")
    assert same(text % "M", (text % "M").replace("M", "first").replace("N", "second"))


def test_the_same_code_is_the_same_text_whatever_the_layout():
    text = kernel(3)
    assert read_code(disguised(disguised(text, "reformatted", 1), "comments", 1)).plain == read_code(text).plain
    assert read_code(disguised(text, "renamed", 1)).plain != read_code(text).plain


@pytest.mark.parametrize(
    "text", ["", "\0", "}}}}", "((((", '"', "#", "for (", "a" * 70_000, "(" * 70_000, "+=;" * 9_000]
)
def test_any_text_is_read(text):
    code = read_code(text)
    assert sum(len(each.texts) for each in code.statements) <= MOST_TOKENS
    assert features_of(code).all is not None


def test_a_copy_is_found_among_independent_kernels():
    sources = [kernel(seed) for seed in range(40)]
    sources.append(disguised(sources[7], "renamed, reordered, reformatted, comments", 0))
    pairs = compare([features(each) for each in sources], features(STARTER).all).pairs()
    assert (7, 40) in {(one.left, one.right) for one in pairs}
    assert all(one.share >= LEAST_SHARE for one in pairs)
    assert [one.share for one in pairs] == sorted((one.share for one in pairs), reverse=True)


def test_what_all_students_share_makes_no_pair():
    """All complete the starter in the same way."""
    assert compare([features(SOLUTION)] * 30, features(STARTER).all).pairs() == []


def test_the_starter_alone_makes_no_pair():
    sources = [features(kernel(seed)) for seed in range(30)] + [features(STARTER)] * 2
    found = compare(sources, features(STARTER).all)
    assert (30, 31) not in {(one.left, one.right) for one in found.pairs()}
    assert found.shares[30, 31] == 0


def test_few_students_make_no_pairs():
    few = [features(kernel(5))] * 2 + [features(kernel(seed)) for seed in range(LEAST_STUDENTS - 3)]
    assert compare(few, ()).pairs(0.0) == []
    assert compare([], ()).pairs() == []


def test_shared_lines_are_marked_by_the_number_of_students_who_have_them():
    left = "int odd = n * 7 + 3;\nint row = y * 16;\nint given = 1 + n;\nint own = 5 - n;\n"
    right = "int line = 16 * v;\nint strange = 3 + m * 7;\n"
    given = features("int g = 1 + w;").statements.keys()
    carriers = dict.fromkeys(features("int odd = n * 7 + 3;").all, 2) | dict.fromkeys(
        features("int row = y * 16;").all, 20
    )
    found = marks(features(left), features(right), carriers, given, rare=3)
    assert {line: (one.sharing, one.other, one.students) for line, one in found.items()} == {
        1: (Sharing.RARE, 2, 2),
        2: (Sharing.COMMON, 1, 20),
        3: (Sharing.GIVEN, 0, 0),
    }
