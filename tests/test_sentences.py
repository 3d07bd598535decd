"""A sentence is asserted in one test at most, so that texts can change; others assert a code, a number, a name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUN = 4
"""So many words in a row, and it is taken for a sentence."""
LOOKS = re.compile(r"get_by_\w+|(not_)?to_(have|contain)_\w+|wait_for|says|logged|parametrize")
"""Calls that wait for a text, look one up, or have a table of them."""
MARKS = frozenset({"first_of_each", "long", "one_in", "some_of"})
"""Calls in a table whose text is a reason for people."""


def called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    name = node.args[:1] if isinstance(node, ast.Call) and called(node).lower().endswith("story") else []
    for part in ast.iter_child_nodes(node) if called(node) not in MARKS else ():
        if part not in name:  # what a test is called is not asserted
            yield from texts(part)


def places(tree: ast.Module) -> Iterator[tuple[str, list[ast.AST]]]:
    """Each function, method and table of a file, with the parts that hold what is asserted."""
    tables = {
        name.id
        for call in ast.walk(tree) if called(call) == "parametrize"
        for name in ast.walk(call) if isinstance(name, ast.Name)
    }  # fmt: skip
    methods = (part for node in tree.body if isinstance(node, ast.ClassDef) for part in node.body)
    for node in (*tree.body, *methods):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in tables:
            yield node.targets[0].id, [node.value]
        elif isinstance(node, ast.FunctionDef):
            inside = list(ast.walk(node))
            asserts = [part.test for part in inside if isinstance(part, ast.Assert)]
            matched = [part.value for part in inside if isinstance(part, ast.keyword) and part.arg == "match"]
            yield node.name, [*asserts, *matched, *(part for part in inside if LOOKS.fullmatch(called(part)))]


def runs(text: str) -> Iterator[str]:
    """All runs of words; what is no word, such as a number or code, ends one."""
    bare = (re.sub(r"</?\w+>", "", piece).strip("\"'`.,;:!?()[]<>“”") for piece in text.lower().split())
    for is_word, part in groupby(bare, lambda piece: re.fullmatch(r"[a-z][a-z'’/-]*", piece) is not None):
        words = list(part) if is_word else []
        yield from (" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


def shared(files: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Each run that is asserted in more than one place, with these places. files: names and sources."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, source in files:
        for place, parts in places(ast.parse(source)):
            for run in (run for part in parts for text in texts(part) for run in runs(text)):
                found[run].add(f"{file}:{place}")
    return {run: sorted(there) for run, there in found.items() if len(there) > 1}


def test_no_sentence_is_asserted_in_two_tests():
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert shared((str(file.relative_to(ROOT)), file.read_text()) for file in files) == {}


FIRST = "def test_a(page):\n    assert 'The <b>board</b> is frozen, and stays so.' in page\n"


@pytest.mark.parametrize(
    ("second", "count"),
    [
        ("assert page.text == f'{page.title} is frozen, {page.reason} and stays.'", 0),
        ("assert 'Board is FROZEN: and' not in page", 1),
        ("page.get_by_text('the board is frozen and')", 2),
        ("with pytest.raises(ValueError, match='board is frozen and'): page()", 1),
        ("page.fill('the board is frozen')", 0),
        ("assert 'the board, 3 times, is frozen' in page", 0),
    ],
)
def test_a_sentence_that_is_asserted_twice_is_found(second, count):
    assert len(shared([("one", FIRST), ("two", f"def test_b(page):\n    {second}\n")])) == count
