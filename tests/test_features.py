"""The list of features names pages, commands and tests that there are."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from tests.server.web.matrix import routes
from tests.test_docs import problem

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "features.md").read_text()
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in TEXT.splitlines()
    if line.startswith("| ") and "`" in line
]
ADDRESSES = [path.partition("?")[0] for method, path, *_ in routes() if method == "GET"]


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize(("feature", "places", "shown"), ROWS, ids=[row[0] for row in ROWS])
def test_a_feature_has_its_page_or_command_and_its_test(feature, places, shown):
    for place in spans(places):
        assert is_page(place) if place.startswith("/") else is_command(place), place
    for test in spans(shown):
        file, _, name = test.partition("::")
        assert name in names_in(ROOT / file), test
    assert spans(places)
    assert spans(shown)


def test_what_is_missing_would_be_noticed():
    assert len(ROWS) > 30
    assert not is_page("/staff/COURSE/levitate")
    assert not is_command("tilelab levitate")
    assert not is_command("grade")
    assert "test_levitate" not in names_in(Path(__file__))


def is_page(address: str) -> bool:
    """Whether the portal has this page. Words in capitals stand for any name."""
    pattern = re.compile("/".join("[^/]+" if part.isupper() else re.escape(part) for part in address.split("/")))
    return any(pattern.fullmatch(each) for each in ADDRESSES)


def is_command(line: str) -> bool:
    program, *words = shlex.split(line)
    return program == "tilelab" and problem(words) is None


@cache
def names_in(file: Path) -> frozenset[str]:
    """The names of a file's tests, without a run."""
    body = ast.parse(file.read_text()).body
    return frozenset(one.name for one in body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_"))
