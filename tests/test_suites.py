"""`make test` and `make test-all`: the mark `long` divides the tests between them, and loses none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import left_to_the_long_suite, reasons_missing

ROOT = Path(__file__).parents[1]
FOLDERS = ["tests/cheats", "tests/services"]


def recipe_of(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert found
    return found[1]


def collected(mark: str) -> tuple[set[str], int]:
    """The tests with this mark, and how many there are with and without it."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", mark, *FOLDERS]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    counted = re.search(r"^\d+/(\d+) tests collected", printed, flags=re.MULTILINE)
    assert counted
    return {line for line in printed.splitlines() if "::" in line}, int(counted[1])


def test_the_short_suite_leaves_out_what_is_marked_and_the_whole_one_nothing():
    assert '-m "not long"' in recipe_of("test")
    assert "$(PYTEST) $(T)" in recipe_of("test-all")


@pytest.mark.long("the short suite has what the two targets call")
def test_every_test_is_in_the_short_suite_or_is_marked_long():
    (short, every), (marked, _) = collected("not long"), collected("long")

    assert short
    assert marked
    assert not short & marked
    assert len(short) + len(marked) == every


@pytest.mark.parametrize(("reason", "refused"), [(["starts a browser"], False), ([], True), ([""], True)])
def test_a_test_that_is_marked_long_says_why(request, reason, refused):
    request.node.add_marker(pytest.mark.long(*reason))

    assert bool(reasons_missing([request.node])) is refused


class Case:
    def __init__(self, nodeid, **marks):
        self.nodeid = nodeid
        self.get_closest_marker = marks.get


def test_of_the_cases_of_a_test_each_so_manyth_is_in_the_short_suite():
    mark = pytest.mark.one_in(3, "why").mark
    whole: list[Any] = [Case("test_a"), Case("test_b[0]", one_in=mark, long=pytest.mark.long("else").mark)]
    cases: list[Any] = [Case(f"test_b[{number}]", one_in=mark) for number in range(1, 6)]

    left = left_to_the_long_suite([*whole, *cases])

    assert [(case.nodeid, reason) for case, reason in left] == [(f"test_b[{number}]", "why") for number in (2, 3, 5)]
