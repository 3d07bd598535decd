"""Every system and exercise that the course's documents describe has a test that is named after it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# The letters of each of the five documents.
LETTERS = ("abc", "abcdef", "abcdefgh", "abcdefg", "abcdef")
ROWS = {f"s{document}{letter}" for document, letters in enumerate(LETTERS) for letter in letters}


def named_rows(folder: Path) -> set[str]:
    """The rows that test functions in a folder are named after."""
    names = {
        node.name
        for file in folder.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    return {found[1] for name in names if (found := re.match(r"test_(s\d[a-z])_", name))}


def test_every_row_of_the_documents_has_a_test_here():
    assert len(ROWS) == 30
    assert named_rows(Path(__file__).parent) == ROWS


def test_no_test_elsewhere_is_named_after_a_row_that_does_not_exist():
    assert named_rows(TESTS) == ROWS
