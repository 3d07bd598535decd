"""No spreadsheet runs a cell, whatever separator and signs it knows, and what was exported reads back."""

from __future__ import annotations

import csv
import io
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.csv_tables import as_typed, defused, written

SIGNS = frozenset("=+-@")


def runs(text: str) -> bool:
    """Whether a spreadsheet that splits at any separator, trims and normalises could take a part for a formula."""
    parts = [text]
    for separator in ";|\t\r\n":
        parts = [piece for part in parts for piece in part.split(separator)]
    trimmed = (part.lstrip(' "\u00a0\u200b\ufeff') for part in parts)
    return any(part and unicodedata.normalize("NFKC", part[0])[0] in SIGNS for part in trimmed)


TEXTS = st.text(
    st.sampled_from("=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b;|\t\r\n \"'\u200bab,1"), max_size=12
)


@given(TEXTS)
@example("a;=1+1")
@example("\uff1d1+1")
@example("\t=1")
@example("a\n=1")
@example("'=1")
def test_nothing_runs_and_everything_reads_back(text):
    assert not runs(defused(text))
    assert as_typed(defused(text)) == text


@pytest.mark.parametrize("text", ["Ada", "ada@x.example", "O'Brien", "a-b", "1+1", "Karl-Heinz; Max", ""])
def test_plain_text_stays(text):
    assert defused(text) == text


def test_a_table_defuses_its_header_and_leaves_numbers():
    table = written(["=1+1", "points"], [["a;=2", -1.5], ["\uff0b3", None]])
    rows = list(csv.reader(io.StringIO(table)))
    assert rows == [["'=1+1", "points"], ["a;'=2", "-1.5"], ["'\uff0b3", ""]]


def test_a_long_run_of_separators_is_read_once():
    tabs = "\t" * 120_000
    assert as_typed(defused(tabs + "=1")) == tabs + "=1"
