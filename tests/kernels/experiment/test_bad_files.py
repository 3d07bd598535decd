"""Experiments' files with one mistake each: every one is refused with its line, and nothing is listed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kernels.experiment.definition import DefinitionError, read_definition
from tests.kernels.experiment.test_definition import FILE

BAD = tomllib.loads((Path(__file__).parent / "bad_files.toml").read_text("utf-8"))["file"]
LONG = {"DIGITS": "9" * 5000, "DEEP": "[" * 50_000}


def text_of(entry) -> str:
    new = LONG.get(entry["new"], entry["new"]).replace("\0", "\\u0000")
    assert FILE.count(entry["old"]) >= 1
    return FILE.replace(entry["old"], new, 1)


@pytest.mark.parametrize("entry", BAD, ids=[entry["why"] for entry in BAD])
def test_a_bad_file_is_refused_with_its_line(entry):
    with pytest.raises(DefinitionError) as refused:
        read_definition(text_of(entry))
    assert refused.value.line == entry["line"]
    assert refused.value.reason.endswith((".", "?"))


def test_there_are_sixty_of_them():
    assert len(BAD) >= 60
