"""`make test` and `make test-all`: the mark `long` divides the tests between them, and loses none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import reasons_missing

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
